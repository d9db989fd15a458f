"""What was examined, and the words for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from fencepost.words import printable

OF_MACHINE = "this machine"
"""A heading."""


class Mark(StrEnum):
    """Good; to know: something is left out; or wrong: an audit would fail, or know much less."""

    GOOD = "ok"
    NOTE = "note"
    WRONG = "WRONG"


class Check(NamedTuple):
    """Something that was examined: of whom or what (``of``, a heading), and a sentence about it; ``remedy``:
    what to do.
    """

    of: str
    mark: Mark
    says: str
    remedy: str | None = None


def in_words(checks: Sequence[Check]) -> str:
    """All checks under their headings, and first how many are wrong."""
    wrong = sum(each.mark is Mark.WRONG for each in checks)
    notes = sum(each.mark is Mark.NOTE for each in checks)
    found = f"{wrong} to correct" if wrong else "nothing to correct"
    lines = [f"{found}, {notes} to know, {len(checks) - wrong - notes} in order"]
    for heading in dict.fromkeys(each.of for each in checks):
        lines += ["", printable(heading), *_lines(each for each in checks if each.of == heading)]
    return "\n".join(lines)


def _lines(checks: Iterable[Check]) -> Iterable[str]:
    for each in checks:
        yield f"  {each.mark:<5}  {printable(each.says)}"
        if each.remedy:
            yield f"         -> {printable(each.remedy)}"
