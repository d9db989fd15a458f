"""Evidence of a cluster that is missing or could not be read, in words: no verdict rests on it."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.report.episodes import Row
from fencepost.report.wording import indented
from fencepost.words import printable

QUARANTINE = "marts.fct_quarantine"
_MOST = 5
_HEADING = (
    "Some evidence is missing or could not be read. Events that only this evidence shows do not appear "
    "below, and no definition that rests on it counts as holding:"
)
_ALL = f'fencepost sql "SELECT * FROM {QUARANTINE}" --format table'


def unread_lines(unread: Sequence[Row]) -> list[str]:
    """The rows of QUARANTINE of one cluster in words; no line if there are none."""
    if not unread:
        return []
    rows = sorted(unread, key=_missing_first)
    lines = indented(_HEADING, "", "")
    for row in rows[:_MOST]:
        lines += indented(_sentence(row), "  ", "    ")
    if len(rows) > _MOST:
        lines += indented(f"and {len(rows) - _MOST} more: {_ALL}", "  ", "    ")
    return lines


def _sentence(row: Row) -> str:
    owner = "" if row["broker_id"] is None else f"broker {row['broker_id']}, "
    kind, reason = row["kind"].replace("_", " "), row["reason"].replace("_", " ")
    number = "" if row["entries"] == 1 else f" {row['entries']} times, first"
    at = row["first_position"]
    place = "" if at is None or row["reason"] == "missing" else f"{number} at byte {at}"
    return f"{owner}{kind} {printable(row['file'])}: {reason}{place}: {printable(row['detail'])}"


def _missing_first(row: Row) -> tuple[bool, int, str, str, str]:
    return (
        row["reason"] != "missing",
        -1 if row["broker_id"] is None else row["broker_id"],
        row["kind"],
        row["file"],
        row["reason"],
    )
