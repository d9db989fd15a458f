"""The states of a transactional id that requests met: which of its records were written before
each request.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from fencepost.protocols.producer_epoch.causes import Pair
from fencepost.protocols.producer_epoch.coordinator import Coordinator
from fencepost.protocols.producer_epoch.order_of_lines import turn
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.request_targets import END, INIT
from fencepost.protocols.producer_epoch.transaction_log import ONGOING, TransactionRecord
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.protocols.producer_epoch.verifications import Addition, Waiting
from fencepost.protocols.producer_epoch.witnesses import WitnessedState, Witnesses
from fencepost.replay.late_lines import LateLines
from fencepost.replay.logs import COMPACTED, Term
from fencepost.replay.requests import LATEST_MS, NONE
from fencepost.replay.rising import Rising


class Candidate(NamedTuple):
    """A state that a request may have met: the ``number`` of the last transition before it (0 for none), and
    the stretch and leader epoch in which the request was decided.
    """

    number: int
    stretch: int
    leader_epoch: int


class States:
    """The states of one transactional id, which finds those that a request may have met."""

    def __init__(self, transitions: Sequence[Transition], late_lines: LateLines) -> None:
        self.transitions = transitions
        self._late_lines = late_lines
        self._offsets = [each.record.offset for each in transitions]

    @cached_property
    def _by_term(self) -> dict[tuple[int, int], Rising[int]]:
        """By stretch and leader epoch: the numbers of transitions by their times."""
        by_term: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for number, record in ((each.number, each.record) for each in self.transitions):
            term = (record.stretch, record.leader_epoch)
            by_term.setdefault(term, []).append((record.timestamp_ms, number))
        return {term: Rising(times) for term, times in by_term.items()}

    def _in(self, term: Term) -> Rising[int]:
        return self._by_term.get((term.stretch, term.leader_epoch), Rising())

    def offset_of(self, candidate: Candidate) -> int:
        """The offset of the record before which a request did not come."""
        return self._offsets[candidate.number - 1]

    def before(self, offset: int) -> int:
        """The number of the last transition before an offset; 0 for none."""
        return bisect_left(self._offsets, offset)

    def states_before_records(
        self, pairs: Iterable[Pair], coordinator: Coordinator, order: Order
    ) -> list[Candidate]:
        """The state that a request met if it wrote a record (``pairs``): the one before that record.

        If it is not sure which record it wrote, the state before each of them; if the record before may never
        have taken effect, also the state before that one.
        """
        pairs = list(pairs)
        sure = [pair for pair in pairs if pair.sure]
        records = [pair.record for pair in pairs]
        if sure:
            records = [min((pair.record for pair in sure), key=lambda record: record.offset)]
        candidates = {
            Candidate(self.before(record.offset), record.stretch, record.leader_epoch) for record in records
        }
        if coordinator.replicated:
            candidates |= {each for one in candidates for each in self._without_effect(one, order)}
        return sorted(candidates)

    def states_while_decided(
        self, request: RequestRow, coordinator: Coordinator, order: Order
    ) -> list[tuple[int, Candidate]]:
        """The states between the arrival and the answer of a request that is not known to have written a
        record, numbered.

        Times are compared only if they are of one broker's clock: in the terms of the broker that answered.
        The order of requests (``order``) then excludes some of these states, but their numbers stay.
        """
        # a line is written after its request was handled, never before: only its arrival may be earlier
        late_ms = self._late_lines.at(request.broker_id, request.responded_ms)
        start_ms, end_ms = request.requested_ms - late_ms, request.responded_ms
        if coordinator.is_in_gap(request):
            return []
        candidates: set[Candidate] = set()
        terms = coordinator.terms.of(request.broker_id, start_ms, end_ms)
        for term in terms:
            if coordinator.may_have_lost(term, end_ms):
                return []
            candidates.update(self._in_term(term, start_ms, end_ms))
            if coordinator.replicated and request.verify_only:
                candidates.update(self._not_in_effect(term, start_ms, granted=request.error == NONE))
            if request.api_key == END and request.error == NONE:
                candidates.update(self._written_by_itself(term, start_ms, order))
        if coordinator.replicated:
            candidates |= {each for one in candidates for each in self._without_effect(one, order)}
        inside = _within(order.bounds(request, start_ms), candidates)
        if (
            request.verify_only
            and request.error == NONE
            and not any(self.lists(request, each) for each in inside)
        ):
            # its line may have been written later than the tolerance allows for
            earlier = {each for term in terms for each in self._listed_before(term, start_ms, request)}
            inside |= _within(order.bounds(request, start_ms - LATEST_MS), earlier)
            candidates |= inside
        return [(number, each) for number, each in enumerate(sorted(candidates)) if each in inside]

    def _without_effect(self, candidate: Candidate, order: Order) -> Iterable[Candidate]:
        """The states before a state, if the records since then may never have taken effect.

        If a record is not replicated in time, the coordinator answers COORDINATOR_NOT_AVAILABLE and keeps the
        state that it had (TransactionStateManager.appendTransactionToLog), but the record stays in the log.
        Only the next coordinator, which reads it there, goes by it.
        """
        number, stretch, leader_epoch = candidate
        while number and not self._took_effect(number, candidate, order):
            number -= 1
            yield Candidate(number, stretch, leader_epoch)

    def _took_effect(self, number: int, candidate: Candidate, order: Order) -> bool:
        """Whether the coordinator of a candidate certainly went by a record: it read it from the log, or
        accepted the request that wrote it, or wrote a next one that follows from it. Records of completed
        transactions, and tombstones, are written again until they are replicated.
        """
        record = self.transitions[number - 1].record
        term = (candidate.stretch, candidate.leader_epoch)
        if record.based or (record.stretch, record.leader_epoch) != term:
            return True
        if record.offset in order.written or record.completes or record.tombstone:
            return True
        following = self.transitions[number].record if number < len(self.transitions) else None
        if following is None or (following.stretch, following.leader_epoch) != term:
            return False
        opens = number == 1 or self.transitions[number - 2].record.status != ONGOING
        return _follows(record, following, opens=opens)

    def is_hidden(self, candidate: Candidate) -> bool:
        """Whether a hole lies between a state and the stretch in which the request was decided."""
        number, stretch, _ = candidate
        is_of_stretch = number > 0 and self.transitions[number - 1].record.stretch == stretch
        return not is_of_stretch and stretch not in (0, COMPACTED)

    def lists(self, request: RequestRow, candidate: Candidate) -> bool:
        """Whether a verification is granted in a state: a transaction with the partition is open."""
        if not candidate.number:
            return False
        record = self.transitions[candidate.number - 1].record
        return record.status == ONGOING and f"{request.topic}:{request.partition}" in record.partitions

    def _listed_before(self, term: Term, ms: int, request: RequestRow) -> Iterable[Candidate]:
        """The newest state of a term before ``ms`` in which a verification is granted, if it is not older
        than the delay that a line may have.
        """
        numbers = reversed(self._in(term).between(ms - LATEST_MS, ms - 1))
        states = (Candidate(each, term.stretch, term.leader_epoch) for each in numbers)
        return islice((each for each in states if self.lists(request, each)), 1)

    def _in_term(self, term: Term, start_ms: int, end_ms: int) -> Iterable[Candidate]:
        inside = self._in(term).between(start_ms, end_ms)
        # else the newest record from before the window, or from before the term
        newest = self._in(term).greatest_before(start_ms) or self.before(term.begins)
        start = min(inside) - 1 if inside else newest
        return (Candidate(number, term.stretch, term.leader_epoch) for number in (start, *inside))

    def _not_in_effect(self, term: Term, start_ms: int, *, granted: bool) -> Iterable[Candidate]:
        """The state before the newest record that was written before ``start_ms``, if a verification may have
        met it.

        A record takes effect once it is replicated (TransactionStateManager.appendTransactionToLog); only
        then does the coordinator write the next one. Meanwhile it answers CONCURRENT_TRANSACTIONS, but it
        verifies. A verification that it grants then is of a transaction whose end is being written.
        """
        newest = self._just_before(term, start_ms)
        if newest is not None and (not granted or newest.record.prepares):
            yield Candidate(newest.number - 1, term.stretch, term.leader_epoch)

    def _written_by_itself(self, term: Term, start_ms: int, order: Order) -> Iterable[Candidate]:
        """The state before a Prepare record that no request is known to have written: an accepted EndTxn may
        have, if its line was written later than the tolerance allows for.
        """
        newest = self._just_before(term, start_ms)
        if newest is not None and newest.record.prepares and newest.record.offset not in order.written:
            yield Candidate(newest.number - 1, term.stretch, term.leader_epoch)

    def _just_before(self, term: Term, ms: int) -> Transition | None:
        """The newest transition of a term before ``ms``, if it is not older than the delay that a line may
        have.
        """
        if not self._in(term).between(ms - LATEST_MS, ms - 1):
            return None
        return self.transitions[self._in(term).greatest_before(ms) - 1]


def _follows(record: TransactionRecord, following: TransactionRecord, *, opens: bool) -> bool:
    """Whether the coordinator can have written the next record only if the one before it took effect.

    ``opens``: the record before is the first of its transaction.
    """
    if record.prepares:
        return following.completes
    if record.status != ONGOING:
        return following.status == ONGOING and following.producer_epoch == record.producer_epoch
    if following.status == ONGOING:
        # the same partitions may be added again, but then the transaction begins anew
        return opens and following.started_ms == record.started_ms
    return set(record.partitions) <= set(following.partitions)


def _within(bounds: tuple[int, int | None], candidates: Iterable[Candidate]) -> set[Candidate]:
    """The candidates from one state on (inclusive), up to another (exclusive)."""
    at_least, below = bounds
    return {each for each in candidates if at_least <= each.number and (below is None or each.number < below)}


class Order:
    """Bounds for the states that a request met, from the order of requests.

    A broker takes up the next request of a connection when it has answered the one before. So the records
    that earlier and later requests of the same connection wrote bound the states that a request met,
    whatever the clock says. A record that a request of another connection wrote was in effect when that
    request was answered, by the broker's clock.
    """

    def __init__(
        self, states: States, pairs: Iterable[Pair], verifications: Mapping[Addition, Waiting]
    ) -> None:
        """``pairs``: requests with the records that they wrote before they were answered; ``verifications``:
        verified_during, the requests that waited for verifications.
        """
        pairs = list(pairs)
        self._verifications = verifications
        self.written = {record.offset for _, record, sure in pairs if sure}
        written: dict[tuple[int, str | None], list[tuple[tuple[int, int], int]]] = {}
        answered: dict[int, list[tuple[int, int]]] = {}
        for request, record, sure in pairs:
            if not sure:
                continue
            number = states.before(record.offset) + 1
            answered.setdefault(request.broker_id, []).append((request.responded_ms, number))
            connection = (request.broker_id, request.connection)
            if request.connection is not None:
                written.setdefault(connection, []).append((turn(request), number))
        self._written = {each: Rising(numbers) for each, numbers in written.items()}
        self._answered = {each: Rising(numbers) for each, numbers in answered.items()}

    def bounds(self, request: RequestRow, start_ms: int) -> tuple[int, int | None]:
        """The number of the earliest state that a request may have met, and of the first that came too late
        (None for no bound). The request arrived at ``start_ms`` or later.
        """
        addition = (request.request_id, request.topic, request.partition)
        first, last = self._verifications.get(addition, (request, request))
        (at_least, _), (_, below) = self._on_connection(first), self._on_connection(last)
        in_effect = self._answered.get(request.broker_id, Rising()).greatest_before(start_ms)
        return max(at_least, in_effect), below

    def _on_connection(self, request: RequestRow) -> tuple[int, int | None]:
        written = self._written.get((request.broker_id, request.connection))
        if written is None:
            return 0, None
        return written.greatest_before(turn(request)), written.least_after(turn(request))


class MetStates:
    """The states that the requests of one transactional id met, each found by the most precise evidence."""

    def __init__(
        self,
        states: States,
        coordinator: Coordinator | None,
        pairs: Iterable[Pair],
        witnesses: Witnesses,
        verifications: Mapping[Addition, Waiting],
    ) -> None:
        """``pairs``: those of accepted requests, and of InitProducerId requests that made the coordinator
        abort a transaction: these are answered CONCURRENT_TRANSACTIONS once that record is written.
        ``verifications``: verified_during.
        """
        self.states = states
        self.coordinator = coordinator
        self._witnesses = witnesses
        self._pairs: dict[str, list[Pair]] = {}
        all_pairs = list(pairs)
        for pair in all_pairs:
            self._pairs.setdefault(pair.request.request_id, []).append(pair)
        self._order = Order(states, all_pairs, verifications)

    def candidates(self, request: RequestRow) -> list[tuple[int, Candidate]]:
        """The states that a request may have met, numbered; an empty list if the log does not show them."""
        pairs = self._pairs.get(request.request_id)
        if pairs and self.coordinator is not None:
            return list(enumerate(self.states.states_before_records(pairs, self.coordinator, self._order)))
        # without an answer it is not known whether it wrote a record; a granted InitProducerId has written
        # one
        wrote = request.api_key == INIT and request.error == NONE
        if self.coordinator is None or request.error is None or wrote:
            return []
        return self.states.states_while_decided(request, self.coordinator, self._order)

    def granting(self, verification: RequestRow) -> list[Candidate]:
        """The states in which an accepted verification may have been granted; none if a hole may hide one."""
        candidates = [each for _, each in self.candidates(verification)]
        if any(self.states.is_hidden(each) for each in candidates):
            return []
        return [each for each in candidates if self.states.lists(verification, each)]

    def witnessed(self, request: RequestRow) -> list[WitnessedState]:
        """The states that answers show for a request which was decided in the compacted part of the log."""
        base = None if self.coordinator is None else self.coordinator.log.base
        if base is None or base.ms is None or request.requested_ms > base.ms or request.api_key == INIT:
            return []
        return self._witnesses.states_met_by(request)
