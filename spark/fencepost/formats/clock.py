"""Converts local timestamps of logs to UTC, also in the hour that a clock shows twice."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo

# Lines are written at completion, by several threads: a little out of order is normal, an hour is not.
_OUT_OF_ORDER_MS = 10 * 60 * 1000
_EPOCH = datetime(1970, 1, 1)
_LEAP_MS = 1000
_FEW = 3
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

    It counts how times go, by which a log shows that its lines are not as they were written.
    """

    def __init__(self, zone: str, after_ms: int | None = None) -> None:
        """``zone`` as for ``zone_of``; ``after_ms``: the time of the line before, in ms UTC."""
        self._zone = zone_of(zone)
        self.last_ms = after_ms
        self._minute = ""
        self._choices: tuple[int, ...] = ()
        self._before_ms: int | None = None
        self._on = self._back = self._leaps_back = 0

    @property
    def is_in_order(self) -> bool:
        """Whether the lines may be in the order in which they were written. Threads and clocks that are set
        make a time go back now and then; in a file that was sorted otherwise, as by a search engine, every
        other line goes back, and in one whose newest line is the first, all do.
        """
        lines = 1 + self._on + self._back
        leaps = self._leaps_back >= _FEW and 10 * self._leaps_back >= lines
        return not leaps and self._back < self._on + _FEW

    def note(self, ms: int) -> int:
        """Note the time of a line, and give it."""
        before = self._before_ms
        if before is not None:
            if ms > before:
                self._on += 1
            elif ms < before:
                self._back += 1
                self._leaps_back += ms < before - _LEAP_MS
        self._before_ms = ms
        if self.last_ms is None or ms > self.last_ms:
            self.last_ms = ms
        return ms

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
        return self.note(chosen)

    def read_named(self, text: str, name: str) -> int:
        """As ``read``, for a time behind which the name of its zone is written, such as CEST: it tells the
        two passes apart. Raises ValueError if the zone has no such name then.
        """
        local = datetime.strptime(text[:19].replace("T", " "), "%Y-%m-%d %H:%M:%S")
        for fold in (0, 1):
            shown = local.replace(tzinfo=self._zone, fold=fold)
            if shown.tzname() == name:
                ms = (local - (shown.utcoffset() or timedelta()) - _EPOCH) // timedelta(milliseconds=1)
                return self.note(ms + int(text[20:23]))
        raise ValueError(
            f"the time {text} {name} is none of the time zone {self._zone}: correct timezone in the "
            "configuration, or have the program's logging write the offset of its zone"
        )

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
