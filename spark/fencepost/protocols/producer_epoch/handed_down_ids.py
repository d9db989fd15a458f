"""What a chapter knows of a transactional id where the evidence of the next one begins.

The log cleaner leaves the last record of an id. A coordinator that goes on knows more: where that record was,
which epoch KIP-360 would keep, who ended the transaction, and where that began.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from fencepost.protocols.producer_epoch.transaction_log import ONGOING, TransactionRecord
from fencepost.protocols.producer_epoch.transaction_metadata import LastProducerEpoch, Transition
from fencepost.protocols.producer_epoch.transactions import Transaction
from fencepost.replay.logs import Log

Ids = Mapping[str, tuple[int, "HandedDownId"]]
"""By transactional id, with the offset that it is known up to."""


@dataclass(frozen=True)
class HandedDownId:
    """``record``: its last one, and ``was`` the one before it; ``act``, ``cause`` and what is remembered as
    in Transition; ``transaction``: the one that is open or about to end, as it was. ``counted_from``: of
    the epochs since then every transaction is in the log, or was in what chapters before have counted; None
    where compaction has taken some of the newest one.
    """

    record: TransactionRecord
    was: TransactionRecord | None
    cause: str | None
    last_epoch: int | None
    held: LastProducerEpoch | None
    previous_id: int | None
    act: str | None
    transaction: Transaction | None
    counted_from: int | None

    def packed(self) -> str:
        """As JSON."""
        began = self.transaction
        said = [
            self.record,
            self.was,
            self.cause,
            self.last_epoch,
            self.held,
            self.previous_id,
            self.act,
            None
            if began is None
            else [began.start, began.prepare, began.abort_cause, began.transaction_version],
            self.counted_from,
        ]
        return json.dumps(said, separators=(",", ":"))

    @classmethod
    def unpacked(cls, said: str) -> HandedDownId:
        """What ``packed`` gave."""
        record, was, cause, last_epoch, held, previous_id, act, began, counted_from = json.loads(said)
        newest, transaction = _record(record), None
        if began is not None:
            start, prepare, abort_cause, version = began
            prepared = None if prepare is None else _record(prepare)
            transaction = Transaction(
                newest.stretch, _record(start), newest, prepared, None, abort_cause, version
            )
        return cls(
            newest,
            None if was is None else _record(was),
            cause,
            last_epoch,
            None if held is None else LastProducerEpoch(*held),
            previous_id,
            act,
            transaction,
            counted_from,
        )

    def is_left(self, left: TransactionRecord) -> bool:
        """Whether this is the record that compaction left."""
        names = ("transactional_id", "tombstone", "status", "producer_id", "producer_epoch", "leader_epoch")
        return left.based and all(getattr(left, name) == getattr(self.record, name) for name in names)

    def goes_on(self, left: Transition) -> Transition:
        """The transition to the record that compaction left, as it was."""
        is_open = left.record.status == ONGOING or left.record.prepares
        return left._replace(
            was=None if is_open and self.transaction is None else self.was,
            act=self.act,
            cause=self.cause,
            last_epoch=self.last_epoch,
            held=self.held,
            previous_id=self.previous_id,
        )

    def placed(self, left: TransactionRecord) -> TransactionRecord:
        """The record that compaction left, where and when it was written."""
        return left._replace(offset=self.record.offset, timestamp_ms=self.record.timestamp_ms)

    def past(self, found: Iterable[Transaction], cut: int) -> set[int]:
        """Where transactions start that a chapter which goes on from here, at an offset, does not see."""
        goes_on = None if self.transaction is None else self.transaction.start.offset
        return {each.start.offset for each in found if each.start.offset < cut} - {goes_on}

    def begun(self, left: TransactionRecord) -> Transaction | None:
        """The transaction that goes on with the record that compaction left."""
        began = self.transaction
        if began is None:
            return None
        prepare = left if left.prepares else None
        start = began.start._replace(stretch=left.stretch, partitions=left.partitions)
        return Transaction(
            left.stretch, start, left, prepare, None, began.abort_cause, began.transaction_version
        )


def hand_down_id(
    log: Log,
    cut: int,
    transitions: Sequence[Transition],
    found: Iterable[Transaction],
    compacted: Mapping[int, int],
) -> HandedDownId | None:
    """What is known of an id at an offset; None where it is gone, or a hole lies between. ``compacted``: by
    producer id, the newest epoch of which compaction may have taken transactions.
    """
    last = next((each for each in reversed(transitions) if each.record.offset < cut), None)
    if last is None or last.record.tombstone:
        return None
    record = last.record
    known_to = next((each.last_offset for each in log.stretches if each.number == record.stretch), -1)
    if known_to < min(cut, int(log.last_offset.max()) + 1) - 1:
        return None
    transaction = None
    if record.status == ONGOING or record.prepares:
        of = [each for each in found if each.start.offset <= record.offset and each.stretch == record.stretch]
        transaction = of[-1] if of else None
    if transaction is not None:
        prepare = transaction.prepare if record.prepares else None
        abort_cause = transaction.abort_cause if record.prepares else None
        transaction = Transaction(
            record.stretch, transaction.start, record, prepare, None, abort_cause, record.transaction_version
        )
    was = None if last.was is None else last.was._replace(partitions=())
    remembered = (last.last_epoch, last.held, last.previous_id)
    counted_from = _counted_from(record, transaction, compacted)
    return HandedDownId(record, was, last.cause, *remembered, last.act, transaction, counted_from)


def _counted_from(
    record: TransactionRecord, transaction: Transaction | None, compacted: Mapping[int, int]
) -> int | None:
    if record.producer_id is None or record.producer_epoch is None:
        return None
    since, epoch = compacted[record.producer_id] + 1, record.producer_epoch
    if transaction is not None and transaction.producer_epoch is not None:
        # version 2 prepares its end at the next one
        epoch = min(epoch, transaction.producer_epoch)
    return max(since, epoch) if since <= record.producer_epoch else None


def handed_down_ids(rows: pa.Table) -> dict[tuple[str, int, str], dict[str, tuple[int, HandedDownId]]]:
    """By cluster, partition and partition_key, from rows of tables.CARRIED_IDS."""
    found: dict[tuple[str, int, str], dict[str, tuple[int, HandedDownId]]] = {}
    names = ("cluster", "partition", "partition_key", "position", "transactional_id", "state")
    for *log, position, transactional_id, state in zip(
        *(rows[name].to_pylist() for name in names), strict=True
    ):
        cluster, partition, partition_key = log
        of_log = found.setdefault((cluster, partition, partition_key), {})
        of_log[transactional_id] = (position, HandedDownId.unpacked(state))
    return found


def _record(values: Sequence[object]) -> TransactionRecord:
    record = TransactionRecord(*values)  # type: ignore[arg-type]
    return record._replace(partitions=tuple(record.partitions))
