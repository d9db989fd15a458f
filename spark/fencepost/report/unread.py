"""The evidence of a cluster that is missing or could not be read, in words. No verdict rests on it."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.report.commands import command
from fencepost.report.episodes import Row
from fencepost.report.wording import indented
from fencepost.settings import Settings
from fencepost.words import printable

QUARANTINE = "marts.fct_quarantine"
NO_REQUESTS = "no_requests"
"""The reason of a broker, or without a broker of a cluster, of which no request line was read."""
_WHOLE = ("missing", NO_REQUESTS)
"""The reasons of files as a whole."""
_MOST = 5
_HEADING = (
    "Some evidence is missing or could not be read. Events that only this evidence shows do not appear "
    "below, and what rests on it holds at most here and there:"
)


def unread_lines(unread: Sequence[Row], settings: Settings) -> list[str]:
    """The rows of QUARANTINE of one cluster in words; no line if there are none."""
    if not unread:
        return []
    lines = indented(_HEADING, "", "")
    for sentence in unread_sentences(unread, settings):
        lines += indented(sentence, "  ", "    ")
    return lines


def unread_sentences(unread: Sequence[Row], settings: Settings) -> list[str]:
    """A sentence for each of the gravest rows of QUARANTINE, and how to see the others."""
    rows = sorted(unread, key=_gravest_first)
    rest = []
    if len(rows) > _MOST:
        see_all = command(settings, "sql", f"SELECT * FROM {QUARANTINE}", "--format", "table")
        rest = [f"and {len(rows) - _MOST} more: {see_all}"]
    return [*(_sentence(row) for row in rows[:_MOST]), *rest]


def _sentence(row: Row) -> str:
    owner = "" if row["broker_id"] is None else f"broker {row['broker_id']}, "
    kind, reason = row["kind"].replace("_", " "), row["reason"].replace("_", " ")
    times = "" if row["entries"] == 1 or row["reason"] in _WHOLE else f" {row['entries']:,} times"
    at = row["first_position"]
    if at is None or row["reason"] in _WHOLE:
        place = times
    else:
        place = f"{times}, first at byte {at}" if times else f" at byte {at}"
    file = f" {printable(row['file'])}" if row["file"] else ""
    return f"{owner}{kind}{file}: {reason}{place}: {printable(row['detail'])}"


def _gravest_first(row: Row) -> tuple[bool, bool, int, str, str, str]:
    return (
        row["reason"] != NO_REQUESTS,
        row["reason"] != "missing",
        -1 if row["broker_id"] is None else row["broker_id"],
        row["kind"],
        row["file"],
        row["reason"],
    )
