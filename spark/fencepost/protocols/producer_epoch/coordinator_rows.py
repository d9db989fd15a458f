"""Rows that a coordinator's log gives: ``silver.transactional_ids`` and ``silver.transactions``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Replayed
from fencepost.protocols.producer_epoch.arrow import Rows
from fencepost.protocols.producer_epoch.coordinator import Coordinator
from fencepost.protocols.producer_epoch.decided_requests import DecidedRequests
from fencepost.protocols.producer_epoch.tables import (
    CARRIED_IDS,
    LOG_COVERAGE,
    TRANSACTIONAL_IDS,
    TRANSACTIONS,
)
from fencepost.protocols.producer_epoch.transaction_log import TransactionRecord
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.protocols.producer_epoch.transactions import Transaction, whole_epochs
from fencepost.replay.columns import Columns
from fencepost.replay.coverage import LogKey, begins


class CoordinatorRows:
    """The rows of all shards."""

    def __init__(self) -> None:
        self.coverage = Columns(LOG_COVERAGE)
        self.ids = Columns(TRANSACTIONAL_IDS)
        self.transactions = Columns(TRANSACTIONS)
        self.decided = DecidedRequests()
        self.before = Columns(CARRIED_IDS)
        kinds = (account.LISTED, account.TOLD, account.KNOWN, account.FENCED, account.COORDINATOR)
        self.told = {kind: Rows(account.schema_of(kind)) for kind in kinds}

    def replayed(self) -> Replayed:
        columns = (self.coverage, self.ids, self.transactions, self.before, *self.decided.columns)
        told = {kind: rows.to_arrow() for kind, rows in self.told.items()}
        return Replayed({each.table.name: each.to_arrow() for each in columns}, told)


def add_history(
    rows: CoordinatorRows,
    coordinator: Coordinator,
    transitions: Sequence[Transition],
    found: Sequence[Transaction],
    *,
    begun: bool,
    past: Collection[int],
) -> None:
    """Add the states and transactions of one transactional id.

    ``begun``: earlier chapters have counted what was before its first record; ``past``: where transactions
    start that the next chapter does not see.
    """
    stretches = {stretch.number: stretch for stretch in coordinator.log.stretches}
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
        if following is not None and following.stretch == record.stretch:
            end, end_ms = following.offset, following.timestamp_ms
        if end is None or record.offset < end:
            _add_state(rows.ids, coordinator.key, transition, end, end_ms)
    known_ms = int(coordinator.log.max_timestamp_ms.max())
    open_stretches = {each.number for each in stretches.values() if each.to_offset is None}
    shown = whole_epochs(transitions, open_stretches, begun=begun)
    for transaction in found:
        is_last = stretches[transaction.stretch].to_offset is None
        _add_transaction(rows, coordinator.key, transaction, known_ms, is_last)
        is_past = transaction.start.offset in past
        _add_listed(
            rows.told[account.LISTED], coordinator.key, transaction, shown, is_last, before_cut=is_past
        )


def _add_hidden(rows: Columns, key: LogKey, record: TransactionRecord, start: int) -> None:
    """An id whose past is hidden has a row of nulls from where its stretch begins."""
    nothing = [None] * (len(TRANSACTIONAL_IDS.columns) - len(key) - 5)
    rows.add(*key, record.transactional_id, *nothing, start, record.offset, None, record.timestamp_ms)


def _add_state(
    rows: Columns, key: LogKey, transition: Transition, end: int | None, end_ms: int | None
) -> None:
    record = transition.record
    by = transition.by if transition.cause is not None else None
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
        transition.cause,
        None if by is None else by.request_id,
        None if by is None else by.client_id,
        None if by is None else by.connection,
        record.offset,
        end,
        record.timestamp_ms,
        end_ms,
    )


def _add_transaction(
    rows: CoordinatorRows, key: LogKey, of: Transaction, known_ms: int, is_last: bool
) -> None:
    start, prepare, complete = of.start, of.prepare, of.complete
    outcome = of.outcome(is_last)
    late: bool | None = None if outcome is None else False
    if outcome == "open" and of.newest.timeout_ms is not None:
        late = known_ms - of.started_ms > of.newest.timeout_ms
    rows.transactions.add(
        *key,
        start.transactional_id,
        start.producer_id,
        of.producer_epoch,
        start.offset,
        prepare and prepare.offset,
        complete and complete.offset,
        of.started_ms,
        prepare and prepare.timestamp_ms,
        complete and complete.timestamp_ms,
        outcome,
        of.abort_cause,
        of.transaction_version,
        of.newest.timeout_ms,
        of.newest.partitions,
        late,
    )


def _add_listed(
    rows: Rows, key: LogKey, of: Transaction, shown: Collection[int], is_last: bool, *, before_cut: bool
) -> None:
    """Add the partitions that a transaction lists. ``shown``: whole_epochs."""
    start, prepare, complete = of.start, of.prepare, of.complete
    counted = prepare is not None and (prepare.transaction_version >= 2 or prepare.offset in shown)
    cluster, *place = key
    for name in of.newest.partitions:
        rows.add(
            cluster,
            start.producer_id,
            *place,
            start.transactional_id,
            name,
            of.producer_epoch,
            prepare and prepare.producer_epoch,
            prepare and prepare.leader_epoch,
            of.due_type,
            counted,
            complete is None and not is_last,
            prepare and prepare.offset,
            complete and complete.offset,
            prepare and prepare.timestamp_ms,
            before_cut,
        )
