"""Who was fenced, and by whom: requests refused because a producer's epoch is over."""

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
"""The APIs that another broker answers than the coordinator of the transactional id."""


@dataclass(frozen=True, slots=True)
class Fencing:
    """A refusal and what fenced it: ``fence`` is the first record past the victim's epoch, ``now`` the state
    when it was answered, where that is settled.
    """

    refusal: Refusal
    producer_id: int | None
    victim_epoch: int | None
    fence: Transition | None
    now: Transition | None


class Fences:
    """The history of one transactional id, to be asked who fenced a request."""

    def __init__(self, met: MetStates, tolerance_ms: int) -> None:
        """``met``: the states that the requests of the id met; ``tolerance_ms``: how late a line may be."""
        coordinator, transitions = met.coordinator, met.states.transitions
        self._met = met
        self._transitions = transitions
        self._tolerance_ms = tolerance_ms
        self._clocks = Clocks(transitions, {} if coordinator is None else coordinator.leaders)
        self._states = [each for each in transitions if not each.record.tombstone]
        self._numbers = [each.number for each in self._states]
        self._at = {each.number: each for each in self._states}
        self._lost = _lost(self._states, None if coordinator is None else coordinator.log)
        self._foreign = [each.number for each in self._states if each.moved and not each.own]
        self._untold = [each.number for each in self._states if each.moved and each.act is None]
        self._hidden = [each.number for each in self._states if each.hidden or each.record.based]
        self._begun: dict[str, list[Transition]] = {}
        for each in self._states:
            if each.cause == NEW_INSTANCE and each.by is not None and each.by.client_id is not None:
                self._begun.setdefault(each.by.client_id, []).append(each)
        self._epochs = _last_epochs(self._states)

    def of(self, refusal: Refusal) -> Fencing | None:
        """What fenced a request; None where its epoch is known not to be over.

        Also where nothing can be told: there is no history of the id, or nothing says what was presented.
        An EndTxn that is answered STALE_END is no fencing unless it surely met what fenced it: most of them
        repeat what their producer has done.
        """
        asked = refusal.asked
        span = self._span(asked, 0)
        producer_id, epoch = _or_none(refusal.producer_id), _or_none(refusal.victim_epoch)
        last_mine = last_own = None
        if self._states:
            began = self._began(refusal, span) if epoch is None else None
            if producer_id is None and began is not None:
                mine = began[0]
            else:
                mine = producer_id if producer_id is not None else NONE
            presented = epoch if epoch is not None else began[1] if began is not None else None
            last_mine = self._last_of(mine, presented)
            last_own = last_mine if epoch is not None else self._followed(last_mine)
        fence = self._next(last_own)
        if fence is not None and not self._came_before(fence, asked, span):
            fence = None
        reached = self._at.get(last_own) if fence is not None and last_own is not None else None
        if reached is not None:
            producer_id = reached.record.producer_id if producer_id is None else producer_id
            epoch = reached.record.producer_epoch if epoch is None else epoch
        if asked.error not in FENCED and (fence is None or fence.cause in (END_TXN, None)):
            return None
        if fence is not None:
            span = Span(max(span.least, fence.number), span.most and max(span.most, fence.number))
        states = self._known(span)
        untold = not states or epoch is None or (bool(self._hidden) and last_mine is None)
        if fence is None and not untold:
            return None
        return Fencing(refusal, producer_id, epoch, fence, _agreed(states))

    def _span(self, asked: RequestRow, late_ms: int) -> Span:
        """The states that a request may have met, or may have met ``late_ms`` later.

        A line is written after its request was handled, never before: only its arrival may be earlier.
        """
        start_ms, end_ms = asked.requested_ms - self._tolerance_ms, asked.responded_ms + late_ms
        span = self._clocks.during(asked.broker_id, start_ms, end_ms)
        met = () if asked.api_key in _OTHERS else self._met.by(asked)
        numbers = [candidate.number for _, candidate in met]
        return span.within(min(numbers), max(numbers)) if numbers else span

    def _came_before(self, fence: Transition, asked: RequestRow, span: Span) -> bool:
        """Whether a fence came before its effect: surely, where the answer may mean something else too."""
        if asked.error in FENCED:
            most = self._span(asked, self._tolerance_ms).most
            return most is None or fence.number <= most
        # an EndTxn that met an open transaction would have ended it
        between = self._transitions[max(span.least - 1, 0) : fence.number - 1]
        return span.least > 0 and all(each.record.status == ONGOING for each in between)

    def _known(self, span: Span) -> Sequence[Transition]:
        """The states of a span; none where one of them is not known, or there was nothing at first."""
        states = self._transitions[span.least - 1 : span.most] if span.least else ()
        return () if any(each.number in self._lost for each in states) else states

    def _began(self, refusal: Refusal, span: Span) -> Identity | None:
        """What a producer had once: by its connection, its client id, or because nothing else is over."""
        if refusal.began is not None:
            return refusal.began.producer_id, refusal.began.epoch
        return (
            self._went_on(refusal.went_on)
            or self._client_began(refusal.asked.client_id, span)
            or self._only_one_over(span)
        )

    def _went_on(self, later: KnownEpoch | None) -> Identity | None:
        """Where an instance began that presented this later: it had nothing else in between."""
        last = None if later is None else self._last_of(later.producer_id, later.epoch)
        at = 0 if last is None else bisect_right(self._foreign, last)
        began = self._at[self._foreign[at - 1]] if at else None
        return _identity(began) if began is not None and began.act == NEW_INSTANCE else None

    def _client_began(self, client_id: str | None, span: Span) -> Identity | None:
        """Instances of one application often share the client id: it only tells where it was the name of one
        new instance that is over, and the requests behind all that happened to the id are known.
        """
        if any(_up_to(number, span) for number in self._untold):
            return None
        begun = [each for each in self._begun.get(client_id or "", []) if _up_to(each.number, span)]
        over = [each for each in begun if self._foreign_after(each.number)]
        cut = any(not self._foreign_after(each.number) and self._lost for each in begun)
        return _identity(over[0]) if len(over) == 1 and not cut else None

    def _only_one_over(self, span: Span) -> Identity | None:
        """The first epoch of an id that has had two: whoever is refused has it."""
        had = dict.fromkeys(_identity(each) for each in self._states if _up_to(each.number, span))
        told = not any(_up_to(number, span) for number in self._hidden)
        return next(iter(had)) if told and len(had) == 2 else None

    def _last_of(self, producer_id: int, epoch: int | None) -> int | None:
        """The number of the last state of this producer id up to this epoch."""
        if epoch is None or producer_id not in self._epochs:
            return None
        numbers, epochs = self._epochs[producer_id]
        at = bisect_right(epochs, epoch)
        return numbers[at - 1] if at else None

    def _followed(self, last_mine: int | None) -> int | None:
        """The last state that a producer can have gone on to from there, by its own moves.

        None when nothing tells whose the next move was.
        """
        foreign = None if last_mine is None else self._foreign_after(last_mine)
        return None if foreign is None or foreign.act is None else foreign.number - 1

    def _foreign_after(self, number: int) -> Transition | None:
        """The next move of the epoch that somebody else made."""
        at = bisect_right(self._foreign, number)
        return self._at[self._foreign[at]] if at < len(self._foreign) else None

    def _next(self, number: int | None) -> Transition | None:
        if number is None:
            return None
        at = bisect_right(self._numbers, number)
        return self._states[at] if at < len(self._states) else None


def _identity(state: Transition) -> Identity:
    return state.record.producer_id or 0, state.record.producer_epoch or 0


def _agreed(states: Sequence[Transition]) -> Transition | None:
    """The newest of some states, where all of them have its epoch."""
    identities = {(each.record.producer_id, each.record.producer_epoch) for each in states}
    return states[-1] if len(identities) == 1 and not states[-1].record.tombstone else None


def _up_to(number: int, span: Span) -> bool:
    return span.most is None or number <= span.most


def _or_none(value: int | None) -> int | None:
    return None if value == NONE else value


def _lost(states: Sequence[Transition], log: Log | None) -> set[int]:
    """The states that a hole in the log follows: nothing tells how long they lasted."""
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
    found: dict[int, tuple[list[int], list[int]]] = {}
    for each in states:
        producer_id, epoch = each.record.producer_id, each.record.producer_epoch
        if producer_id is None or epoch is None:
            continue
        numbers, epochs = found.setdefault(producer_id, ([], []))
        while epochs and epochs[-1] >= epoch:
            epochs.pop()
            numbers.pop()
        numbers.append(each.number)
        epochs.append(epoch)
    return found
