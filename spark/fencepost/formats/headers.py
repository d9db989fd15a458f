"""Reads the batches of applications' topics: headers and markers, but never a byte of what applications
wrote, unless their checksums are to be checked.

The checksum of a batch covers the records, so a header alone cannot be checked. Headers are trusted where the
format, the length and the order of offsets are plausible. Markers (control batches, which only brokers write)
are read as a whole, and their checksum is checked.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fencepost.formats import batch_kernels as k
from fencepost.formats import batches as b
from fencepost.formats import header_kernels as h
from fencepost.formats.faults import Fault

BATCHES_AT_ONCE = 1 << 16
_MARKERS_AT_ONCE = 1 << 20
_PAYLOAD_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Headers:
    """The headers in a piece of a file, in ``walk`` as :func:`fencepost.formats.batches.walk` returns them;
    positions are those in the file.

    ``walk.stop`` may also be ``limit`` (more batches follow). Faults must not be stored with their bytes:
    where a batch does not begin as expected, they may be an application's.
    """

    walk: b.Walk
    markers: k.Bytes

    @cached_property
    def records(self) -> b.Records:
        """The records of the markers; ``batch_index`` is a row of the walk."""
        rows = self.walk.rows
        marked = np.flatnonzero(_are_markers(rows))
        inside = np.asfortranarray(rows[marked])
        positions = inside[:, k.POSITION].copy()
        inside[:, k.POSITION] = np.cumsum(inside[:, k.SIZE]) - inside[:, k.SIZE]
        marker_records = b.records(self.markers, replace(self.walk, rows=inside))
        index = pa.array(marked.astype(np.int32)).take(marker_records.records["batch_index"])
        columns = [index, *marker_records.records.columns[1:]]
        at = dict(zip(inside[:, k.POSITION].tolist(), positions.tolist(), strict=True))
        faults = [replace(fault, position=at[fault.position]) for fault in marker_records.faults]
        faults += _not_read(rows)
        return b.Records(pa.RecordBatch.from_arrays(columns, schema=b.RECORD_SCHEMA), tuple(faults))


def read_headers(
    fd: int,
    start: int,
    end: int,
    *,
    least_offset: int = 0,
    closed: bool = False,
    limit: int = BATCHES_AT_ONCE,
    checksums: bool = False,
) -> Headers:
    """Read the headers of at most ``limit`` batches in ``[start, end)`` of an open file, and its markers.

    ``least_offset``: the lowest offset that the first batch may have. ``closed`` is as for ``walk``.
    ``checksums``: also read the payload of each batch, to check its checksum; nothing of it is kept. A
    header of zeros is preallocated space, so a clean end: nothing behind it is read. Raises OSError when the
    file cannot be read.
    """
    rows = np.empty((limit, k.BATCH_FIELDS), dtype=np.int64, order="F")
    markers = np.empty(max(_MARKERS_AT_ONCE, h.MAX_MARKER_SIZE), dtype=np.uint8)
    payload = np.empty(_PAYLOAD_AT_ONCE if checksums else 0, dtype=np.uint8)
    stopped = h.read_headers(fd, start, end, least_offset, rows, markers, payload)
    if stopped.why == h.READ_FAILED:
        # raises OSError, unless the failure was temporary
        os.pread(fd, k.HEADER_SIZE, stopped.position)
        stopped = stopped._replace(why=h.ROWS_FULL)
    rows = np.asfortranarray(rows[: stopped.batches])
    inside = _valid_markers(rows, markers[: stopped.marked])
    rows, stopped = _without_unfinished(rows, stopped, closed)
    return Headers(_walk(rows, stopped, b.set_aside(rows), closed), inside)


def _valid_markers(rows: k.Longs, markers: k.Bytes) -> k.Bytes:
    valid = rows[:, k.VALID] == 1
    if not valid.all():
        marked = _are_markers(rows)
        markers = markers[np.repeat(valid[marked], rows[marked, k.SIZE])]
    return b.as_bytes(markers)


def _without_unfinished(rows: k.Longs, stopped: h.Stopped, closed: bool) -> tuple[k.Longs, h.Stopped]:
    """Leave out a last batch with a wrong checksum: its broker may still be writing it, into preallocated
    space.
    """
    at_end = stopped.why in (k.AT_END, k.AT_ZEROS, k.SHORT_HEADER, k.RUNS_PAST_END)
    if closed or not at_end or rows.shape[0] == 0 or rows[-1, k.VALID] == 1:
        return rows, stopped
    torn = stopped._replace(position=int(rows[-1, k.POSITION]), why=k.RUNS_PAST_END)
    return np.asfortranarray(rows[:-1]), torn


def _are_markers(rows: k.Longs) -> NDArray[np.bool_]:
    attributes = rows[:, k.ATTRIBUTES]
    small = rows[:, k.SIZE] <= h.MAX_MARKER_SIZE
    marked: NDArray[np.bool_] = ((attributes & k.CONTROL) != 0) & ((attributes & h.CODEC) == 0) & small
    return marked


def _not_read(rows: k.Longs) -> list[Fault]:
    """Faults for control batches that are not read, since no broker writes such."""
    is_unusual = ((rows[:, k.ATTRIBUTES] & k.CONTROL) != 0) & ~_are_markers(rows)
    return [
        Fault(
            int(row[k.POSITION]),
            int(row[k.SIZE]),
            "bad_record",
            f"the control batch at offset {row[k.BASE_OFFSET]} is compressed or larger than "
            f"{h.MAX_MARKER_SIZE} bytes, as no marker is: it is not read; look at it with kafka-dump-log",
        )
        for row in rows[is_unusual]
    ]


def _walk(rows: k.Longs, stopped: h.Stopped, faults: list[Fault], closed: bool) -> b.Walk:
    at, why = stopped.position, stopped.why
    if why == h.ROWS_FULL:
        return b.walk_of(rows, faults, at, "limit")
    if why in (k.AT_END, k.AT_ZEROS):
        return b.walk_of(rows, faults, at, "end")
    if why in (k.SHORT_HEADER, k.RUNS_PAST_END):
        reason, detail = ("truncated", b.TRUNCATED) if closed else ("torn_tail", b.TORN_TAIL)
    elif why == k.BAD_MAGIC:
        reason, detail = (
            "bad_magic",
            "no record batch of format 2 begins here (Kafka before 0.11 wrote others, which have no producer "
            "epochs; or the batch before is damaged): the rest is not read",
        )
    else:
        what = "its offset is below the one before" if why == h.BAD_OFFSET else "it is too short for a header"
        reason = "unreadable"
        detail = f"no batch can begin here, {what}: the rest is not read; read it from another replica"
    consumed_to = at if reason == "torn_tail" else stopped.end
    return b.walk_of(rows, [*faults, Fault(at, stopped.end - at, reason, detail)], consumed_to, reason)
