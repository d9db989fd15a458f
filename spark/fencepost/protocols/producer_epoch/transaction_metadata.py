"""What a coordinator believes of one transactional id, record by record.

After org.apache.kafka.coordinator.transaction.TransactionMetadata. What the log does not hold (who asked for
a change, the last producer epoch) follows from requests where they tell it, and is None where they do not.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fencepost.protocols.producer_epoch.causes import Enders
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.transaction_log import EMPTY, PREPARE_COMMIT, TransactionRecord
from fencepost.replay.logs import COMPACTED

ADMIN = re.compile(r"^adminclient-\d+$")
"""The client id of an Admin that was given none. Admin.fenceProducers sends what a new instance sends:
nothing else tells the two apart.
"""

END_TXN, TIMEOUT, NEW_INSTANCE, CLIENT_BUMP, OPERATOR, RETRY = (
    "end_txn", "timeout", "new_instance", "client_bump", "operator", "retry"
)  # fmt: skip
"""Who wrote a record."""


class LastProducerEpoch(NamedTuple):
    """TransactionMetadata.lastProducerEpoch: what a retry may say. NONE after a new instance, None where
    nothing tells who bumped.

    ``leader_epoch`` is that of the coordinator that set it: another one has forgotten it.
    """

    epoch: int | None
    leader_epoch: int


class Transition(NamedTuple):
    """A record, and what the coordinator believed after it.

    ``number`` counts the records of the id from 1. ``was`` is the record before it, None where there was
    none or nothing tells; ``first_known``: there was none. ``act`` is who wrote the record, ``by`` the
    request; ``cause`` is ``act`` where the epoch or the producer id is another one, or a retry changed
    nothing.

    ``last_epoch`` and ``previous_id`` are what KIP-360 would keep in the log: the epoch before the last bump
    that its owner asked for (NONE after a fence or a new instance, None where nothing tells who bumped), and
    the producer id before the last one that was exhausted. ``held`` is the last epoch in a broker's memory.
    """

    record: TransactionRecord
    number: int
    was: TransactionRecord | None
    first_known: bool
    act: str | None
    cause: str | None
    by: RequestRow | None
    last_epoch: int | None
    held: LastProducerEpoch | None
    previous_id: int | None

    @property
    def hidden(self) -> bool:
        """Nothing tells what was before."""
        return self.was is None and not self.first_known

    @property
    def moved(self) -> bool:
        """The record has another producer id or epoch than the one before, or that is not known."""
        return not _same(self.was, self.record)

    @property
    def own(self) -> bool:
        """A producer moves itself so, and goes on from there; a client's bump may be of a stale one."""
        if self.act == CLIENT_BUMP:
            presented = self.by and self.by.producer_epoch
            return self.was is not None and presented == self.was.producer_epoch
        return self.act in (END_TXN, RETRY)


class TransactionMetadata:
    """One transactional id at its coordinator, as the records so far say."""

    def __init__(self, enders: Enders) -> None:
        """``enders``: the requests that may have ended its transactions."""
        self._enders = enders
        self._number = 0
        self._forget(None)

    def _forget(self, stretch: int | None) -> None:
        """A hole lies before what comes."""
        self._stretch = stretch
        self._before: TransactionRecord | None = None
        self._prepared_by: tuple[str | None, RequestRow | None] = (None, None)
        self._last_epoch: int | None = None
        self._held: LastProducerEpoch | None = None
        self._previous_id: int | None = None

    def replay(self, record: TransactionRecord, init: RequestRow | None) -> Transition:
        """Take the next record; ``init`` is the granted InitProducerId that is known to have written it."""
        if record.stretch != self._stretch:
            self._forget(record.stretch)
        self._number += 1
        before = self._before
        was = None if before is None or before.tombstone else before
        begins = record.stretch == 0 or (record.stretch == COMPACTED and not record.based)
        first_known = before.tombstone if before is not None else begins
        act, by = self._written_by(record, was, init, first_known)
        same = _same(was, record)
        cause = act if (not same or act == RETRY) and (was is not None or first_known) else None
        transition = Transition(
            record,
            self._number,
            was,
            first_known,
            act,
            cause,
            by,
            self._last_epoch,
            self._held,
            self._previous_id,
        )
        self._before = record
        return self._remember(transition)

    def go_on(self, this: Transition) -> Transition:
        """Take the transition that was replayed last as what is given."""
        self._last_epoch, self._held, self._previous_id = this.last_epoch, this.held, this.previous_id
        self._prepared_by = (
            (this.act, None) if this.record.prepares or this.record.status == EMPTY else (None, None)
        )
        return this

    def _written_by(
        self,
        record: TransactionRecord,
        was: TransactionRecord | None,
        init: RequestRow | None,
        first_known: bool,
    ) -> tuple[str | None, RequestRow | None]:
        """Who wrote the record, and with which request; None where neither it nor a request tells.

        A transaction is completed by whom it was prepared by.
        """
        prepared_by, self._prepared_by = self._prepared_by, (None, None)
        if record.completes:
            return prepared_by
        if record.status == EMPTY:
            # what comes after it asks for the act of an Empty record too, however it is logged
            act = _initialised_by(record, was, init, first_known)
            self._prepared_by = (act, None)
            return act, init
        if record.prepares:
            ended, fence = None, None
            if not record.based:
                ended, fence = self._enders.of(record, was.producer_epoch if was is not None else None)
            prepared = _prepared_by(record, was, ended, fence)
            self._prepared_by = prepared, ended if prepared == END_TXN else fence
        return self._prepared_by

    def _remember(self, this: Transition) -> Transition:
        """The transition with what is remembered after it."""
        record, was = this.record, this.was
        bumped = was is not None and this.moved and not record.completes and record.status is not None
        if this.first_known:
            self._last_epoch = self._previous_id = NONE
            self._held = LastProducerEpoch(NONE, record.leader_epoch)
        elif record.prepares and record.producer_epoch is not None and record.transaction_version >= 2:
            # prepareAbortOrCommit: the epoch is one above the last, whoever ends the transaction
            self._held = LastProducerEpoch(record.producer_epoch - 1, record.leader_epoch)
        elif bumped:
            # prepareIncrementProducerEpoch; before transaction version 2 a fence forgets it
            self._held = LastProducerEpoch(
                NONE if record.prepares else _owners_epoch(this), record.leader_epoch
            )
        if bumped:
            self._last_epoch = _owners_epoch(this)
        if was is not None and not record.tombstone and was.producer_id != record.producer_id:
            self._previous_id = was.producer_id
        return Transition(*this[:7], self._last_epoch, self._held, self._previous_id)


def _owners_epoch(this: Transition) -> int | None:
    """The epoch before a bump that its owner asked for; NONE if another did, None where nothing tells."""
    if this.act is None or this.was is None:
        return None
    return this.was.producer_epoch if this.own else NONE


def _same(was: TransactionRecord | None, record: TransactionRecord) -> bool:
    """The record has the producer id and epoch of the one before."""
    if was is None or record.tombstone:
        return False
    return was.producer_id == record.producer_id and was.producer_epoch == record.producer_epoch


def _initialised_by(
    record: TransactionRecord, was: TransactionRecord | None, init: RequestRow | None, first_known: bool
) -> str | None:
    if _same(was, record):
        return RETRY
    if first_known and not (init is not None and _by_admin(init)):
        # whatever is presented: a coordinator that does not know the id begins anew
        return NEW_INSTANCE
    return None if init is None else _asked_by(init)


def _by_admin(init: RequestRow) -> bool:
    return init.client_id is not None and ADMIN.match(init.client_id) is not None


def _asked_by(init: RequestRow) -> str:
    if _by_admin(init):
        return OPERATOR
    return CLIENT_BUMP if init.producer_id is not None and init.producer_id >= 0 else NEW_INSTANCE


def _prepared_by(
    record: TransactionRecord,
    was: TransactionRecord | None,
    ended: RequestRow | None,
    fence: RequestRow | None,
) -> str | None:
    # before transaction version 2 only a fence moves the epoch here
    own = _same(was, record) and record.transaction_version < 2
    # what is not open has no timeout, and is not aborted for a new instance
    nothing_open = was is not None and was.settled
    if record.status == PREPARE_COMMIT or ended is not None or own or nothing_open:
        return END_TXN
    if fence is not None:
        return _asked_by(fence)
    if record.started_ms is not None and record.timeout_ms is not None:
        return TIMEOUT if record.timestamp_ms - record.started_ms >= record.timeout_ms else None
    return None
