"""Epochs that producers without a transactional id gave themselves: ``silver.local_bumps``.

After org.apache.kafka.clients.producer.internals.TransactionManager: at a local bump the client begins at
sequence 0 and may send again what was in flight. The partition takes it; whether it has the same records
already, the checksums of the batches tell, of which no payload is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fencepost.formats.crc32c import TABLES, followed_by_zeros
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.partition_log import PartitionLog
from fencepost.replay.columns import Columns
from fencepost.replay.keys import OFFSETS_TOPIC, digest_of

_HEADER_SIZE = 61
_LOG_APPEND_TIME = 8
# what the checksum covers of a header: the field and its bytes, in this order
_CHECKED = (
    ("attributes", 2), ("last_offset_delta", 4), ("base_timestamp_ms", 8), ("max_timestamp_ms", 8),
    ("producer_id", 8), ("producer_epoch", 2), ("base_sequence", 4), ("record_count", 4),
)  # fmt: skip
_TAKEN = (
    "size", "crc", "attributes", "base_timestamp_ms", "max_timestamp_ms", "producer_id", "producer_epoch",
    "base_sequence", "record_count",
)  # fmt: skip

# what two batches with the same records have alike
_SAME = ("size", "record_count", "attributes", "base_timestamp_ms", "records_checksum")
_ODD = np.uint64(0x9E3779B97F4A7C15)


def add_local_bumps(replayed: PartitionLog, rows: Columns) -> None:
    """Add the rows of one log (``silver.local_bumps``)."""
    if replayed.key[1] == OFFSETS_TOPIC or not replayed.has_producers:
        return
    batches = _of_bumping_producers(replayed)
    order = np.argsort(batches["producer_id"], kind="stable")
    ids, begins = np.unique(batches["producer_id"][order], return_index=True)
    for producer_id, at in zip(ids.tolist(), np.split(order, begins[1:]), strict=False):
        own = {name: column[at] for name, column in batches.items()}
        times = dict(zip(own["offset"].tolist(), own["max_timestamp_ms"].tolist(), strict=True))
        for each, following in pairwise([*_bumps(own), None]):
            assert each is not None
            key = digest_of(*replayed.key, producer_id, each.producer_epoch)
            end = following.first_offset if following else None
            ms = times[end] if end is not None else None
            interval = (each.first_offset, end, times[each.first_offset], ms)
            rows.add(*replayed.key, key, producer_id, *vars(each).values(), *interval)


@dataclass(frozen=True)
class LocalBump:
    """The columns of ``silver.local_bumps`` behind ``producer_id``, in their order."""

    producer_epoch: int
    previous_epoch: int | None
    first_offset: int
    last_offset: int
    batches: int
    records: int
    written_twice: bool | None
    batches_again: int
    records_again: int
    again_offset: int | None
    original_offset: int | None


def _of_bumping_producers(replayed: PartitionLog) -> Piece:
    """The batches of producers that never were in a transaction here and wrote with several epochs.

    In the order of the log; ``records_checksum``, ``offset``, ``last_offset``, ``stretch`` and ``is_whole``
    (nothing of the log is missing before, and nothing of the batch) beside _TAKEN.
    """
    log, of = replayed.log, replayed.evidence.batches
    rows = log.rows
    ids, epochs = of["producer_id"][rows], of["producer_epoch"][rows]
    in_transactions = (of["is_transactional"][rows] == 1) | (of["is_control"][rows] == 1)
    others = ids[in_transactions | (epochs > 0)]
    bumping = np.setdiff1d(others[others >= 0], ids[in_transactions])
    at = np.flatnonzero(np.isin(ids, bumping))
    taken = {name: of[name][rows[at]] for name in _TAKEN}
    offset, last_offset = log.base_offset[at], log.last_offset[at]
    complete = taken["record_count"] == last_offset - offset + 1
    return {
        **taken,
        "offset": offset,
        "last_offset": last_offset,
        "stretch": log.stretch[at],
        # the first stretch begins with the log itself; the cleaner takes records out of batches
        "is_whole": ((log.stretch[at] == 0) & complete).astype(np.int64),
        "records_checksum": _records_checksums({**taken, "last_offset_delta": last_offset - offset}),
    }


def _records_checksums(batches: Piece) -> Longs:
    """What the checksum of a batch says of its records alone, among batches of one size; else UNKNOWN."""
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


def _bumps(own: Piece) -> Iterator[LocalBump]:
    """The bumps of one producer in one log: its batches from the first of an epoch above all before it."""
    epochs = own["producer_epoch"]
    original = _originals(own)
    untold = (own["is_whole"] == 0) | (own["records_checksum"] == UNKNOWN)
    untold |= (own["attributes"] & _LOG_APPEND_TIME) != 0
    highest, newest_ms = (np.maximum.accumulate(own[name]) for name in ("producer_epoch", "max_timestamp_ms"))
    untold_so_far = np.logical_or.accumulate(untold)
    changes = np.flatnonzero(epochs[1:] != epochs[:-1]) + 1
    for first, end in zip(changes.tolist(), [*changes[1:].tolist(), len(epochs)], strict=False):
        before = first - 1
        if epochs[first] <= highest[before]:
            continue
        again = np.flatnonzero(original[first:end] != UNKNOWN) + first
        # who puts records together anew keeps their timestamps and their order: what begins later is new
        old = own["base_timestamp_ms"][first:end] <= newest_ms[before]
        may_be_again = untold_so_far[before] or bool((untold[first:end] | old).any())
        found = len(again) > 0
        yield LocalBump(
            producer_epoch=int(epochs[first]),
            previous_epoch=int(epochs[before]) if own["stretch"][before] == own["stretch"][first] else None,
            first_offset=int(own["offset"][first]),
            last_offset=int(own["last_offset"][end - 1]),
            batches=end - first,
            records=int(own["record_count"][first:end].sum()),
            written_twice=True if found else None if may_be_again else False,
            batches_again=len(again),
            records_again=int(own["record_count"][again].sum()),
            again_offset=int(own["offset"][again[0]]) if found else None,
            original_offset=int(original[again[0]]) if found else None,
        )


def _originals(own: Piece) -> Longs:
    """The offset of the first batch with the same records, if that is of an earlier epoch; else UNKNOWN."""
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
