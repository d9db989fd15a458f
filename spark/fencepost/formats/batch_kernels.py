"""Compiled walks over record batch framing: headers of a segment, records of its batches.

Layout: record batch v2, Kafka's ``DefaultRecordBatch`` and ``DefaultRecord``. Nothing here raises or reads
outside the given bounds, whatever the bytes say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fencepost.formats import memory as m
from fencepost.formats.crc32c import crc32c
from fencepost.formats.jit import inlined, kernel

Bytes = m.Bytes
Longs = m.Longs

HEADER_SIZE = 61
CONTROL = 32  # attributes bit: written by a broker, not by a client
LOG_APPEND_TIME = 8  # attributes bit: every record carries the batch's max timestamp
LOG_OVERHEAD = 12  # base offset and length come before what the length counts
CRC_FROM = 21
MIN_RECORD_SIZE = 7  # length, attributes, two deltas, key length, value length, header count

# What stopped the framing.
AT_END, AT_ZEROS, SHORT_HEADER, RUNS_PAST_END, BAD_MAGIC, BAD_LENGTH = 0, 1, 2, 3, 4, 5

# One column per batch header field.
POSITION, SIZE, BASE_OFFSET, LAST_OFFSET, LEADER_EPOCH, CRC, ATTRIBUTES = 0, 1, 2, 3, 4, 5, 6
PRODUCER_ID, PRODUCER_EPOCH, BASE_SEQUENCE, RECORD_COUNT, BASE_TIMESTAMP, MAX_TIMESTAMP = 7, 8, 9, 10, 11, 12
VALID = 13
BATCH_FIELDS = 14

# What is wrong with a batch's records.
RECORDS_OK, RECORDS_MALFORMED, RECORDS_MISCOUNTED = 0, 1, 2


@kernel
def only_zeros(buffer: Bytes, start: int) -> bool:
    """Say whether nothing but zero bytes follows ``start``."""
    position = start
    while position < buffer.size and buffer[position] == 0:
        position += 1
    return position == buffer.size


@inlined
def next_batch(buffer: Bytes, position: int) -> tuple[int, int]:  # noqa: PLR0911
    """Give (size, -1) of the batch framed at ``position``, or (0, reason to stop)."""
    left = buffer.size - position
    if left == 0:
        return 0, AT_END
    if left < LOG_OVERHEAD + 5:
        return 0, AT_ZEROS if only_zeros(buffer, position) else SHORT_HEADER
    magic = buffer[position + 16]
    length = m.int32(buffer, position + 8)
    if length == 0 and magic == 0 and only_zeros(buffer, position):
        return 0, AT_ZEROS
    if magic != 2:
        return 0, BAD_MAGIC
    if length < HEADER_SIZE - LOG_OVERHEAD:
        return 0, BAD_LENGTH
    if left < HEADER_SIZE or length + LOG_OVERHEAD > left:
        return 0, RUNS_PAST_END
    return length + LOG_OVERHEAD, -1


@kernel
def cut_after(buffer: Bytes, start: int, limit: int) -> int:
    """Give where the batch ends that reaches ``limit`` bytes from ``start``; the end if none does."""
    position = start
    while position - start < limit:
        size, stop = next_batch(buffer, position)
        if stop >= 0:
            return buffer.size
        position += size
    return position


@kernel
def count_batches(buffer: Bytes, start: int) -> tuple[int, int, int]:
    """Give (batches, where the framing stopped, why), reading lengths only."""
    position = start
    count = 0
    while True:
        size, stop = next_batch(buffer, position)
        if stop >= 0:
            return count, position, stop
        position += size
        count += 1


@inlined
def read_header(buffer: Bytes, at: int, position: int, row: Longs) -> int:
    """Fill a row (BATCH_FIELDS, but for VALID) with the header at ``at``; give the batch's size.

    ``position`` is where the batch lies in its file.
    """
    size = m.int32(buffer, at + 8) + LOG_OVERHEAD
    row[POSITION] = position
    row[SIZE] = size
    row[BASE_OFFSET] = m.int64(buffer, at)
    row[LEADER_EPOCH] = m.int32(buffer, at + 12)
    row[CRC] = m.int32(buffer, at + 17) & 0xFFFFFFFF
    row[ATTRIBUTES] = m.int16(buffer, at + 21)
    row[LAST_OFFSET] = row[BASE_OFFSET] + m.int32(buffer, at + 23)
    row[BASE_TIMESTAMP] = m.int64(buffer, at + 27)
    row[MAX_TIMESTAMP] = m.int64(buffer, at + 35)
    row[PRODUCER_ID] = m.int64(buffer, at + 43)
    row[PRODUCER_EPOCH] = m.int16(buffer, at + 51)
    row[BASE_SEQUENCE] = m.int32(buffer, at + 53)
    row[RECORD_COUNT] = m.int32(buffer, at + 57)
    return size


@kernel
def read_headers(buffer: Bytes, start: int, rows: Longs) -> None:
    """Fill one row of ``rows`` (batches x BATCH_FIELDS) per framed batch, checksum verified."""
    position = start
    for i in range(rows.shape[0]):
        row = rows[i]
        size = read_header(buffer, position, position, row)
        row[VALID] = crc32c(buffer, position + CRC_FROM, position + size) == row[CRC]
        position += size


@inlined
def varint(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """Give (zigzag value, position after it); the position is -1 when it does not end in bounds."""
    raw = np.uint64(0)
    shift = 0
    after = -1
    while position < end and shift < 70:
        byte = m.byte(buffer, position)
        position += 1
        raw |= np.uint64(byte & 0x7F) << np.uint64(shift)
        if byte < 0x80:
            after = position
            break
        shift += 7
    return int(np.int64(raw >> np.uint64(1)) ^ -np.int64(raw & np.uint64(1))), after


@inlined
def sized(buffer: Bytes, position: int, end: int, least: int) -> tuple[int, int, int]:
    """Give (size, first byte, position after) of a length-prefixed run; the position is -1 out of bounds.

    A size of -1 is null and takes no bytes; no size may be below ``least``.
    """
    size, first = varint(buffer, position, end)
    if first < 0 or size < least or size > end - first:
        return 0, 0, -1
    return size, first, first + max(size, 0)


@inlined
def skip_headers(buffer: Bytes, position: int, end: int) -> int:
    """Give the position after a record's headers, -1 when they are malformed."""
    count, position = varint(buffer, position, end)
    if position < 0 or count < 0 or count > end - position:
        return -1
    for _ in range(count):
        _, _, position = sized(buffer, position, end, 0)
        if position < 0:
            return -1
        _, _, position = sized(buffer, position, end, -1)
        if position < 0:
            return -1
    return position


class Source(NamedTuple):
    """Where each batch's records lie: ``unpacked`` where ``is_unpacked``, else the segment's ``buffer``."""

    buffer: Bytes
    unpacked: Bytes
    is_unpacked: NDArray[np.bool_]
    starts: Longs
    ends: Longs


class RecordColumns(NamedTuple):
    """Room for the records: ``*_ends`` are Arrow offsets, one more than rows, the first is 0."""

    batch_index: NDArray[np.int32]
    offsets: Longs
    timestamps: Longs
    key_ends: NDArray[np.int32]
    value_ends: NDArray[np.int32]
    key_valid: NDArray[np.bool_]
    value_valid: NDArray[np.bool_]
    keys: Bytes
    values: Bytes


@inlined
def put_bytes(  # noqa: PLR0917 (kernels take arrays, not objects)
    source: Bytes,
    first: int,
    size: int,
    row: int,
    ends: NDArray[np.int32],
    valid: NDArray[np.bool_],
    data: Bytes,
) -> None:
    """Write one cell of a binary column behind the one before it."""
    at = ends[row]
    if size > 0:
        m.copy(data, at, source, first, size)
    ends[row + 1] = at + max(size, 0)
    valid[row] = size >= 0


@inlined
def read_record(  # noqa: PLR0917 (kernels take arrays, not objects)
    source: Bytes, position: int, end: int, row: int, batch: Longs, least: int, columns: RecordColumns
) -> tuple[int, int]:
    """Write one record as ``row``; give (offset delta, position after it), -1 where it is malformed.

    Its offset delta must not be below ``least`` nor beyond the batch's last offset.
    """
    _, body, after = sized(source, position, end, MIN_RECORD_SIZE - 1)
    if after < 0:
        return -1, -1
    time_delta, body = varint(source, body + 1, after)
    if body < 0:
        return -1, -1
    delta, body = varint(source, body, after)
    if body < 0 or delta < least or delta > batch[LAST_OFFSET] - batch[BASE_OFFSET]:
        return -1, -1
    key_size, key, body = sized(source, body, after, -1)
    if body < 0:
        return -1, -1
    value_size, value, body = sized(source, body, after, -1)
    if body < 0 or skip_headers(source, body, after) != after:
        return -1, -1
    columns.offsets[row] = batch[BASE_OFFSET] + delta
    append_time = batch[ATTRIBUTES] & LOG_APPEND_TIME
    columns.timestamps[row] = batch[MAX_TIMESTAMP] if append_time else batch[BASE_TIMESTAMP] + time_delta
    put_bytes(source, key, key_size, row, columns.key_ends, columns.key_valid, columns.keys)
    put_bytes(source, value, value_size, row, columns.value_ends, columns.value_valid, columns.values)
    return delta, after


@inlined
def read_batch(  # noqa: PLR0917 (kernels take arrays, not objects)
    source: Bytes, position: int, end: int, row: int, batch: Longs, columns: RecordColumns
) -> int:
    """Write the records of one batch from ``row`` on; give RECORDS_OK or what is wrong."""
    count = batch[RECORD_COUNT]
    if count < 0 or count * MIN_RECORD_SIZE > end - position:
        return RECORDS_MISCOUNTED
    delta = -1
    for i in range(count):
        delta, position = read_record(source, position, end, row + i, batch, delta + 1, columns)
        if position < 0:
            return RECORDS_MALFORMED
    return RECORDS_OK if position == end else RECORDS_MALFORMED


@kernel
def read_records(source: Source, batches: Longs, columns: RecordColumns, outcome: NDArray[np.int8]) -> int:
    """Write the records of every batch (batches x BATCH_FIELDS), all or none of each; give the rows."""
    row = 0
    for b in range(batches.shape[0]):
        data = source.unpacked if source.is_unpacked[b] else source.buffer
        outcome[b] = read_batch(data, source.starts[b], source.ends[b], row, batches[b], columns)
        # A malformed batch leaves its rows behind to be written over.
        if outcome[b] == RECORDS_OK:
            for i in range(row, row + batches[b, RECORD_COUNT]):
                columns.batch_index[i] = b
            row += batches[b, RECORD_COUNT]
    return row
