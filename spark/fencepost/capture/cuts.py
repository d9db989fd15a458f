"""Cuts large request logs at line ends, so that several tasks can read one file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import BinaryIO

from fencepost.capture.files import opened
from fencepost.capture.packed import is_compressed
from fencepost.capture.plan import REQUEST_LOG, Source
from fencepost.capture.text import CHUNK
from fencepost.formats.clock import zone_of
from fencepost.formats.envelopes import end_of_lines
from fencepost.formats.request_ids import RequestIds
from fencepost.formats.request_log import parse_lines

PART = 4 * CHUNK
"""The bytes of a part: a multiple of CHUNK, so that the pieces of a log are the same however it is cut."""
_SAMPLE = 64 << 10


def cut(source: Source) -> list[Source]:
    """The source in parts that can be read in any order. Only request logs are cut, whose lines do not depend
    on each other, and only where no clock is set back for winter: there the time of a line depends on the
    lines before it. A log whose parts go back in time is not cut either: whoever reads it from its begin on
    can tell whether its lines are in another order than they were written. Raises OSError.
    """
    if source.kind != REQUEST_LOG or source.end - source.start < 2 * PART:
        return [source]
    with opened(source.file) as file:
        if is_compressed(file):
            return [source]
        begins = _newest(file, source.start, source.timezone)
        found = [*_places(file, source)]
    times = [newest for newest in (begins, *(newest for _, newest in found)) if newest is not None]
    if any(other < one for one, other in pairwise(times)):
        return [source]
    places = [source.start, *(place for place, _ in found), source.end]
    return [replace(source, start=start, end=end) for start, end in pairwise(places)]


def _places(file: BinaryIO, source: Source) -> Iterator[tuple[int, int]]:
    """Where the source can be cut, and the newest time (ms UTC) of some lines from there on."""
    first = -(-(source.start + PART) // PART) * PART
    for end in range(first, source.end - PART + 1, PART):
        file.seek(end - CHUNK)
        place = end - CHUNK + end_of_lines(file.read(CHUNK))
        if source.start < place and place > end - CHUNK:
            newest = _newest(file, place, source.timezone)
            if newest is not None and _is_plain(newest, source.timezone):
                yield place, newest


def _is_plain(newest: int, timezone: str) -> bool:
    """Whether local times about this one (ms UTC) mean one moment each."""
    zone, at = zone_of(timezone), datetime.fromtimestamp(newest / 1000, UTC)
    days = (at + timedelta(days=each) for each in (-1, 1))
    return len({day.astimezone(zone).utcoffset() for day in days}) == 1


def _newest(file: BinaryIO, place: int, timezone: str) -> int | None:
    """The newest time (ms UTC) of some lines from here on."""
    file.seek(place)
    lines = file.read(_SAMPLE)
    return parse_lines(lines, {}, place, timezone, ids=RequestIds()).last_ms
