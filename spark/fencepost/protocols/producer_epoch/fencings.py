"""Who was fenced, and by whom: requests that were refused because a producer's epoch is over."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.protocols.producer_epoch.clocks import Clocks, Span
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.refusals import KnownEpoch, Refusal
from fencepost.protocols.producer_epoch.request_rows import FENCED, RequestRow
from fencepost.protocols.producer_epoch.request_targets import COMMIT, PRODUCE
from fencepost.protocols.producer_epoch.states_met import MetStates
from fencepost.protocols.producer_epoch.transaction_log import ONGOING
from fencepost.protocols.producer_epoch.transaction_metadata import END_TXN, NEW_INSTANCE, Transition
from fencepost.replay.logs import Log

Identity = tuple[int, int]
"""Producer id and epoch."""

_OTHERS = (PRODUCE, COMMIT)
"""The APIs that other brokers answer than the coordinator of the transactional id."""


@dataclass(frozen=True, slots=True)
class Fencing:
    """A refusal and what fenced it: ``fence`` is the first record after the victim's epoch, ``now`` the state
    when the request was answered, None if several are possible.
    """

    refusal: Refusal
    producer_id: int | None
    victim_epoch: int | None
    fence: Transition | None
    now: Transition | None


class Fences:
    """The history of one transactional id, which finds what fenced a request."""

    def __init__(self, met_states: MetStates, tolerance_ms: int) -> None:
        """``met_states``: the states that the requests of the id met; ``tolerance_ms``: how late a line may
        be written.
        """
        coordinator, transitions = met_states.coordinator, met_states.states.transitions
        self._met_states = met_states
        self._transitions = transitions
        self._tolerance_ms = tolerance_ms
        self._clocks = Clocks(transitions, {} if coordinator is None else coordinator.leaders)
        self._states = [each for each in transitions if not each.record.tombstone]
        self._numbers = [each.number for each in self._states]
        self._at = {each.number: each for each in self._states}
        self._before_hole = _before_hole(self._states, None if coordinator is None else coordinator.log)
        self._foreign_moves = [
            each.number for each in self._states if each.changes_identity and not each.keeps_instance
        ]
        self._of_unknown_writer = [
            each.number for each in self._states if each.changes_identity and each.writer is None
        ]
        self._hidden = [each.number for each in self._states if each.hidden or each.record.based]
        self._new_instances: dict[str, list[Transition]] = {}
        for each in self._states:
            if each.cause == NEW_INSTANCE and each.request is not None and each.request.client_id is not None:
                self._new_instances.setdefault(each.request.client_id, []).append(each)
        self._epochs = _last_epochs(self._states)

    def of(self, refusal: Refusal) -> Fencing | None:
        """What fenced a request; None if its epoch is known not to be over.

        A Fencing without ``fence`` is returned if nothing is known: the id has no history, or it is not
        known what the request presented. An EndTxn that is answered STALE_END is a fencing only if it surely
        met what fenced it: most of them are retries of an EndTxn that was accepted.
        """
        request = refusal.request
        span = self._span(request, 0)
        producer_id, epoch = _or_none(refusal.producer_id), _or_none(refusal.victim_epoch)
        last_presented = last_reached = None
        if self._states:
            earlier = self._earlier_identity(refusal, span) if epoch is None else None
            if producer_id is None and earlier is not None:
                presented_id = earlier[0]
            else:
                presented_id = producer_id if producer_id is not None else NONE
            presented = epoch if epoch is not None else earlier[1] if earlier is not None else None
            last_presented = self._last_of(presented_id, presented)
            last_reached = last_presented if epoch is not None else self._last_reached(last_presented)
        fence = self._state_after(last_reached)
        if fence is not None and not self._came_before(fence, request, span):
            fence = None
        reached = self._at.get(last_reached) if fence is not None and last_reached is not None else None
        if reached is not None:
            producer_id = reached.record.producer_id if producer_id is None else producer_id
            epoch = reached.record.producer_epoch if epoch is None else epoch
        if request.error not in FENCED and (fence is None or fence.cause in (END_TXN, None)):
            return None
        if fence is not None:
            span = Span(max(span.least, fence.number), span.most and max(span.most, fence.number))
        states = self._known(span)
        untold = not states or epoch is None or (bool(self._hidden) and last_presented is None)
        if fence is None and not untold:
            return None
        return Fencing(refusal, producer_id, epoch, fence, _agreed(states))

    def _span(self, request: RequestRow, late_ms: int) -> Span:
        """The states that a request may have met, or might have met ``late_ms`` later.

        A broker logs a request after it has handled it, never before: so the request may have arrived earlier
        than its line says, but was not answered later.
        """
        start_ms, end_ms = request.requested_ms - self._tolerance_ms, request.responded_ms + late_ms
        span = self._clocks.during(request.broker_id, start_ms, end_ms)
        candidates = () if request.api_key in _OTHERS else self._met_states.candidates(request)
        numbers = [candidate.number for _, candidate in candidates]
        return span.within(min(numbers), max(numbers)) if numbers else span

    def _came_before(self, fence: Transition, request: RequestRow, span: Span) -> bool:
        """Whether a fence came before the request: surely so, if its answer may have another meaning."""
        if request.error in FENCED:
            most = self._span(request, self._tolerance_ms).most
            return most is None or fence.number <= most
        # if the transaction was open until the fence, an EndTxn before the fence would have ended it
        between = self._transitions[max(span.least - 1, 0) : fence.number - 1]
        return span.least > 0 and all(each.record.status == ONGOING for each in between)

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
        return (
            self._identity_by_later_epoch(refusal.presented_later)
            or self._identity_by_client(refusal.request.client_id, span)
            or self._only_fenced_identity(span)
        )

    def _identity_by_later_epoch(self, later: KnownEpoch | None) -> Identity | None:
        """The first epoch of the instance that presented this epoch later: it had no other one in between."""
        last = None if later is None else self._last_of(later.producer_id, later.epoch)
        at = 0 if last is None else bisect_right(self._foreign_moves, last)
        first = self._at[self._foreign_moves[at - 1]] if at else None
        return _identity(first) if first is not None and first.writer == NEW_INSTANCE else None

    def _identity_by_client(self, client_id: str | None, span: Span) -> Identity | None:
        """The epoch of the instance with this client id. Instances of one application often share a client
        id: the epoch is known only if exactly one instance with it was fenced, and if it is known who wrote
        each record that moved the epoch.
        """
        if any(_up_to(number, span) for number in self._of_unknown_writer):
            return None
        instances = [
            each for each in self._new_instances.get(client_id or "", []) if _up_to(each.number, span)
        ]
        fenced_instances = [each for each in instances if self._foreign_after(each.number)]
        may_be_fenced = any(not self._foreign_after(each.number) and self._before_hole for each in instances)
        return _identity(fenced_instances[0]) if len(fenced_instances) == 1 and not may_be_fenced else None

    def _only_fenced_identity(self, span: Span) -> Identity | None:
        """The first epoch of an id that has had exactly two: a refused request can only have
        presented that.
        """
        identities = dict.fromkeys(_identity(each) for each in self._states if _up_to(each.number, span))
        is_whole = not any(_up_to(number, span) for number in self._hidden)
        return next(iter(identities)) if is_whole and len(identities) == 2 else None

    def _last_of(self, producer_id: int, epoch: int | None) -> int | None:
        """The number of the last state of this producer id with this epoch or an earlier one."""
        if epoch is None or producer_id not in self._epochs:
            return None
        numbers, epochs = self._epochs[producer_id]
        at = bisect_right(epochs, epoch)
        return numbers[at - 1] if at else None

    def _last_reached(self, last_presented: int | None) -> int | None:
        """The number of the last state that a producer can have reached from there by bumps of its own; None
        if it is not known who wrote the next foreign bump.
        """
        foreign = None if last_presented is None else self._foreign_after(last_presented)
        return None if foreign is None or foreign.writer is None else foreign.number - 1

    def _foreign_after(self, number: int) -> Transition | None:
        """The next record with a bump by somebody else."""
        at = bisect_right(self._foreign_moves, number)
        return self._at[self._foreign_moves[at]] if at < len(self._foreign_moves) else None

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


def _last_epochs(states: Sequence[Transition]) -> dict[int, tuple[list[int], list[int]]]:
    """For each producer id: the states with no lower epoch after them, as (numbers, epochs) in order."""
    last_epochs: dict[int, tuple[list[int], list[int]]] = {}
    for each in states:
        producer_id, epoch = each.record.producer_id, each.record.producer_epoch
        if producer_id is None or epoch is None:
            continue
        numbers, epochs = last_epochs.setdefault(producer_id, ([], []))
        while epochs and epochs[-1] >= epoch:
            epochs.pop()
            numbers.pop()
        numbers.append(each.number)
        epochs.append(epoch)
    return last_epochs
