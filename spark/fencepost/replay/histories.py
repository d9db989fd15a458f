"""Histories: from where to where in a log, and from when to when, something was so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

State = TypeVar("State")


class Point(NamedTuple):
    """An offset at which something became observable, and the timestamp there in milliseconds."""

    position: int
    ms: int | None


Interval = tuple[int, int | None, int | None, int | None]
"""``[from_position, to_position)``, then ``from_ms`` and ``to_ms``; the ends are None while it goes on."""


def interval(begin: Point, end: Point | None) -> Interval | None:
    """From ``begin`` to ``end``, or on; None when nothing lies between."""
    if end is None:
        return (begin.position, None, begin.ms, None)
    if begin.position >= end.position:
        return None
    return (begin.position, end.position, begin.ms, end.ms)


@dataclass(slots=True)
class History(Generic[State]):
    """The states that followed each other, each from its point until the next one's."""

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
        """The states of a range, with the part of the range that each was true in."""
        begins, found = self.begins, []
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
                found.append((self.states[number], cut))
        return found


def begun_by(begins: Sequence[Point], position: int) -> int:
    """How many of these points, which rise, are at or below an offset."""
    # compared as tuples: calling a function for each point takes many times as long
    return bisect_left(begins, (position + 1,))
