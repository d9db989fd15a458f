"""The states of a transactional id that answers show: a second witness where compaction removed its records.

After org.apache.kafka.coordinator.transaction.TransactionCoordinator: if AddPartitionsToTxn or
AddOffsetsToTxn is answered NONE, a transaction is open until an EndTxn, an InitProducerId or its timeout
ends it. A producer epoch is assigned only once: if answers before and after a request have the same epoch,
the id had it all along.

Lines may be lost. So only accepted requests are said to have met an open transaction; a refusal counts
against a broker only if answers on both sides of it have the same epoch. Nothing is concluded across a line
that could not be read, or across the end of a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from fencepost.protocols.producer_epoch.answers import (
    Epoch,
    ended_only_earlier_epochs,
    epoch_when_answered,
    is_accepted_end,
    is_granted_init,
    makes_epoch,
    may_end,
    partition_of,
    shows_open,
)
from fencepost.protocols.producer_epoch.order_of_lines import Lines
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.request_targets import ADD_PARTITIONS, END
from fencepost.protocols.producer_epoch.transaction_log import EMPTY, ONGOING
from fencepost.replay.requests import NONE
from fencepost.replay.unread_lines import UnreadLines, are_read


class WitnessedState(NamedTuple):
    """A state that a request met. ``status`` and ``listed`` (whether its partition is in the transaction) are
    None if they are not known.
    """

    producer_id: int
    producer_epoch: int
    status: str | None = None
    listed: bool | None = None


class Witnesses:
    """The answers about one transactional id, which show what its requests met."""

    def __init__(self, requests: Sequence[RequestRow], unread: UnreadLines, tolerance_ms: int) -> None:
        """``requests``: every line about the id, of all brokers, in the order of answers."""
        self._requests = requests
        self._unread = unread
        self._tolerance_ms = tolerance_ms

    def states_met_by(self, request: RequestRow) -> list[WitnessedState]:
        """The states of which a request met one; an empty list if answers do not show them."""
        return self._within_transaction(request) or self._between_answers(request)

    @cached_property
    def _lines_with_epoch(self) -> Lines:
        return Lines(
            (each for each in self._requests if epoch_when_answered(each) is not None), self._tolerance_ms
        )

    @cached_property
    def _granted_inits(self) -> Lines:
        return Lines((each for each in self._requests if is_granted_init(each)), self._tolerance_ms)

    @cached_property
    def _additions(self) -> dict[str | None, Lines]:
        """The requests that added or verified a partition, by its name; all of them by None."""
        lines_by_key: dict[str | None, list[RequestRow]] = {None: []}
        for each in self._requests:
            if shows_open(each):
                lines_by_key[None].append(each)
                lines_by_key.setdefault(partition_of(each), []).append(each)
        return {name: Lines(lines, self._tolerance_ms) for name, lines in lines_by_key.items()}

    @cached_property
    def _enders(self) -> Lines:
        return Lines((each for each in self._requests if may_end(each)), self._tolerance_ms)

    @cached_property
    def _ended_at(self) -> dict[Epoch, set[int]]:
        """The brokers that received an EndTxn, by the epoch that it presented."""
        brokers: dict[Epoch, set[int]] = {}
        for each in self._requests:
            if each.api_key == END:
                brokers.setdefault((each.producer_id, each.producer_epoch), set()).add(each.broker_id)
        return brokers

    @cached_property
    def _lines_at_epoch(self) -> dict[Epoch, Lines]:
        """The requests that certainly met a producer epoch, by that epoch."""
        lines_by_key: dict[Epoch, list[RequestRow]] = {}
        for each in self._requests:
            if shows_open(each) or (is_accepted_end(each) and each.moves_no_epoch):
                lines_by_key.setdefault((each.producer_id, each.producer_epoch), []).append(each)
        return {epoch: Lines(lines, self._tolerance_ms) for epoch, lines in lines_by_key.items()}

    @cached_property
    def _bumping_commits(self) -> dict[Epoch, Lines]:
        """The commits that bumped the epoch which they presented: until then nobody else had ended the
        transaction of that epoch.
        """
        lines_by_key: dict[Epoch, list[RequestRow]] = {}
        for each in self._requests:
            if is_accepted_end(each) and not each.moves_no_epoch and each.result == "COMMIT":
                lines_by_key.setdefault((each.producer_id, each.producer_epoch), []).append(each)
        return {epoch: Lines(lines, self._tolerance_ms) for epoch, lines in lines_by_key.items()}

    def _between_answers(self, request: RequestRow) -> list[WitnessedState]:
        """The state with the epoch that an answer before the request returned and one after it met."""
        for before in self._lines_with_epoch.before(request):
            epoch = epoch_when_answered(before)
            if (
                epoch is not None
                and epoch in self._lines_at_epoch
                and self._lines_at_epoch[epoch].has_after(request)
            ):
                return [WitnessedState(*epoch)]
        return []

    def _within_transaction(self, request: RequestRow) -> list[WitnessedState]:
        """The states of the open transaction that an accepted request is part of."""
        if request.error != NONE or request.producer_id is None or request.producer_epoch is None:
            return []
        presented = request.producer_id, request.producer_epoch
        if self._ended_at.get(presented, set()) - {request.broker_id} or not self._has_not_timed_out(
            request, presented
        ):
            return []
        if request.api_key == ADD_PARTITIONS and self._is_since(
            self._additions.get(partition_of(request)), request
        ):
            return [WitnessedState(*presented, ONGOING, listed=True)]
        if self._is_since(self._additions[None], request) or self._ends_what_was_added(request, presented):
            return [WitnessedState(*presented, ONGOING)]
        if not request.verify_only and self._is_since(self._granted_inits, request):
            # the line of an addition since may be lost
            return [WitnessedState(*presented, EMPTY), WitnessedState(*presented, ONGOING)]
        return []

    def _has_not_timed_out(self, request: RequestRow, presented: Epoch) -> bool:
        """Whether no timeout had ended the transaction of an epoch: a later request met it, or it
        was young.
        """
        met_later = (
            lines[presented] for lines in (self._lines_at_epoch, self._bumping_commits) if presented in lines
        )
        return any(lines.has_after(request) for lines in met_later) or self._is_young(request, presented)

    def _is_young(self, request: RequestRow, presented: Epoch) -> bool:
        """Whether a request was answered before any transaction of its epoch could have timed out."""
        timeout_ms = self._timeouts.get(presented)
        if timeout_ms is None:
            return False
        ends = [
            each for each in self._transaction_ends.before(request) if epoch_when_answered(each) == presented
        ]
        if presented in self._first_bumps and self._first_bumps[presented].broker_id == request.broker_id:
            ends.append(self._first_bumps[presented])
        return any(request.responded_ms < self._transaction_ends.arrived(each) + timeout_ms for each in ends)

    @cached_property
    def _timeouts(self) -> dict[Epoch, int]:
        """transaction.timeout.ms by producer epoch: InitProducerId set it, and it stays while only the ends
        of the producer's own transactions bump the epoch.
        """
        timeouts: dict[Epoch, int] = {}
        for each in self._requests:
            answered = epoch_when_answered(each)
            if answered is not None and is_granted_init(each) and each.transaction_timeout_ms is not None:
                timeout_ms = each.transaction_timeout_ms
                timeouts[answered] = min(timeouts.get(answered, timeout_ms), timeout_ms)
        ended = (epoch_when_answered(each) for each in self._requests if is_accepted_end(each))
        for producer_id, epoch in sorted({answered for answered in ended if answered is not None}):
            if (producer_id, epoch - 1) in timeouts:
                timeouts.setdefault((producer_id, epoch), timeouts[producer_id, epoch - 1])
        return timeouts

    @cached_property
    def _first_bumps(self) -> dict[Epoch, RequestRow]:
        """By epoch, the first request whose answer shows that it was made."""
        first_lines: dict[Epoch, RequestRow] = {}
        for each in sorted(self._requests, key=lambda line: line.requested_ms):
            if makes_epoch(each):
                first_lines.setdefault(epoch_when_answered(each) or (None, None), each)
        return first_lines

    @cached_property
    def _transaction_ends(self) -> Lines:
        """The requests after which no transaction was open."""
        return Lines(
            (each for each in self._requests if is_granted_init(each) or is_accepted_end(each)),
            self._tolerance_ms,
        )

    def _is_since(self, lines: Lines | None, request: RequestRow) -> bool:
        """Whether one of these lines came before a request, at its epoch, and no transaction ended since."""
        if lines is None:
            return False
        presented = request.producer_id, request.producer_epoch
        return any(
            epoch_when_answered(before) == presented and self._is_unbroken(before, request)
            for before in lines.before(request)
        )

    def _ends_what_was_added(self, request: RequestRow, presented: Epoch) -> bool:
        """Whether a partition was added at the epoch that an EndTxn bumped: that came before, whatever the
        clock says.
        """
        if (
            not makes_epoch(request)
            or epoch_when_answered(request) == presented
            or presented not in self._lines_at_epoch
        ):
            return False
        return any(
            not self._enders.is_before(request, each) and self._is_unbroken(each, request)
            for each in self._lines_at_epoch[presented].first_and_last(request.broker_id)
        )

    def _is_unbroken(self, before: RequestRow, request: RequestRow) -> bool:
        """Whether all lines from one request to a later one are known, and none may have ended a
        transaction.
        """
        first, last = sorted((before.position, request.position))
        if before.file != request.file or not are_read(self._unread, before.file, first, last):
            return False
        return all(
            each.request_id in (before.request_id, request.request_id)
            or ended_only_earlier_epochs(each, request)
            or self._enders.is_before(each, before)
            or self._enders.is_before(request, each)
            for each in self._enders.around(before, request)
        )
