"""The state of one transactional id at its coordinator, record by record.

After org.apache.kafka.coordinator.transaction.TransactionMetadata. The log does not have who requested a
change or the last producer epoch: these are derived from requests, and None where requests do not tell.
"""

from __future__ import annotations

from typing import NamedTuple

from fencepost.protocols.producer_epoch.causes import Enders
from fencepost.protocols.producer_epoch.initialisers import (
    CLIENT_BUMP,
    INITIALISED,
    NEW_INSTANCE,
    OPERATOR,
    Initialisers,
)
from fencepost.protocols.producer_epoch.missing_lines import MissingLines
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.transaction_log import (
    EMPTY,
    ONGOING,
    PREPARE_COMMIT,
    TransactionRecord,
)
from fencepost.replay.logs import COMPACTED

END_TXN, TIMEOUT, RETRY, EXPIRED, REMOVED = "end_txn", "timeout", "retry", "expired", "removed"
"""Who wrote a record, if it was no InitProducerId that moved the epoch (Initialisers.of). EXPIRED is the
coordinator, which forgets an id that has been idle for transactional.id.expiration.ms. It never does so
before the transaction of the id is complete: REMOVED is whoever wrote the tombstone himself.
"""


class LastProducerEpoch(NamedTuple):
    """TransactionMetadata.lastProducerEpoch: the epoch that a retry may present. NONE after a new instance,
    None where it is not known who bumped the epoch.

    ``leader_epoch`` is that of the coordinator that set it: it is only in that coordinator's memory.
    """

    epoch: int | None
    leader_epoch: int


class Transition(NamedTuple):
    """A record, and the state of the id after it.

    ``number`` counts the records of the id from 1. ``previous`` is the record before it, None if there was
    none or it is not known; ``first_known``: it is known that there was none. ``writer`` is who wrote the
    record (END_TXN and others), ``request`` the request that did; ``cause`` is ``writer`` if the record
    changed the producer id or epoch, is a tombstone, or is a retry that changed nothing.

    ``last_epoch`` and ``previous_id`` are what KIP-360 would keep in the log: the epoch before the last bump
    that the owner of the epoch requested (NONE after a fence or a new instance, None where it is not known
    who bumped), and the producer id before the last one that was exhausted. ``remembered_epoch`` is the last
    epoch in the coordinator's memory.
    """

    record: TransactionRecord
    number: int
    previous: TransactionRecord | None
    first_known: bool
    writer: str | None
    cause: str | None
    request: RequestRow | None
    last_epoch: int | None
    remembered_epoch: LastProducerEpoch | None
    previous_id: int | None

    @property
    def told_cause(self) -> str | None:
        """``cause`` as rows have it: null if it may be either of two."""
        return None if self.cause == INITIALISED else self.cause

    @property
    def hidden(self) -> bool:
        """Whether the state before this record is not known."""
        return self.previous is None and not self.first_known

    @property
    def changes_identity(self) -> bool:
        """Whether the record has another producer id or epoch than the one before, or that one is
        not known.
        """
        return not _same(self.previous, self.record)

    @property
    def keeps_instance(self) -> bool:
        """Whether the same instance of the producer goes on with the new epoch. A bump that a client
        requested may be that of a stale instance.
        """
        if self.writer == CLIENT_BUMP:
            presented = self.request and self.request.producer_epoch
            return self.previous is not None and presented == self.previous.producer_epoch
        return self.writer in (END_TXN, RETRY)


class TransactionMetadata:
    """The state of one transactional id at its coordinator after the records replayed so far."""

    def __init__(
        self,
        enders: Enders,
        initialisers: Initialisers | None = None,
        missing_lines: MissingLines | None = None,
        newest: Transition | None = None,
    ) -> None:
        """``enders``: the requests that may have ended its transactions; ``initialisers``: who asked for its
        epochs; ``missing_lines``: of which requests there is no line; ``newest``: the transition to the
        newest record so far, None before the first.
        """
        self._enders, self._missing_lines = enders, missing_lines
        self._initialisers = initialisers or Initialisers((), ())
        self._newest = newest

    def replay(self, record: TransactionRecord, init: RequestRow | None) -> Transition:
        """Replay the next record; ``init`` is the granted InitProducerId that is known to have written it."""
        newest = self._newest
        number = 1 if newest is None else newest.number + 1
        if newest is not None and newest.record.stretch != record.stretch:
            newest = None  # a hole lies between: what was before is not known
        previous = None if newest is None or newest.record.tombstone else newest.record
        begins = record.stretch == 0 or (record.stretch == COMPACTED and not record.based)
        first_known = newest.record.tombstone if newest is not None else begins
        writer, request = self._writer_of(record, newest, init, first_known)
        same = _same(previous, record)
        cause = writer if (not same or writer == RETRY) and (previous is not None or first_known) else None
        remembered = (None, None, None) if newest is None else newest[-3:]
        transition = Transition(record, number, previous, first_known, writer, cause, request, *remembered)
        self._newest = _with_last_epochs(transition)
        return self._newest

    def _writer_of(
        self, record: TransactionRecord, newest: Transition | None, init: RequestRow | None, first_known: bool
    ) -> tuple[str | None, RequestRow | None]:
        """Who wrote the record, and with which request; None where neither the record nor a request tells.

        A transaction is completed by the writer of its Prepare record.
        """
        previous = None if newest is None or newest.record.tombstone else newest.record
        if record.tombstone:
            is_open = previous is not None and (previous.status == ONGOING or previous.prepares)
            return REMOVED if is_open else EXPIRED, None
        if record.completes:
            if newest is not None and newest.record.prepares:
                return newest.writer, newest.request
            # nothing may have been prepared
            return newest.writer if newest is not None and newest.record.status == EMPTY else None, None
        if record.status == EMPTY:
            return self._writer_of_empty(record, previous, init, first_known), init
        if record.prepares:
            ended, fence = None, None
            if not record.based:
                ended, fence = self._enders.of(
                    record, previous.producer_epoch if previous is not None else None
                )
            preparer = self._find_preparer(record, previous, ended, fence)
            return preparer, ended if preparer == END_TXN else fence
        return None, None

    def _writer_of_empty(
        self,
        record: TransactionRecord,
        previous: TransactionRecord | None,
        init: RequestRow | None,
        first_known: bool,
    ) -> str | None:
        if _same(previous, record):
            return RETRY
        writer = None if init is None else self._initialisers.of(init)
        if first_known and writer != OPERATOR:
            # a coordinator that does not know the id makes a new producer, whatever the request presents
            is_used = self._initialisers.is_used((record.producer_id, record.producer_epoch))
            return NEW_INSTANCE if is_used or writer == CLIENT_BUMP else writer or INITIALISED
        return writer

    def _find_preparer(
        self,
        record: TransactionRecord,
        previous: TransactionRecord | None,
        ended: RequestRow | None,
        fence: RequestRow | None,
    ) -> str | None:
        # before transaction version 2 only a fence moves the epoch here
        own = _same(previous, record) and record.transaction_version < 2
        # where no transaction is open, none times out, and none is aborted for a new instance
        nothing_open = previous is not None and previous.settled
        if record.status == PREPARE_COMMIT or ended is not None or own or nothing_open:
            return END_TXN
        if fence is not None:
            return self._initialisers.of(fence)
        if record.started_ms is None or record.lasts_at_most_ms is None:
            return None
        is_over = record.timestamp_ms - record.started_ms >= record.lasts_at_most_ms
        # nothing asked for it, unless that line is missing
        is_silent = self._missing_lines is None or not self._missing_lines.around(record.timestamp_ms)
        return TIMEOUT if is_over and is_silent else None


def _with_last_epochs(transition: Transition) -> Transition:
    """A transition, with the last epochs and the previous producer id after it in place of those before."""
    record, previous = transition.record, transition.previous
    last_epoch, remembered, previous_id = transition[-3:]
    bumped = (
        previous is not None
        and transition.changes_identity
        and not record.completes
        and record.status is not None
    )
    if transition.first_known:
        last_epoch = previous_id = NONE
        remembered = LastProducerEpoch(NONE, record.leader_epoch)
    elif record.prepares and record.producer_epoch is not None and record.transaction_version >= 2:
        # prepareAbortOrCommit: whoever ends the transaction, the last epoch is one below the new one
        remembered = LastProducerEpoch(record.producer_epoch - 1, record.leader_epoch)
    elif bumped:
        # prepareIncrementProducerEpoch; before transaction version 2 a fence clears the last epoch
        epoch = NONE if record.prepares else _owners_epoch(transition)
        remembered = LastProducerEpoch(epoch, record.leader_epoch)
    if bumped:
        last_epoch = _owners_epoch(transition)
    if previous is not None and not record.tombstone and previous.producer_id != record.producer_id:
        previous_id = previous.producer_id
    return Transition(*transition[:-3], last_epoch, remembered, previous_id)


def _owners_epoch(transition: Transition) -> int | None:
    """The epoch before a bump that its owner requested; NONE if somebody else did, None if it is
    not known.
    """
    if transition.writer is None or transition.previous is None:
        return None
    return transition.previous.producer_epoch if transition.keeps_instance else NONE


def _same(previous: TransactionRecord | None, record: TransactionRecord) -> bool:
    """Whether the record has the producer id and epoch of the one before."""
    if previous is None or record.tombstone:
        return False
    return previous.producer_id == record.producer_id and previous.producer_epoch == record.producer_epoch
