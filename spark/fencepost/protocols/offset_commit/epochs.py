"""The epochs of a group over time, and how they split the rows of its members."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from fencepost.replay.histories import History, Interval, Point, begun_by, interval


class Epochs(NamedTuple):
    """The group's own epochs after a batch; None where they are not known (after a hole: not yet again)."""

    group_type: str | None
    group_epoch: int | None
    target_assignment_epoch: int | None


class EpochSpan(NamedTuple):
    """One row of a member that did not change: the group's epochs at its beginning and at its end."""

    first: Epochs
    last: Epochs
    during: Interval


@dataclass(slots=True)
class EpochHistory(History[Epochs]):
    """The epochs of a group. ``_breaks``: the numbers of the states that do not continue the one before."""

    _breaks: list[int] = field(default_factory=list)

    def add(self, at: Point, state: Epochs) -> None:
        """``state`` holds from ``at`` on."""
        if self.states and not _goes_on(self.states[-1], state):
            self._breaks.append(len(self.states))
        History.add(self, at, state)

    def beside(self, member_epoch: int, begin: Point, end: Point | None) -> Iterator[EpochSpan]:
        """The rows of a member that had an epoch from ``begin`` to ``end``.

        A row continues while the group's epochs rise and stay in order: the member epoch is not above the
        target assignment epoch, nor that above the group epoch. So a row says for each of its moments which
        epoch is ahead. With a row for each epoch of the group, 10,000 members and as many epochs would make
        100 million rows.
        """
        current = begun_by(self.begins, begin.position) - 1
        stop = len(self.begins) if end is None else begun_by(self.begins, end.position - 1)
        number = max(current, 0)
        while number < stop:
            first = self.states[number]
            following = number + 1
            if not _is_ahead(member_epoch, first.target_assignment_epoch):
                at = bisect_right(self._breaks, number)
                following = min(self._breaks[at] if at < len(self._breaks) else stop, stop)
            since = begin if number == current else self.begins[number]
            during = interval(since, self.begins[following] if following < stop else end)
            if during is not None:
                yield EpochSpan(first, self.states[following - 1], during)
            number = following


def _goes_on(before: Epochs, now: Epochs) -> bool:
    """Whether the group keeps its type, no epoch falls, and the epochs are in order before and now."""
    return (
        before.group_type == now.group_type
        and _rises(before.group_epoch, now.group_epoch)
        and _rises(before.target_assignment_epoch, now.target_assignment_epoch)
        and not any(_is_ahead(each.target_assignment_epoch, each.group_epoch) for each in (before, now))
    )


def _rises(before: int | None, now: int | None) -> bool:
    if before is None or now is None:
        return before is now
    return before <= now


def _is_ahead(epoch: int | None, other: int | None) -> bool:
    return epoch is not None and other is not None and epoch > other
