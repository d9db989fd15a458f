"""Converts local timestamps of logs to UTC, also in the hour that a clock shows twice."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo

# Lines are written at completion, by several threads: a little out of order is normal, an hour is not.
_OUT_OF_ORDER_MS = 10 * 60 * 1000
_EPOCH = datetime(1970, 1, 1)
_FIXED = re.compile(r"([+-])(\d\d):([0-5]\d)")


def zone_of(name: str) -> tzinfo:
    """The zone with an IANA name, or at a fixed offset such as ``+02:00``, east of UTC. Raises ValueError."""
    if fixed := _FIXED.fullmatch(name):
        offset = timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
        return timezone(-offset if fixed[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (OSError, KeyError) as error:
        raise ValueError(f"no time zone: {name!r}") from error


def are_alike(one: str, other: str) -> bool:
    """Whether local time is the same in two zones (``zone_of``), at least in the last ten years."""
    if one == other:
        return True
    zones, now = (zone_of(one), zone_of(other)), datetime.now(UTC)
    days = (now - timedelta(days=each) for each in range(3650))
    return all(len({day.astimezone(zone).utcoffset() for zone in zones}) == 1 for day in days)


@cache
def _zone(name: str) -> tzinfo:
    return zone_of(name)


def is_set_near(zone: str, ms: int, within_ms: int) -> bool:
    """Whether clocks of a zone were set within so many milliseconds of a moment (ms UTC)."""
    around = (datetime.fromtimestamp((ms + sign * within_ms) / 1000, _zone(zone)) for sign in (-1, 1))
    return len({each.utcoffset() for each in around}) > 1


class LogClock:
    """Reads ``2026-11-20 22:02:40,024`` in one time zone, line after line of one file.

    When clocks go back an hour, a local time means one of two moments. The earlier one is taken, unless a
    line before was already more than ten minutes later: then the file is in its second pass through the
    hour. Without such a line all is of the first pass (capture.second_pass finds one). Raises ValueError for
    text that is no timestamp.
    """

    def __init__(self, zone: str, after_ms: int | None = None) -> None:
        """``zone`` as for ``zone_of``; ``after_ms``: the time of the line before, in ms UTC."""
        self._zone = zone_of(zone)
        self.last_ms = after_ms
        self._minute = ""
        self._choices: tuple[int, ...] = ()

    def read(self, text: str) -> int:
        """Give milliseconds since the epoch, UTC."""
        if text[:16] != self._minute:
            self._choices = self._moments(text[:16])
            self._minute = text[:16]
        if len(text) != 23 or text[16] != ":" or text[19] not in ",.":
            raise ValueError(f"no timestamp: {text!r}")
        within = int(text[17:19]) * 1000 + int(text[20:23])
        chosen = self._choices[0] + within
        if len(self._choices) > 1 and self.last_ms is not None and chosen < self.last_ms - _OUT_OF_ORDER_MS:
            chosen = self._choices[1] + within
        self.last_ms = chosen if self.last_ms is None else max(chosen, self.last_ms)
        return chosen

    def has_two(self, text: str) -> bool:
        """Whether a time means two moments."""
        try:
            return len(self._moments(text[:16])) > 1
        except ValueError:
            return False

    def second(self, text: str) -> int:
        """The last moment that a time means, in milliseconds since the epoch."""
        return self._moments(text[:16])[-1] + int(text[17:19]) * 1000 + int(text[20:23])

    def _moments(self, minute: str) -> tuple[int, ...]:
        """The moments, in UTC ms, at which the clock shows this minute: one, or two when clocks go back."""
        local = datetime.strptime(minute.replace("T", " "), "%Y-%m-%d %H:%M")
        shown = [local.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1)]
        try:
            offsets = [each.utcoffset() or timedelta() for each in shown]
            moments = [(local - offset - _EPOCH) // timedelta(milliseconds=1) for offset in offsets]
        except OverflowError as error:
            raise ValueError(f"no time of any calendar: {minute!r}") from error
        # In a skipped hour, which no clock showed, the second moment is the smaller one: take the first.
        return tuple(moments) if moments[1] > moments[0] else (moments[0],)
