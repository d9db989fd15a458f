"""Histories: the states of something, each with its interval in a log and in time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

State = TypeVar("State")


class Point(NamedTuple):
    """The offset at which something became observable, and the timestamp there in milliseconds."""

    position: int
    ms: int | None


Interval = tuple[int, int | None, int | None, int | None]
"""``[from_position, to_position)``, then ``from_ms`` and ``to_ms``; the ends are None if it has not ended."""


def interval(begin: Point, end: Point | None) -> Interval | None:
    """The interval from ``begin`` to ``end`` (None: it has not ended); None if it is empty."""
    if end is None:
        return (begin.position, None, begin.ms, None)
    if begin.position >= end.position:
        return None
    return (begin.position, end.position, begin.ms, end.ms)


@dataclass(slots=True)
class History(Generic[State]):
    """Successive states, each valid from its point until that of the next."""

    states: list[State] = field(default_factory=list)
    begins: list[Point] = field(default_factory=list)

    @property
    def newest(self) -> State | None:
        """The state that holds now; None before the first."""
        return self.states[-1] if self.states else None

    def add(self, at: Point, state: State) -> None:
        """``state`` holds from ``at`` on."""
        self.begins.append(at)
        self.states.append(state)

    def between(self, begin: Point, end: Point | None) -> list[tuple[State, Interval]]:
        """The states in a range, each with the part of the range in which it was true."""
        begins, states = self.begins, []
        at = begun_by(begins, begin.position) - 1
        for number in range(max(at, 0), len(begins)):
            since = begin if number == at else begins[number]
            if end is not None and since.position >= end.position:
                break
            until = begins[number + 1] if number + 1 < len(begins) else None
            if until is None or (end is not None and end.position <= until.position):
                until = end
            cut = interval(since, until)
            if cut is not None:
                states.append((self.states[number], cut))
        return states


def begun_by(begins: Sequence[Point], position: int) -> int:
    """How many of these points, which are sorted, are at or below an offset."""
    # compares tuples: a key function, called for each point, takes many times as long
    return bisect_left(begins, (position + 1,))
