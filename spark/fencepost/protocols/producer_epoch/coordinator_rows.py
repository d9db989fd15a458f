"""The rows of a coordinator's log: ``silver.transactional_ids`` and ``silver.transactions``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Replayed
from fencepost.protocols.producer_epoch.coordinator import Coordinator
from fencepost.protocols.producer_epoch.decided_requests import DecidedRequests
from fencepost.protocols.producer_epoch.id_state import IdState
from fencepost.protocols.producer_epoch.tables import (
    ID_STATES,
    LOG_COVERAGE,
    TRANSACTION_CLOCKS,
    TRANSACTIONAL_IDS,
    TRANSACTIONS,
    UNLOGGED_ENDS,
)
from fencepost.protocols.producer_epoch.transaction_log import TransactionRecord
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.protocols.producer_epoch.transactions import Transaction, whole_epochs
from fencepost.protocols.producer_epoch.verified_transactions import Verified
from fencepost.replay.columns import Columns, Rows
from fencepost.replay.coordinator_logs import end_of_log
from fencepost.replay.coverage import LogKey, begins


class CoordinatorRows:
    """The rows of all coordinators' logs."""

    def __init__(self) -> None:
        self.coverage = Columns(LOG_COVERAGE)
        self.ids = Columns(TRANSACTIONAL_IDS)
        self.transactions = Columns(TRANSACTIONS)
        self.decided = DecidedRequests()
        self.states = Columns(ID_STATES)
        self.clocks = Columns(TRANSACTION_CLOCKS)
        self.unlogged = Columns(UNLOGGED_ENDS)
        kinds = (
            account.LISTED_PARTITION,
            account.ANSWERED_TRANSACTION,
            account.NAMED_PRODUCER,
            account.FENCING,
            account.COORDINATOR,
        )
        self.account_rows = {kind: Rows(account.schema_of(kind)) for kind in kinds}

    def replayed(self) -> Replayed:
        columns = (
            self.coverage,
            self.ids,
            self.transactions,
            self.states,
            self.clocks,
            self.unlogged,
            *self.decided.columns,
        )
        account_rows = {kind: rows.to_arrow() for kind, rows in self.account_rows.items()}
        return Replayed({each.table.name: each.to_arrow() for each in columns}, account_rows)


def add_history(
    rows: CoordinatorRows,
    coordinator: Coordinator,
    transitions: Sequence[Transition],
    transactions: Sequence[Transaction],
    *,
    is_counted: bool,
    dumped: IdState,
    verified: Verified,
) -> None:
    """Add the states and transactions of one transactional id.

    ``is_counted``: whether everything before its first record has been counted; ``dumped``: its state where
    that is dumped; ``verified``: verified_transactions.
    """
    stretches = {stretch.number: stretch for stretch in coordinator.log.stretches}
    log_end = end_of_log(stretches, coordinator.incarnation)
    for at, transition in enumerate(transitions):
        record = transition.record
        stretch = stretches[record.stretch]
        if transition.hidden and not record.based:
            start = begins(coordinator.log, stretch)
            if start < record.offset:
                _add_hidden(rows.ids, coordinator.key, record, start)
        if record.tombstone:
            continue
        following = transitions[at + 1].record if at + 1 < len(transitions) else None
        end, end_ms = stretch.to_offset, None if stretch.to_offset is None else stretch.last_ms
        if end is None and log_end is not None:
            end, end_ms = log_end
        if following is not None and following.stretch == record.stretch:
            end, end_ms = following.offset, following.timestamp_ms
        if end is None or record.offset < end:
            _add_state(rows.ids, coordinator.key, transition, end, end_ms)
    known_ms = max(int(coordinator.log.max_timestamp_ms.max()), coordinator.past.noted_ms)
    open_stretches = {each.number for each in stretches.values() if each.to_offset is None}
    offsets_of_whole_epochs = whole_epochs(transitions, open_stretches, begun=is_counted)
    for transaction in transactions:
        is_last = stretches[transaction.stretch].to_offset is None
        _add_transaction(rows, coordinator.key, transaction, known_ms, is_last)
        _add_listed(
            rows.account_rows[account.LISTED_PARTITION],
            coordinator,
            transaction,
            offsets_of_whole_epochs,
            is_last,
            dumped=dumped.has_counted(transaction),
            verified=verified,
        )


def _add_hidden(rows: Columns, key: LogKey, record: TransactionRecord, start: int) -> None:
    """Add a row of nulls for an id whose past is hidden, from the beginning of its stretch."""
    nothing = [None] * (len(TRANSACTIONAL_IDS.columns) - len(key) - 5)
    rows.add(*key, record.transactional_id, *nothing, start, record.offset, None, record.timestamp_ms)


def _add_state(
    rows: Columns, key: LogKey, transition: Transition, end: int | None, end_ms: int | None
) -> None:
    record = transition.record
    causing_request = transition.request if transition.cause is not None else None
    rows.add(
        *key,
        record.transactional_id,
        record.status,
        record.producer_id,
        record.producer_epoch,
        record.previous_producer_id,
        record.next_producer_id,
        transition.last_epoch,
        record.leader_epoch,
        record.transaction_version,
        record.timeout_ms,
        record.partitions,
        record.started_ms,
        transition.told_cause,
        None if causing_request is None else causing_request.request_id,
        None if causing_request is None else causing_request.client_id,
        None if causing_request is None else causing_request.connection,
        record.offset,
        end,
        record.timestamp_ms,
        end_ms,
    )


def _add_transaction(
    rows: CoordinatorRows, key: LogKey, transaction: Transaction, known_ms: int, is_last: bool
) -> None:
    start, prepare, complete = transaction.start, transaction.prepare, transaction.complete
    outcome = transaction.outcome(is_last)
    late: bool | None = None if outcome is None else False
    lasts_at_most_ms = transaction.newest.lasts_at_most_ms
    if outcome == "open" and lasts_at_most_ms is not None:
        late = known_ms - transaction.started_ms > lasts_at_most_ms
    rows.transactions.add(
        *key,
        start.transactional_id,
        start.producer_id,
        transaction.producer_epoch,
        start.offset,
        prepare and prepare.offset,
        complete and complete.offset,
        transaction.started_ms,
        prepare and prepare.timestamp_ms,
        complete and complete.timestamp_ms,
        outcome,
        transaction.abort_cause,
        transaction.transaction_version,
        transaction.newest.timeout_ms,
        transaction.newest.partitions,
        late,
    )


def _add_listed(
    rows: Rows,
    coordinator: Coordinator,
    transaction: Transaction,
    offsets_of_whole_epochs: Collection[int],
    is_last: bool,
    *,
    dumped: bool,
    verified: Verified,
) -> None:
    """Add the partitions that a transaction lists. ``offsets_of_whole_epochs``: whole_epochs."""
    start, prepare, complete = transaction.start, transaction.prepare, transaction.complete
    # what was open when the log was deleted no coordinator will end; of what was prepared a marker may come
    is_gone = coordinator.incarnation.is_gone
    counted = prepare is not None and (
        prepare.transaction_version >= 2 or prepare.offset in offsets_of_whole_epochs
    )
    cluster, *place = coordinator.key
    for name in transaction.newest.partitions:
        rows.add(
            cluster,
            start.producer_id,
            *place,
            start.transactional_id,
            name,
            transaction.producer_epoch,
            prepare and prepare.producer_epoch,
            None if prepare is None else coordinator.epoch_of_markers(prepare.leader_epoch),
            transaction.due_type,
            counted,
            complete is None and (is_gone or not is_last),
            complete is None and prepare is None and is_gone and is_last,
            prepare and prepare.offset,
            complete and complete.offset,
            transaction.started_ms,
            transaction.listed_ms.get(name, transaction.newest.timestamp_ms),
            prepare and prepare.timestamp_ms,
            complete and complete.timestamp_ms,
            verified.get((start.offset, name)),
            dumped,
        )
