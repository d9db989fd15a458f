"""The states that a JoinGroup may have met: the group's generation, and what the coordinator knew of the
member.

A JoinGroup that is answered with generation G waited for G, and so met the generation before; or it was sent
again within G with the same metadata, and was answered at once (ClassicGroup). The answer itself is no
evidence of what the broker knew of the member; records, and answers to other requests, are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.joins import Join, Lines
from fencepost.protocols.ownership_claim.places import Place, Places
from fencepost.protocols.ownership_claim.rebalance import CoordinatorLine
from fencepost.protocols.ownership_claim.signs import Signs
from fencepost.reasons import (
    ALL_KNOWN,
    CLEANED_AWAY,
    NO_ANSWER,
    NO_COORDINATOR,
    NOT_CAPTURED,
    NOT_LOGGED,
    Unknown,
)
from fencepost.replay.group_coordinator.requests import ELSEWHERE
from fencepost.replay.line_times import LineTimesOfCluster
from fencepost.replay.logs import Base
from fencepost.replay.requests import LATEST_MS, NONE
from fencepost.replay.unread_lines import UnreadLines, are_read

_FENCED, _INCONSISTENT, _UNKNOWN_MEMBER = (
    "FENCED_INSTANCE_ID", "INCONSISTENT_GROUP_PROTOCOL", "UNKNOWN_MEMBER_ID",
)  # fmt: skip
_NO_ANSWER = Unknown(NO_ANSWER, "the request log has no answer")
_NO_STATE = Unknown(NOT_CAPTURED, "the states that it may have met are not known")
_MOST = 6
_Key = TypeVar("_Key")


class State(NamedTuple):
    """A state that a JoinGroup may have met: columns of silver.group_join_states."""

    current_generation: int | None
    member_known: bool | None
    instance_known: bool | None
    instance_fenced: bool | None
    protocols_supported: bool | None


class StatesMet:
    """The states that the JoinGroups of one group may have met.

    ``line_times``, ``whole``, ``other_kinds``, ``begins_otherwise``, ``base``: as of Places. ``unread``:
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
        line_times: LineTimesOfCluster,
        whole: bool,
        other_kinds: bool,
        begins_otherwise: bool,
        base: Base | None,
        unread: UnreadLines,
    ) -> None:
        self._generations = generations
        self._tolerance_ms = tolerance_ms
        self._line_times = line_times
        self._unread = unread
        self._signs = Signs(generations, lines, coordinator_lines)
        self.places = Places(
            generations,
            self._signs,
            leaders,
            tolerance_ms,
            line_times=line_times,
            whole=whole,
            other_kinds=other_kinds,
            begins_otherwise=begins_otherwise,
            base=base,
        )
        self._base = base

    def unknown(self, join: Join, place: Place, states: Sequence[State]) -> Unknown:
        """Why no state was found, or not all of one; of a request without an answer, that it has none."""
        if join.error is None:
            return _NO_ANSWER
        if join.error in ELSEWHERE:
            return Unknown(NO_COORDINATOR, f"the broker answered {join.error}")
        if not states:
            return place.why_not or _NO_STATE
        if not any(None in state for state in states):
            return ALL_KNOWN
        if self._base is not None:
            return Unknown(CLEANED_AWAY, "compaction left only a part of the state that the request met")
        return Unknown(NOT_LOGGED, "the coordinator wrote only a part of the state that the request met")

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
        instance, fenced = self._instance(join, place, member)
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
        """Whether another member took over the instance of this one while it waited for the others. Then the
        answer that it gets in the end says so.
        """
        if member_known:
            return False
        return True if any(self._signs.takeovers_during(join)) else None

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
        if not self._line_times.is_steady(broker_id, arrived, join.line.responded_ms):
            return self._follows_another_generation(join)
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
        """Whether the member's line before this one, in the same file, is of another generation."""
        lines = self._signs.lines.get(join.answered_id or join.member_id, [])
        at = bisect_left(lines, (join.line.file, join.line.position)) - 1
        if at < 0:
            return False
        file, position, generation = lines[at]
        return (
            file == join.line.file
            and are_read(self._unread, file, position, join.line.position)
            and generation != join.generation
        )

    def _member_known(self, join: Join, place: Place) -> bool | None:
        if not join.member_id:
            return False
        member_id = join.member_id
        now = place.arrived
        first, last = self._signs.records_of_members.get(member_id, (len(self._generations), -1))
        was_assigned = member_id in self._signs.assigned_ids
        # if only times are known, it may have been removed after the newest record before its answer
        until = place.answered if place.by_clock else now
        if (first <= now or was_assigned) and (last > until or self._is_member_later(join)):
            return True
        never_member = last < 0 and not was_assigned and self._was_never_member(join)
        if self._was_removed(join, place, now, last) or never_member:
            return False
        return True if join.error != _UNKNOWN_MEMBER and self._was_just_let_in(join) else None

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

    def _was_just_let_in(self, join: Join) -> bool:
        """Whether the answer to an earlier JoinGroup on the same connection gave it its member id, or let it
        in, and its session has not expired since.
        """
        line, late_ms = join.line, self._tolerance_ms
        before = self._signs.let_in_before(join)
        if before is None or before.timeout_ms is None:
            return False
        return (
            line.requested_ms < before.line.requested_ms - late_ms + before.timeout_ms
            and not self._signs.may_have_left(join, before, late_ms)
            and self._line_times.is_steady(line.broker_id, before.line.requested_ms, line.responded_ms)
            and are_read(self._unread, line.file, before.line.position, line.position)
        )

    def _was_removed(self, join: Join, place: Place, now: int, last: int) -> bool:
        """Whether the member was removed before: member ids are unique."""
        late_ms = self._tolerance_ms
        if place.by_clock and join.error == NONE:
            late_ms = max(late_ms, LATEST_MS)
        before = join.line.requested_ms - late_ms
        failed = self._signs.removals.get((join.line.broker_id, join.member_id))
        if failed is not None and failed < before:
            return True
        if 0 <= last == now:
            # nobody is a member of a group that is gone
            end = self._generations[now].end if place.first is None else None
            return end is not None and end.ms is not None and end.ms < before
        if not 0 <= last < now:
            return False
        term, following = self.places.only_term(join.line.broker_id), self._generations[last + 1]
        if term is not None and following.record.leader_epoch < term:
            return True
        return (following.begin.ms or 0) < before

    def _was_never_member(self, join: Join) -> bool:
        """Whether a refused member never existed: no record and no answer names it, and all of them are
        known.
        """
        return self.places.is_whole_for(join) and join.error != NONE and not any(self._unread.values())

    def _instance(
        self, join: Join, place: Place, member_known: bool | None
    ) -> tuple[bool | None, bool | None]:
        if join.instance_id is None:
            return False, False
        if member_known and self._signs.has_instance(join.member_id, join.instance_id):
            return True, False
        first, last = (
            None if each is None else each.instances.get(join.instance_id)
            for each in (place.first, place.last)
        )
        if first is None and last is None and place.first is place.last:
            # before its generation is written, no record shows the instance of a member that was let in
            absent = place.first is None and self.places.is_whole_for(join) and join.error == _UNKNOWN_MEMBER
            settled = join.error != NONE and self._is_settled(join, place)
            return (False, False) if absent or settled else (None, None)
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
