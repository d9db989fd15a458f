"""What members were told of themselves: a second witness of their state, where its records are gone.

A member of a consumer or streams group gets its epoch and its partitions in answers to its own heartbeats;
nothing else changes them. A generation of a classic group lasts until its members have joined again: one that
has not is removed. So what a member was answered is so until its next such request, if a later line shows it
to be a member still.

Without such a line a classic member that did not leave is one until its session, or its time to join again,
may be over: neither ends sooner than its JoinGroup said. Until then no generation begins without it. That is
so of dynamic members for ever; a static one stays a member of generations that it did not join.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fencepost.protocols.offset_commit.answered_epochs import (
    Answer,
    AnsweredEpoch,
    answered_epoch,
    epoch_of,
    joins,
    stays,
)
from fencepost.protocols.offset_commit.epoch_timelines import EpochMoves, EpochTimelines
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.protocols.offset_commit.order import lines_of, turns
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.replay.group_coordinator.assignments import assigned_topics
from fencepost.replay.group_coordinator.evidence import UnreadLines
from fencepost.replay.group_coordinator.requests import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP
from fencepost.replay.keys import topic_key
from fencepost.replay.logs import Longs
from fencepost.replay.metadata import Topics

_Line = CommitRequest | Answer


class _Last(NamedTuple):
    """The last answer to a member on a connection, and what it had been told by then.

    ``firm``: its last answer that a group which waits for members to join does not give.
    """

    answer: Answer
    told: AnsweredEpoch
    firm: MemberLine | None


class Witnesses:
    """The answers to the members of one group, as far as they tell what its commits met."""

    def __init__(
        self,
        requests: Requests,
        numbers: Longs,
        heartbeats: Sequence[HeartbeatAnswer],
        lines: Sequence[MemberLine],
        *,
        lateness: Lateness,
        topics: Topics,
        unread_lines: UnreadLines,
    ) -> None:
        """``numbers``: of the group's requests."""
        self._unread_lines = unread_lines
        self._topics = topics
        self._lateness = lateness
        self._told: dict[int, AnsweredEpoch] = {}
        # the generation of a classic member in a consumer group is its member epoch: another rule
        answers: list[Answer] = [*heartbeats] if heartbeats else [*lines]
        moving: dict[str, list[Answer]] = {}
        self._joins: dict[tuple[str, int | None], list[MemberLine]] = {}
        for answer in answers:
            if isinstance(answer, HeartbeatAnswer) or answer.api_key in (JOIN_GROUP, LEAVE_GROUP):
                moving.setdefault(answer.member_id, []).append(answer)
            if isinstance(answer, MemberLine) and answer.api_key == JOIN_GROUP:
                self._joins.setdefault((answer.member_id, answer.generation), []).append(answer)
        self._moving = {member_id: EpochMoves(each, lateness) for member_id, each in moving.items()}
        if answers:
            for chain in turns(lines_of(requests, numbers, answers)).chains():
                self._note(_lines(chain, requests, numbers, answers))
        self._timelines = EpochTimelines(answers, lateness)

    def told(self, request: CommitRequest) -> AnsweredEpoch | None:
        """What the member of a request certainly was when it was decided; None where nothing tells."""
        told = self._told.get(request.number)
        if told is None or told.until_ms is not None:
            told = self._timelines.told(request) or told
        if told is None or request.instance_id in (None, told.instance_id):
            return told
        return None

    def owned(self, told: AnsweredEpoch) -> frozenset[str]:
        """Keys of the partitions that a member had been assigned; none where that was not told."""
        by = told.assigned_by
        if isinstance(by, HeartbeatAnswer):
            return by.assigned or frozenset()
        if by is None or by.assignment is None:
            return frozenset()
        (topics,) = assigned_topics([by.assignment])
        keys = {
            topic_key(self._topics.id_at(topic, by.responded_ms), topic, partition)
            for topic, partitions in topics or ()
            for partition in partitions
        }
        return frozenset(key for key in keys if key is not None)

    def _note(self, chain: Iterable[_Line]) -> None:
        newest: dict[str, _Last] = {}
        waiting: dict[str, list[CommitRequest]] = {}
        for line in chain:
            if isinstance(line, CommitRequest):
                if line.member_id in newest:
                    waiting.setdefault(line.member_id, []).append(line)
                continue
            before = newest.pop(line.member_id, None)
            asked = waiting.pop(line.member_id, ())
            if before is not None:
                self._settle(asked, before, line)
            told = answered_epoch(line, None if before is None else before.told)
            if told is not None:
                newest[line.member_id] = _Last(line, told, _firm(line, told, before))
        for member_id, asked in waiting.items():
            self._settle(asked, newest[member_id], None)

    def _settle(self, asked: Iterable[CommitRequest], before: _Last, after: Answer | None) -> None:
        """Take what was told before as what was met, where it was so all along."""
        told = before.told
        lasts = after is not None and epoch_of(after) == told.epoch and not joins(after)
        if after is not None and self._skips(told, after):
            return
        kept = told._replace(
            until_ms=None if after is not None and (lasts or stays(after)) else self._until(before)
        )
        for request in asked:
            # who presents a later epoch was told more than is in the log
            if lasts or (
                request.client_epoch <= told.epoch
                and self._is_next(before, request, after)
                and self._is_kept(before, request, after)
            ):
                self._told[request.number] = kept

    def _skips(self, told: AnsweredEpoch, after: Answer) -> bool:
        """Whether a classic member was told more in between than is in the log: it joins one generation after
        the other.
        """
        if isinstance(after, HeartbeatAnswer) or after.generation is None or after.generation <= told.epoch:
            return False
        return after.generation > told.epoch + 1 or (after.member_id, after.generation) not in self._joins

    def _is_next(self, last: _Last, request: CommitRequest, after: Answer | None) -> bool:
        """Whether the member sent nothing meanwhile that may have moved its epoch, on any connection: a file
        has every line of its time, but for those that could not be read.
        """
        before = last.answer
        unread = self._unread_lines.get(before.file, ())
        end = after.position if after is not None and after.file == before.file else None
        if before.file != request.file or any(
            before.position < at and (end is None or at < end) for at in unread
        ):
            return False
        moving = self._moving.get(before.member_id)
        return moving is None or moving.is_still(before, last.told, request)

    def _is_kept(self, before: _Last, request: CommitRequest, after: Answer | None) -> bool:
        """Whether the member of a request was one still, and no generation had begun without it: a later line
        shows it, or the time since the last answer. A generation may begin without a static one that stays.
        """
        if after is not None and stays(after):
            return before.told.instance_id is None or self._is_awaited(before, request)
        return self._is_awaited(before, request)

    def _is_awaited(self, before: _Last, request: CommitRequest) -> bool:
        until_ms = self._until(before)
        return until_ms is not None and request.responded_ms < until_ms

    def _until(self, before: _Last) -> int | None:
        """When a member's session, or its time to join again, may be over; None where that was not told."""
        firm = before.firm
        asked = self._joins.get((before.answer.member_id, before.told.epoch), ())
        timeouts = [line.timeout_ms for line in asked if line.timeout_ms is not None]
        if firm is None or not timeouts:
            return None
        return firm.requested_ms - self._lateness.of(firm) + min(timeouts)


def _lines(chain: Longs, requests: Requests, numbers: Longs, answers: Sequence[Answer]) -> Iterator[_Line]:
    """The lines of a chain: places among the requests with these numbers and, behind them, the answers."""
    asked = requests.each_alone(numbers[chain[chain < len(numbers)]])
    for at in chain.tolist():
        yield next(asked) if at < len(numbers) else answers[at - len(numbers)]


def _firm(line: Answer, told: AnsweredEpoch, before: _Last | None) -> MemberLine | None:
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
