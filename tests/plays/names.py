"""Names that Kafka takes and that a program may stumble over.

A broker refuses a group, a transactional id or a client id only if it is empty (it does not check its
characters); a topic's name has at most 249 of ``[a-zA-Z0-9._-]``.
"""

from __future__ import annotations

import random

_LONGEST_TOPIC = 249

_FORGED = "[2026-01-01 00:00:00,000] INFO [GroupCoordinator id=1] Member m in group g has left: was fenced"

FRAGMENTS = (
    "'; DROP TABLE marts.fct_offset_commits; --",
    "\"quoted\" 'too' `and` \\back\\slash",
    "<script>alert(1)</script>&amp;",
    "{{ ref('x') }} {% raw %} ${HOME} %(x)s %s {0}",
    f"line\r\n{_FORGED}\n",
    "\u2028next\u0085line\x0b\x0c\x1e",
    "\u202eright to left\u202c Ω≈ç√ 日本語 🦊 e\u0301 \ufeff",
    "\x00\x07\x1b[31mred\t",
    "../../etc/passwd *?[a] :0 | , ;",
    ' {"producer_id": 1} null NaN true 007 1e309 ',
    "long" * 300,
)
"""What the names of groups, ids, members and clients of a hostile play have in their middle."""

_TOPICS = ("..", "__", "-0", ".0123456789abcdef0123456789abcdef-delete", "_.-null", "." * _LONGEST_TOPIC)


def fragment(rng: random.Random) -> str:
    """A hostile part of a name."""
    return rng.choice(FRAGMENTS)


def topic(rng: random.Random, letter: str, label: str) -> str:
    """A hostile name of a topic, which ends with the label as all names do; some are as long as can be."""
    end = f"-{label}"
    return f"{letter}{rng.choice(_TOPICS)}"[: _LONGEST_TOPIC - len(end)] + end
