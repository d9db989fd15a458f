"""The place in its group's log at which a JoinGroup was decided."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.joins import Join
from fencepost.protocols.ownership_claim.signs import Signs
from fencepost.reasons import (
    CLEANED_AWAY,
    NO_VALUE,
    NOT_CAPTURED,
    OTHER_CLOCK,
    Unknown,
)
from fencepost.replay.line_times import LineTimesOfCluster
from fencepost.replay.logs import Base
from fencepost.replay.requests import NONE

_OTHER_KIND = Unknown(
    NO_VALUE,
    "the group is, or may be, of another kind here: the specification has the rules of classic groups",
)
_HOLE = Unknown(NOT_CAPTURED, "the log has a hole here")
_OTHER_CLOCK = Unknown(OTHER_CLOCK, "its broker's clock is not the one that wrote the group's records")


class Place(NamedTuple):
    """The place in the group's log at which a request was decided: the newest generations that were written
    when it arrived (``first``) and when it was answered (``last``); None if there was none, or if its life
    was over. ``arrived``, ``answered``: the numbers of these generations, also of one whose life was over; -1
    before the first.

    ``why_not``: why the place is not known. ``by_clock``: the place is known only by times, since no record
    has the generation of the answer.
    """

    first: Generation | None = None
    last: Generation | None = None
    why_not: Unknown | None = None
    by_clock: bool = False
    arrived: int = -1
    answered: int = -1


class Places:
    """The places of the JoinGroups of one group.

    ``whole``: whether no part of the group's log is missing, except what compaction removed up to ``base``
    (None: nothing). ``other_kinds``: whether the group is, or was, of another kind as well;
    ``begins_otherwise``: whether its first record is of another kind. ``line_times``: what times of
    lines are worth.
    """

    def __init__(
        self,
        generations: Sequence[Generation],
        signs: Signs,
        leaders: Mapping[int, int | None],
        tolerance_ms: int,
        *,
        line_times: LineTimesOfCluster,
        whole: bool,
        other_kinds: bool,
        begins_otherwise: bool,
        base: Base | None,
    ) -> None:
        self._generations = generations
        ranges = [
            line_times.range_of(leaders.get(each.record.leader_epoch), each.begin.ms or 0)
            for each in generations
        ]
        self._earliest = [each.low_ms for each in ranges]
        self._latest = [each.high_ms for each in ranges]
        self._epochs = [generation.record.leader_epoch for generation in generations]
        self._leaders = leaders
        self._tolerance_ms = tolerance_ms
        self._whole = whole and not begins_otherwise
        self._begins_otherwise = begins_otherwise
        self._other_kinds = other_kinds
        self._base = base
        self._signs = signs

    def of(self, join: Join) -> Place:
        """The place at which a request was decided: by the record of its generation, else by the clock."""
        if join.error == NONE and join.answered_id is not None:
            generation = self._signs.generation_of(join.answered_id, join.generation)
            if generation is not None:
                before = generation.before
                hole = before is None and not generation.is_first
                return Place(
                    before,
                    generation,
                    generation.why_none_before if hole else None,
                    arrived=-1 if before is None else before.number,
                    answered=generation.number,
                )
        if not self._generations:
            unknown = _OTHER_KIND if self._other_kinds else self._not_shown("the group")
            return Place(why_not=None if self.is_whole_for(join) else unknown)
        return self._place_by_clock(join)

    def _place_by_clock(self, join: Join) -> Place:
        first, last = self._newest_by_then(join)
        near = self._generations[max(first, 0) : last + 2]
        brokers: set[int | None] = {self._leaders.get(generation.record.leader_epoch) for generation in near}
        elsewhere = bool(brokers - {None, join.line.broker_id})
        if elsewhere and (
            self.only_term(join.line.broker_id) is None or self._may_be_over(first) or self._may_be_over(last)
        ):
            return Place(why_not=_OTHER_CLOCK)
        until = None if elsewhere else join.line.responded_ms + self._tolerance_ms
        if self._other_kinds and (
            self._may_be_converted(first, until) or self._may_be_converted(last, until)
        ):
            return Place(why_not=_OTHER_KIND)
        if any(generation.is_before_hole for generation in near):
            return Place(why_not=_HOLE)
        if first < 0 and not self.is_whole_for(join):
            return Place(why_not=self._not_shown("the group before this request"))
        arrived, answered = join.line.requested_ms, join.line.responded_ms
        if elsewhere:
            arrived = answered = 0  # they are of another clock, but known to come before the next record
        return Place(
            self._newest(first, arrived),
            self._newest(last, answered),
            by_clock=True,
            arrived=first,
            answered=last,
        )

    def _not_shown(self, what: str) -> Unknown:
        reason = NOT_CAPTURED if self._base is None else CLEANED_AWAY
        return Unknown(reason, f"the log does not show {what}")

    def is_whole_for(self, join: Join) -> bool:
        """Whether the log shows the group as it was when a request came: of what is compacted, it shows only
        what was left at the end.
        """
        if not self._whole or self._base is None:
            return self._whole
        compacted_ms = self._base.ms
        if compacted_ms is None or set(self._leaders.values()) != {join.line.broker_id}:
            return False
        return compacted_ms < join.line.requested_ms - self._tolerance_ms

    def _may_be_over(self, number: int) -> bool:
        """Whether the generation with this number ended otherwise than by the next one."""
        if number < 0 or self._generations[number].end is None:
            return False
        following = self._generations[number + 1 : number + 2]
        return not following or following[0].before is not self._generations[number]

    def _may_be_converted(self, number: int, until: int | None) -> bool:
        """Whether the group may have been of another kind after the generation with this number, until a time
        of the clock that dated the records (None: at any time).
        """
        if number < 0:
            return self._begins_otherwise or not self._whole
        end = self._generations[number].end
        return self._may_be_over(number) and (
            end is None or end.ms is None or until is None or end.ms <= until
        )

    def _newest_by_then(self, join: Join) -> tuple[int, int]:
        """The numbers of the newest generations that were written when it arrived, and when it was answered.

        If the broker led the log in one term only, leader epochs order its requests against the generations
        of other brokers; times are compared only within its term.
        """
        term = self.only_term(join.line.broker_id)
        low, high = 0, len(self._epochs)
        if term is not None:
            low, high = bisect_left(self._epochs, term), bisect_right(self._epochs, term)
        first = bisect_right(self._latest[low:high], join.line.requested_ms - self._tolerance_ms)
        last = bisect_right(self._earliest[low:high], join.line.responded_ms + self._tolerance_ms)
        return low + first - 1, low + last - 1

    def only_term(self, broker_id: int) -> int | None:
        """The only leader epoch in which a broker coordinated the group; None if there may be several."""
        led_epochs = [epoch for epoch, leader in self._leaders.items() if leader == broker_id]
        # leader epochs are consecutive from 0 on
        all_known = 0 in self._leaders and all(epoch in self._leaders for epoch in self._epochs)
        return led_epochs[0] if all_known and len(led_epochs) == 1 else None

    def _newest(self, number: int, ms: int) -> Generation | None:
        """The generation with this number, unless the group no longer existed, or was of another
        kind, then.
        """
        if number < 0:
            return None
        end = self._generations[number].end
        has_ended = end is not None and end.ms is not None and end.ms < ms - self._tolerance_ms
        return None if has_ended else self._generations[number]
