"""Reads segments of the topics of applications: headers and markers, never payloads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.capture.files import opened_here
from fencepost.capture.log_dirs import base_offset
from fencepost.capture.pieces import Piece
from fencepost.capture.plan import Source
from fencepost.formats import batches as formats
from fencepost.formats.faults import Fault
from fencepost.formats.headers import BATCHES_AT_ONCE, Headers, read_headers

_AT_ONCE = BATCHES_AT_ONCE


@dataclass(frozen=True)
class HeaderPiece(Piece):
    """Some headers, and the markers among them."""

    headers: Headers

    def records(self) -> formats.Records:
        """The records of the markers."""
        return self.headers.records

    def sample(self, fault: Fault) -> None:
        """None: the bytes may be an application's payload."""


def header_pieces(source: Source) -> Iterator[HeaderPiece]:
    """The source's range, some ten thousand batches at a time."""
    position, least = source.start, base_offset(source.file)
    with opened_here(source.file, position) as file:
        final = False
        while not final:
            headers = read_headers(
                file.fileno(),
                position,
                source.end,
                least_offset=least,
                closed=source.closed,
                limit=_AT_ONCE,
                checksums=source.checksums,
            )
            walk = headers.walk
            final = walk.stop != "limit"
            yield HeaderPiece(0, walk, final, headers)
            position = walk.consumed_to
            if walk.batches.num_rows:
                least = walk.batches["last_offset"][-1].as_py() + 1
