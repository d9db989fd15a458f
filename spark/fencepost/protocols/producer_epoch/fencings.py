"""Who was fenced, and by whom: requests that were refused because a producer's epoch is over."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fencepost.protocols.producer_epoch.client_moves import INSTANCES, ClientMoves
from fencepost.protocols.producer_epoch.clocks import Clocks, Span
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.refusals import KnownEpoch, Refusal
from fencepost.protocols.producer_epoch.request_rows import FENCED, OF_EPOCH, RequestRow
from fencepost.protocols.producer_epoch.request_targets import COMMIT, PRODUCE
from fencepost.protocols.producer_epoch.states_met import MetStates
from fencepost.protocols.producer_epoch.transaction_log import ONGOING
from fencepost.protocols.producer_epoch.transaction_metadata import END_TXN, Transition
from fencepost.replay.logs import Log
from fencepost.replay.requests import NONE as GRANTED

Identity = tuple[int, int]
"""Producer id and epoch."""

_OTHERS = (PRODUCE, COMMIT)
"""The APIs that other brokers answer than the coordinator of the transactional id."""

UNASSIGNED_EPOCH = "unassigned_epoch"
"""The cause of a refusal whose epoch nobody had been given yet: nobody was fenced."""


@dataclass(frozen=True, slots=True)
class Fencing:
    """A refusal and what fenced it: ``fence`` is the first record after the victim's epoch, ``now`` the state
    when the request was answered, None if several are possible. ``caused_ms``: when the fence was written, by
    the clock that dated the refusal, None if another one did. ``unassigned``: the epoch had not been given to
    anybody by then.
    """

    refusal: Refusal
    producer_id: int | None
    victim_epoch: int | None
    fence: Transition | None
    now: Transition | None
    caused_ms: int | None
    unassigned: bool


class Fences:
    """The history of one transactional id, which finds what fenced a request."""

    def __init__(self, met_states: MetStates, requests: Iterable[RequestRow], tolerance_ms: int) -> None:
        """``met_states``: the states that the requests of the id (``requests``) met; ``tolerance_ms``: how
        late a line may be written.
        """
        coordinator, transitions = met_states.coordinator, met_states.states.transitions
        self._met_states = met_states
        self._transitions = transitions
        self._tolerance_ms = tolerance_ms
        self._clocks = Clocks(transitions, {} if coordinator is None else coordinator.leaders)
        self._states = [each for each in transitions if not each.record.tombstone]
        self._numbers = [each.number for each in self._states]
        self._at = {each.number: each for each in self._states}
        self._tombstones = [each for each in transitions if each.record.tombstone]
        self._before_hole = _before_hole(transitions, None if coordinator is None else coordinator.log)
        self._requests = list(requests)
        self._moves: dict[str | None, ClientMoves] = {}
        self._of_unknown_writer = [
            each.number for each in self._states if each.changes_identity and each.writer is None
        ]
        self._hidden = [each.number for each in self._states if each.hidden or each.record.based]
        self._new_instances: dict[str, list[Transition]] = {}
        for each in self._states:
            if each.cause in INSTANCES and each.request is not None and each.request.client_id is not None:
                self._new_instances.setdefault(each.request.client_id, []).append(each)
        numbered = _numbered(transitions)
        self._epochs = _last_epochs(numbered)
        self._firsts = _first_epochs(numbered)
        self._granted: dict[Identity, list[RequestRow]] = {}
        for grant in self._requests:
            if grant.error == GRANTED and grant.returned_producer_epoch is not None:
                pair = (grant.returned_producer_id or 0, grant.returned_producer_epoch)
                self._granted.setdefault(pair, []).append(grant)

    def of(self, refusal: Refusal) -> Fencing | None:
        """What fenced a request; None if the answer does not say that an epoch is over.

        A Fencing without ``fence`` is returned if nothing shows what fenced it: the id has no history, it is
        not known what the request presented, or that epoch is not over. An EndTxn that is answered STALE_END
        is a fencing only if it surely met what fenced it: most of them are retries of an EndTxn that was
        accepted.
        """
        request = refusal.request
        span = self._span(refusal.decided)
        producer_id, epoch = _or_none(refusal.producer_id), _or_none(refusal.victim_epoch)
        if epoch is not None:
            last_reached = self._last_of(NONE if producer_id is None else producer_id, epoch)
            fence = self._fence_after(last_reached, refusal, span)
        else:
            last_reached, fence = self._inferred(refusal, span)
        pair = None if producer_id is None or epoch is None else (producer_id, epoch)
        given = pair is None or self._was_given(pair, refusal, span)
        if not given:
            fence = None
        reached = self._at.get(last_reached) if fence is not None and last_reached is not None else None
        if reached is not None:
            producer_id = reached.record.producer_id if producer_id is None else producer_id
            epoch = reached.record.producer_epoch if epoch is None else epoch
        if request.error not in FENCED and (fence is None or fence.cause in (END_TXN, None)):
            return None
        if fence is not None:
            span = Span(max(span.least, fence.number), span.most and max(span.most, fence.number))
        caused_ms = None
        if fence is not None and refusal.decided.broker_id == request.broker_id:
            caused_ms = self._clocks.began_ms(request.broker_id, fence.number)
        now = _agreed(self._known(span))
        return Fencing(refusal, producer_id, epoch, fence, now, caused_ms, given is False)

    def _inferred(self, refusal: Refusal, span: Span) -> tuple[int | None, Transition | None]:
        """The number of the last state with the epoch that a request presented, and what fenced it, where no
        line tells the epoch.

        A client presents the newest epoch that it was given, unless it is known to go back to older ones and
        its connection did not have one epoch before and after. If nothing had ended that one by then, it
        presented an older one, which is known if only one of the id was over. Nothing is known of a client
        that has written with an epoch that nobody had been given: the partition may refuse all others since.
        """
        if self._is_above_all(refusal.highest_before, span):
            return None, None
        before, later = refusal.known_before, refusal.presented_later
        is_between = before is not None and later is not None and before[1:] == later[1:]
        is_newest = is_between or not self._moves_of(refusal.request.client_id).goes_back
        newest = self._earlier_identity(refusal, span) if is_newest else None
        candidates = (newest, self._only_fenced_identity(span))
        for number, identity in enumerate(candidates):
            last = None if identity is None else self._last_of(*identity)
            reached = last if number else self._last_reached(last, refusal, span)
            fence = self._fence_after(reached, refusal, span)
            # no clock shows that it came before, but one may show that it came later
            if fence is not None and fence.record.timestamp_ms <= refusal.request.responded_ms:
                return reached, fence
        return None, None

    def _span(self, request: RequestRow) -> Span:
        """The states that a request may have met.

        A broker logs a request after it has handled it, never before: so the request may have arrived earlier
        than its line says, but was not answered later.
        """
        start_ms = request.requested_ms - self._tolerance_ms
        span = self._clocks.during(request.broker_id, start_ms, request.responded_ms)
        candidates = () if request.api_key in _OTHERS else self._met_states.candidates(request)
        numbers = [candidate.number for _, candidate in candidates]
        if request.error in OF_EPOCH:
            # a coordinator compares epochs only if it knows the id
            numbers = [each for each in numbers if self._exists(each)] or numbers
        return span.within(min(numbers), max(numbers)) if numbers else span

    def _exists(self, number: int) -> bool:
        return number > 0 and not self._transitions[number - 1].record.tombstone

    def _before_leading(self, request: RequestRow) -> int:
        """The number of the last state before the term in which a coordinator answered, or before the first
        one of that broker.
        """
        coordinator = self._met_states.coordinator
        if request.api_key in _OTHERS or coordinator is None:
            return 0
        terms, start_ms = coordinator.terms, request.requested_ms - self._tolerance_ms
        possible = terms.of(request.broker_id, start_ms, request.responded_ms)
        possible = possible or terms.led_by(request.broker_id)
        return self._met_states.states.before(possible[0].begins) if possible else 0

    def _fence_after(self, number: int | None, refusal: Refusal, span: Span) -> Transition | None:
        """What fenced a producer whose last state has this number: the next record. If its id expired, that
        is the tombstone, until somebody is given the id again; None if it is not known whether anybody had
        been.
        """
        after = self._state_after(number)
        if number is None:
            return None
        tombstone = next((each for each in self._tombstones if each.number > number), None)
        came = after is not None and self._came_before(after, refusal, span)
        if tombstone is None or (after is not None and after.number < tombstone.number):
            return after if came else None
        if after is not None and after.number <= span.least:
            return after
        return tombstone if not came and self._came_before(tombstone, refusal, span) else None

    def _came_before(self, fence: Transition, refusal: Refusal, span: Span) -> bool:
        """Whether a fence came before the request: surely so, if its answer may have another meaning."""
        if refusal.request.error in FENCED:
            return span.most is None or fence.number <= span.most
        # if the transaction was open until the fence, an EndTxn before the fence would have ended it
        between = self._transitions[max(span.least - 1, 0) : fence.number - 1]
        return span.least > 0 and all(each.record.status == ONGOING for each in between)

    def _was_given(self, pair: Identity, refusal: Refusal, span: Span) -> bool | None:
        """Whether somebody had been given an epoch before the request; None if that is not known.

        Where no clock says when it was given, it is taken for given: a leader that refuses without asking the
        coordinator has seen a newer epoch itself.
        """
        producer_id, epoch = pair
        firsts = self._firsts.get(producer_id, [])
        at = bisect_left(firsts, (epoch, 0))
        grants, decided, before = self._granted.get(pair, ()), refusal.decided, refusal.known_before
        if (
            not self._clocks.dated_by(decided.broker_id)
            or (at < len(firsts) and firsts[at][1] <= max(span.least, self._before_leading(decided)))
            or (before is not None and (before.producer_id, before.epoch) == pair)
            or any(_answered_before(grant, decided, decided.requested_ms) for grant in grants)
        ):
            return True
        if decided.api_key in _OTHERS or not self._met_states.candidates(decided):
            return None
        states = self._known(span)
        lower = all(
            each.record.producer_id == producer_id and (each.record.producer_epoch or 0) < epoch
            for each in states
        )
        later = all(
            grant.broker_id == decided.broker_id and grant.responded_ms > decided.responded_ms
            for grant in grants
        )
        return False if states and lower and later else None

    def _is_above_all(self, known: KnownEpoch | None, span: Span) -> bool:
        """Whether an epoch is higher than each that its producer id is known to have had."""
        if known is None or known[1:] in self._granted:
            return False
        firsts = self._firsts.get(known.producer_id, [])
        return not any(epoch >= known.epoch and _up_to(number, span) for epoch, number in firsts)

    def _known(self, span: Span) -> Sequence[Transition]:
        """The states of a span; none if one of them is not known, or the id may not have existed yet."""
        states = self._transitions[span.least - 1 : span.most] if span.least else ()
        return () if any(each.number in self._before_hole for each in states) else states

    def _earlier_identity(self, refusal: Refusal, span: Span) -> Identity | None:
        """An epoch that the producer once had: by its connection, by its client id, or because only one
        epoch of the id is over.
        """
        if refusal.known_before is not None:
            return refusal.known_before.producer_id, refusal.known_before.epoch
        moves = self._moves_of(refusal.request.client_id)
        return self._identity_by_later_epoch(refusal.presented_later, moves) or self._identity_by_client(
            moves, span
        )

    def _moves_of(self, client_id: str | None) -> ClientMoves:
        if client_id not in self._moves:
            self._moves[client_id] = ClientMoves(client_id, self._states, self._requests, self._tolerance_ms)
        return self._moves[client_id]

    def _identity_by_later_epoch(self, later: KnownEpoch | None, moves: ClientMoves) -> Identity | None:
        """The first epoch of the instance that presented this epoch later: it had no other one in between."""
        last = None if later is None else self._last_of(later.producer_id, later.epoch)
        first = None if last is None else moves.newest_until(last)
        return _identity(first) if first is not None and first.writer in INSTANCES else None

    def _identity_by_client(self, moves: ClientMoves, span: Span) -> Identity | None:
        """The epoch of the instance with this client id. Instances of one application often share a client
        id: the epoch is known only if exactly one instance with it was fenced, and if it is known who wrote
        each record that moved the epoch.
        """
        if any(_up_to(number, span) for number in self._of_unknown_writer):
            return None
        instances = [
            each for each in self._new_instances.get(moves.client_id or "", []) if _up_to(each.number, span)
        ]
        fenced_instances = {
            move.number: each for each in instances if (move := moves.next_after(each.number)) is not None
        }
        may_be_fenced = any(not moves.next_after(each.number) and self._before_hole for each in instances)
        only = list(fenced_instances.values())
        return _identity(only[0]) if len(only) == 1 and not may_be_fenced else None

    def _only_fenced_identity(self, span: Span) -> Identity | None:
        """The only epoch of an id that is over: a refused request can only have presented that."""
        states = [each for each in self._transitions if _up_to(each.number, span)]
        identities = list(dict.fromkeys(_identity(each) for each in states if not each.record.tombstone))
        over = identities if states and states[-1].record.tombstone else identities[:-1]
        # what a hole hides may have ended another one
        is_whole = not any(_up_to(number, span) for number in (*self._hidden, *self._before_hole))
        return over[0] if is_whole and len(over) == 1 else None

    def _last_of(self, producer_id: int, epoch: int | None) -> int | None:
        """The number of the last state of this producer id with this epoch or an earlier one."""
        if epoch is None or producer_id not in self._epochs:
            return None
        numbers, epochs = self._epochs[producer_id]
        at = bisect_right(epochs, epoch)
        return numbers[at - 1] if at else None

    def _last_reached(self, last_presented: int | None, refusal: Refusal, span: Span) -> int | None:
        """The number of the last state that a client had reached from there: the one before somebody else
        moved the epoch on. None if it is not known whether somebody else did.
        """
        moves, later = self._moves_of(refusal.request.client_id), refusal.presented_later
        move = None if last_presented is None else moves.next_after(last_presented)
        while move is not None and not move.hidden:
            following = moves.next_after(move.number)
            # a hole may hide one that followed
            is_last = not self._before_hole if following is None else not following.hidden
            if is_last and (following is None or not _up_to(following.number, span)):
                # if it had been given this epoch, too, nothing would have refused it
                return move.number - 1
            is_later_older = later is not None and (later.producer_id, later.epoch) < _identity(move)
            given = moves.was_given(move, refusal.decided)
            if given is False or is_later_older or self._presents_older(moves, move, following):
                return move.number - 1
            if given is None:
                return None
            move = following
        return None

    def _presents_older(self, moves: ClientMoves, move: Transition, following: Transition | None) -> bool:
        """Whether a client presented an older epoch than that of a move when it could not be given that any
        more, since another move had followed.
        """
        coordinator = self._met_states.coordinator
        if coordinator is None or following is None:
            return False
        led_by = coordinator.leaders.get(following.record.leader_epoch)
        return led_by is not None and moves.presents_older(move, following.record.timestamp_ms, led_by)

    def _state_after(self, number: int | None) -> Transition | None:
        if number is None:
            return None
        at = bisect_right(self._numbers, number)
        return self._states[at] if at < len(self._states) else None


def _identity(state: Transition) -> Identity:
    return state.record.producer_id or 0, state.record.producer_epoch or 0


def _agreed(states: Sequence[Transition]) -> Transition | None:
    """The newest of some states, if all of them have its epoch."""
    identities = {(each.record.producer_id, each.record.producer_epoch) for each in states}
    return states[-1] if len(identities) == 1 and not states[-1].record.tombstone else None


def _up_to(number: int, span: Span) -> bool:
    return span.most is None or number <= span.most


def _or_none(value: int | None) -> int | None:
    return None if value == NONE else value


def _answered_before(grant: RequestRow, request: RequestRow, ms: int) -> bool:
    """Whether a request was answered before a time of another one, by the clock of one broker."""
    return grant.broker_id == request.broker_id and grant.responded_ms <= ms


def _before_hole(states: Sequence[Transition], log: Log | None) -> set[int]:
    """The numbers of the states that a hole in the log follows: it is not known how long they lasted."""
    if log is None:
        return set()
    last = {each.record.stretch: each.number for each in states}
    return {
        last[stretch.number]
        for stretch in log.stretches
        if stretch.to_offset is not None and stretch.number in last
    }


def _numbered(transitions: Sequence[Transition]) -> list[tuple[int, int, int]]:
    """The number, producer id and epoch of each state that has them.

    If it is known what the id had before its tombstone at the begin, that is the state 0.
    """
    first = transitions[0] if transitions else None
    before = first.previous if first is not None and first.record.tombstone else None
    records = [(0, before), *((each.number, each.record) for each in transitions)]
    return [
        (number, record.producer_id, record.producer_epoch)
        for number, record in records
        if record is not None and record.producer_id is not None and record.producer_epoch is not None
    ]


def _last_epochs(states: Iterable[tuple[int, int, int]]) -> dict[int, tuple[list[int], list[int]]]:
    """For each producer id: the states with no lower epoch after them, as (numbers, epochs) in order."""
    last_epochs: dict[int, tuple[list[int], list[int]]] = {}
    for number, producer_id, epoch in states:
        numbers, epochs = last_epochs.setdefault(producer_id, ([], []))
        while epochs and epochs[-1] >= epoch:
            epochs.pop()
            numbers.pop()
        numbers.append(number)
        epochs.append(epoch)
    return last_epochs


def _first_epochs(states: Iterable[tuple[int, int, int]]) -> dict[int, list[tuple[int, int]]]:
    """For each producer id: its epochs, each with the number of the first state of it or a newer one."""
    first_epochs: dict[int, list[tuple[int, int]]] = {}
    for number, producer_id, epoch in states:
        of_id = first_epochs.setdefault(producer_id, [])
        if not of_id or epoch > of_id[-1][0]:
            of_id.append((epoch, number))
    return first_epochs
