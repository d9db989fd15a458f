"""Transactions as their coordinators logged them: from Ongoing, or an abort without a transaction, to
Complete.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from fencepost.protocols.producer_epoch.initialisers import INITIALISED
from fencepost.protocols.producer_epoch.transaction_log import (
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    TransactionRecord,
)
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.replay.logs import COMPACTED


@dataclass(slots=True)
class Transaction:
    """One transaction of a transactional id within one stretch; what a hole hides is None.

    ``start`` is its first record: Ongoing, or a PrepareAbort without a transaction. ``newest`` is its last
    record before it is complete, ``prepare`` and ``complete`` the first of their kind. ``abort_cause`` is who
    wrote a PrepareAbort. ``listed_ms``: the time of the first record that lists a partition, by its name, of
    the records that were replayed.
    """

    stretch: int
    start: TransactionRecord
    newest: TransactionRecord
    prepare: TransactionRecord | None = None
    complete: TransactionRecord | None = None
    abort_cause: str | None = None
    transaction_version: int = 0
    listed_ms: dict[str, int] = field(default_factory=dict)

    @property
    def due_type(self) -> str | None:
        """The type of its markers, once it is prepared."""
        if self.prepare is None:
            return None
        return "COMMIT" if self.prepare.status == PREPARE_COMMIT else "ABORT"

    @property
    def producer_epoch(self) -> int | None:
        """The epoch with which its batches were written. A Prepare record at its start has the next epoch."""
        epoch = self.start.producer_epoch
        return epoch - 1 if epoch is not None and self.start.prepares else epoch

    @property
    def started_ms(self) -> int:
        """When it began."""
        return self.start.timestamp_ms if self.start.started_ms is None else self.start.started_ms

    def outcome(self, is_last: bool) -> str | None:
        """Its outcome; ``is_last``: no hole follows its stretch."""
        if self.complete is not None:
            return "committed" if self.due_type == "COMMIT" else "aborted"
        return "open" if is_last else None

    def replay(self, transition: Transition) -> None:
        """Replay a record that is part of it."""
        record = transition.record
        if record.status == ONGOING or record.prepares:
            self.newest = record
            for name in record.partitions:
                self.listed_ms.setdefault(name, record.timestamp_ms)
        if record.prepares and self.prepare is None:
            self.prepare = record
            known = record.status == PREPARE_ABORT and transition.writer != INITIALISED
            self.abort_cause = transition.writer if known else None
        if record.completes and self.complete is None:
            self.complete = record
        self.transaction_version = max(self.transaction_version, record.transaction_version)


def begins_transaction(transition: Transition) -> bool:
    """Whether a record begins a transaction: Ongoing, or (transaction version 2) an abort without one."""
    record, previous = transition.record, transition.previous
    if record.prepares:
        return previous is not None and previous.settled
    return record.status == ONGOING and not (previous is not None and previous.status == ONGOING)


def transactions(transitions: Sequence[Transition], unended: Transaction | None = None) -> list[Transaction]:
    """Every transaction of one transactional id, in the order of its log. ``unended``: the one that the first
    record is known to be part of.
    """
    transactions_of_id = [] if unended is None else [unended]
    stretch = None if unended is None else unended.stretch
    for transition in transitions[len(transactions_of_id) :]:
        record = transition.record
        if begins_transaction(transition):
            transactions_of_id.append(Transaction(record.stretch, record, record))
            stretch = record.stretch
        # behind a hole nothing is part of a transaction before the next one begins
        is_in_transaction = record.stretch == stretch
        if is_in_transaction and (record.status == ONGOING or record.prepares or record.completes):
            transactions_of_id[-1].replay(transition)
    return transactions_of_id


def whole_epochs(
    transitions: Iterable[Transition], open_stretches: Collection[int], *, begun: bool
) -> set[int]:
    """The offsets of the records whose epoch the log shows from its first to its last record.

    ``open_stretches``: the stretches that no hole follows. ``begun``: whether everything before the first
    record is known.
    """
    offsets_of_whole_epochs: set[int] = set()
    offsets: list[int] = []
    stretch = COMPACTED
    for transition in transitions:
        record = transition.record
        if transition.changes_identity or record.stretch != stretch:
            # the epoch before ended here, unless a hole lies between
            if begun and record.stretch == stretch:
                offsets_of_whole_epochs.update(offsets)
            offsets, begun, stretch = [], not transition.hidden, record.stretch
        offsets.append(record.offset)
    if begun and stretch in open_stretches:
        offsets_of_whole_epochs.update(offsets)
    return offsets_of_whole_epochs
