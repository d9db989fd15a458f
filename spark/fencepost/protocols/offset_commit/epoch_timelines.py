"""The epochs that answers gave members, by the broker's clock, where connections show no order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from math import inf

from fencepost.protocols.offset_commit.answered_epochs import (
    Answer,
    AnsweredEpoch,
    answered_epoch,
    epoch_of,
    joins,
)
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.replay.group_coordinator.requests import JOIN_GROUP

_Rank = tuple[float, bool]


def _rank(answer: Answer) -> _Rank:
    """The epoch of an answer, and whether it assigned anything there; above all others for what may end it: a
    member that left, or a heartbeat that was refused.
    """
    epoch = epoch_of(answer)
    if epoch is not None:
        return epoch, isinstance(answer, HeartbeatAnswer) and answer.assigned is not None
    # a member is given its id once, before all else
    gives_id = isinstance(answer, MemberLine) and answer.api_key == JOIN_GROUP
    return (0, False) if gives_id else (inf, True)


class EpochMoves:
    """The answers to one member that may have moved its epoch, by time."""

    def __init__(self, answers: Iterable[Answer], lateness: Lateness) -> None:
        self._lateness = lateness
        self._answers = sorted(answers, key=lambda answer: answer.responded_ms)
        self._last_of: dict[int, _Rank] = {}
        for answer in self._answers:
            last = self._last_of.get(answer.broker_id)
            self._last_of[answer.broker_id] = max(last or _rank(answer), _rank(answer))
        self._reach = max((each.responded_ms - self._from(each) for each in self._answers), default=0)

    def is_still(self, before: Answer, told: AnsweredEpoch, request: CommitRequest) -> bool:
        """Whether none was given on another connection from an answer to a request after it; ``told``: what
        the member had been told by that answer.

        Another broker, which had the group before or after, has another clock. What it answered was before if
        it is of an earlier epoch: a member's epoch never falls.
        """
        here = (told.epoch, False)
        if any(last > here for broker, last in self._last_of.items() if broker != before.broker_id):
            return False
        start_ms = before.requested_ms - self._lateness.of(before)
        first = bisect_left(self._answers, start_ms, key=lambda answer: answer.responded_ms)
        for at in range(first, len(self._answers)):
            other = self._answers[at]
            if other.responded_ms > request.responded_ms + self._reach:
                break
            if other.broker_id != before.broker_id:
                continue
            if other.connection != before.connection and self._from(other) <= request.responded_ms:
                return False
        return True

    def _from(self, answer: Answer) -> int:
        """From when on an answer may have been so: a JoinGroup's generation begins when it is answered."""
        joins = isinstance(answer, MemberLine) and answer.api_key == JOIN_GROUP
        return (answer.responded_ms if joins else answer.requested_ms) - self._lateness.of(answer)


class EpochTimelines:
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
        self._lines: dict[str, tuple[list[Answer], list[AnsweredEpoch | None]]] = {}

    def told(self, request: CommitRequest) -> AnsweredEpoch | None:
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

    def _line(self, member_id: str) -> tuple[list[Answer], list[AnsweredEpoch | None]]:
        """The answers to a member in their order, each with what it had been told by then."""
        if member_id not in self._lines:
            answers = sorted(
                self._members.get(member_id, ()),
                key=lambda answer: (answer.responded_ms, answer.file, answer.position),
            )
            told, tolds = None, []
            for answer in answers:
                told = answered_epoch(answer, told)
                tolds.append(told)
            self._lines[member_id] = answers, tolds
        return self._lines[member_id]

    def _is_after(self, answer: Answer, request: CommitRequest) -> bool:
        return answer.requested_ms - self._lateness.of(answer) > request.responded_ms
