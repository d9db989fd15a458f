"""The states that a JoinGroup may have met: the group's generation, and what the coordinator knew of the
member.

A JoinGroup that is answered with generation G waited for G, and so met the generation before; or it was sent
again within G with the same metadata, and was answered at once (ClassicGroup). The answer itself is no
evidence of what the broker knew of the member; records, and answers to other requests, are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.joins import Join, Lines
from fencepost.protocols.ownership_claim.rebalance import CoordinatorLine
from fencepost.protocols.ownership_claim.signs import Signs
from fencepost.replay.group_coordinator.requests import ELSEWHERE
from fencepost.replay.logs import Base
from fencepost.replay.requests import LATEST_MS, NONE

_FENCED, _INCONSISTENT = "FENCED_INSTANCE_ID", "INCONSISTENT_GROUP_PROTOCOL"
_OTHER_KIND = "the group is, or may be, of another kind here: its rules for JoinGroup depend on the broker's configuration"
_MOST = 6
_Key = TypeVar("_Key")


class Place(NamedTuple):
    """The place in the group's log at which a request was decided: the newest generations that were written
    when it arrived (``first``) and when it was answered (``last``); None if there was none.

    ``why_not``: why the place is not known. ``by_clock``: the place is known only by times, since no record
    has the generation of the answer.
    """

    first: Generation | None = None
    last: Generation | None = None
    why_not: str | None = None
    by_clock: bool = False


class State(NamedTuple):
    """A state that a JoinGroup may have met: columns of silver.group_join_states."""

    current_generation: int | None
    member_known: bool | None
    instance_known: bool | None
    instance_fenced: bool | None
    protocols_supported: bool | None


class StatesMet:
    """The states that the JoinGroups of one group may have met.

    ``whole``: whether no part of the group's log is missing, except what compaction removed up to ``base``
    (None: nothing). ``other_kinds``: whether the group is, or was, of another kind as well. ``unread``:
    positions of lines of request logs that could not be read, by file.
    """

    def __init__(
        self,
        generations: Sequence[Generation],
        lines: Lines,
        coordinator_lines: Iterable[CoordinatorLine],
        leaders: Mapping[int, int | None],
        tolerance_ms: int,
        *,
        whole: bool,
        other_kinds: bool,
        base: Base | None,
        unread: Mapping[str, Sequence[int]],
    ) -> None:
        self._generations = generations
        self._times = [generation.begin.ms or 0 for generation in generations]
        self._epochs = [generation.record.leader_epoch for generation in generations]
        self._leaders = leaders
        self._tolerance_ms = tolerance_ms
        self._whole = whole and not other_kinds
        self._other_kinds = other_kinds
        self._base = base
        self._unread = unread
        self._signs = Signs(generations, lines, coordinator_lines)

    def place(self, join: Join) -> Place:
        """The place at which a request was decided: by the record of its generation, else by the clock."""
        if join.error == NONE and join.answered_id is not None:
            generation = self._signs.generation_of(join.answered_id, join.generation)
            if generation is not None:
                before = generation.before
                hole = before is None and not generation.is_first
                return Place(
                    before, generation, "the log has a hole before this generation" if hole else None
                )
        if not self._generations:
            unknown = _OTHER_KIND if self._other_kinds else "the log does not show the group"
            return Place(why_not=None if self._is_whole_for(join) else unknown)
        return self._place_by_clock(join)

    def _place_by_clock(self, join: Join) -> Place:
        first, last = self._newest_by_then(join)
        near = self._generations[max(first, 0) : last + 2]
        brokers: set[int | None] = {self._leaders.get(generation.record.leader_epoch) for generation in near}
        elsewhere = bool(brokers - {None, join.line.broker_id})
        if elsewhere and (
            self._only_term(join.line.broker_id) is None
            or self._may_be_over(first)
            or self._may_be_over(last)
        ):
            return Place(why_not="its broker's clock is not the one that wrote the group's records")
        until = None if elsewhere else join.line.responded_ms + self._tolerance_ms
        if self._other_kinds and (
            self._may_be_converted(first, until) or self._may_be_converted(last, until)
        ):
            return Place(why_not=_OTHER_KIND)
        if any(generation.is_before_hole for generation in near):
            return Place(why_not="the log has a hole here")
        if first < 0 and not self._is_whole_for(join):
            return Place(why_not="the log does not show the group before this request")
        arrived, answered = join.line.requested_ms, join.line.responded_ms
        if elsewhere:
            arrived = answered = 0  # they are of another clock, but known to come before the next record
        return Place(self._newest(first, arrived), self._newest(last, answered), by_clock=True)

    def _is_whole_for(self, join: Join) -> bool:
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
            return True
        end = self._generations[number].end
        return self._may_be_over(number) and (
            end is None or end.ms is None or until is None or end.ms <= until
        )

    def _newest_by_then(self, join: Join) -> tuple[int, int]:
        """The numbers of the newest generations that were written when it arrived, and when it was answered.

        If the broker led the log in one term only, leader epochs order its requests against the generations
        of other brokers; times are compared only within its term.
        """
        term = self._only_term(join.line.broker_id)
        low, high = 0, len(self._times)
        if term is not None:
            low, high = bisect_left(self._epochs, term), bisect_right(self._epochs, term)
        times = self._times[low:high]
        first = bisect_right(times, join.line.requested_ms - self._tolerance_ms)
        last = bisect_right(times, join.line.responded_ms + self._tolerance_ms)
        return low + first - 1, low + last - 1

    def _only_term(self, broker_id: int) -> int | None:
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

    def states(self, join: Join, place: Place) -> list[State]:
        """The states that a request may have met at its place; an empty list if they are not known."""
        if join.error in ELSEWHERE:
            return [State(None, None, None, None, None)]
        if self._signs.is_migration_disabled(join, self._tolerance_ms):
            return [State(None, None, None, None, False)]
        if place.why_not is not None:
            return []
        current = self._current(join, place)
        if not current:
            return []
        member = self._member_known(join, place)
        instance, fenced = self._instance(join, place)
        if join.error == _FENCED and instance and fenced is False:
            fenced = self._fenced_later(join, member)
        supported = _protocols_supported(join, place)
        if join.error == _INCONSISTENT and supported and not self._is_settled(join, place):
            # members may have joined since with fewer assignors; a record has them only when all have joined
            supported = None
        if place.by_clock and join.error == NONE:
            # its line may be later than the tolerance: a record before the line may be after the request
            fenced, supported = None if fenced else fenced, supported or None
        return [
            State(generation, member, instance, fenced, supported)
            for generation in sorted(current, key=lambda each: each or 0)
        ]

    def _fenced_later(self, join: Join, member_known: bool | None) -> bool | None:
        """Whether another member took over the instance of this one while it waited for the others: then it is
        told so in the end.
        """
        if any(self._signs.takeovers_during(join)):
            return True
        return False if member_known else None

    def _is_settled(self, join: Join, place: Place) -> bool:
        """Whether the group was certainly in its newest generation, and not about to leave it."""
        if place.first is None or place.first is not place.last:
            return False
        settled_ms = self._signs.settled.get((join.line.broker_id, place.first.assignment_record))
        return settled_ms is not None and settled_ms - self._tolerance_ms > join.line.responded_ms

    def _current(self, join: Join, place: Place) -> set[int | None]:
        """The generations that may have been current; {None} if there are too many."""
        if join.error != NONE:
            low = 0 if place.first is None else place.first.generation
            high = low if place.last is None else place.last.generation
            # the next one may have begun already without being written
            possible = range(min(low, high), high + 2)
            return set(possible) if len(possible) <= _MOST else {None}
        if join.generation < 1:
            return set()
        generations: set[int | None] = {join.generation - 1, join.generation}
        if self._joined_again(join, place):
            generations.remove(join.generation - 1)
        elif self._waited_for_generation(join, place):
            generations.remove(join.generation)
        return generations

    def _joined_again(self, join: Join, place: Place) -> bool:
        """Whether the generation of its answer had begun before it arrived."""
        if place.last is None or place.last.generation != join.generation:
            return False
        first_answer_ms = self._signs.first_answers.get((join.line.broker_id, place.last.assignment_record))
        return first_answer_ms is not None and first_answer_ms < join.line.requested_ms - self._tolerance_ms

    def _waited_for_generation(self, join: Join, place: Place) -> bool:
        """Whether the generation of its answer had not begun when it arrived."""
        if join.instance_id is None and not join.member_id:
            return True
        broker_id, arrived = join.line.broker_id, join.line.requested_ms
        before, generation = place.first, place.last
        if before is not None and before.generation == join.generation - 1:
            last_request_ms = self._signs.last_requests.get((broker_id, before.assignment_record))
            if last_request_ms is not None and last_request_ms - self._tolerance_ms >= arrived:
                return True
        if (
            generation is not None
            and generation.generation == join.generation
            and generation.begin.ms is not None
        ):
            until = generation.begin.ms + self._tolerance_ms
            preparing = self._signs.preparing_times.get((broker_id, join.generation - 1), ())
            if any(arrived <= ms <= until for ms in preparing):
                return True
        return self._follows_another_generation(join)

    def _follows_another_generation(self, join: Join) -> bool:
        """Whether the member's line before this one, in the same file, is of another generation: a file has
        all lines of its time, except those that could not be read.
        """
        lines = self._signs.lines.get(join.answered_id or join.member_id, [])
        at = bisect_left(lines, (join.line.file, join.line.position)) - 1
        if at < 0:
            return False
        file, position, generation = lines[at]
        unread = self._unread.get(file, ())
        if file != join.line.file or any(position < hole < join.line.position for hole in unread):
            return False
        return generation != join.generation

    def _member_known(self, join: Join, place: Place) -> bool | None:
        if not join.member_id:
            return False
        member_id = join.member_id
        now = -1 if place.first is None else place.first.number
        first, last = self._signs.records_of_members.get(member_id, (len(self._generations), -1))
        was_assigned = member_id in self._signs.assigned_ids
        # if only times are known, it may have been removed after the newest record before its answer
        until = place.last.number if place.by_clock and place.last is not None else now
        if (first <= now or was_assigned) and (last > until or self._is_member_later(join)):
            return True
        never_member = last < 0 and not was_assigned and self._was_never_member(join)
        return False if self._was_removed(join, place, now, last) or never_member else None

    def _is_member_later(self, join: Join) -> bool:
        """Whether a later request shows that it was still a member: member ids are unique."""
        line_of_join = join.line
        for line in self._signs.membership_lines.get(join.member_id, ()):
            if line.broker_id != line_of_join.broker_id:
                continue
            if line_of_join.connection is not None and line.connection == line_of_join.connection:
                # a broker takes up the next request of a connection when it has logged the one before
                behind, ahead = (
                    (line.responded_ms, line.position),
                    (line_of_join.responded_ms, line_of_join.position),
                )
                if behind > ahead if line.file == line_of_join.file else behind[0] > ahead[0]:
                    return True
            if line.requested_ms - self._tolerance_ms > line_of_join.responded_ms:
                return True
        return False

    def _was_removed(self, join: Join, place: Place, now: int, last: int) -> bool:
        """Whether the member was removed before: member ids are unique."""
        late_ms = self._tolerance_ms
        if place.by_clock and join.error == NONE:
            late_ms = max(late_ms, LATEST_MS)
        before = join.line.requested_ms - late_ms
        failed = self._signs.removals.get((join.line.broker_id, join.member_id))
        if failed is not None and failed < before:
            return True
        if not 0 <= last < now:
            return False
        term = self._only_term(join.line.broker_id)
        if term is not None and self._epochs[last + 1] < term:
            return True
        return self._times[last + 1] < before

    def _was_never_member(self, join: Join) -> bool:
        """Whether a refused member never existed: no record and no answer names it, and all of them are
        known.
        """
        return self._is_whole_for(join) and join.error != NONE and not any(self._unread.values())

    def _instance(self, join: Join, place: Place) -> tuple[bool | None, bool | None]:
        if join.instance_id is None:
            return False, False
        if place.why_not is not None:
            return None, None
        first, last = (
            None if each is None else each.instances.get(join.instance_id)
            for each in (place.first, place.last)
        )
        if first is None and last is None and place.first is place.last:
            # a static member that was let in has an instance that no record shows, until its generation is written
            known_absent = place.first is None and self._is_whole_for(join) and join.error != NONE
            return (False, False) if known_absent else (None, None)
        if first is not None and first == last:
            return True, bool(join.member_id) and first != join.member_id
        if (
            first is not None
            and last is not None
            and bool(join.member_id)
            and join.member_id not in {first, last}
        ):
            return True, True
        return None, None if join.member_id else False


def _protocols_supported(join: Join, place: Place) -> bool | None:
    """Whether the request supports the group's assignor, which an empty group does not have."""
    if place.why_not is not None:
        return None
    records_met = [each.record for each in (place.first, place.last) if each is not None]
    if all(not record.members for record in records_met):
        return True if join.protocols else None
    if all(record.protocol in join.protocols for record in records_met if record.members):
        return True
    other_type = all(record.members and record.protocol_type != join.protocol_type for record in records_met)
    return False if other_type and join.protocol_type else None
