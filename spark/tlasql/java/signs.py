"""Signs beyond ASCII, which SANY does not read, as ASCII has them: papers and chats print them."""

from __future__ import annotations

import re

from tlasql.lang.errors import Diagnostic, Location
from tlasql.lang.source import code

_ASCII = {
    **{"∀": r"\A", "∃": r"\E", "∈": r"\in", "∉": r"\notin", "∧": "/\\", "∨": r"\/", "¬": "~"},
    **{"≜": "==", "≝": "==", "≔": "==", "⇒": "=>", "⟹": "=>", "⇔": "<=>", "⟺": "<=>", "≡": "<=>"},
    **{"≤": "<=", "⩽": "<=", "≥": ">=", "⩾": ">=", "≠": "#", "→": "->", "⟶": "->", "↦": "|->", "⟼": "|->"},
    **{"←": "<-", "⟵": "<-", "⟨": "<<", "〈": "<<", "⟩": ">>", "〉": ">>", "∪": r"\cup", "∩": r"\cap"},
    **{"⋃": "UNION", "⊆": r"\subseteq", "⊂": r"\subset", "∖": "\\", "×": r"\X", "⨯": r"\X", "÷": r"\div"},
    **{"∅": "{}", "□": "[]", "◻": "[]", "◇": "<>", "⋄": "<>", "↝": "~>", "∘": r"\o", "⋅": "*", "·": "*"},
    **{
        "ℕ": "Nat",
        "ℤ": "Int",
        "≺": r"\prec",
        "⊕": r"\oplus",
        "⊖": r"\ominus",
        "⊔": r"\sqcup",
        "⊓": r"\sqcap",
    },
    **{"′": "'", "’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "--", "−": "-", "…": ".."},
}
_INVISIBLE = {"\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad"}
_SIGN = re.compile(r"[^\x00-\x7f]")
_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def in_ascii(where: Location, text: str) -> Diagnostic | None:
    """What to write for the sign at this place of a module's ``text``, and for all others in it; None where
    it is one of ASCII.
    """
    # SANY counts the columns of a tab
    lines = [line.expandtabs(8) for line in text.split("\n")]
    here = lines[where.line - 1][where.column - 1 : where.column] if where.line <= len(lines) else ""
    if not _SIGN.fullmatch(here):
        return None
    outside = "\n".join(_TEXT.sub("", line) for line in code(text))
    found = dict.fromkeys([here, *_SIGN.findall(outside)])
    message = f"{_named(here)} is no sign of ASCII, which SANY of these tools reads"
    return Diagnostic(where, message, "; ".join(map(_advice, found)))


def _named(sign: str) -> str:
    return sign if sign.isprintable() and not sign.isspace() else f"U+{ord(sign):04X}"


def _advice(sign: str) -> str:
    if sign in _ASCII:
        return f"write {_ASCII[sign]} for {sign}"
    if sign in _INVISIBLE:
        return f"remove {_named(sign)}, which nobody sees"
    if sign.isspace():
        return f"write a space for {_named(sign)}"
    return f"write a name in ASCII for {sign}" if sign.isalnum() else f"remove {_named(sign)}"
