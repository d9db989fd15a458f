"""What the answers to JoinGroup, SyncGroup, Heartbeat and LeaveGroup tell of a classic group, by their times.

Answers and commits of one broker are ordered by one clock, and a line is never early: what it tells was so
when it was logged. Only an arrival is reckoned back from there, as late as its line may be.
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
    """When a JoinGroup arrived, at the earliest, on which connection, and when it was answered there."""

    ms: int
    connection: str | None
    responded_ms: int


@dataclass(slots=True)
class _Answers:
    """What members of one generation were told: the earliest arrival and answer of a JoinGroup for it, the
    earliest answer and latest arrival of a SyncGroup or Heartbeat in it (``current``: of any, also a refusal
    for a rebalance).
    """

    joined: Arrival | None = None
    joined_by: int | None = None
    settled_by: int | None = None
    current: int | None = None


@dataclass(slots=True)
class Signs:
    """A member's LeaveGroup, and its last other sign of life: member ids are not used again. ``unknown``: by
    connection, when it was first told that it is no member.

    Commits are no sign: they are what is judged.
    """

    left_from: int | None = None
    left_by: int | None = None
    seen: int | None = None
    unknown: dict[str | None, int] = field(default_factory=dict)

    def was_told(self, connection: str | None, responded_ms: int) -> bool:
        """Whether, before this was answered on a connection, the member was told there that it is none, and
        gave no sign of life since. A broker answers one request of a connection after the other.
        """
        first = None if connection is None else self.unknown.get(connection)
        return first is not None and first < responded_ms and self.seen is not None and self.seen < first


@dataclass(slots=True, frozen=True)
class Bounds:
    """What one broker's answers tell of a generation and the next.

    ``joined``: member id -> its earliest JoinGroup for the next generation. That one had begun by
    ``begun_by``; this one had its assignment by ``stable_by``, and was still the current one at ``current``.
    """

    joined: Mapping[str, Arrival]
    begun_by: int | None
    stable_by: int | None
    current: int | None


class Answers:
    """The answers to the members of one classic group, by broker: times of two brokers are of two clocks.

    Generations of two lives have the same numbers. Members' ids tell them apart, whoever's clock it was.
    """

    def __init__(self, lines: Iterable[MemberLine], lateness: Lateness) -> None:
        self._of_generation: dict[tuple[int, str, int], _Answers] = {}
        self._signs: dict[tuple[int, str], Signs] = {}
        self._told: dict[tuple[Generation, int], Bounds] = {}
        for line in lines:
            start_ms = line.requested_ms - lateness.of(line)
            self._note_sign(line, start_ms)
            if line.api_key != LEAVE_GROUP and line.generation is not None:
                self._note_answer(line, line.generation, start_ms)

    def signs(self, broker_id: int, member_id: str) -> Signs:
        """A member's leaving and last sign of life, as one broker has it."""
        return self._signs.get((broker_id, member_id)) or Signs()

    def told(self, generation: Generation, broker_id: int) -> Bounds:
        """What a broker's answers tell of a generation, all of them: those to come too."""
        key = (generation, broker_id)
        if key not in self._told:
            self._told[key] = self._tell(generation, broker_id)
        return self._told[key]

    def _note_sign(self, line: MemberLine, start_ms: int) -> None:
        signs = self._signs.setdefault((line.broker_id, line.member_id), Signs())
        if line.api_key == LEAVE_GROUP:
            signs.left_from = least(signs.left_from, start_ms)
            signs.left_by = least(signs.left_by, line.responded_ms)
        elif line.unknown:
            first = signs.unknown.get(line.connection, line.responded_ms)
            signs.unknown[line.connection] = min(first, line.responded_ms)
        else:
            signs.seen = greatest(signs.seen, start_ms)

    def _note_answer(self, line: MemberLine, generation: int, start_ms: int) -> None:
        key = (line.broker_id, line.member_id, generation)
        answers = self._of_generation.setdefault(key, _Answers())
        if line.api_key != JOIN_GROUP:
            # also a heartbeat that is told of a rebalance is of the current generation
            answers.current = greatest(answers.current, start_ms)
            if line.fine:
                answers.settled_by = least(answers.settled_by, line.responded_ms)
        elif line.fine:
            if answers.joined is None or start_ms < answers.joined.ms:
                answers.joined = Arrival(start_ms, line.connection, line.responded_ms)
            answers.joined_by = least(answers.joined_by, line.responded_ms)

    def _tell(self, generation: Generation, broker_id: int) -> Bounds:
        joined, begun_by, stable_by, current = {}, None, None, None
        for member_id in {*generation.member_ids, *(generation.next_member_ids or ())}:
            here = self._of_generation.get((broker_id, member_id, generation.generation))
            if here is not None:
                stable_by = least(stable_by, here.settled_by)
                current = greatest(current, here.current)
            there = self._of_generation.get((broker_id, member_id, generation.generation + 1))
            if there is not None and there.joined is not None:
                joined[member_id] = there.joined
                begun_by = least(begun_by, there.joined_by)
        return Bounds(joined, begun_by, stable_by, current)


def least(*values: int | None) -> int | None:
    """The least of those that are known."""
    return min((value for value in values if value is not None), default=None)


def greatest(*values: int | None) -> int | None:
    """The greatest of those that are known."""
    return max((value for value in values if value is not None), default=None)
