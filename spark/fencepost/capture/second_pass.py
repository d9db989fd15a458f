"""Finds out in which of its two passes through an hour a log begins, or a run that reads on in it.

When clocks go back, local times of an hour mean two moments (formats.clock). A line before tells them apart,
and a run may begin behind it; and where files are named by the hour, logging libraries replace that of the
first pass by that of the second one, which alone would be read an hour too early.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import timezone
from typing import BinaryIO

from fencepost.capture import packed
from fencepost.capture.packed import DamagedError
from fencepost.capture.plan import Source
from fencepost.formats.clock import LogClock, zone_of
from fencepost.formats.envelopes import plain_line

_LOCAL = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3}(?!\d* ?(?:Z|UTC|GMT|[+-]\d\d))")
_SAMPLES = 256
_PIECE = 64 << 10
_CHUNK = 8 << 20
_NEAR_MS = 10 * 60 * 1000

Sample = tuple[int, str]
"""A position, and the local time of the first line behind it."""


def newest_before(
    file: BinaryIO, source: Source, written: Callable[[], float], *, compressed: bool
) -> int | None:
    """The newest time (ms UTC) of the lines before those of a source, from which a clock that reads on knows
    its pass; None where the first line has a time of one meaning. ``written``: when the file was written
    last, in seconds.

    Where nothing before the hour is in the file, it is in the second pass if it goes on right behind the
    hour, or was written last when that pass was at its last line.
    """
    zone, start = source.timezone, source.start
    if isinstance(zone_of(zone), timezone) or zone == "UTC":
        return None
    clock = LogClock(zone)
    first = next(_times(_piece(file, start, compressed=compressed), 0), None)
    if first is None or not clock.has_two(first[1]):
        return None
    samples = [*(_of_packed(file) if compressed else _of_plain(file, source.end))]
    if samples and clock.has_two(samples[0][1]) and _is_second(samples, zone, round(written() * 1000)):
        clock = LogClock(zone, clock.second(samples[0][1]))
    for position, time in samples:
        if position < start:
            clock.read(time)
    return clock.last_ms


def _is_second(samples: Sequence[Sample], zone: str, written_ms: int) -> bool:
    """Whether a file that begins in the hour begins in its second pass."""
    clock = LogClock(zone)
    read = [(time, clock.read(time)) for _, time in samples]
    within = [time for time, _ in read if clock.has_two(time)]
    if any(ms == clock.second(time) for time, ms in read if clock.has_two(time)):
        return False  # it goes through both
    last_ms = clock.second(within[-1])
    behind = [ms for time, ms in read if not clock.has_two(time)]
    return abs((behind[0] if behind else written_ms) - last_ms) <= _NEAR_MS


def _piece(file: BinaryIO, start: int, *, compressed: bool) -> bytes:
    if compressed:
        try:
            return packed.head(file, _PIECE, _PIECE) if start == 0 else b""
        except DamagedError:
            return b""
    file.seek(start)
    return file.read(_PIECE)


def _of_plain(file: BinaryIO, end: int) -> Iterator[Sample]:
    read_to = 0
    for at in (*range(0, end, max(end // _SAMPLES, _PIECE)), end - _PIECE):
        begin = max(at, read_to)
        if begin < end:
            file.seek(begin)
            yield from _times(file.read(min(_PIECE, end - begin)), begin)
        read_to = max(read_to, begin + _PIECE)


def _of_packed(file: BinaryIO) -> Iterator[Sample]:
    at = 0
    with contextlib.suppress(DamagedError):
        for chunk in packed.unpacked(file, _CHUNK):
            for begin in range(0, len(chunk), _CHUNK // 8):
                yield from _times(chunk[begin : begin + _PIECE], at + begin)
            at += len(chunk)


def _times(piece: bytes, at: int) -> Iterator[Sample]:
    """The local times of the lines that begin in a piece, which is at a position."""
    begin = 0 if at == 0 else piece.find(b"\n") + 1
    for line in piece[begin:].splitlines(keepends=True):
        if found := _LOCAL.search(plain_line(line), 0, 256):
            yield at + begin, found[0].decode()
        begin += len(line)
