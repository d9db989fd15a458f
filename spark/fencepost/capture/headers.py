"""Reads segments of the topics of applications: headers and markers, never payloads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fencepost.capture.files import opened_here
from fencepost.capture.log_dirs import base_offset
from fencepost.capture.pieces import Piece
from fencepost.capture.plan import Source
from fencepost.formats import batches as formats
from fencepost.formats.faults import Fault
from fencepost.formats.headers import BATCHES_AT_ONCE, Headers, read_headers

_AT_ONCE = BATCHES_AT_ONCE
_NO_EPOCH = -1
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
    position, least, epoch = source.start, base_offset(source.file), _NO_EPOCH
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
            faults = sorted((*walk.faults, *_falls(walk.batches, epoch)), key=lambda each: each.position)
            yield HeaderPiece(0, replace(walk, faults=tuple(faults)), final, headers)
            position = walk.consumed_to
            if walk.batches.num_rows:
                least = walk.batches["last_offset"][-1].as_py() + 1
                epoch = int([epoch, *_epochs(walk.batches)[-1:]][-1])


def _epochs(batches: pa.RecordBatch) -> NDArray[np.int32]:
    """The leader epochs of those that have one."""
    epochs = batches["leader_epoch"].to_numpy()
    return np.asarray(epochs[epochs != _NO_EPOCH])


def _falls(batches: pa.RecordBatch, before: int) -> Iterator[Fault]:
    """A fault for each batch whose leader epoch is older than that of the batch in front of it in the file,
    which for the first one is ``before``. Its row stays: all replicas may tell the same.
    """
    having = np.flatnonzero(batches["leader_epoch"].to_numpy() != _NO_EPOCH)
    epochs = np.concatenate([[before], _epochs(batches)])
    for number in np.flatnonzero(epochs[1:] < epochs[:-1]).tolist():
        at = int(having[number])
        position, size, offset = (batches[name][at].as_py() for name in ("position", "size", "base_offset"))
        detail = (
            f"the batch at offset {offset} has leader epoch {epochs[number + 1]}, the one in front of it "
            f"{epochs[number]}: let this broker fetch the partition again into an empty folder, unless all "
            "replicas have both"
        )
        yield Fault(position, size, "out_of_order", detail)
