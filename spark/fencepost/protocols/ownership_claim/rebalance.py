"""The rebalance that made a generation: when it began, which member joined last, and its reason."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.joins import Join
from fencepost.replay.line_times import LineTimesOfCluster
from fencepost.replay.request_clocks import NOBODY
from fencepost.replay.requests import NONE

SERVER_LOG, JOIN_GROUP = "server_log", "join_group"


class CoordinatorLine(NamedTuple):
    """A row of ``bronze.broker_lines`` that names its group and has a time."""

    broker_id: int
    event: str
    group_id: str
    member_id: str | None
    generation: int | None
    reason: str | None
    ms: int


class Rebalance(NamedTuple):
    """What is known of a rebalance. Times are ms of the coordinator's clock; ``reason_source`` is SERVER_LOG
    or JOIN_GROUP.
    """

    prepared_ms: int | None = None
    joined_ms: int | None = None
    waited_for: str | None = None
    waited_ms: int | None = None
    reason: str | None = None
    reason_source: str | None = None
    abandoned: int | None = None


class Rebalances:
    """The rebalances of one group, from the answers to its members and from its coordinators' logs.

    ``leaders``: broker ids by leader epoch. The time of a generation's record is compared only with times of
    the broker that wrote the record. ``line_times``: where they tell no moment, nobody knows who joined last.
    """

    def __init__(
        self,
        joins: Iterable[Join],
        lines: Iterable[CoordinatorLine],
        leaders: Mapping[int, int | None],
        tolerance_ms: int,
        line_times: LineTimesOfCluster,
    ) -> None:
        self._leaders, self._line_times = leaders, line_times
        self._tolerance_ms = tolerance_ms
        self._of_member: dict[tuple[int, str, int], Join] = {}
        self._joined_ids: dict[int, set[str]] = defaultdict(set)
        self._begin_times: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for join in joins:
            if join.error == NONE and join.answered_id is not None:
                key = (join.line.broker_id, join.answered_id, join.generation)
                self._of_member.setdefault(key, join)
                self._joined_ids[join.generation].add(join.answered_id)
                self._begin_times[join.line.broker_id].append((join.line.responded_ms, join.generation))
        self._lines: dict[int, list[CoordinatorLine]] = defaultdict(list)
        for line in lines:
            self._lines[line.broker_id].append(line)
            if line.event == "stabilized" and line.generation is not None:
                self._begin_times[line.broker_id].append((line.ms, line.generation))
        for each in self._lines.values():
            each.sort(key=_ms)
        for begin_times in self._begin_times.values():
            begin_times.sort()

    def of(self, generation: Generation) -> Rebalance:
        """The rebalance that made this generation."""
        if generation.is_conversion:
            return Rebalance()
        rewritten = generation.before is not None and generation.before.generation == generation.generation
        if rewritten:
            return Rebalance(abandoned=0)
        broker_id = self._leaders.get(generation.record.leader_epoch)
        if broker_id is None and len(self._begin_times) == 1:
            (broker_id,) = self._begin_times
        joins = self._joins_of(generation, broker_id)
        since, until = self._time_range(generation)
        lines = [] if broker_id is None else _lines_between(self._lines.get(broker_id, ()), since, until)
        preparing = _preparing(generation, lines, since)
        timed = joins if self._tell_moments(broker_id, joins) else []
        arrivals = sorted((join.line.requested_ms, join.answered_id or "") for join in timed)
        prepared = [line.ms for line in preparing[:1]] + [ms for ms, _ in arrivals[:1]]
        all_known = len(joins) == len(generation.record.members)
        has_waited = all_known and len(arrivals) > 1
        reason, source = _reason(preparing, joins, in_order=bool(timed))
        return Rebalance(
            min(prepared, default=None),
            min((join.line.responded_ms for join in timed), default=None),
            arrivals[-1][1] if has_waited else None,
            arrivals[-1][0] - arrivals[-2][0] if has_waited else None,
            reason,
            source,
            self._abandoned(generation, broker_id, since, until),
        )

    def has_joined(self, generation: Generation, member_ids: Iterable[str]) -> bool | None:
        """Whether a member, under one of these ids, joined for the generation: True if a log has its
        JoinGroup, False if logs have only those of other members, None if they have none.
        """
        joined_ids = self._joined_ids.get(generation.generation, set())
        if joined_ids.intersection(member_ids):
            return True
        return False if joined_ids.intersection(m.member_id for m in generation.record.members) else None

    def _joins_of(self, generation: Generation, broker_id: int | None) -> list[Join]:
        """The JoinGroup requests of its members, in the order of arrival."""
        if broker_id is None:
            return []
        keys = ((broker_id, each.member_id, generation.generation) for each in generation.record.members)
        return sorted((self._of_member[key] for key in keys if key in self._of_member), key=_arrival)

    def _tell_moments(self, broker_id: int | None, joins: Sequence[Join]) -> bool:
        if broker_id is None or not joins:
            return False
        times = [(join.line.requested_ms, join.line.responded_ms) for join in joins]
        return self._line_times.is_steady(broker_id, min(ms for ms, _ in times), max(ms for _, ms in times))

    def _time_range(self, generation: Generation) -> tuple[int | None, int]:
        """The time from the record before (None if another broker wrote it) to this one."""
        before, now = generation.before, generation.record
        same_clock = before is not None and self._is_same_clock(before.record.leader_epoch, now.leader_epoch)
        since = before.record.timestamp_ms if before is not None and same_clock else None
        return since, now.timestamp_ms + self._tolerance_ms

    def _is_same_clock(self, leader_epoch: int, other: int) -> bool:
        led_by = self._leaders.get(leader_epoch)
        return leader_epoch == other or (led_by not in {None, NOBODY} and led_by == self._leaders.get(other))

    def _abandoned(
        self, generation: Generation, broker_id: int | None, since: int | None, until: int
    ) -> int | None:
        previous = generation.previous
        if previous is None:
            return None
        skipped = range(max(previous, 0) + 1, generation.generation)
        if not skipped:
            return 0
        if broker_id is None or (since is None and not generation.is_first):
            return None
        begin_times = self._begin_times.get(broker_id, [])
        at = 0 if since is None else bisect_left(begin_times, (since, -1))
        logged_generations = {number for ms, number in begin_times[at:] if ms <= until}
        return len(skipped) if logged_generations.issuperset(skipped) else None


def _lines_between(
    lines: Sequence[CoordinatorLine], since: int | None, until: int
) -> Sequence[CoordinatorLine]:
    at = 0 if since is None else bisect_left(lines, since, key=_ms)
    return lines[at : bisect_left(lines, until + 1, key=_ms)]


def _preparing(
    generation: Generation, lines: Sequence[CoordinatorLine], since: int | None
) -> Sequence[CoordinatorLine]:
    """The lines about the preparation of this generation, and before it those of abandoned ones.

    Without ``since`` some lines may be of earlier lives of the group, which had the same numbers: then only
    those count that follow the newest line with the first number.
    """
    previous = generation.previous
    first = generation.generation - 1 if previous is None else max(previous, 0)
    numbers = range(first, generation.generation)
    preparing = [line for line in lines if line.event == "preparing" and line.generation in numbers]
    if since is not None:
        return preparing
    begins = [at for at, line in enumerate(preparing) if line.generation == first]
    return preparing[max(begins, default=-1) :]


def _reason(
    preparing: Sequence[CoordinatorLine], joins: Sequence[Join], *, in_order: bool
) -> tuple[str | None, str | None]:
    logged = [line.reason for line in preparing if line.reason is not None]
    if logged:
        # earlier lines are of generations that were abandoned
        return logged[-1], SERVER_LOG
    sent = [join.reason for join in joins if join.reason is not None]
    is_known = sent and (in_order or len({*sent}) == 1)
    return (sent[0], JOIN_GROUP) if is_known else (None, None)


def _arrival(join: Join) -> int:
    return join.line.requested_ms


def _ms(line: CoordinatorLine) -> int:
    return line.ms
