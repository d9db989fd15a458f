"""Which states a JoinGroup may have met: the coordinator's generation, and what it knew of the member.

A JoinGroup that was answered with generation G waited for G, and met the generation before it; or it came
again within G, sent as before, and was answered at once (ClassicGroup: the same metadata). What the broker
answered is no evidence of what it knew of the member: records, and answers to other requests, are.
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
from fencepost.replay.requests import LATEST_MS, NONE

_MOST = 6
_Key = TypeVar("_Key")


class Place(NamedTuple):
    """Where in the group's log a request was decided: the generations that were the newest one written when
    it arrived and when it was answered (None: none was).

    ``why_not``: why that is not known. ``by_clock``: no record is of the generation that it was answered,
    only times tell.
    """

    first: Generation | None = None
    last: Generation | None = None
    why_not: str | None = None
    by_clock: bool = False


class State(NamedTuple):
    """What a JoinGroup may have met, as silver.group_join_states has it."""

    current_generation: int | None
    member_known: bool | None
    instance_known: bool | None
    instance_fenced: bool | None
    protocols_supported: bool | None


class StatesMet:
    """The states that the JoinGroups of one group may have met.

    ``whole``: nothing is missing of the group's log. ``unread``: where lines of request logs could not be
    read, by file.
    """

    def __init__(
        self,
        generations: Sequence[Generation],
        lines: Lines,
        told: Iterable[CoordinatorLine],
        leaders: Mapping[int, int | None],
        tolerance_ms: int,
        *,
        whole: bool,
        unread: Mapping[str, Sequence[int]],
    ) -> None:
        self._generations = generations
        self._times = [generation.begin.ms or 0 for generation in generations]
        self._epochs = [generation.record.leader_epoch for generation in generations]
        self._leaders = leaders
        self._tolerance_ms = tolerance_ms
        self._whole = whole
        self._unread = unread
        self._signs = Signs(generations, lines, told)

    def place(self, join: Join) -> Place:
        """Where the request was decided: by the record of its generation, else by the coordinator's clock."""
        if join.error == NONE and join.answered_id is not None:
            own = self._signs.generation_of(join.answered_id, join.generation)
            if own is not None:
                before = own.before
                hole = before is None and not own.first
                return Place(before, own, "the log has a hole before this generation" if hole else None)
        if not self._generations:
            return Place(why_not=None if self._whole else "the log does not show the group")
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
        if any(generation.lost for generation in near):
            return Place(why_not="the log has a hole here")
        if first < 0 and not self._whole:
            return Place(why_not="the log does not show the group before this request")
        arrived, answered = join.line.requested_ms, join.line.responded_ms
        if elsewhere:
            arrived = answered = 0  # of another clock than the next record, before which they are
        return Place(self._newest(first, arrived), self._newest(last, answered), by_clock=True)

    def _may_be_over(self, number: int) -> bool:
        """Whether something else ended the generation with this number than the next one."""
        if number < 0 or self._generations[number].end is None:
            return False
        following = self._generations[number + 1 : number + 2]
        return not following or following[0].before is not self._generations[number]

    def _newest_by_then(self, join: Join) -> tuple[int, int]:
        """The numbers of the newest generations that were written when it arrived, and when it was answered.

        A broker that led the log once has no clock in common with those before and after it, and needs none.
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
        """The one leader epoch in which a broker coordinated the group; None where there may be more."""
        led = [epoch for epoch, leader in self._leaders.items() if leader == broker_id]
        # the first epoch is known, so all are
        told = 0 in self._leaders and all(epoch in self._leaders for epoch in self._epochs)
        return led[0] if told and len(led) == 1 else None

    def _newest(self, number: int, ms: int) -> Generation | None:
        """The generation with this number, unless the group was gone, or of another kind, by then."""
        if number < 0:
            return None
        end = self._generations[number].end
        over = end is not None and end.ms is not None and end.ms < ms - self._tolerance_ms
        return None if over else self._generations[number]

    def states(self, join: Join, place: Place) -> list[State]:
        """The states that it may have met at its place; none where that is not known."""
        if join.error in ELSEWHERE:
            return [State(None, None, None, None, None)]
        if place.why_not is not None:
            return []
        current = self._current(join, place)
        if not current:
            return []
        member = self._member_known(join, place)
        instance, fenced = self._instance(join, place)
        supported = _protocols_supported(join, place)
        if place.by_clock and join.error == NONE:
            # a line may be later than the tolerance: what came before it may have come behind the request
            fenced, supported = None if fenced else fenced, supported or None
        return [
            State(generation, member, instance, fenced, supported)
            for generation in sorted(current, key=lambda each: each or 0)
        ]

    def _current(self, join: Join, place: Place) -> set[int | None]:
        """The generations that may have been current; None for more than can be told apart."""
        if join.error != NONE:
            low = 0 if place.first is None else place.first.generation
            high = low if place.last is None else place.last.generation
            # one may have begun that is not written
            possible = range(min(low, high), high + 2)
            return set(possible) if len(possible) <= _MOST else {None}
        if join.generation < 1:
            return set()
        found: set[int | None] = {join.generation - 1, join.generation}
        if self._came_again(join, place):
            found.remove(join.generation - 1)
        elif self._waited(join, place):
            found.remove(join.generation)
        return found

    def _came_again(self, join: Join, place: Place) -> bool:
        """The generation that it was answered had begun before it arrived."""
        if place.last is None or place.last.generation != join.generation:
            return False
        begun = self._signs.answered.get((join.line.broker_id, place.last.first_record))
        return begun is not None and begun < join.line.requested_ms - self._tolerance_ms

    def _waited(self, join: Join, place: Place) -> bool:
        """The generation that it was answered had not begun when it arrived."""
        if join.instance_id is None and not join.member_id:
            return True
        broker_id, arrived = join.line.broker_id, join.line.requested_ms
        before, own = place.first, place.last
        if before is not None and before.generation == join.generation - 1:
            still = self._signs.still_in.get((broker_id, before.first_record))
            if still is not None and still - self._tolerance_ms >= arrived:
                return True
        if own is not None and own.generation == join.generation and own.begin.ms is not None:
            until = own.begin.ms + self._tolerance_ms
            preparing = self._signs.preparing.get((broker_id, join.generation - 1), ())
            if any(arrived <= ms <= until for ms in preparing):
                return True
        return self._follows_another_generation(join)

    def _follows_another_generation(self, join: Join) -> bool:
        """The member's line before this one, in the same file, is of another generation: a file has every
        line of its time, but for those that could not be read.
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
        first, last = self._signs.in_records.get(member_id, (len(self._generations), -1))
        given = member_id in self._signs.given
        # by the clock it may have been removed after the newest record that was there when it was answered
        until = place.last.number if place.by_clock and place.last is not None else now
        if (first <= now or given) and (last > until or self._is_seen_after(join)):
            return True
        unheard_of = last < 0 and not given and self._never_was(join)
        return False if self._is_gone(join, place, now, last) or unheard_of else None

    def _is_seen_after(self, join: Join) -> bool:
        """A later request shows it to be a member still: ids are not used again."""
        mine = join.line
        for line in self._signs.seen.get(join.member_id, ()):
            if line.broker_id != mine.broker_id:
                continue
            if mine.connection is not None and line.connection == mine.connection:
                # a broker takes the next request of a connection when it has logged the one before
                behind, ahead = (line.responded_ms, line.position), (mine.responded_ms, mine.position)
                if behind > ahead if line.file == mine.file else behind[0] > ahead[0]:
                    return True
            if line.requested_ms - self._tolerance_ms > mine.responded_ms:
                return True
        return False

    def _is_gone(self, join: Join, place: Place, now: int, last: int) -> bool:
        """The member was removed before: ids are not used again."""
        late_ms = self._tolerance_ms
        if place.by_clock and join.error == NONE:
            late_ms = max(late_ms, LATEST_MS)
        before = join.line.requested_ms - late_ms
        failed = self._signs.failed.get((join.line.broker_id, join.member_id))
        if failed is not None and failed < before:
            return True
        if not 0 <= last < now:
            return False
        term = self._only_term(join.line.broker_id)
        if term is not None and self._epochs[last + 1] < term:
            return True
        return self._times[last + 1] < before

    def _never_was(self, join: Join) -> bool:
        """Neither a record nor an answer named a member that was refused."""
        return self._whole and join.error != NONE and not any(self._unread.values())

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
            return (False, False) if place.first is None and self._whole else (None, None)
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
    """Every member supports the assignor that the group has; an empty group has none."""
    if place.why_not is not None:
        return None
    met = [each.record for each in (place.first, place.last) if each is not None]
    if all(not record.members for record in met):
        return True if join.protocols else None
    if all(record.protocol in join.protocols for record in met if record.members):
        return True
    other_type = all(record.members and record.protocol_type != join.protocol_type for record in met)
    return False if other_type and join.protocol_type else None
