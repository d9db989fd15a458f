"""Which states of a transactional id a request may have met, by the clock of the broker that answered it.

A request to the coordinator is ordered by all records of its log (states_met). A request to another broker is
ordered only by records that this broker itself wrote, while it led the coordinator's log.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from fencepost.protocols.producer_epoch.transaction_metadata import Transition


class Span(NamedTuple):
    """The numbers of the first and the last possible state; ``most`` is None for no bound."""

    least: int
    most: int | None

    def within(self, least: int, most: int | None) -> Span:
        """The part of the span within these bounds."""
        ends = [end for end in (self.most, most) if end is not None]
        return Span(max(self.least, least), min(ends) if ends else None)


class Clocks:
    """The states of one transactional id, by the clocks that dated them."""

    def __init__(self, transitions: Sequence[Transition], leaders: Mapping[int, int | None]) -> None:
        """``leaders``: broker ids by leader epoch."""
        dated: dict[int, list[tuple[int, int]]] = {}
        for each in transitions:
            led_by = leaders.get(each.record.leader_epoch)
            # the times of compacted records are not their own
            if led_by is not None and not each.record.based:
                dated.setdefault(led_by, []).append((each.number, each.record.timestamp_ms))
        self._of_broker = {broker_id: _Clock.of(states) for broker_id, states in dated.items()}

    def dated_by(self, broker_id: int) -> bool:
        """Whether a broker's clock dated any state."""
        return broker_id in self._of_broker

    def began_ms(self, broker_id: int, number: int) -> int | None:
        """When a state began, by a broker's clock; None if that did not date it, or was set back since."""
        clock = self._of_broker.get(broker_id)
        return None if clock is None else clock.began_ms(number)

    def during(self, broker_id: int, start_ms: int, end_ms: int) -> Span:
        """The states that the id may have had between two times of a broker's clock."""
        clock = self._of_broker.get(broker_id)
        return Span(0, None) if clock is None else clock.during(start_ms, end_ms)


class _Clock(NamedTuple):
    """The states that one broker dated. A clock may be set back: ``newest_ms`` is the newest time up to each
    state, ``oldest_ms`` the oldest from each state on.
    """

    numbers: list[int]
    newest_ms: list[int]
    oldest_ms: list[int]

    @classmethod
    def of(cls, states: Sequence[tuple[int, int]]) -> _Clock:
        times = [ms for _, ms in states]
        oldest = list(accumulate(reversed(times), min))[::-1]
        return cls([number for number, _ in states], list(accumulate(times, max)), oldest)

    def began_ms(self, number: int) -> int | None:
        at = bisect_left(self.numbers, number)
        if at == len(self.numbers) or self.numbers[at] != number or self.oldest_ms[at] < self.newest_ms[at]:
            return None
        return self.oldest_ms[at]

    def during(self, start_ms: int, end_ms: int) -> Span:
        before = bisect_right(self.newest_ms, start_ms)
        after = bisect_right(self.oldest_ms, end_ms)
        least = self.numbers[before - 1] if before else 0
        return Span(least, self.numbers[after] - 1 if after < len(self.numbers) else None)
