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
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, Piece
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


def add_local_bumps(replayed: PartitionLog, rows: Columns) -> None:
    """Add the rows of one log (``silver.local_bumps``)."""
    if replayed.key[1] == OFFSETS_TOPIC:
        return
    batches = _of_bumping_producers(replayed)
    ids = batches["producer_id"]
    for producer_id in np.unique(ids):
        own = {name: column[ids == producer_id] for name, column in batches.items()}
        times = dict(zip(own["offset"].tolist(), own["max_timestamp_ms"].tolist(), strict=True))
        for each, following in pairwise([*_bumps(own), None]):
            assert each is not None
            end = following.first_offset if following else None
            key = digest_of(*replayed.key, int(producer_id), each.producer_epoch)
            ms = times[end] if end is not None else None
            interval = (each.first_offset, end, times[each.first_offset], ms)
            rows.add(*replayed.key, key, int(producer_id), *vars(each).values(), *interval)


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
    """The bumps of one producer in one log, by their first offsets."""
    epochs = own["producer_epoch"]
    firsts = [int(np.flatnonzero(epochs == epoch)[0]) for epoch in np.unique(epochs)]
    for first in sorted(firsts):
        before = np.flatnonzero(epochs[:first] < epochs[first])
        if not len(before):
            continue
        same = np.flatnonzero(epochs == epochs[first])
        again, original = _again(own, same)
        found = again[original != UNKNOWN]
        newest = int(before[-1])
        follows = own["stretch"][newest] == own["stretch"][first]
        yield LocalBump(
            producer_epoch=int(epochs[first]),
            previous_epoch=int(epochs[newest]) if follows else None,
            first_offset=int(own["offset"][first]),
            last_offset=int(own["last_offset"][same[-1]]),
            batches=len(same),
            records=int(own["record_count"][same].sum()),
            written_twice=True if len(found) else None if _may_be_again(own, same).any() else False,
            batches_again=len(found),
            records_again=int(own["record_count"][found].sum()),
            again_offset=int(own["offset"][found[0]]) if len(found) else None,
            original_offset=int(original[original != UNKNOWN][0]) if len(found) else None,
        )


def _again(own: Piece, of_epoch: Longs) -> tuple[Longs, Longs]:
    """The batches of an epoch, and the offset of the first of an earlier epoch with the same records."""
    names = ("size", "record_count", "attributes", "base_timestamp_ms", "records_checksum")
    epoch = int(own["producer_epoch"][of_epoch[0]])
    earlier: dict[tuple[int, ...], int] = {}
    columns = (own[name].tolist() for name in (*names, "producer_epoch", "offset"))
    keys: list[tuple[int, ...]] = []
    for *key, of, offset in zip(*columns, strict=True):
        keys.append(tuple(key))
        if of < epoch and key[-1] != UNKNOWN:
            earlier.setdefault(keys[-1], offset)
    return of_epoch, np.array([earlier.get(keys[at], UNKNOWN) for at in of_epoch.tolist()], dtype=np.int64)


def _may_be_again(own: Piece, of_epoch: Longs) -> Flags:
    """Of batches that were not found: whether their records may be in an earlier epoch all the same.

    Not if the log is whole, clients set the timestamps, and the batch begins later than all before it end: a
    client that puts records together anew keeps their timestamps and their order.
    """
    epoch = own["producer_epoch"][of_epoch[0]]
    earlier = (own["producer_epoch"] < epoch) & (own["offset"] < own["offset"][of_epoch[-1]])
    newest = own["max_timestamp_ms"][earlier].max()
    by_broker = (own["attributes"] & _LOG_APPEND_TIME) != 0
    untold = (own["is_whole"] == 0) | (own["records_checksum"] == UNKNOWN) | by_broker
    may_be: Flags = untold[of_epoch] | untold[earlier].any() | (own["base_timestamp_ms"][of_epoch] <= newest)
    return may_be
