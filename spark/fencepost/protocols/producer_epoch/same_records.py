"""Batches of producers that have no transactions, and which of them have the same records.

Payloads are not read; checksums of batches tell. A CRC is linear: the checksums of two batches of one size
differ by a part that depends only on their headers, and by a part that depends only on their records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fencepost.formats.crc32c import TABLES, followed_by_zeros
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.partition_log import PartitionLog

_HEADER_SIZE = 61
_LOG_APPEND_TIME = 8
# the fields of the header that the checksum covers, in order, with their sizes in bytes
_CHECKED = (
    ("attributes", 2), ("last_offset_delta", 4), ("base_timestamp_ms", 8), ("max_timestamp_ms", 8),
    ("producer_id", 8), ("producer_epoch", 2), ("base_sequence", 4), ("record_count", 4),
)  # fmt: skip
_COLUMNS = (
    "size", "crc", "attributes", "base_timestamp_ms", "max_timestamp_ms", "producer_id", "producer_epoch",
    "base_sequence", "record_count",
)  # fmt: skip

# the columns in which two batches with the same records are equal
_SAME = ("size", "record_count", "attributes", "base_timestamp_ms", "records_checksum")
_ODD = np.uint64(0x9E3779B97F4A7C15)


def of_bumping_producers(replayed: PartitionLog) -> Piece:
    """The batches of producers that never had a transaction in this log and wrote with several epochs.

    They are in the order of the log, and have the columns _COLUMNS, ``records_checksum``, ``offset``,
    ``last_offset``, ``stretch`` and ``is_whole`` (no batch before it is missing, and none of its records).
    """
    batches, rows = replayed.evidence.batches, replayed.log.rows
    ids = batches["producer_id"][rows]
    return of_producers(replayed, np.unique(ids[batches["producer_epoch"][rows] > 0]))


def of_producers(replayed: PartitionLog, which: Longs | None = None) -> Piece:
    """The same of ``which`` producers, or all, that never had a transaction in this log."""
    log, batches = replayed.log, replayed.evidence.batches
    rows = log.rows
    ids = batches["producer_id"][rows]
    in_transactions = (batches["is_transactional"][rows] == 1) | (batches["is_control"][rows] == 1)
    chosen = np.setdiff1d(ids[ids >= 0] if which is None else which[which >= 0], ids[in_transactions])
    at = np.flatnonzero(np.isin(ids, chosen))
    columns = {name: batches[name][rows[at]] for name in _COLUMNS}
    offset, last_offset = log.base_offset[at], log.last_offset[at]
    complete = columns["record_count"] == last_offset - offset + 1
    return {
        **columns,
        "offset": offset,
        "last_offset": last_offset,
        "stretch": log.stretch[at] - (log.stretch[0] if len(log) else 0),
        # the first stretch begins with the log itself; the cleaner may have removed records from a batch
        "is_whole": ((log.stretch[at] == 0) & complete).astype(np.int64),
        "records_checksum": _records_checksums({**columns, "last_offset_delta": last_offset - offset}),
    }


def _records_checksums(batches: Piece) -> Longs:
    """The part of each batch's checksum that depends only on its records, comparable among batches of one
    size; UNKNOWN without a checksum.
    """
    register = np.zeros(len(batches["crc"]), dtype=np.uint32)
    for name, width in _CHECKED:
        for byte in reversed(range(width)):
            value = ((batches[name] >> np.int64(8 * byte)) & np.int64(0xFF)).astype(np.uint32)
            register = TABLES[0, (register ^ value) & np.uint32(0xFF)] ^ (register >> np.uint32(8))
    for size in np.unique(batches["size"]):
        alike = batches["size"] == size
        if size >= _HEADER_SIZE:
            register[alike] = followed_by_zeros(register[alike], int(size) - _HEADER_SIZE)
    known = (batches["crc"] != UNKNOWN) & (batches["size"] >= _HEADER_SIZE)
    return np.where(known, batches["crc"] ^ register.astype(np.int64), UNKNOWN)


def may_be_repeated(own: Piece) -> NDArray[np.bool_]:
    """Which batches may have the records of another batch that is not known, or cannot be compared."""
    hidden = (own["is_whole"] == 0) | (own["records_checksum"] == UNKNOWN)
    return np.asarray(hidden | ((own["attributes"] & _LOG_APPEND_TIME) != 0))


def originals(own: Piece) -> Longs:
    """For each batch, the offset of the first batch with the same records if that has an earlier epoch; else
    UNKNOWN.
    """
    columns = [own[name] for name in _SAME]
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * _ODD
    _, firsts, groups = np.unique(mixed, return_index=True, return_inverse=True)
    first = firsts[groups]
    same = own["records_checksum"] != UNKNOWN
    for column in columns:
        same &= column == column[first]
    same &= own["producer_epoch"][first] < own["producer_epoch"]
    return np.where(same, own["offset"][first], UNKNOWN)
