"""The states of a transactional id that its InitProducerId requests met: which records came before them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, islice
from typing import NamedTuple

from fencepost.protocols.producer_epoch.causes import Pair
from fencepost.protocols.producer_epoch.coordinator import Coordinator
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.request_targets import END, INIT
from fencepost.protocols.producer_epoch.transaction_log import ONGOING
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.protocols.producer_epoch.verifications import Addition, Waiting
from fencepost.protocols.producer_epoch.witnesses import WitnessedState, Witnesses
from fencepost.replay.logs import Term
from fencepost.replay.requests import LATEST_MS, NONE


class Candidate(NamedTuple):
    """A state that a request may have met: ``number`` of the last transition written, 0 for none, and the
    stretch and leader epoch in which it was decided.
    """

    number: int
    stretch: int
    leader_epoch: int


class States:
    """The states of one transactional id, to be asked which of them a request met."""

    def __init__(self, transitions: Sequence[Transition], tolerance_ms: int) -> None:
        self.transitions = transitions
        self._tolerance_ms = tolerance_ms
        self._offsets = [each.record.offset for each in transitions]

    @cached_property
    def _times(self) -> dict[tuple[int, int], tuple[list[int], list[int], list[int]]]:
        """By stretch and leader epoch: times in order, the numbers then written, and the newest so far."""
        by_term: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for each in self.transitions:
            record = each.record
            by_term.setdefault((record.stretch, record.leader_epoch), []).append(
                (record.timestamp_ms, each.number)
            )
        found = {}
        for term, times in by_term.items():
            times.sort()
            numbers = [number for _, number in times]
            found[term] = ([ms for ms, _ in times], numbers, list(accumulate(numbers, max)))
        return found

    def before(self, offset: int) -> int:
        """The number of the last transition before an offset; 0 for none."""
        return bisect_left(self._offsets, offset)

    def met_by_writer(self, pairs: Iterable[Pair]) -> list[Candidate]:
        """The state that a request met which wrote a record (``pairs``): the one before the record.

        Where it is not sure which record it wrote, the state before each of them.
        """
        pairs = list(pairs)
        sure = [pair for pair in pairs if pair.sure]
        records = [pair.record for pair in pairs]
        if sure:
            records = [min((pair.record for pair in sure), key=lambda record: record.offset)]
        return [
            Candidate(self.before(record.offset), record.stretch, record.leader_epoch)
            for record in sorted(records, key=lambda record: record.offset)
        ]

    def met_meanwhile(
        self, asked: RequestRow, coordinator: Coordinator, order: Order
    ) -> list[tuple[int, Candidate]]:
        """The states from arrival to answer of a request whose record nothing tells, numbered.

        Times are only compared where one broker's clock wrote both: in the terms of the broker that answered.
        Of those states the order of requests leaves some.
        """
        # a line is written after its request was handled, never before: only its arrival may be earlier
        start_ms, end_ms = asked.requested_ms - self._tolerance_ms, asked.responded_ms
        found: set[Candidate] = set()
        terms = coordinator.terms(asked.broker_id).during(start_ms, end_ms)
        for term in terms:
            # a granted InitProducerId has its record, or lacks it; an accepted EndTxn may have written none,
            # or one that was not captured
            if asked.api_key != INIT and not coordinator.goes_on_past(term, end_ms):
                return []
            found.update(self._in_term(term, start_ms, end_ms))
            if coordinator.replicated and asked.verify_only:
                found.update(self._not_in_effect(term, start_ms, granted=asked.error == NONE))
            if asked.api_key == END and asked.error == NONE:
                found.update(self._written_by_itself(term, start_ms, order))
        inside = _within(order.bounds(asked, start_ms), found)
        if asked.verify_only and asked.error == NONE and not any(self._lists(asked, each) for each in inside):
            # its line may be later than the tolerance
            earlier = {each for term in terms for each in self._listed_before(term, start_ms, asked)}
            inside |= _within(order.bounds(asked, start_ms - LATEST_MS), earlier)
            found |= inside
        return [(number, each) for number, each in enumerate(sorted(found)) if each in inside]

    def _lists(self, asked: RequestRow, candidate: Candidate) -> bool:
        """Whether a verification is granted in a state: a transaction is open there with the partition."""
        if not candidate.number:
            return False
        record = self.transitions[candidate.number - 1].record
        return record.status == ONGOING and f"{asked.topic}:{asked.partition}" in record.partitions

    def _listed_before(self, term: Term, ms: int, asked: RequestRow) -> Iterable[Candidate]:
        """The newest state of a term from before a time in which a verification is granted, if it is not
        older than a line may be late.
        """
        times, numbers, _ = self._times.get((term.stretch, term.leader_epoch), ([], [], []))
        first, end = bisect_left(times, ms - LATEST_MS), bisect_left(times, ms)
        states = (Candidate(each, term.stretch, term.leader_epoch) for each in reversed(numbers[first:end]))
        return islice((each for each in states if self._lists(asked, each)), 1)

    def _in_term(self, term: Term, start_ms: int, end_ms: int) -> Iterable[Candidate]:
        times, numbers, newest = self._times.get((term.stretch, term.leader_epoch), ([], [], []))
        first, last = bisect_left(times, start_ms), bisect_right(times, end_ms)
        inside = numbers[first:last]
        # the newest record from before the window, or from before the term
        start = newest[first - 1] if first else self.before(term.begins)
        if inside:
            start = min(inside) - 1
        return (Candidate(number, term.stretch, term.leader_epoch) for number in (start, *inside))

    def _not_in_effect(self, term: Term, start_ms: int, *, granted: bool) -> Iterable[Candidate]:
        """The state before the newest record from before the window, if a verification may have met it.

        A coordinator goes by a record once it is replicated (TransactionStateManager.appendTransactionToLog),
        and writes the next one after that. Meanwhile it answers CONCURRENT_TRANSACTIONS, but verifies. What
        it grants then is of a transaction whose end is being written.
        """
        newest = self._just_before(term, start_ms)
        if newest is not None and (not granted or newest.record.prepares):
            yield Candidate(newest.number - 1, term.stretch, term.leader_epoch)

    def _written_by_itself(self, term: Term, start_ms: int, order: Order) -> Iterable[Candidate]:
        """The state before a Prepare record that nobody else is known to have written: an accepted EndTxn
        whose line is later than the tolerance may have written it.
        """
        newest = self._just_before(term, start_ms)
        if newest is not None and newest.record.prepares and newest.record.offset not in order.written:
            yield Candidate(newest.number - 1, term.stretch, term.leader_epoch)

    def _just_before(self, term: Term, ms: int) -> Transition | None:
        """The newest record of a term from before a time, if it is not older than a line may be late."""
        times, _, newest = self._times.get((term.stretch, term.leader_epoch), ([], [], []))
        before = bisect_left(times, ms) - 1
        if before < 0 or times[before] + LATEST_MS < ms:
            return None
        return self.transitions[newest[before] - 1]


def _within(bounds: tuple[int, int | None], candidates: Iterable[Candidate]) -> set[Candidate]:
    """The candidates from one state on, and before another."""
    at_least, below = bounds
    return {each for each in candidates if at_least <= each.number and (below is None or each.number < below)}


class Order:
    """What the order of requests tells: a broker takes up the next request of a connection when the one
    before is answered. What wrote a record on the same connection before or after a refused request bounds
    what it met, whatever the clock says. Of what wrote one on another connection the answer tells, by the
    broker's clock, that the record was in effect.
    """

    def __init__(self, states: States, pairs: Iterable[Pair], verified: Mapping[Addition, Waiting]) -> None:
        """``pairs``: requests with the records they wrote before they were answered; ``verified``: as
        verified_during tells, a verification is made while another request waits.
        """
        pairs = list(pairs)
        self._verified = verified
        self.written = {record.offset for _, record, sure in pairs if sure}
        written: dict[tuple[int, str], list[tuple[tuple[int, int], int]]] = {}
        answered: dict[int, list[tuple[int, int]]] = {}
        for asked, record, sure in pairs:
            if not sure:
                continue
            number = states.before(record.offset) + 1
            answered.setdefault(asked.broker_id, []).append((asked.responded_ms, number))
            if asked.connection is None:
                continue
            order = (asked.responded_ms, asked.correlation_id)
            written.setdefault((asked.broker_id, asked.connection), []).append((order, number))
        self._written: dict[tuple[int, str], tuple[list[tuple[int, int]], list[int], list[int]]] = {}
        for connection, orders in written.items():
            orders.sort()
            numbers = [number for _, number in orders]
            least = list(accumulate(reversed(numbers), min))[::-1]
            self._written[connection] = (
                [order for order, _ in orders],
                list(accumulate(numbers, max)),
                least,
            )

        self._answered: dict[int, tuple[list[int], list[int]]] = {}
        for broker_id, answers in answered.items():
            answers.sort()
            in_effect = list(accumulate((number for _, number in answers), max))
            self._answered[broker_id] = ([ms for ms, _ in answers], in_effect)

    def bounds(self, asked: RequestRow, start_ms: int) -> tuple[int, int | None]:
        """The state that a request met at the earliest, and the first one that it did not meet any more; it
        arrived at ``start_ms`` at the earliest.
        """
        addition = (asked.request_id, asked.topic, asked.partition)
        first, last = self._verified.get(addition, (asked, asked))
        (at_least, _), (_, below) = self._on_connection(first), self._on_connection(last)
        times, in_effect = self._answered.get(asked.broker_id, ([], []))
        before = bisect_left(times, start_ms)
        return max(at_least, in_effect[before - 1] if before else 0), below

    def _on_connection(self, asked: RequestRow) -> tuple[int, int | None]:
        if asked.connection is None or (asked.broker_id, asked.connection) not in self._written:
            return 0, None
        orders, newest, least = self._written[asked.broker_id, asked.connection]
        order = (asked.responded_ms, asked.correlation_id)
        before, after = bisect_left(orders, order), bisect_right(orders, order)
        return newest[before - 1] if before else 0, least[after] if after < len(least) else None


class MetStates:
    """What the requests of one transactional id met, each by the one way that tells most."""

    def __init__(
        self,
        states: States,
        coordinator: Coordinator | None,
        pairs: Iterable[Pair],
        witnesses: Witnesses,
        verified: Mapping[Addition, Waiting],
    ) -> None:
        """``pairs``: of accepted requests, and of those that made the coordinator abort a transaction.

        The latter are answered CONCURRENT_TRANSACTIONS once that record is written. ``verified``: the
        requests that verifications were made for.
        """
        self.states = states
        self.coordinator = coordinator
        self._witnesses = witnesses
        self._pairs: dict[str, list[Pair]] = {}
        known = list(pairs)
        for pair in known:
            self._pairs.setdefault(pair.asked.request_id, []).append(pair)
        self._order = Order(states, known, verified)

    def by(self, asked: RequestRow) -> list[tuple[int, Candidate]]:
        """The states that a request may have met, numbered; none where the log does not tell."""
        pairs = self._pairs.get(asked.request_id)
        if pairs:
            return list(enumerate(self.states.met_by_writer(pairs)))
        # without an answer nothing tells whether it wrote a record, and a granted InitProducerId wrote one
        wrote = asked.api_key == INIT and asked.error == NONE
        if self.coordinator is None or asked.error is None or wrote:
            return []
        return self.states.met_meanwhile(asked, self.coordinator, self._order)

    def told(self, asked: RequestRow) -> list[WitnessedState]:
        """What answers tell of a request that was decided where the log cleaner has been."""
        base = None if self.coordinator is None else self.coordinator.log.base
        if base is None or base.ms is None or asked.requested_ms > base.ms or asked.api_key == INIT:
            return []
        return self._witnesses.told(asked)
