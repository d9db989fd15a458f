"""What a chapter hands down of a transactional id, at the offset where the next chapter's evidence begins.

The log cleaner leaves only the last record of an id. The replay up to there knew more: at which offset that
record was, which epoch KIP-360 would keep, who ended the transaction, and where the transaction began.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from fencepost.protocols.producer_epoch.given_epochs import GivenEpoch, GivenEpochs, newest_given
from fencepost.protocols.producer_epoch.transaction_log import ONGOING, TransactionRecord
from fencepost.protocols.producer_epoch.transaction_metadata import LastProducerEpoch, Transition
from fencepost.protocols.producer_epoch.transactions import Transaction
from fencepost.replay.logs import COMPACTED, Log

Ids = Mapping[str, tuple[int, "HandedDownId"]]
"""By transactional id: the offset up to which it is known, and what is known."""


@dataclass(frozen=True)
class HandedDownId:
    """The state of one transactional id.

    ``record``: its last record, ``previous``: the record before; ``cause`` to ``writer`` are those of the
    Transition to it. ``transaction``: its transaction if that has not ended, with ``record`` as its newest.
    ``counted_from``: the oldest epoch since which every transaction is in the log or was counted by earlier
    chapters; None if compaction may have removed some of the newest epoch. ``given``:
    newest_given.
    """

    record: TransactionRecord
    previous: TransactionRecord | None
    cause: str | None
    last_epoch: int | None
    remembered_epoch: LastProducerEpoch | None
    previous_id: int | None
    writer: str | None
    transaction: Transaction | None
    counted_from: int | None
    given: tuple[GivenEpoch, ...]

    def packed(self) -> str:
        """As JSON."""
        transaction = self.transaction
        values = [
            self.record,
            self.previous,
            self.cause,
            self.last_epoch,
            self.remembered_epoch,
            self.previous_id,
            self.writer,
            None
            if transaction is None
            else [
                transaction.start,
                transaction.prepare,
                transaction.abort_cause,
                transaction.transaction_version,
            ],
            self.counted_from,
            self.given,
        ]
        return json.dumps(values, separators=(",", ":"))

    @classmethod
    def unpacked(cls, values: str) -> HandedDownId:
        """The opposite of ``packed``."""
        (
            record,
            previous,
            cause,
            last_epoch,
            remembered_epoch,
            previous_id,
            writer,
            unended,
            counted_from,
            given,
        ) = json.loads(values)
        newest, transaction = _record(record), None
        if unended is not None:
            start, prepare, abort_cause, version = unended
            prepared = None if prepare is None else _record(prepare)
            transaction = Transaction(
                newest.stretch, _record(start), newest, prepared, None, abort_cause, version
            )
        return cls(
            newest,
            None if previous is None else _record(previous),
            cause,
            last_epoch,
            None if remembered_epoch is None else LastProducerEpoch(*remembered_epoch),
            previous_id,
            writer,
            transaction,
            counted_from,
            tuple(GivenEpoch(*each) for each in given),
        )

    def matches(self, left: TransactionRecord) -> bool:
        """Whether the record that compaction left is this one."""
        names = ("transactional_id", "tombstone", "status", "producer_id", "producer_epoch", "leader_epoch")
        return left.based and all(getattr(left, name) == getattr(self.record, name) for name in names)

    def resumed_transition(self, left: Transition) -> Transition:
        """The transition to the record that compaction left, with what the earlier chapter knew of it."""
        is_open = left.record.status == ONGOING or left.record.prepares
        return left._replace(
            previous=None if is_open and self.transaction is None else self.previous,
            writer=self.writer,
            cause=self.cause,
            last_epoch=self.last_epoch,
            remembered_epoch=self.remembered_epoch,
            previous_id=self.previous_id,
        )

    @property
    def tombstone(self) -> TransactionRecord | None:
        """The tombstone, which compaction does not leave."""
        return self.record._replace(based=True, stretch=COMPACTED) if self.record.tombstone else None

    def restored_record(self, left: TransactionRecord) -> TransactionRecord:
        """The record that compaction left, with its original offset and time."""
        return left._replace(offset=self.record.offset, timestamp_ms=self.record.timestamp_ms)

    def ended_before(self, transactions: Iterable[Transaction], cut: int) -> set[int]:
        """The start offsets of the transactions that ended before ``cut``: the next chapter does not see
        them.
        """
        resumed_start = None if self.transaction is None else self.transaction.start.offset
        return {each.start.offset for each in transactions if each.start.offset < cut} - {resumed_start}

    def resumed_transaction(self, left: TransactionRecord) -> Transaction | None:
        """The transaction that the record which compaction left is part of."""
        transaction = self.transaction
        if transaction is None:
            return None
        prepare = left if left.prepares else None
        start = transaction.start._replace(stretch=left.stretch, partitions=left.partitions)
        return Transaction(
            left.stretch, start, left, prepare, None, transaction.abort_cause, transaction.transaction_version
        )


def hand_down_id(
    log: Log,
    cut: int,
    transitions: Sequence[Transition],
    transactions: Iterable[Transaction],
    compacted: Mapping[int, int],
    *,
    given: GivenEpochs,
) -> HandedDownId | None:
    """The state of an id at the offset ``cut``; None if a hole lies between its last record and the cut, or
    if it is not known what the id had before its tombstone. ``compacted``: by producer id, the newest epoch
    of which compaction may have removed transactions. ``given``: given_epochs.
    """
    last = next((each for each in reversed(transitions) if each.record.offset < cut), None)
    if last is None or (last.record.tombstone and last.previous is None):
        return None
    record = last.record
    known_to = next((each.last_offset for each in log.stretches if each.number == record.stretch), -1)
    if known_to < min(cut, int(log.last_offset.max()) + 1) - 1:
        return None
    transaction = None
    if record.status == ONGOING or record.prepares:
        candidates = [
            each
            for each in transactions
            if each.start.offset <= record.offset and each.stretch == record.stretch
        ]
        transaction = candidates[-1] if candidates else None
    if transaction is not None:
        prepare = transaction.prepare if record.prepares else None
        abort_cause = transaction.abort_cause if record.prepares else None
        transaction = Transaction(
            record.stretch, transaction.start, record, prepare, None, abort_cause, record.transaction_version
        )
    previous = None if last.previous is None else last.previous._replace(partitions=())
    remembered = (last.last_epoch, last.remembered_epoch, last.previous_id)
    counted_from = _counted_from(record, transaction, compacted)
    return HandedDownId(
        record,
        previous,
        last.cause,
        *remembered,
        last.writer,
        transaction,
        counted_from,
        newest_given(given, cut),
    )


def _counted_from(
    record: TransactionRecord, transaction: Transaction | None, compacted: Mapping[int, int]
) -> int | None:
    if record.producer_id is None or record.producer_epoch is None:
        return None
    first_whole_epoch, epoch = compacted[record.producer_id] + 1, record.producer_epoch
    if transaction is not None and transaction.producer_epoch is not None:
        # in transaction version 2 the Prepare record has the next epoch already
        epoch = min(epoch, transaction.producer_epoch)
    return max(first_whole_epoch, epoch) if first_whole_epoch <= record.producer_epoch else None


def handed_down_ids(rows: pa.Table) -> dict[tuple[str, int, str], dict[str, tuple[int, HandedDownId]]]:
    """By cluster, partition and partition_key, from rows of tables.CARRIED_IDS."""
    ids: dict[tuple[str, int, str], dict[str, tuple[int, HandedDownId]]] = {}
    names = ("cluster", "partition", "partition_key", "position", "transactional_id", "state")
    for *log, position, transactional_id, state in zip(
        *(rows[name].to_pylist() for name in names), strict=True
    ):
        cluster, partition, partition_key = log
        of_log = ids.setdefault((cluster, partition, partition_key), {})
        of_log[transactional_id] = (position, HandedDownId.unpacked(state))
    return ids


def _record(values: Sequence[object]) -> TransactionRecord:
    record = TransactionRecord(*values)  # type: ignore[arg-type]
    return record._replace(partitions=tuple(record.partitions))
