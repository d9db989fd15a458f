"""The records of ``__transaction_state``, decoded: TransactionLogKey and TransactionLogValue."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.protocols.producer_epoch.arrow import longs
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.replay.logs import Log

TRANSACTION = 0
"""The only record type of the topic so far."""

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT = "Empty", "Ongoing", "PrepareCommit", "PrepareAbort"
STATUSES = {
    0: EMPTY, 1: ONGOING, 2: PREPARE_COMMIT, 3: PREPARE_ABORT, 4: "CompleteCommit", 5: "CompleteAbort",
    6: "Dead", 7: "PrepareEpochFence",
}  # fmt: skip
"""org.apache.kafka.coordinator.transaction.TransactionState"""

_PREPARING = frozenset(name for name in STATUSES.values() if name.startswith("Prepare"))
_COMPLETED = frozenset(name for name in STATUSES.values() if name.startswith("Complete"))
_TWO_PHASE_COMMIT_MS = 2**31 - 1
_NEARLY_EXHAUSTED = 2**15 - 4
"""An epoch after which a producer id may be followed by another one within two records."""


class TransactionRecord(NamedTuple):
    """One record of a transactional id, and its place in the log.

    ``stretch`` is the number of its stretch; ``based``: it is in the compacted part of the log, where
    earlier records are missing. A tombstone has none of the fields of TransactionLogValue. If the record
    does not have them, ``previous_producer_id`` and ``next_producer_id`` are NONE and
    ``transaction_version`` is 0. ``partitions`` are 'topic:partition', sorted; ``started_ms`` is None
    without an open transaction.
    """

    offset: int
    timestamp_ms: int
    leader_epoch: int
    stretch: int
    based: bool
    transactional_id: str
    tombstone: bool
    status: str | None
    producer_id: int | None
    producer_epoch: int | None
    previous_producer_id: int
    next_producer_id: int
    timeout_ms: int | None
    partitions: tuple[str, ...]
    started_ms: int | None
    transaction_version: int

    @property
    def lasts_at_most_ms(self) -> float | None:
        """How long the coordinator leaves a transaction open; without end in two-phase commit, which has the
        greatest timeout (KIP-939, TransactionStateManager.timedOutTransactions).
        """
        return math.inf if self.timeout_ms == _TWO_PHASE_COMMIT_MS else self.timeout_ms

    @property
    def prepares(self) -> bool:
        """Whether the end of a transaction has begun."""
        return self.status in _PREPARING

    @property
    def completes(self) -> bool:
        """Whether a transaction has ended: every marker was acknowledged."""
        return self.status in _COMPLETED

    @property
    def settled(self) -> bool:
        """Whether no transaction is open or about to end."""
        return self.status == EMPTY or self.completes


def transaction_records(records: pa.Table, log: Log) -> list[TransactionRecord]:
    """The records of one log (rows of ``bronze.records``) whose batches survived truncation, in its order.

    In the compacted part only the last record of each id counts, as if it had been written right before the
    cleaner's checkpoint.
    """
    is_known = pc.and_(
        pc.equal(records["record_type"], TRANSACTION), pc.equal(records["decode_status"], "known")
    )
    rows = records.filter(pc.and_(is_known, pc.invert(records["is_control"])))
    offsets = longs(rows["record_offset"])
    at = log.find_all(longs(rows["base_offset"]), longs(rows["leader_epoch"]))
    surviving = np.flatnonzero(at >= 0)
    surviving = surviving[np.argsort(offsets[surviving], kind="stable")]
    if len(surviving):
        surviving = surviving[np.concatenate([[True], np.diff(offsets[surviving]) != 0])]
    rows, at = rows.take(pa.array(surviving)), at[surviving]
    based = at < log.based
    placed = zip(
        offsets[surviving].tolist(),
        rows["timestamp_ms"].to_pylist(),
        rows["leader_epoch"].to_pylist(),
        log.stretch[at].tolist(),
        based.tolist(),
        _decoded(rows),
        strict=True,
    )
    transaction_records = [TransactionRecord(*place, *fields) for *place, fields in placed]
    return _rebased(transaction_records, log) if log.base is not None else transaction_records


def consistent(log: Log, records: Iterable[TransactionRecord]) -> Log:
    """The log, without its compacted beginning if an id has another producer id right after it, and had not
    used up the epochs of the one that compaction left: the id has expired in between. Each replica drops a
    tombstone once it is older than delete.retention.ms, so a broker that was away for longer keeps records
    whose tombstones it never got, and so does a lake between two audits. Nothing tells which others are of
    that kind.
    """
    left: dict[str, TransactionRecord] = {}
    for record in records:
        if record.based:
            left[record.transactional_id] = record
        elif (before := left.pop(record.transactional_id, None)) is not None:
            is_another = None not in (record.producer_id, before.producer_id) and (
                record.producer_id not in (before.producer_id, before.next_producer_id)
            )
            if is_another and (before.producer_epoch or 0) < _NEARLY_EXHAUSTED:
                return log.without_base()
    return log


def _rebased(records: list[TransactionRecord], log: Log) -> list[TransactionRecord]:
    assert log.base is not None
    newest = {record.transactional_id: record for record in records if record.based}
    ms = log.base.ms
    compacted = [
        record._replace(offset=log.base.to, timestamp_ms=record.timestamp_ms if ms is None else ms)
        for _, record in sorted(newest.items())
        if not record.tombstone
    ]
    return [*compacted, *(record for record in records if not record.based)]


def _decoded(rows: pa.Table) -> Iterator[tuple[object, ...]]:
    keys = decode("TransactionLog", "key", rows["key"])
    decoded = decode("TransactionLog", "value", rows["value"])
    if keys.codes.any() or decoded.codes.any():
        raise ValueError(
            "A record of __transaction_state was readable when it was captured and is not now. Capture again."
        )
    values = decoded.values
    column = {field.name: values.field(field.name) for field in values.type}
    started = column["transaction_start_timestamp_ms"]
    columns = (
        keys.values.field("transactional_id"),
        pc.is_null(rows["value"]),
        column["transaction_status"],
        column["producer_id"],
        column["producer_epoch"],
        pc.fill_null(column["previous_producer_id"], NONE),
        pc.fill_null(column["next_producer_id"], NONE),
        column["transaction_timeout_ms"],
        _names(column["transaction_partitions"]),
        pc.if_else(pc.equal(started, -1), pa.scalar(None, started.type), started),
        pc.fill_null(column["client_transaction_version"], 0),
    )
    for key, tombstone, status, *others, names, started_ms, version in zip(
        *(each.to_pylist() for each in columns), strict=True
    ):
        yield (key, tombstone, STATUSES.get(status), *others, tuple(sorted(names)), started_ms, version)


def _names(listed: pa.ListArray) -> pa.ListArray:
    """The partitions of each record as 'topic:partition'; none for null."""
    offsets, topics = _offsets(listed), listed.flatten()
    numbers = topics.field("partition_ids")
    parents = pc.list_parent_indices(numbers)
    names = pc.binary_join_element_wise(
        topics.field("topic").take(parents), numbers.flatten().cast(pa.string()), ":"
    )
    within = _offsets(numbers)
    return pa.ListArray.from_arrays(pa.array(within[offsets].astype(np.int32)), names)


def _offsets(lists: pa.ListArray) -> np.ndarray:
    """Where each list begins in ``lists.flatten()``, and where the last one ends."""
    lengths = longs(pc.fill_null(pc.list_value_length(lists), 0))
    return np.concatenate([[0], np.cumsum(lengths)])
