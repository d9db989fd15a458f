"""Reads segments of the topics with Kafka's own state completely, window by window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO

import numpy as np

from fencepost.capture.files import opened_exactly
from fencepost.capture.pieces import Piece
from fencepost.capture.plan import Source
from fencepost.formats import batches as formats
from fencepost.formats.faults import Fault

_WINDOW = 8 << 20
_SAMPLE = 256
_FRAMED = ("end", "torn_tail")


@dataclass(frozen=True)
class Window(Piece):
    """A piece of a segment that starts at a batch, with its bytes."""

    data: np.ndarray[tuple[int], np.dtype[np.uint8]]

    def records(self) -> formats.Records:
        """Every record of the window."""
        return formats.records(self.data, self.walk)

    def sample(self, fault: Fault) -> bytes:
        """At most 256 bytes."""
        return self.data[fault.position : fault.position + min(fault.length, _SAMPLE)].tobytes()


def windows(source: Source) -> Iterator[Window]:
    """The source's range, window by window.

    The file is read, not mapped: a follower that truncates a mapped file would kill the process.
    """
    position, size = source.start, _WINDOW
    with opened_exactly(source.file) as file:
        while True:
            file.seek(position)
            want = min(size, source.end - position)
            data = np.frombuffer(_read(file, want), dtype=np.uint8)
            final = position + data.size >= source.end or data.size < want
            walk = formats.walk(data, closed=final and source.closed)
            if walk.stop == "end" and walk.consumed_to < data.size and not final:
                final = _only_zeros(file, position + walk.consumed_to, source.end)
            if not final and walk.consumed_to == 0:
                # one batch is larger than the window
                size *= 2
                continue
            yield Window(position, walk, final, data)
            if final or walk.stop not in _FRAMED:
                return
            position, size = position + walk.consumed_to, _WINDOW


def _read(file: FileIO, size: int) -> bytearray:
    data = bytearray(size)
    view, filled = memoryview(data), 0
    while filled < size and (got := file.readinto(view[filled:])):
        filled += got
    return data[:filled]


def _only_zeros(file: FileIO, position: int, end: int) -> bool:
    """Whether the rest of a file is only zeros, since it was preallocated."""
    file.seek(position)
    while position < end and (data := _read(file, min(_WINDOW, end - position))):
        if any(data):
            return False
        position += len(data)
    return True
