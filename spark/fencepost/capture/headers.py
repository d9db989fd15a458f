"""Reads segments of the topics of applications: headers and markers, never payloads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.files import opened_here
from fencepost.capture.log_dirs import base_offset
from fencepost.capture.pieces import Piece
from fencepost.capture.plan import Source
from fencepost.formats import batches as formats
from fencepost.formats.faults import Fault
from fencepost.formats.headers import BATCHES_AT_ONCE, Headers, read_headers

_AT_ONCE = BATCHES_AT_ONCE
NO_EPOCH = -1
"""The leader epoch of batches that were written before there were any."""


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
    position, least, epoch = source.start, base_offset(source.file), NO_EPOCH
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
            fault = _fallen(walk.batches, epoch)
            told = walk if fault is None else replace(walk, faults=(*walk.faults, fault))
            yield HeaderPiece(0, told, final, headers)
            position = walk.consumed_to
            if walk.batches.num_rows:
                least = walk.batches["last_offset"][-1].as_py() + 1
                epoch = max(epoch, pc.max(walk.batches["leader_epoch"]).as_py())


def _fallen(batches: pa.RecordBatch, before: int) -> Fault | None:
    """The fault of the first batch whose leader epoch is older than one in front of it in the file, of which
    ``before`` is the newest of those that were read. Its row stays: other replicas may tell the same.
    """
    epochs = batches["leader_epoch"].to_numpy()
    newest = np.maximum.accumulate(np.concatenate([[before], epochs]))[:-1]
    fallen = np.flatnonzero((epochs < newest) & (epochs != NO_EPOCH))
    if not len(fallen):
        return None
    at = int(fallen[0])
    position, size, offset = (batches[name][at].as_py() for name in ("position", "size", "base_offset"))
    detail = (
        f"the batch at offset {offset} has leader epoch {epochs[at]}, and one in front of it {newest[at]}: "
        "let this broker fetch the partition again into an empty folder, unless all replicas have it"
    )
    return Fault(position, size, "out_of_order", detail)
