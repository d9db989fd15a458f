"""What members were told of themselves: a second witness of their state, where its records are gone.

A member of a consumer or streams group gets its epoch and its partitions in answers to its own heartbeats;
nothing else changes them. A generation of a classic group lasts until its members have joined again: one that
has not is removed. So what a member was answered is so until its next such request, if a later line shows it
to be a member still.

Without such a line a classic member is one until its session, or the time to join again, may be over: neither
ends sooner than its JoinGroup said. Until then no generation begins without it either, which else is so of
dynamic members only: a static one stays a member of generations that it did not join.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from fencepost.formats.decode import decode
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.order import turns
from fencepost.protocols.offset_commit.requests import CommitRequest, HeartbeatAnswer, MemberLine
from fencepost.protocols.offset_commit.told import Answer, Told, epoch_of, joins, stays, told_by
from fencepost.replay.group_coordinator.evidence import UnreadLines
from fencepost.replay.group_coordinator.requests import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP
from fencepost.replay.keys import topic_key
from fencepost.replay.metadata import Topics

_Line = CommitRequest | Answer


class _Last(NamedTuple):
    """The last answer to a member on a connection, and what it had been told by then.

    ``firm``: its last answer that a group which waits for members to join does not give.
    """

    answer: Answer
    told: Told
    firm: MemberLine | None


class Witnesses:
    """The answers to the members of one group, as far as they tell what its commits met."""

    def __init__(
        self,
        requests: Iterable[CommitRequest],
        heartbeats: Sequence[HeartbeatAnswer],
        lines: Sequence[MemberLine],
        lateness: Lateness,
        topics: Topics,
        *,
        unread_lines: UnreadLines,
    ) -> None:
        self._unread_lines = unread_lines
        self._topics = topics
        self._lateness = lateness
        self._told: dict[CommitRequest, Told] = {}
        # the generation of a classic member in a consumer group is its member epoch: another rule
        answers: list[Answer] = [*heartbeats] if heartbeats else [*lines]
        self._moving: dict[str, list[Answer]] = {}
        self._of_instance: dict[str, list[MemberLine]] = {}
        self._joins: dict[tuple[str, int | None], list[MemberLine]] = {}
        for answer in answers:
            if isinstance(answer, HeartbeatAnswer) or answer.api_key in (JOIN_GROUP, LEAVE_GROUP):
                self._moving.setdefault(answer.member_id, []).append(answer)
                if isinstance(answer, MemberLine) and answer.instance_id is not None:
                    self._of_instance.setdefault(answer.instance_id, []).append(answer)
            if isinstance(answer, MemberLine) and answer.api_key == JOIN_GROUP:
                self._joins.setdefault((answer.member_id, answer.generation), []).append(answer)
        every: list[_Line] = [*requests, *answers]
        for chain in turns(every):
            self._note(chain)
        self._timelines = _Timelines(answers, lateness)

    def told(self, request: CommitRequest) -> Told | None:
        """What the member of a request certainly was when it was decided; None where nothing tells."""
        told = self._told.get(request) or self._timelines.told(request)
        if told is None or request.instance_id in (None, told.instance_id):
            return told
        return None

    def owned(self, told: Told) -> frozenset[str]:
        """Keys of the partitions that a member had been assigned; none where that was not told."""
        by = told.assigned_by
        if isinstance(by, HeartbeatAnswer):
            return by.assigned or frozenset()
        if by is None or by.assignment is None:
            return frozenset()
        decoded = decode("ConsumerProtocolAssignment", "value", pa.array([by.assignment], pa.binary()))
        (topics,) = decoded.values.field("assigned_partitions").to_pylist()
        keys = {
            topic_key(self._topics.id_at(topic["topic"], by.responded_ms), topic["topic"], partition)
            for topic in topics or ()
            for partition in topic["partitions"]
        }
        return frozenset(key for key in keys if key is not None)

    def _note(self, chain: Sequence[_Line]) -> None:
        newest: dict[str, _Last] = {}
        waiting: dict[str, list[CommitRequest]] = {}
        for line in chain:
            if isinstance(line, CommitRequest):
                waiting.setdefault(line.member_id, []).append(line)
                continue
            before = newest.pop(line.member_id, None)
            asked = waiting.pop(line.member_id, ())
            if before is not None:
                self._settle(asked, before, line)
            told = told_by(line, None if before is None else before.told)
            if told is not None:
                newest[line.member_id] = _Last(line, told, _firm(line, told, before))
        for member_id, asked in waiting.items():
            if member_id in newest:
                self._settle(asked, newest[member_id], None)

    def _settle(self, asked: Iterable[CommitRequest], before: _Last, after: Answer | None) -> None:
        """Take what was told before as what was met, where it was so all along."""
        told = before.told
        lasts = after is not None and epoch_of(after) == told.epoch and not joins(after)
        if after is not None and self._skips(told, after):
            return
        for request in asked:
            # who presents a later epoch was told more than is in the log
            if lasts or (
                request.client_epoch <= told.epoch
                and self._is_next(before.answer, request, after)
                and self._is_kept(before, request, after)
            ):
                shown = after is not None and (lasts or stays(after))
                self._told[request] = told._replace(shown=shown)

    def _skips(self, told: Told, after: Answer) -> bool:
        """Whether a classic member was told more in between than is in the log: it joins one generation after
        the other.
        """
        if isinstance(after, HeartbeatAnswer) or after.generation is None or after.generation <= told.epoch:
            return False
        return after.generation > told.epoch + 1 or (after.member_id, after.generation) not in self._joins

    def _is_next(self, before: Answer, request: CommitRequest, after: Answer | None) -> bool:
        """Whether the member sent nothing meanwhile that may have moved its epoch, on any connection: a file
        has every line of its time, but for those that could not be read.
        """
        unread = self._unread_lines.get(before.file, ())
        end = after.position if after is not None and after.file == before.file else None
        if before.file != request.file or any(
            before.position < at and (end is None or at < end) for at in unread
        ):
            return False
        start_ms = before.requested_ms - self._lateness.of(before)
        for other in self._moving.get(before.member_id, ()):
            if (other.broker_id, other.connection) == (before.broker_id, before.connection):
                continue
            apart = other.responded_ms < start_ms or request.responded_ms < self._moved_from(other)
            if other.broker_id != before.broker_id or not apart:
                return False
        return True

    def _moved_from(self, answer: Answer) -> int:
        """From when on an answer may have been so: a JoinGroup's generation begins when it is answered."""
        joins = isinstance(answer, MemberLine) and answer.api_key == JOIN_GROUP
        return (answer.responded_ms if joins else answer.requested_ms) - self._lateness.of(answer)

    def _is_kept(self, before: _Last, request: CommitRequest, after: Answer | None) -> bool:
        """Whether the member of a request was one still, and no generation had begun without it: a later line
        shows it, or the time since the last answer. A generation may begin without a static one that stays.
        """
        if after is not None and stays(after):
            return before.told.instance_id is None or self._is_awaited(before, request)
        return self._is_awaited(before, request) and not self._is_replaced(before, request)

    def _is_awaited(self, before: _Last, request: CommitRequest) -> bool:
        """Whether nothing was over yet when a request was answered: the member's session, and the time in
        which it has to join again.
        """
        firm, asked = before.firm, self._joins.get((request.member_id, before.told.epoch), ())
        timeouts = [line.timeout_ms for line in asked if line.timeout_ms is not None]
        if firm is None or not timeouts:
            return False
        return request.responded_ms < firm.requested_ms - self._lateness.of(firm) + min(timeouts)

    def _is_replaced(self, before: _Last, request: CommitRequest) -> bool:
        """Whether somebody else may have taken, or given up, a static member's instance id by then."""
        start_ms = before.answer.requested_ms - self._lateness.of(before.answer)
        return any(
            other.member_id != request.member_id
            and (other.broker_id != request.broker_id or other.responded_ms >= start_ms)
            and other.requested_ms - self._lateness.of(other) <= request.responded_ms
            for other in self._of_instance.get(before.told.instance_id or "", ())
        )


class _Timelines:
    """The answers to members by the clock of the broker that gave all of them: some clients connect again and
    again, and what commits offsets in a transaction is another connection's producer. An epoch never falls.
    """

    def __init__(self, answers: Iterable[Answer], lateness: Lateness) -> None:
        self._lateness = lateness
        members: dict[str, list[Answer]] = {}
        for answer in answers:
            members.setdefault(answer.member_id, []).append(answer)
        self._members = {
            member_id: each
            for member_id, each in members.items()
            if len({answer.broker_id for answer in each}) == 1
        }
        self._lines: dict[str, tuple[list[Answer], list[Told | None]]] = {}

    def told(self, request: CommitRequest) -> Told | None:
        """What the member had been told before, where all that it was told until after says the same."""
        answers, tolds = self._line(request.member_id)
        if not answers or answers[0].broker_id != request.broker_id:
            return None
        arrival = request.requested_ms - self._lateness.of(request)
        first = bisect_right(answers, arrival, key=lambda answer: answer.responded_ms)
        told = tolds[first - 1] if first else None
        if told is None:
            return None
        changed = False
        for at in range(first, len(answers)):
            later = answers[at]
            if epoch_of(later) != told.epoch or joins(later):
                return None
            changed |= isinstance(later, HeartbeatAnswer) and later.assigned is not None
            if self._is_after(later, request):
                return told._replace(assigned_by=None) if changed else told
        return None

    def _line(self, member_id: str) -> tuple[list[Answer], list[Told | None]]:
        """The answers to a member in their order, each with what it had been told by then."""
        if member_id not in self._lines:
            answers = sorted(
                self._members.get(member_id, ()),
                key=lambda answer: (answer.responded_ms, answer.file, answer.position),
            )
            told, tolds = None, []
            for answer in answers:
                told = told_by(answer, told)
                tolds.append(told)
            self._lines[member_id] = answers, tolds
        return self._lines[member_id]

    def _is_after(self, answer: Answer, request: CommitRequest) -> bool:
        return answer.requested_ms - self._lateness.of(answer) > request.responded_ms


def _firm(line: Answer, told: Told, before: _Last | None) -> MemberLine | None:
    """When a member's time began to run, at the earliest: with a Heartbeat that is told of no rebalance, once
    it has its assignment, for which it has to ask in time; with a JoinGroup that brings a new generation.
    """
    if isinstance(line, HeartbeatAnswer) or before is None:
        return None
    if line.api_key == JOIN_GROUP:
        return line if before.told.epoch < told.epoch else None
    if line.api_key == HEARTBEAT and line.fine and told.rebalancing is False:
        return line
    return before.firm if before.told.epoch == told.epoch else None
