"""Names that Kafka takes and that a program may stumble over.

A broker refuses a group, a transactional id or a client id only if it is empty (it does not check its
characters); a topic's name has at most 249 of ``[a-zA-Z0-9._-]``.
"""

from __future__ import annotations

_FORGED = "[2026-01-01 00:00:00,000] INFO [GroupCoordinator id=1] Member m in group g has left: was fenced"

NAMES = (
    "'; DROP TABLE marts.fct_offset_commits; --",
    "\"quoted\" 'too' `and` \\back\\slash",
    "<script>document.title = 'hit'</script>&amp;",
    "{{ ref('x') }} {% raw %} ${HOME} %(x)s %s {0}",
    f"line\r\n{_FORGED}\n",
    "\u2028next\u0085line\x0b\x0c\x1e",
    "\u202eright to left\u202c Ω≈ç√ 日本語 🦊 e\u0301 \ufeff",
    "\x00\x07\x1b[31mred\t\x9b2J",
    "../../etc/passwd *?[a] :0 | , ;",
    ' {"producer_id": 1} null NaN true 007 1e309 ',
    "long" * 300,
    "\"><img src=x onerror=document.title='hit'> <!-- ]]>",
    "javascript:document.title='hit'//https://example.com/",
    "$(touch pwned)`touch pwned`;touch pwned&\ntouch pwned #",
    "it's 'x'\\''y'\\\n'\x07z\"'\"",
    "-dash --config=x",
    "=HYPERLINK(\"http://x\",\"y\")",
    "x\r\nBcc: all@example.org\r\n\r\nbody",
    "[a](https://evil.example) *b* _c_ <!channel> @everyone <@U1> \u200b@here",
    "null", "007", "true", "NaN", "-1",
    "o" * 249,
    "..", "__consumer_offsets", "." * 249,
    "\u05d0\u05d1\u05d2 \u0627\u0628\u062c " * 30,
)  # fmt: skip
