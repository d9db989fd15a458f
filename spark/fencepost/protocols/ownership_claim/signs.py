"""What records, requests and logs tell of one group's generations, in the order in which it is asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.joins import Join, Lines
from fencepost.protocols.ownership_claim.rebalance import CoordinatorLine
from fencepost.replay.requests import NONE, RequestLine

_Key = TypeVar("_Key")


class Signs:
    """Signs of the generations of one group, by broker: times of two brokers are of two clocks.

    Numbers of generations begin again with each life of a group; the ids of its members do not. So a line is
    of the generation that has its member: ``generation_of``.
    """

    def __init__(
        self, generations: Sequence[Generation], lines: Lines, told: Iterable[CoordinatorLine]
    ) -> None:
        self._of_number: dict[int, list[Generation]] = defaultdict(list)
        self.in_records = _in_records(generations)
        """The first and the last generation (its place in the log) that has a member."""
        for generation in generations:
            self._of_number[generation.generation].append(generation)
        self.lines = _by_member(lines)
        self.given = {join.answered_id for join in lines.joins if join.answered_id != join.member_id}
        """The member ids that a broker gave out: nobody can send one before."""
        self.seen: dict[str, list[RequestLine]] = defaultdict(list)
        """The lines that show each member to be one: only a member is answered so."""
        for sign in lines.signs:
            self.seen[sign.member_id].append(sign.line)
        self.answered: dict[tuple[int, int], int] = {}
        """When a generation (broker, first_record) was first answered to a JoinGroup."""
        self.still_in: dict[tuple[int, int], int] = {}
        """When the last request arrived that was answered in it."""
        self._note_answers(lines)
        self.preparing: dict[tuple[int, int], list[int]] = defaultdict(list)
        """When brokers logged that a group left a generation (broker, Kafka's number)."""
        self.failed: dict[tuple[int, str], int] = {}
        """When brokers logged that they removed a member."""
        self._note_told(told)

    def generation_of(self, member_id: str, number: int) -> Generation | None:
        """The first generation of this number that has the member."""
        found = self._of_number.get(number, ())
        return next((generation for generation in found if member_id in generation.member_ids), None)

    def _note_answers(self, lines: Lines) -> None:
        for join in lines.joins:
            own = self.generation_of(join.answered_id or "", join.generation)
            if join.error == NONE and own is not None:
                _keep(self.answered, (join.line.broker_id, own.first_record), join.line.responded_ms, min)
        for sign in lines.signs:
            own = self.generation_of(sign.member_id, sign.generation)
            if own is not None:
                _keep(self.still_in, (sign.line.broker_id, own.first_record), sign.line.requested_ms, max)

    def _note_told(self, told: Iterable[CoordinatorLine]) -> None:
        for line in told:
            if line.event == "preparing" and line.generation is not None:
                self.preparing[line.broker_id, line.generation].append(line.ms)
            if line.event in {"member_failed", "member_left"} and line.member_id is not None:
                _keep(self.failed, (line.broker_id, line.member_id), line.ms, min)


def _in_records(generations: Sequence[Generation]) -> dict[str, tuple[int, int]]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    now: set[str] = set()
    for generation in generations:
        before, now = now, {member.member_id for member in generation.record.members}
        for member_id in now - before:
            first.setdefault(member_id, generation.number)
        for member_id in before - now:
            last[member_id] = generation.number - 1
    if generations:
        last |= dict.fromkeys(now, generations[-1].number)
    return {member_id: (number, last[member_id]) for member_id, number in first.items()}


def _by_member(lines: Lines) -> dict[str, list[tuple[str, int, int]]]:
    """File, position and generation of each member's lines, in their order."""
    found: dict[str, list[tuple[str, int, int]]] = defaultdict(list)

    def add(member_id: str | None, line: RequestLine, generation: int) -> None:
        if member_id:
            found[member_id].append((line.file, line.position, generation))

    for join in lines.joins:
        add(_member_of(join), join.line, join.generation)
    for sign in lines.signs:
        if sign.generation >= 0:
            add(sign.member_id, sign.line, sign.generation)
    for each in found.values():
        each.sort()
    return dict(found)


def _member_of(join: Join) -> str:
    return join.answered_id or join.member_id


def _keep(kept: dict[_Key, int], key: _Key, value: int, choose: Callable[[int, int], int]) -> None:
    kept[key] = choose(kept.get(key, value), value)
