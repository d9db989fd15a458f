"""What members were told of themselves: a second witness of their state, where its records are gone.

A member of a consumer or streams group gets its epoch and its partitions in answers to its own heartbeats;
nothing else changes them. A generation of a classic group lasts until its members have joined again: one that
has not is removed, but for static members, of which nothing is said here. So what a member was answered is so
until its next such request, if a later line shows that it was a member still.
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
from fencepost.replay.group_coordinator.evidence import UnreadLines
from fencepost.replay.group_coordinator.requests import JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from fencepost.replay.keys import topic_key
from fencepost.replay.metadata import Topics

_Answer = HeartbeatAnswer | MemberLine
_Line = CommitRequest | _Answer


class Told(NamedTuple):
    """What a member was told last: its epoch, or the generation; whether the group waits for its assignment,
    None where that was not told; the answer with what it was assigned, None where none was seen; whether it
    is known to be a consumer.
    """

    group_type: str
    epoch: int
    rebalancing: bool | None
    assigned_by: _Answer | None
    consumer: bool = True


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
        answers: list[_Answer] = [*heartbeats] if heartbeats else [*lines]
        self._moving: dict[str, list[_Answer]] = {}
        for answer in answers:
            if isinstance(answer, HeartbeatAnswer) or answer.api_key == JOIN_GROUP:
                self._moving.setdefault(answer.member_id, []).append(answer)
        every: list[_Line] = [*requests, *answers]
        for chain in turns(every):
            self._note(chain)
        self._timelines = _Timelines(answers, lateness)

    def told(self, request: CommitRequest) -> Told | None:
        """What the member of a request certainly was when it was decided; None where nothing tells."""
        return self._told.get(request) or self._timelines.told(request)

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
        newest: dict[str, tuple[_Answer, Told]] = {}
        waiting: dict[str, list[CommitRequest]] = {}
        for line in chain:
            if isinstance(line, CommitRequest):
                waiting.setdefault(line.member_id, []).append(line)
                continue
            before = newest.pop(line.member_id, None)
            asked = waiting.pop(line.member_id, ())
            if before is not None:
                self._settle(asked, *before, line)
            told = _told_by(line, None if before is None else before[1])
            if told is not None:
                newest[line.member_id] = line, told

    def _settle(self, asked: Iterable[CommitRequest], before: _Answer, told: Told, after: _Answer) -> None:
        """Take what was told before as what was met, where a later answer shows that it was so all along."""
        lasts = _epoch_of(after) == told.epoch and not _joins(after)
        stays = lasts or (_stays(after) and self._is_next(before, after))
        for request in asked:
            # who presents a later epoch was told more than is in the log
            if lasts or (stays and request.client_epoch <= told.epoch):
                self._told[request] = told

    def _is_next(self, before: _Answer, after: _Answer) -> bool:
        """Whether the member sent nothing meanwhile that may have moved its epoch, on any connection: a file
        has every line of its time, but for those that could not be read.
        """
        unread = self._unread_lines.get(before.file, ())
        if before.file != after.file or any(before.position < at < after.position for at in unread):
            return False
        start_ms = before.requested_ms - self._lateness.of(before)
        for other in self._moving.get(before.member_id, ()):
            if (other.broker_id, other.connection) == (before.broker_id, before.connection):
                continue
            arrived_ms = other.requested_ms - self._lateness.of(other)
            apart = other.responded_ms < start_ms or after.responded_ms < arrived_ms
            if other.broker_id != before.broker_id or not apart:
                return False
        return True


class _Timelines:
    """The answers to members by the clock of the broker that gave all of them: some clients connect again and
    again, and what commits offsets in a transaction is another connection's producer. An epoch never falls.
    """

    def __init__(self, answers: Iterable[_Answer], lateness: Lateness) -> None:
        self._lateness = lateness
        members: dict[str, list[_Answer]] = {}
        for answer in answers:
            members.setdefault(answer.member_id, []).append(answer)
        self._members = {
            member_id: each
            for member_id, each in members.items()
            if len({answer.broker_id for answer in each}) == 1
        }
        self._lines: dict[str, tuple[list[_Answer], list[Told | None]]] = {}

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
            if _epoch_of(later) != told.epoch or _joins(later):
                return None
            changed |= isinstance(later, HeartbeatAnswer) and later.assigned is not None
            if self._is_after(later, request):
                return told._replace(assigned_by=None) if changed else told
        return None

    def _line(self, member_id: str) -> tuple[list[_Answer], list[Told | None]]:
        """The answers to a member in their order, each with what it had been told by then."""
        if member_id not in self._lines:
            answers = sorted(
                self._members.get(member_id, ()),
                key=lambda answer: (answer.responded_ms, answer.file, answer.position),
            )
            told, tolds = None, []
            for answer in answers:
                told = _told_by(answer, told)
                tolds.append(told)
            self._lines[member_id] = answers, tolds
        return self._lines[member_id]

    def _is_after(self, answer: _Answer, request: CommitRequest) -> bool:
        return answer.requested_ms - self._lateness.of(answer) > request.responded_ms


def _told_by(line: _Answer, before: Told | None) -> Told | None:
    epoch = _epoch_of(line)
    if epoch is None:
        return None
    if isinstance(line, HeartbeatAnswer):
        kept = before.assigned_by if before is not None and not line.joins else None
        return Told(line.group_type, epoch, False, kept if line.assigned is None else line)
    if line.instance_id is not None:
        return None
    same = before is not None and before.epoch == epoch and not _joins(line)
    # older clients say what they are only when they join
    consumer = before.consumer if same and before and line.protocol_type is None else _is_consumer(line)
    if line.api_key == SYNC_GROUP:
        return Told("classic", epoch, False, line if consumer else None, consumer)
    return before if same else Told("classic", epoch, None, None, consumer)


def _is_consumer(line: MemberLine) -> bool:
    return line.protocol_type == "consumer"


def _epoch_of(line: _Answer) -> int | None:
    """The epoch, or generation, that the member certainly had when this was answered."""
    if isinstance(line, HeartbeatAnswer):
        return line.member_epoch
    if line.api_key == LEAVE_GROUP or (line.api_key == JOIN_GROUP and not line.fine):
        return None
    return line.generation


def _joins(line: _Answer) -> bool:
    return line.joins if isinstance(line, HeartbeatAnswer) else line.api_key == JOIN_GROUP


def _stays(line: _Answer) -> bool:
    """Whether only who is a member still is answered so."""
    if isinstance(line, HeartbeatAnswer):
        return line.leaves or (line.member_epoch is not None and not line.joins)
    return line.fine and line.named
