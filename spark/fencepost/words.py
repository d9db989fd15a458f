"""Names and times as they are printed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

WIDTH = 100
"""Columns of a report and of an alert."""
_SHORT_MS = 100


def printable(text: str | None) -> str:
    """A name from outside as one line: nothing in it moves the cursor or starts a line of its own."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text or ""
    )


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun; ``many`` is the plural, where it does not end with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def listed(names: Iterable[str]) -> str:
    """Names in a row, the last one behind ``and``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def time_of(moment: Any) -> str:
    """A moment of the lake, to the millisecond."""
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d} UTC" if moment else "(time unknown)"


def duration(ms: float) -> str:
    """How long something took, in seconds, or where that would be nothing in milliseconds."""
    return f"{ms:.0f} ms" if ms < _SHORT_MS else f"{ms / 1000:.1f} s"


def as_utc(moment: datetime) -> datetime:
    """A moment of the lake, which readers give with or without its zone."""
    return moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def minute_of(moment: datetime | None) -> str:
    """A moment of the lake, to the minute."""
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else time_of(None)
