"""Who was fenced, and by whom: requests refused because a producer's epoch is over."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from fencepost.protocols.producer_epoch.asked import FENCED, STALE_END
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.refusals import Had, Refusal
from fencepost.protocols.producer_epoch.transaction_metadata import END_TXN, NEW_INSTANCE, Transition
from fencepost.replay.logs import Log


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

    def __init__(self, transitions: Iterable[Transition], log: Log | None) -> None:
        self._states = [each for each in transitions if not each.record.tombstone]
        self._numbers = [each.number for each in self._states]
        self._at = {each.number: each for each in self._states}
        self._lost = _lost(self._states, log)
        times = sorted((each.record.timestamp_ms, each.number) for each in self._states)
        self._times = [ms for ms, _ in times]
        self._newest = list(accumulate((number for _, number in times), max))
        self._foreign = [each for each in self._states if each.moved and not each.own]
        self._foreign_numbers = [each.number for each in self._foreign]
        self._untold = sorted(
            each.record.timestamp_ms for each in self._states if each.moved and each.act is None
        )
        self._begun: dict[str, list[Had]] = {}
        for each in self._states:
            if each.cause == NEW_INSTANCE and each.by is not None and each.by.client_id is not None:
                self._begun.setdefault(each.by.client_id, []).append(_had(each))
        for begun in self._begun.values():
            begun.sort()
        self._epochs = _last_epochs(self._states)
        self._any_hidden = any(each.hidden for each in self._states)

    def of(self, refusal: Refusal) -> Fencing | None:
        """What fenced a request; None where its epoch is known not to be over.

        Also where nothing can be told: there is no history of the id, or nothing says what was presented.
        An EndTxn that is answered STALE_END may just be a retry.
        """
        producer_id, epoch = _or_none(refusal.producer_id), _or_none(refusal.victim_epoch)
        last_mine = last_own = None
        if self._states:
            began = self._began(refusal) if epoch is None else None
            if producer_id is None and began is not None:
                mine = began.producer_id
            else:
                mine = producer_id if producer_id is not None else NONE
            presented = epoch if epoch is not None else began.epoch if began is not None else None
            last_mine = self._last_of(mine, presented)
            last_own = last_mine if epoch is not None else self._followed(last_mine)
        fence = self._next(last_own)
        reached = self._at.get(last_own) if fence is not None and last_own is not None else None
        if reached is not None:
            producer_id = reached.record.producer_id if producer_id is None else producer_id
            epoch = reached.record.producer_epoch if epoch is None else epoch
        asked = refusal.asked
        now = self._state_at(bisect_right(self._times, asked.responded_ms))
        ended_itself = fence is not None and fence.cause in (END_TXN, None)
        fenced = fence is not None and not (asked.error == STALE_END and ended_itself)
        untold = now is None or epoch is None or (self._any_hidden and last_mine is None)
        if not fenced and not (untold and asked.error in FENCED):
            return None
        before = self._state_at(bisect_left(self._times, asked.requested_ms))
        settled = now is not None and self._now(now) == self._now(before) and now.number not in self._lost
        return Fencing(refusal, producer_id, epoch, fence, now if settled else None)

    def _now(self, state: Transition | None) -> tuple[object, ...] | None:
        if state is None:
            return None
        return state.record.producer_id, state.record.producer_epoch, state.number in self._lost

    def _began(self, refusal: Refusal) -> Had | None:
        """What the connection had, or what the client id tells where the connection tells nothing.

        Instances of one application often share it: it only tells where it was the name of one new instance
        of the id, and the requests behind all that happened to the id are known.
        """
        if refusal.began is not None or refusal.asked.client_id is None:
            return refusal.began
        until = refusal.asked.requested_ms
        begun = self._begun.get(refusal.asked.client_id, [])
        alone = bisect_right(begun, until, key=lambda each: each.at_ms) == 1
        return begun[0] if alone and not bisect_right(self._untold, until) else None

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
        if last_mine is None:
            return None
        at = bisect_right(self._foreign_numbers, last_mine)
        if at == len(self._foreign) or self._foreign[at].act is None:
            return None
        return self._foreign_numbers[at] - 1

    def _next(self, number: int | None) -> Transition | None:
        if number is None:
            return None
        at = bisect_right(self._numbers, number)
        return self._states[at] if at < len(self._states) else None

    def _state_at(self, count: int) -> Transition | None:
        """The newest state among the first ``count`` in the order of time."""
        return self._at[self._newest[count - 1]] if count else None


def _had(state: Transition) -> Had:
    record = state.record
    return Had(record.timestamp_ms, record.producer_id or 0, record.producer_epoch or 0)


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
