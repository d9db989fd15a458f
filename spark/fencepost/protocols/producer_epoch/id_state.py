"""The state of one transactional id after some records of its log. Its replay goes on from there.

The log cleaner leaves only the last record of an id. The replay of all records knew more: at which offset
that record was, which epoch KIP-360 would keep, who ended the transaction, and where the transaction began.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fencepost.protocols.producer_epoch.given_epochs import GivenEpoch, GivenEpochs, newest_given
from fencepost.protocols.producer_epoch.transaction_log import ONGOING, TransactionRecord
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.protocols.producer_epoch.transactions import Transaction
from fencepost.replay.logs import COMPACTED, Log


class Moment(NamedTuple):
    """An offset of a log, and a time from which on everything in the log is at that offset or behind it."""

    offset: int
    ms: int


class IdState(NamedTuple):
    """The state at ``offset``; by default that of an id of which nothing is known.

    ``newest``: the transition to its newest record, which stands for what compaction leaves of the id.
    ``transaction``: its transaction if that has not ended. ``counted_from``: the oldest epoch since which
    every transaction was counted; None if compaction may have removed some of the newest epoch. ``given``:
    newest_given.
    """

    offset: int = 0
    newest: Transition | None = None
    transaction: Transaction | None = None
    counted_from: int | None = None
    given: tuple[GivenEpoch, ...] = ()

    @property
    def transitions(self) -> list[Transition]:
        """``newest``, if there is one."""
        return [] if self.newest is None else [self.newest]

    @property
    def is_expired(self) -> bool:
        """Whether the id has a tombstone, which compaction does not leave."""
        return self.newest is not None and self.newest.record.tombstone

    def precedes(self, records: Sequence[TransactionRecord], log: Log) -> bool:
        """Whether the records of the id in a log go on where this state ends: the log is compacted exactly up
        to there, and has left the record that this state has.
        """
        if self.newest is None or log.base is None or log.base.to + 1 != self.offset:
            return False
        left = [_identity(each) for each in records if each.based]
        return left == ([] if self.is_expired else [_identity(self.newest.record)])

    def has_counted(self, transaction: Transaction) -> bool:
        """Whether a transaction had ended at ``offset``."""
        start = transaction.start.offset
        return start < self.offset and (self.transaction is None or start != self.transaction.start.offset)


UNKNOWN_ID = IdState()

_REMEMBERED_MS = 24 * 3_600_000
"""How long an expired id is remembered after its tombstone: Kafka's default of delete.retention.ms."""


def _identity(record: TransactionRecord) -> tuple[object, ...]:
    return record.status, record.producer_id, record.producer_epoch, record.leader_epoch


def state_at(
    moment: Moment,
    log: Log,
    transitions: Sequence[Transition],
    transactions: Iterable[Transaction],
    compacted: Mapping[int, int],
    *,
    given: GivenEpochs,
) -> IdState:
    """The state of an id at a moment; UNKNOWN_ID if a hole lies between its last record and that, if the id
    expired long ago, or if it is not known what it had before. ``compacted``: by producer id, the newest
    epoch of which compaction may have removed transactions.
    """
    offset = moment.offset
    last = next((each for each in reversed(transitions) if each.record.offset < offset), None)
    if last is None:
        return UNKNOWN_ID
    is_forgotten = last.previous is None or last.record.timestamp_ms < moment.ms - _REMEMBERED_MS
    if last.record.tombstone and is_forgotten:
        return UNKNOWN_ID
    known_to = next((each.last_offset for each in log.stretches if each.number == last.record.stretch), -1)
    if known_to < min(offset, int(log.last_offset.max()) + 1) - 1:
        return UNKNOWN_ID
    record = last.record._replace(based=True, stretch=COMPACTED)
    is_open = record.status == ONGOING or record.prepares
    within = [
        each
        for each in (transactions if is_open else ())
        if each.start.offset <= record.offset and each.stretch == last.record.stretch
    ]
    transaction = _unended(within[-1], record) if within else None
    previous = last.previous
    if previous is not None:
        previous = None if is_open and transaction is None else previous._replace(partitions=())
    newest = last._replace(record=record, number=1, previous=previous, first_known=False, request=None)
    counted_from = _counted_from(record, transaction, compacted)
    return IdState(offset, newest, transaction, counted_from, newest_given(given, offset))


def _unended(transaction: Transaction, newest: TransactionRecord) -> Transaction:
    """A transaction with this record as its newest."""
    start = transaction.start._replace(stretch=newest.stretch, partitions=newest.partitions)
    prepare, cause = (newest, transaction.abort_cause) if newest.prepares else (None, None)
    return Transaction(newest.stretch, start, newest, prepare, None, cause, newest.transaction_version)


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
