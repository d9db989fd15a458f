"""The signs of one group's generations in records, requests and logs, indexed as StatesMet needs them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.joins import Join, Lines
from fencepost.protocols.ownership_claim.rebalance import CoordinatorLine
from fencepost.replay.group_coordinator.requests import LEAVE_GROUP
from fencepost.replay.requests import NONE, RequestLine

_Key = TypeVar("_Key")


class Signs:
    """Signs of the generations of one group. Times are kept by broker, since each broker has its own clock.

    The numbers of generations start over with each life of a group; member ids are unique. So a line belongs
    to the generation of its number that has its member: ``generation_of``.
    """

    def __init__(
        self, generations: Sequence[Generation], lines: Lines, coordinator_lines: Iterable[CoordinatorLine]
    ) -> None:
        self._of_number: dict[int, list[Generation]] = defaultdict(list)
        self.records_of_members = _records_of_members(generations)
        """By member id, the first and the last record (Generation.number) that has the member."""
        for generation in generations:
            if not generation.is_conversion:  # answers with its number were given before it
                self._of_number[generation.generation].append(generation)
        self._generations = generations
        self.lines = _by_member(lines)
        self._let_in: dict[str, list[Join]] = defaultdict(list)
        for join in lines.joins:
            if join.error in {NONE, "MEMBER_ID_REQUIRED"} and join.answered_id is not None:
                self._let_in[join.answered_id].append(join)
        self.assigned_ids = {join.answered_id for join in lines.joins if join.answered_id != join.member_id}
        """The member ids that brokers assigned: nobody can send one before."""
        self.membership_lines: dict[str, list[RequestLine]] = defaultdict(list)
        """By member id, the lines which show that it was a member: only a member gets such answers."""
        self._leaves: dict[str, list[RequestLine]] = defaultdict(list)
        for sign in lines.signs:
            if sign.line.api_key == LEAVE_GROUP:
                self._leaves[sign.member_id].append(sign.line)
            self.membership_lines[sign.member_id].append(sign.line)
        self.first_answers: dict[tuple[int, int], int] = {}
        """When a broker first answered a JoinGroup with a generation, by (broker, assignment_record)."""
        self.last_requests: dict[tuple[int, int], int] = {}
        """When the last request of a member in that generation arrived, by the same key."""
        self.settled: dict[tuple[int, int], int] = {}
        """The same of requests that show no rebalance, by the same key."""
        self._note_answers(lines)
        self.preparing_times: dict[tuple[int, int], list[int]] = defaultdict(list)
        """When a broker logged that the group prepared to leave a generation, by (broker, generation)."""
        self.removals: dict[tuple[int, str], int] = {}
        """When a broker logged that it removed a member, by (broker, member id)."""
        self._migration_disabled: list[tuple[int, int]] = []
        self._takeovers: dict[str, list[Join]] = defaultdict(list)
        for join in lines.joins:
            if join.instance_id is not None and not join.member_id:
                self._takeovers[join.instance_id].append(join)
        self._note_coordinator_lines(coordinator_lines)

    def generation_of(self, member_id: str, number: int) -> Generation | None:
        """The first generation of this number that has the member."""
        candidates = self._of_number.get(number, ())
        return next((generation for generation in candidates if member_id in generation.member_ids), None)

    def is_migration_disabled(self, join: Join, tolerance_ms: int) -> bool:
        """Whether a broker logged that it refused a JoinGroup because its configuration does not let classic
        members into consumer groups (group.consumer.migration.policy).
        """
        line = join.line
        return join.error == "INCONSISTENT_GROUP_PROTOCOL" and any(
            broker_id == line.broker_id
            and line.requested_ms - tolerance_ms <= ms <= line.responded_ms + tolerance_ms
            for broker_id, ms in self._migration_disabled
        )

    def takeovers_during(self, join: Join) -> Iterator[Join]:
        """The requests of new members with the instance of this one that came while it waited."""
        for other in self._takeovers.get(join.instance_id or "", ()):
            if (
                other is not join
                and other.line.broker_id == join.line.broker_id
                and other.line.requested_ms <= join.line.responded_ms
                and other.line.responded_ms >= join.line.requested_ms
            ):
                yield other

    def has_instance(self, member_id: str, instance_id: str) -> bool:
        """Whether a record, or an answer that let it in, shows that the member has the instance: it does for
        as long as it is a member.
        """
        number = self.records_of_members.get(member_id, (-1, -1))[1]
        return (number >= 0 and self._generations[number].instances.get(instance_id) == member_id) or any(
            join.instance_id == instance_id and join.error == NONE for join in self._let_in.get(member_id, ())
        )

    def let_in_before(self, join: Join) -> Join | None:
        """The newest JoinGroup before this one that let its member in or gave it the member id, if it came on
        the same connection and its line is in the same file.
        """
        line = join.line
        return max(
            (
                each
                for each in self._let_in.get(join.member_id, ())
                if (each.line.connection, each.line.file) == (line.connection, line.file)
                and line.connection is not None
                and each.line.position < line.position
            ),
            key=lambda each: each.line.position,
            default=None,
        )

    def may_have_left(self, join: Join, since: Join, tolerance_ms: int) -> bool:
        """Whether a line shows that the member left, or was removed or replaced, and may have come before its
        request. ``since``: the request that let it in.
        """
        by_ms = join.line.requested_ms + tolerance_ms
        removed_ms = self.removals.get((join.line.broker_id, join.member_id))
        left = [line.requested_ms for line in self._leaves.get(join.member_id, ())]
        replaced = [
            other.line.requested_ms
            for other in self._takeovers.get(join.instance_id or "", ())
            if other is not since and other.line.responded_ms >= since.line.responded_ms - tolerance_ms
        ]
        return any(ms is not None and ms <= by_ms for ms in (removed_ms, *left, *replaced))

    def _note_answers(self, lines: Lines) -> None:
        for join in lines.joins:
            generation = self.generation_of(join.answered_id or "", join.generation)
            if join.error == NONE and generation is not None:
                _keep_one(
                    self.first_answers,
                    (join.line.broker_id, generation.assignment_record),
                    join.line.responded_ms,
                    min,
                )
        for sign in lines.signs:
            generation = self.generation_of(sign.member_id, sign.generation)
            if generation is not None:
                _keep_one(
                    self.last_requests,
                    (sign.line.broker_id, generation.assignment_record),
                    sign.line.requested_ms,
                    max,
                )
                if sign.settled:
                    _keep_one(
                        self.settled,
                        (sign.line.broker_id, generation.assignment_record),
                        sign.line.requested_ms,
                        max,
                    )

    def _note_coordinator_lines(self, coordinator_lines: Iterable[CoordinatorLine]) -> None:
        for line in coordinator_lines:
            if line.event == "preparing" and line.generation is not None:
                self.preparing_times[line.broker_id, line.generation].append(line.ms)
            if line.event == "migration_disabled":
                self._migration_disabled.append((line.broker_id, line.ms))
            if line.event in {"member_failed", "member_left"} and line.member_id is not None:
                _keep_one(self.removals, (line.broker_id, line.member_id), line.ms, min)


def _records_of_members(generations: Sequence[Generation]) -> dict[str, tuple[int, int]]:
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
    by_member: dict[str, list[tuple[str, int, int]]] = defaultdict(list)

    def add(member_id: str | None, line: RequestLine, generation: int) -> None:
        if member_id:
            by_member[member_id].append((line.file, line.position, generation))

    for join in lines.joins:
        add(_member_of(join), join.line, join.generation)
    for sign in lines.signs:
        if sign.generation >= 0:
            add(sign.member_id, sign.line, sign.generation)
    for each in by_member.values():
        each.sort()
    return dict(by_member)


def _member_of(join: Join) -> str:
    return join.answered_id or join.member_id


def _keep_one(times: dict[_Key, int], key: _Key, value: int, choose: Callable[[int, int], int]) -> None:
    times[key] = choose(times.get(key, value), value)
