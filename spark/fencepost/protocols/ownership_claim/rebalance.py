"""How a generation came about: when its rebalance began, who was waited for, and why it was."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.joins import Join
from fencepost.replay.requests import NONE

SERVER_LOG, JOIN_GROUP = "server_log", "join_group"


class CoordinatorLine(NamedTuple):
    """A row of ``bronze.group_coordinator_lines`` that names its group and has a time."""

    broker_id: int
    event: str
    group_id: str
    member_id: str | None
    generation: int | None
    reason: str | None
    ms: int


class Rebalance(NamedTuple):
    """What is known of one: times in ms of the coordinator's clock; ``reason_source`` as named above."""

    prepared_ms: int | None = None
    joined_ms: int | None = None
    waited_for: str | None = None
    waited_ms: int | None = None
    reason: str | None = None
    reason_source: str | None = None
    abandoned: int | None = None


class Rebalances:
    """The rebalances of one group, from the answers to its members and from its coordinators' logs.

    ``leaders``: broker ids by leader epoch. Only what the broker tells that wrote a generation's record is
    compared with the record's time.
    """

    def __init__(
        self,
        joins: Iterable[Join],
        lines: Iterable[CoordinatorLine],
        leaders: Mapping[int, int | None],
        tolerance_ms: int,
    ) -> None:
        self._leaders = leaders
        self._tolerance_ms = tolerance_ms
        self._of_member: dict[tuple[int, str, int], Join] = {}
        self._told: dict[int, set[str]] = defaultdict(set)
        self._begun: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for join in joins:
            if join.error == NONE and join.answered_id is not None:
                key = (join.line.broker_id, join.answered_id, join.generation)
                self._of_member.setdefault(key, join)
                self._told[join.generation].add(join.answered_id)
                self._begun[join.line.broker_id].append((join.line.responded_ms, join.generation))
        self._lines: dict[int, list[CoordinatorLine]] = defaultdict(list)
        for line in lines:
            self._lines[line.broker_id].append(line)
            if line.event == "stabilized" and line.generation is not None:
                self._begun[line.broker_id].append((line.ms, line.generation))
        for each in self._lines.values():
            each.sort(key=_ms)
        for begun in self._begun.values():
            begun.sort()

    def of(self, generation: Generation) -> Rebalance:
        """How this generation came about."""
        rewritten = generation.before is not None and generation.before.generation == generation.generation
        if rewritten:
            return Rebalance(abandoned=0)
        broker_id = self._leaders.get(generation.record.leader_epoch)
        if broker_id is None and len(self._begun) == 1:
            (broker_id,) = self._begun
        joined = self._joined(generation, broker_id)
        since, until = self._between(generation)
        lines = [] if broker_id is None else _within(self._lines.get(broker_id, ()), since, until)
        # those of generations that were abandoned, and its own
        old = range(generation.previous or 0, generation.generation)
        preparing = [line for line in lines if line.event == "preparing" and line.generation in old]
        arrivals = sorted((join.line.requested_ms, join.answered_id or "") for join in joined)
        prepared = [line.ms for line in preparing[:1]] + [ms for ms, _ in arrivals[:1]]
        all_told = len(joined) == len(generation.record.members)
        waits = all_told and len(arrivals) > 1
        reason, source = _reason(preparing, joined)
        return Rebalance(
            min(prepared, default=None),
            min((join.line.responded_ms for join in joined), default=None),
            arrivals[-1][1] if waits else None,
            arrivals[-1][0] - arrivals[-2][0] if waits else None,
            reason,
            source,
            self._abandoned(generation, broker_id, since, until),
        )

    def has_joined(self, generation: Generation, member_ids: Iterable[str]) -> bool | None:
        """Whether a member, under one of these ids, joined for the generation: its JoinGroup is in a log, or
        it is not where another member's is.
        """
        told = self._told.get(generation.generation, set())
        if told.intersection(member_ids):
            return True
        return False if told.intersection(m.member_id for m in generation.record.members) else None

    def _joined(self, generation: Generation, broker_id: int | None) -> list[Join]:
        """The JoinGroups of its members, in the order of arrival."""
        if broker_id is None:
            return []
        keys = ((broker_id, each.member_id, generation.generation) for each in generation.record.members)
        return sorted((self._of_member[key] for key in keys if key in self._of_member), key=_arrival)

    def _between(self, generation: Generation) -> tuple[int | None, int]:
        """From the record before, where the same broker wrote it, to this one."""
        before, now = generation.before, generation.record
        same_clock = before is not None and before.record.leader_epoch == now.leader_epoch
        since = before.record.timestamp_ms if before is not None and same_clock else None
        return since, now.timestamp_ms + self._tolerance_ms

    def _abandoned(
        self, generation: Generation, broker_id: int | None, since: int | None, until: int
    ) -> int | None:
        previous = generation.previous
        if previous is None:
            return None
        between = range(max(previous, 0) + 1, generation.generation)
        if not between:
            return 0
        if broker_id is None or (since is None and not generation.first):
            return None
        begun = self._begun.get(broker_id, [])
        at = 0 if since is None else bisect_left(begun, (since, -1))
        shown = {number for ms, number in begun[at:] if ms <= until}
        return len(between) if shown.issuperset(between) else None


def _within(lines: Sequence[CoordinatorLine], since: int | None, until: int) -> Sequence[CoordinatorLine]:
    at = 0 if since is None else bisect_left(lines, since, key=_ms)
    return lines[at : bisect_left(lines, until + 1, key=_ms)]


def _reason(preparing: Sequence[CoordinatorLine], joined: Sequence[Join]) -> tuple[str | None, str | None]:
    told = [line.reason for line in preparing if line.reason is not None]
    if told:
        # those before it belong to generations that were abandoned
        return told[-1], SERVER_LOG
    given = [join.reason for join in joined if join.reason is not None]
    return (given[0], JOIN_GROUP) if given else (None, None)


def _arrival(join: Join) -> int:
    return join.line.requested_ms


def _ms(line: CoordinatorLine) -> int:
    return line.ms
