"""Reads record batches (v2) of a segment or a metadata snapshot into Arrow: their headers, then their
records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from mmap import mmap

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fencepost.formats import batch_kernels as k
from fencepost.formats.compression import Unpacked, unpack
from fencepost.formats.faults import Fault

Buffer = bytes | bytearray | memoryview | mmap | k.Bytes

_INT32_MAX = 2**31 - 1
_DISORDERED = 2
"""VALID of a batch whose checksum is right, but whose offset or leader epoch contradicts its neighbours'."""

TORN_TAIL = (
    "the last batch is incomplete: its broker is writing it, or stopped while it did; it is read again"
)
TRUNCATED = "the file ends inside its last batch: read it from another replica"

BATCH_SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("size", pa.int32()),
        ("base_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("crc", pa.uint32()),
        ("attributes", pa.int32()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        ("base_sequence", pa.int32()),
        ("record_count", pa.int32()),
        ("base_timestamp_ms", pa.int64()),
        ("max_timestamp_ms", pa.int64()),
    ]
)
RECORD_SCHEMA = pa.schema(
    [
        pa.field("batch_index", pa.int32(), nullable=False),
        pa.field("record_offset", pa.int64(), nullable=False),
        pa.field("timestamp_ms", pa.int64(), nullable=False),
        pa.field("is_control", pa.bool_(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
    ]
)


@dataclass(frozen=True)
class Walk:
    """The batches of one buffer that are right, in file order: their checksums match, and neither offsets nor
    leader epochs go back.

    ``batches`` has one row per batch (BATCH_SCHEMA plus ``is_transactional`` and ``is_control``);
    ``consumed_to`` is where the next walk of a growing file starts; ``stop`` is ``end``, ``limit``,
    ``torn_tail`` (a fault that is not consumed, since the writer may still finish the batch), or the reason
    of a fault after which nothing was read: ``truncated``, ``bad_crc``, ``bad_magic``, ``unreadable``.
    """

    batches: pa.RecordBatch
    faults: tuple[Fault, ...]
    consumed_to: int
    stop: str
    rows: k.Longs


@dataclass(frozen=True)
class Records:
    """``records`` has one row per record (RECORD_SCHEMA); its ``batch_index`` is a row of the walk.

    A batch whose records do not parse is a fault as a whole: none of its records are in ``records``.
    """

    records: pa.RecordBatch
    faults: tuple[Fault, ...]


def walk(buffer: Buffer, start: int = 0, *, limit: int | None = None, closed: bool = False) -> Walk:
    """Walk the batches from byte ``start`` on; whatever the bytes are, it raises nothing.

    The bytes must not change meanwhile: read a file that is being written, do not map it.
    ``limit`` ends the walk after the batch that reaches that many bytes. ``closed`` says that nothing will be
    appended any more (a later segment exists): an incomplete last batch is then a fault (``truncated``),
    otherwise it is left for the next walk. A zero-filled rest is preallocated space, so a clean end.
    A batch with a wrong checksum becomes a fault by itself if its length leads to a batch that is right. So
    does a batch whose offset or leader epoch, which no checksum covers, is out of order.
    """
    data = as_bytes(buffer)
    if not 0 <= start <= data.size:
        raise ValueError(
            f"start {start} is outside the buffer of {data.size} bytes: read the file anew from 0"
        )
    window = data if limit is None else data[: k.cut_after(data, start, max(limit, 1))]
    count, stopped_at, why = k.count_batches(window, start)
    rows = np.empty((count, k.BATCH_FIELDS), dtype=np.int64, order="F")
    k.read_headers(window, start, rows)
    _mark_disorder(rows)
    if window.size < data.size and why == k.AT_END:
        trusted = _trusted(rows)
        if trusted == 0:
            return walk(data, start, closed=closed)
        rows = np.asfortranarray(rows[:trusted])
        return walk_of(rows, set_aside(rows), int(rows[-1, k.POSITION] + rows[-1, k.SIZE]), "limit")
    return _finish(data, rows, stopped_at, why, closed)


def records(
    buffer: Buffer, walked: Walk, *, max_batch_bytes: int = 256 << 20, max_total_bytes: int = 1 << 30
) -> Records:
    """Read the records of every batch of ``walked``, which must come from the same buffer.

    Compressed batches are unpacked first, none to more than ``max_batch_bytes``, all together to no more than
    ``max_total_bytes``: what would be larger is a fault.
    """
    data = as_bytes(buffer)
    rows = walked.rows
    unpacked = unpack(data, rows, max_batch_bytes, max_total_bytes)
    sizes = unpacked.ends - unpacked.starts
    payload = int(sizes.sum())
    if payload > _INT32_MAX:
        raise ValueError(f"{payload} bytes of records do not fit one Arrow column: walk with a smaller limit")
    # A batch cannot hold more records than its bytes allow, whatever its header claims.
    room = int(np.minimum(np.maximum(rows[:, k.RECORD_COUNT], 0), sizes // k.MIN_RECORD_SIZE).sum())
    return _read(data, rows, unpacked, room, payload)


def walk_of(rows: k.Longs, faults: Sequence[Fault], consumed_to: int, stop: str) -> Walk:
    """The Walk of ``rows`` (batches x BATCH_FIELDS), without those whose checksum is wrong."""
    kept = np.asfortranarray(rows[rows[:, k.VALID] == 1]) if faults else rows
    columns: list[pa.Array] = [
        pa.array(kept[:, i].astype(field.type.to_pandas_dtype())) for i, field in enumerate(BATCH_SCHEMA)
    ]
    attributes = kept[:, k.ATTRIBUTES]
    columns += [pa.array((attributes & 16) != 0), pa.array((attributes & k.CONTROL) != 0)]
    names = [*BATCH_SCHEMA.names, "is_transactional", "is_control"]
    return Walk(pa.RecordBatch.from_arrays(columns, names=names), tuple(faults), consumed_to, stop, kept)


def set_aside(rows: k.Longs) -> list[Fault]:
    """One fault for each of ``rows`` (batches x BATCH_FIELDS) that is not VALID."""
    return [
        Fault(
            int(rows[i, k.POSITION]),
            int(rows[i, k.SIZE]),
            reason,
            f"the batch at offset {rows[i, k.BASE_OFFSET]} {what}: read it from another replica",
        )
        for reason, what, state in (
            ("bad_crc", "does not match its checksum", 0),
            ("out_of_order", "has an offset or a leader epoch that those beside it exclude", _DISORDERED),
        )
        for i in np.flatnonzero(rows[:, k.VALID] == state)
    ]


def _mark_disorder(rows: k.Longs) -> None:
    """Mark the batches whose offset or leader epoch contradicts those of other batches in the file.

    In a file offsets ascend and leader epochs never fall. Of batches that contradict each other, the fewer
    are marked: either the higher ones in front or the lower ones behind; both if they are equally many.
    """
    valid = np.flatnonzero(rows[:, k.VALID] == 1)
    for begin, end in ((k.BASE_OFFSET, k.LAST_OFFSET), (k.LEADER_EPOCH, k.LEADER_EPOCH)):
        begins, ends = rows[valid, begin], rows[valid, end]
        strictly = begin == k.BASE_OFFSET
        if (begins[1:] >= ends[:-1] + strictly).all():
            continue
        before = np.maximum.accumulate(ends)[:-1]
        after = np.minimum.accumulate(begins[::-1])[::-1][1:]
        too_high = np.append(ends[:-1] + strictly > after, False)
        too_low = np.insert(begins[1:] < before + strictly, 0, False)
        fewer = too_high.sum() - too_low.sum()
        marked = (too_high & (fewer <= 0)) | (too_low & (fewer >= 0))
        rows[valid[marked], k.VALID] = _DISORDERED
        valid = valid[~marked]


def as_bytes(buffer: Buffer) -> k.Bytes:
    """Give a read-only view of the bytes: the kernels are compiled for that one type."""
    view = buffer.view() if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, dtype=np.uint8)
    if view.dtype != np.uint8 or view.ndim != 1 or not view.flags.c_contiguous:
        raise TypeError("a segment buffer must be contiguous bytes")
    view.flags.writeable = False
    return view


def _trusted(rows: k.Longs) -> int:
    """How many batches there are up to the last one whose checksum is right."""
    valid = np.flatnonzero(rows[:, k.VALID])
    return int(valid[-1]) + 1 if valid.size else 0


def _finish(data: k.Bytes, rows: k.Longs, stopped_at: int, why: int, closed: bool) -> Walk:
    """Judge the end of the file: trailing batches with a wrong checksum, then what stopped the framing."""
    trusted = _trusted(rows)
    clean = why in (k.AT_END, k.AT_ZEROS)
    if trusted == rows.shape[0] or (clean and closed):
        return _stop(data, rows, stopped_at, why, closed)
    # Nothing that is right follows these lengths, so they cannot be trusted to frame anything.
    first = int(rows[trusted, k.POSITION])
    rows = np.asfortranarray(rows[:trusted])
    if (clean or why in (k.RUNS_PAST_END, k.SHORT_HEADER)) and not closed:
        return _torn(data, rows, first)
    detail = (
        "the batch does not match its checksum and its length leads to no other batch: read another replica"
    )
    faults = [*set_aside(rows), Fault(first, data.size - first, "bad_crc", detail)]
    return walk_of(rows, faults, data.size, "bad_crc")


def _torn(data: k.Bytes, rows: k.Longs, at: int) -> Walk:
    faults = [*set_aside(rows), Fault(at, data.size - at, "torn_tail", TORN_TAIL)]
    return walk_of(rows, faults, at, "torn_tail")


def _stop(data: k.Bytes, rows: k.Longs, at: int, why: int, closed: bool) -> Walk:
    faults = set_aside(rows)
    if why in (k.AT_END, k.AT_ZEROS):
        return walk_of(rows, faults, at, "end")
    if why in (k.SHORT_HEADER, k.RUNS_PAST_END) and not closed:
        return _torn(data, rows, at)
    left = data.size - at
    if why == k.BAD_MAGIC:
        magic = int(data[at + 16])
        reason, detail = "bad_magic", f"no record batch of format 2 (magic is {magic}): the rest is not read"
    elif why == k.BAD_LENGTH:
        reason, detail = "unreadable", "the batch length is smaller than a batch header: the rest is not read"
    else:
        reason, detail = "truncated", TRUNCATED
    return walk_of(rows, [*faults, Fault(at, left, reason, detail)], data.size, reason)


def _read(data: k.Bytes, rows: k.Longs, unpacked: Unpacked, room: int, payload: int) -> Records:
    columns = k.RecordColumns(
        batch_index=np.empty(room, dtype=np.int32),
        offsets=np.empty(room, dtype=np.int64),
        timestamps=np.empty(room, dtype=np.int64),
        key_ends=np.zeros(room + 1, dtype=np.int32),
        value_ends=np.zeros(room + 1, dtype=np.int32),
        key_valid=np.empty(room, dtype=np.bool_),
        value_valid=np.empty(room, dtype=np.bool_),
        # Either column could hold every byte; pages that are never written cost nothing.
        keys=np.empty(payload, dtype=np.uint8),
        values=np.empty(payload, dtype=np.uint8),
    )
    outcome = np.zeros(rows.shape[0], dtype=np.int8)
    source = k.Source(data, unpacked.data, unpacked.is_unpacked, unpacked.starts, unpacked.ends)
    count = k.read_records(source, rows, columns, outcome)
    control = (rows[:, k.ATTRIBUTES] & k.CONTROL) != 0
    arrays = [
        pa.array(columns.batch_index[:count]),
        pa.array(columns.offsets[:count]),
        pa.array(columns.timestamps[:count]),
        pa.array(control[columns.batch_index[:count]]),
        _binary(count, columns.key_ends, columns.keys, columns.key_valid),
        _binary(count, columns.value_ends, columns.values, columns.value_valid),
    ]
    faults = [*unpacked.faults.values(), *_bad_records(rows, outcome, unpacked.faults)]
    return Records(
        pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA),
        tuple(sorted(faults, key=lambda fault: fault.position)),
    )


def _binary(count: int, ends: NDArray[np.int32], data: k.Bytes, valid: NDArray[np.bool_]) -> pa.Array:
    nulls = count - int(np.count_nonzero(valid[:count]))
    validity = pa.py_buffer(np.packbits(valid[:count], bitorder="little")) if nulls else None
    # a copy: rows stay in memory until they are written, and would keep the whole buffer alive
    buffers = [validity, pa.py_buffer(ends[: count + 1]), pa.py_buffer(data[: int(ends[count])].copy())]
    return pa.Array.from_buffers(pa.binary(), count, buffers, nulls)


def _bad_records(rows: k.Longs, outcome: NDArray[np.int8], known: dict[int, Fault]) -> list[Fault]:
    faults = []
    for i in np.flatnonzero(outcome):
        if int(i) not in known:
            claim = (
                "more records than fit" if outcome[i] == k.RECORDS_MISCOUNTED else "records that do not parse"
            )
            detail = f"the batch at offset {rows[i, k.BASE_OFFSET]} matches its checksum but claims {claim}"
            faults.append(Fault(int(rows[i, k.POSITION]), int(rows[i, k.SIZE]), "bad_record", detail))
    return faults
