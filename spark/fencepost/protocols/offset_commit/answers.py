"""What the answers to JoinGroup, SyncGroup, Heartbeat and LeaveGroup show of a classic group, by their times.

One clock orders the answers and commits of one broker. A line is never written too early: when it was
logged, what it says was already true. Only the earliest arrival of a request is computed back from its line,
by the most that the line may be late.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.member_lines import MemberLine
from fencepost.protocols.offset_commit.spans import Generation
from fencepost.replay.group_coordinator.requests import JOIN_GROUP, LEAVE_GROUP


class Arrival(NamedTuple):
    """The earliest moment at which a JoinGroup arrived, its connection, and when it was answered.

    ``own_ms``: the same for a comparison with the member's own requests: a client seldom sends two at a time,
    so the line is taken to be late only by as much as other lines were.
    """

    ms: int
    own_ms: int
    connection: str | None
    responded_ms: int


@dataclass(slots=True)
class _Answers:
    """The answers of one broker to one member in one generation.

    ``joined`` and ``joined_by``: the earliest arrival and the earliest answer of a JoinGroup for the
    generation. ``settled_by``: the earliest successful answer to a SyncGroup or Heartbeat in it. ``current``:
    the latest arrival of one, also of a Heartbeat that was answered REBALANCE_IN_PROGRESS.
    """

    joined: Arrival | None = None
    joined_by: int | None = None
    settled_by: int | None = None
    current: int | None = None


@dataclass(slots=True)
class Signs:
    """A member's LeaveGroup (``left_from`` to ``left_by``) and its last other sign of life (``seen``).
    ``left_own_from``: ``left_from`` for a comparison with the member's own requests, as in Arrival.

    A member id is never used again. ``unknown``: by connection, when the member was first answered
    UNKNOWN_MEMBER_ID. Commits are no sign of life: they are what is judged.
    """

    left_from: int | None = None
    left_own_from: int | None = None
    left_by: int | None = None
    seen: int | None = None
    unknown: dict[str | None, int] = field(default_factory=dict)

    def was_answered_unknown(self, connection: str | None, responded_ms: int) -> bool:
        """Whether the member was answered UNKNOWN_MEMBER_ID on the same connection before a request that was
        answered at ``responded_ms``, and gave no sign of life since. A broker answers the requests of one
        connection one after the other.
        """
        first = None if connection is None else self.unknown.get(connection)
        return first is not None and first < responded_ms and self.seen is not None and self.seen < first


@dataclass(slots=True, frozen=True)
class Bounds:
    """Times that one broker's answers show of a generation and the next.

    ``joined``: member id -> its earliest JoinGroup for the next generation. The next generation had begun by
    ``begun_by``. This generation had its assignment by ``stable_by``, and was still current at ``current``.
    """

    joined: Mapping[str, Arrival]
    begun_by: int | None
    stable_by: int | None
    current: int | None


class Answers:
    """The answers to the members of one classic group, by broker, because two brokers have two clocks.

    Generations of two lives of a group have the same numbers: the ids of their members distinguish them.
    """

    def __init__(self, lines: Iterable[MemberLine], lateness: Lateness) -> None:
        self._of_generation: dict[tuple[int, str, int], _Answers] = {}
        self._signs: dict[tuple[int, str], Signs] = {}
        self._bounds: dict[tuple[Generation, int], Bounds] = {}
        for line in lines:
            start_ms = line.requested_ms - lateness.of(line)
            own_ms = line.requested_ms - lateness.shown_at(line.broker_id, line.responded_ms)
            self._note_sign(line, start_ms, own_ms)
            if line.api_key != LEAVE_GROUP and line.generation is not None:
                self._note_answer(line, line.generation, start_ms, own_ms)

    def signs(self, broker_id: int, member_id: str) -> Signs:
        """When a member left and gave its last sign of life, as one broker's answers show."""
        return self._signs.get((broker_id, member_id)) or Signs()

    def bounds(self, generation: Generation, broker_id: int) -> Bounds:
        """What all answers of a broker show of a generation, later ones included."""
        key = (generation, broker_id)
        if key not in self._bounds:
            self._bounds[key] = self._find_bounds(generation, broker_id)
        return self._bounds[key]

    def _note_sign(self, line: MemberLine, start_ms: int, own_ms: int) -> None:
        signs = self._signs.setdefault((line.broker_id, line.member_id), Signs())
        if line.api_key == LEAVE_GROUP:
            signs.left_from = least(signs.left_from, start_ms)
            signs.left_own_from = least(signs.left_own_from, own_ms)
            signs.left_by = least(signs.left_by, line.responded_ms)
        elif line.unknown:
            first = signs.unknown.get(line.connection, line.responded_ms)
            signs.unknown[line.connection] = min(first, line.responded_ms)
        else:
            signs.seen = greatest(signs.seen, start_ms)

    def _note_answer(self, line: MemberLine, generation: int, start_ms: int, own_ms: int) -> None:
        key = (line.broker_id, line.member_id, generation)
        answers = self._of_generation.setdefault(key, _Answers())
        if line.api_key != JOIN_GROUP:
            # a Heartbeat that is answered REBALANCE_IN_PROGRESS is of the current generation too
            answers.current = greatest(answers.current, start_ms)
            if line.fine:
                answers.settled_by = least(answers.settled_by, line.responded_ms)
        elif line.fine:
            if answers.joined is None or start_ms < answers.joined.ms:
                answers.joined = Arrival(start_ms, own_ms, line.connection, line.responded_ms)
            answers.joined_by = least(answers.joined_by, line.responded_ms)

    def _find_bounds(self, generation: Generation, broker_id: int) -> Bounds:
        joined, begun_by, stable_by, current = {}, None, None, None
        for member_id in {*generation.member_ids, *(generation.next_member_ids or ())}:
            of_this = self._of_generation.get((broker_id, member_id, generation.generation))
            if of_this is not None:
                stable_by = least(stable_by, of_this.settled_by)
                current = greatest(current, of_this.current)
            of_next = self._of_generation.get((broker_id, member_id, generation.generation + 1))
            if of_next is not None and of_next.joined is not None:
                joined[member_id] = of_next.joined
                begun_by = least(begun_by, of_next.joined_by)
        return Bounds(joined, begun_by, stable_by, current)


def least(*values: int | None) -> int | None:
    """The least of the values that are known; None if none is."""
    return min((value for value in values if value is not None), default=None)


def greatest(*values: int | None) -> int | None:
    """The greatest of the values that are known; None if none is."""
    return max((value for value in values if value is not None), default=None)
