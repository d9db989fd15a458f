"""What the answers to JoinGroup, SyncGroup, Heartbeat and LeaveGroup show of a classic group, by their times.

One clock orders the answers and commits of one broker. A line is never written too early: when it was
logged, what it says was already true. Only the earliest arrival of a request is computed back from its line,
by the most that the line may be late.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.member_lines import MemberLine
from fencepost.protocols.offset_commit.order import is_behind
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.protocols.offset_commit.spans import Generation
from fencepost.replay.group_coordinator.requests import JOIN_GROUP, LEAVE_GROUP
from fencepost.replay.logs import Longs

_ANY = 1 << 62


class Arrival(NamedTuple):
    """A request of a member, and the earliest moment at which it arrived.

    ``own_ms``: the same for a comparison with the member's own requests: a client seldom sends two at a time,
    so the line is taken to be late only by as much as other lines were.
    """

    ms: int
    own_ms: int
    line: MemberLine

    def may_precede(self, request: CommitRequest) -> bool:
        """Whether it may have arrived before a commit was answered."""
        is_later = is_behind(self.line, request)
        return self.ms <= request.responded_ms if is_later is None else not is_later


def _is_before(line: MemberLine, request: CommitRequest, start_ms: int) -> bool:
    """Whether a member was answered before a commit was decided that did not arrive before ``start_ms``."""
    is_later = is_behind(line, request)
    return line.responded_ms < start_ms if is_later is None else not is_later


class Join(NamedTuple):
    """A JoinGroup that may have made its member one from its arrival on, before any record or answer says so.

    ``waits``: no line has it: its member was given an id to join with (``arrival``), and nothing shows what
    became of that before ``until``, the next answer to the member. The JoinGroup may wait for its answer, or
    its line is missing.
    """

    arrival: Arrival
    waits: bool = False
    until: Arrival | None = None

    @property
    def generation(self) -> int:
        """Its member may be one as long as this generation is not written; -1 if only until ``ends_ms``."""
        line = self.arrival.line
        lasts = line.error is None or (self.waits and self.until is None)
        if lasts or (line.fine and line.generation is None):
            return _ANY
        return line.generation or 0 if line.fine else -1

    @property
    def ends_ms(self) -> int:
        """When it was answered; if it waits, when its member was answered next."""
        return (self.until or self.arrival).line.responded_ms

    def may_precede(self, request: CommitRequest, start_ms: int, generation: int) -> bool:
        """Whether its member may have been one when a commit was decided that did not arrive before
        ``start_ms``, and this generation was the newest that was written.

        The member of an earlier generation that is not in this one was removed. One that was refused was a
        member until then, at most.
        """
        line = self.arrival.line
        if not self.arrival.may_precede(request) or (line.gives_id and not self.waits):
            return False
        if line.fine:
            return line.generation is None or line.generation > generation
        if self.waits:
            return self.until is None or not _is_before(self.until.line, request, start_ms)
        # a broker takes the next request of a connection when it has answered the one before
        return line.error is None or not _is_before(line, request, start_ms)


class Since(NamedTuple):
    """From when on answers tell more than the records before a commit: these have the ``generation``, in a
    life of the group that began after ``ms``, or end one then.
    """

    generation: int = 0
    ms: int = 0


@dataclass(slots=True)
class _Answers:
    """The answers of one broker to one member in one generation.

    ``joined`` and ``joined_by``: the earliest arrival and the earliest answer of a JoinGroup for the
    generation; ``waited``: the latest arrival of one that waited for it to begin. ``settled_by``: the
    earliest successful answer to a SyncGroup or Heartbeat in it. ``current``: the latest arrival of a request
    in it, also of a Heartbeat that was answered REBALANCE_IN_PROGRESS.
    """

    joined: Arrival | None = None
    joined_by: int | None = None
    waited: int | None = None
    settled_by: int | None = None
    current: int | None = None


@dataclass(slots=True)
class Signs:
    """A member's LeaveGroup, answered by ``left_by``, and its last other sign of life (``seen``).

    A member id is never used again. ``unknown``: by connection, when the member was first answered
    UNKNOWN_MEMBER_ID. Commits are no sign of life: they are what is judged.
    """

    left: Arrival | None = None
    left_by: int | None = None
    seen: Arrival | None = None
    unknown: dict[str | None, int] = field(default_factory=dict)

    def was_answered_unknown(self, connection: str | None, responded_ms: int) -> bool:
        """Whether the member was answered UNKNOWN_MEMBER_ID on the same connection before a request that was
        answered at ``responded_ms``, and gave no sign of life since. A broker answers the requests of one
        connection one after the other.
        """
        first = None if connection is None else self.unknown.get(connection)
        return first is not None and first < responded_ms and self.seen is not None and self.seen.ms < first

    def outlast(self, request: CommitRequest, start_ms: int, since: Since) -> bool:
        """Whether they show the member after a commit that did not arrive before ``start_ms``, or in a later
        generation than the newest that was written.
        """
        return any(
            sign.line.responded_ms >= since.ms
            and (
                (sign.line.generation or 0) > since.generation or not _is_before(sign.line, request, start_ms)
            )
            for sign in (self.left, self.seen)
            if sign is not None
        )


@dataclass(slots=True, frozen=True)
class Bounds:
    """Times that one broker's answers show of a generation and the next.

    ``joined``: member id -> its earliest JoinGroup for the next generation. The next generation had begun by
    ``begun_by``, and not before ``begun_from``, by lines that are there. This generation had its assignment
    by ``stable_by``. ``beyond``: the earliest arrival of a JoinGroup that was answered with a later
    generation, also of a member that no record has; None if no generation can lie before the next record.
    """

    joined: Mapping[str, Arrival]
    begun_by: int | None
    begun_from: int | None
    stable_by: int | None
    beyond: int | None


class Joins:
    """The JoinGroups that one broker answered to a group, or may not have answered yet: perhaps thousands, of
    which each commit looks only at some.
    """

    def __init__(self, joins: Iterable[Join]) -> None:
        self._joins = sorted(joins, key=lambda each: each.arrival.line.responded_ms)
        self._answered = self._column(each.arrival.line.responded_ms for each in self._joins)
        self._arrived = self._column(each.arrival.ms for each in self._joins)
        self._generation = self._column(each.generation for each in self._joins)
        self._ends = self._column(each.ends_ms for each in self._joins)

    def may_have_arrived(self, request: CommitRequest, since: Since) -> bool:
        """Whether one may have arrived before a commit was answered."""
        return any(each.arrival.may_precede(request) for each in self._arrived_before(request, since, None))

    def may_have_been_refused(self, request: CommitRequest, since: Since) -> bool:
        """Whether one that was answered UNKNOWN_MEMBER_ID may have arrived before a commit was answered."""
        return any(
            each.arrival.line.is_unknown_join and each.arrival.may_precede(request)
            for each in self._arrived_before(request, since, None)
        )

    def may_precede(self, request: CommitRequest, start_ms: int, since: Since) -> bool:
        """Whether the member of one may have been one when a commit was decided (Join.may_precede)."""
        return any(
            each.may_precede(request, start_ms, since.generation)
            for each in self._arrived_before(request, since, start_ms)
        )

    def _arrived_before(self, request: CommitRequest, since: Since, start_ms: int | None) -> Iterator[Join]:
        """Those that may have arrived before a commit. With ``start_ms`` only those that tell of a generation
        which is not written, or end later.
        """
        first = int(np.searchsorted(self._answered, since.ms))
        found = self._arrived[first:] <= request.responded_ms
        if start_ms is not None:
            found &= (self._generation[first:] > since.generation) | (self._ends[first:] >= start_ms)
        return (self._joins[at] for at in (np.flatnonzero(found) + first).tolist())

    def _column(self, values: Iterable[int]) -> Longs:
        return np.fromiter(values, np.int64, len(self._joins))


class Answers:
    """The answers to the members of one classic group, by broker, because two brokers have two clocks.

    Generations of two lives of a group have the same numbers: the ids of their members distinguish them.
    """

    def __init__(self, lines: Iterable[MemberLine], lateness: Lateness) -> None:
        self._of_generation: dict[tuple[int, str, int], _Answers] = {}
        self._signs: dict[tuple[int, str], Signs] = {}
        self._bounds: dict[tuple[Generation, int], Bounds] = {}
        self._joins: dict[int, list[Join]] = {}
        self._joins_by_time: dict[int, Joins] = {}
        self._joins_of: dict[tuple[int, str], list[Join]] = {}
        self._joins_as: dict[tuple[int, str], list[Join]] = {}
        self._given: dict[tuple[int, str], Arrival] = {}
        told: dict[tuple[int, str], Arrival] = {}
        for line in lines:
            start_ms = line.requested_ms - lateness.of(line)
            own_ms = line.requested_ms - lateness.shown_at(line.broker_id, line.responded_ms)
            arrival = Arrival(start_ms, own_ms, line)
            self._note_sign(arrival)
            if line.api_key == JOIN_GROUP:
                self._note_join(Join(arrival))
            member = (line.broker_id, line.member_id)
            if line.gives_id or (line.fine and not line.named):
                self._given[member] = min(self._given.get(member, arrival), arrival, key=_when_answered)
            if not line.gives_id:
                told[member] = min(told.get(member, arrival), arrival, key=_when_answered)
            if line.api_key != LEAVE_GROUP and line.generation is not None:
                self._note_answer(arrival, line.generation)
        for member, arrival in self._given.items():
            if arrival.line.gives_id:
                self._note_join(Join(arrival, waits=True, until=told.get(member)))

    def joins(self, broker_id: int) -> Joins:
        """The JoinGroups that a broker answered, or may not have answered yet."""
        if broker_id not in self._joins_by_time:
            self._joins_by_time[broker_id] = Joins(self._joins.get(broker_id, ()))
        return self._joins_by_time[broker_id]

    def shows_join(self, request: CommitRequest, start_ms: int, since: Since) -> bool:
        """Whether a commit's member may have joined before it, after what the records have."""
        return any(
            each.arrival.line.responded_ms >= since.ms
            and each.may_precede(request, start_ms, since.generation)
            for each in self.joins_of(request.broker_id, request.member_id)
        )

    def may_have_joined(
        self,
        request: CommitRequest,
        start_ms: int,
        since: Since,
        next_member_ids: Collection[str],
        *,
        told: bool,
    ) -> bool:
        """Whether a commit's member, which no record has yet, may be one: a coordinator has it from its
        JoinGroup on. The line of that may be missing where later evidence has the member: an answer, or the
        next record (``next_member_ids``). But not if it was given its id after the commit. That a commit was
        accepted is no evidence: it is what is judged. ``told``: it was refused as a member's.
        """
        if self.shows_join(request, start_ms, since):
            return True
        member = (request.broker_id, request.member_id)
        given = self._given.get(member)
        if given is not None and not given.may_precede(request):
            return False
        return (
            told
            or request.member_id in next_member_ids
            or self.signs(*member).outlast(request, start_ms, since)
        )

    def joins_of(self, broker_id: int, member_id: str) -> Sequence[Join]:
        """The JoinGroups of one member."""
        return self._joins_of.get((broker_id, member_id), ())

    def replacements(self, request: CommitRequest, since: Since) -> Sequence[Join]:
        """The JoinGroups of other members with the group instance id that a commit presents."""
        if request.instance_id is None:
            return ()
        joins = self._joins_as.get((request.broker_id, request.instance_id), ())
        return [
            each
            for each in joins
            if each.arrival.line.member_id != request.member_id and each.arrival.line.responded_ms >= since.ms
        ]

    def signs(self, broker_id: int, member_id: str) -> Signs:
        """When a member left and gave its last sign of life, as one broker's answers show."""
        return self._signs.get((broker_id, member_id)) or Signs()

    def bounds(self, generation: Generation, broker_id: int) -> Bounds:
        """The bounds on the time of a generation that all answers of a broker show, later ones included."""
        key = (generation, broker_id)
        if key not in self._bounds:
            self._bounds[key] = self._find_bounds(generation, broker_id)
        return self._bounds[key]

    def _note_join(self, join: Join) -> None:
        line = join.arrival.line
        self._joins.setdefault(line.broker_id, []).append(join)
        self._joins_of.setdefault((line.broker_id, line.member_id), []).append(join)
        if line.instance_id is not None:
            self._joins_as.setdefault((line.broker_id, line.instance_id), []).append(join)

    def _note_sign(self, arrival: Arrival) -> None:
        line = arrival.line
        signs = self._signs.setdefault((line.broker_id, line.member_id), Signs())
        if line.api_key == LEAVE_GROUP:
            if signs.left is None or arrival.ms < signs.left.ms:
                signs.left = arrival
            signs.left_by = least(signs.left_by, line.responded_ms)
        elif line.unknown:
            first = signs.unknown.get(line.connection, line.responded_ms)
            signs.unknown[line.connection] = min(first, line.responded_ms)
        elif (line.api_key != JOIN_GROUP or line.fine or line.gives_id) and (
            signs.seen is None or arrival.ms > signs.seen.ms
        ):
            signs.seen = arrival

    def _note_answer(self, arrival: Arrival, generation: int) -> None:
        line = arrival.line
        key = (line.broker_id, line.member_id, generation)
        answers = self._of_generation.setdefault(key, _Answers())
        # a Heartbeat that is answered REBALANCE_IN_PROGRESS is of the current generation too
        answers.current = greatest(answers.current, arrival.ms)
        if line.api_key != JOIN_GROUP:
            if line.fine:
                answers.settled_by = least(answers.settled_by, line.responded_ms)
        else:
            if answers.joined is None or arrival.ms < answers.joined.ms:
                answers.joined = arrival
            answers.joined_by = least(answers.joined_by, line.responded_ms)
            if line.waited:
                answers.waited = greatest(answers.waited, arrival.ms)

    def _find_bounds(self, generation: Generation, broker_id: int) -> Bounds:
        joined, begun_by, begun_from, stable_by = {}, None, None, None
        begun = None
        for member_id in {*generation.member_ids, *(generation.next_member_ids or ())}:
            of_this = self._of_generation.get((broker_id, member_id, generation.generation))
            if of_this is not None:
                stable_by = least(stable_by, of_this.settled_by)
                begun_from = greatest(begun_from, of_this.current)
                begun = greatest(begun, of_this.joined_by)
            of_next = self._of_generation.get((broker_id, member_id, generation.generation + 1))
            if of_next is not None and of_next.joined is not None:
                joined[member_id] = of_next.joined
                begun_by = least(begun_by, of_next.joined_by)
                begun_from = greatest(begun_from, of_next.waited)
        if generation.is_followed_by_next:
            # a member joins after it was given its id
            given = (self._given.get((broker_id, each)) for each in generation.next_member_ids or ())
            begun_from = greatest(begun_from, *(each.ms for each in given if each is not None))
        # this reads all JoinGroups of the group, so it is left out where no generation can lie in between
        is_next = generation.is_followed_by_next or generation.is_written_again
        beyond = None if is_next else self._beyond(generation, broker_id, begun)
        return Bounds(joined, begun_by, begun_from, stable_by, beyond)

    def _beyond(self, generation: Generation, broker_id: int, begun: int | None) -> int | None:
        """``begun``: when this generation had begun. In a life before, later ones may have had the number."""
        arrivals = (
            each.arrival.ms
            for each in self._joins.get(broker_id, ())
            if each.arrival.line.fine
            and (each.arrival.line.generation or 0) > generation.generation
            and (begun is None or each.arrival.line.responded_ms >= begun)
        )
        return min(arrivals, default=None)


def _when_answered(arrival: Arrival) -> tuple[int, str, int]:
    line = arrival.line
    return line.responded_ms, line.file, line.position


def least(*values: int | None) -> int | None:
    """The least of the values that are known; None if none is."""
    return min((value for value in values if value is not None), default=None)


def greatest(*values: int | None) -> int | None:
    """The greatest of the values that are known; None if none is."""
    return max((value for value in values if value is not None), default=None)
