"""The epochs that answers gave members, by the broker's clock, where no connection shows the order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
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
    """The epoch of an answer, and whether the answer assigned partitions at that epoch. An answer that may
    end the membership (the member left, or a heartbeat was refused) ranks above all others.
    """
    epoch = epoch_of(answer)
    if epoch is not None:
        return epoch, isinstance(answer, HeartbeatAnswer) and answer.assigned is not None
    # a member gets its id once, before all other answers
    gives_id = isinstance(answer, MemberLine) and answer.gives_id
    return (0, False) if gives_id else (inf, True)


class EpochMoves:
    """The answers to one member that may have changed its epoch, by time."""

    def __init__(self, answers: Iterable[Answer], lateness: Lateness) -> None:
        self._lateness = lateness
        self._answers = sorted(answers, key=lambda answer: answer.responded_ms)
        self._last_of: dict[int, _Rank] = {}
        for answer in self._answers:
            last = self._last_of.get(answer.broker_id)
            self._last_of[answer.broker_id] = max(last or _rank(answer), _rank(answer))
        self._reach = max((each.responded_ms - self._effective_ms(each) for each in self._answers), default=0)

    def may_be_later_elsewhere(self, before: Answer, answered: AnsweredEpoch) -> bool:
        """Whether another broker may have changed the state ``answered``, which the answer ``before`` gave.

        Another broker that coordinated the group earlier or later has another clock. Its answers came earlier
        if they have an earlier epoch, because a member's epoch never falls.
        """
        here = (answered.epoch, False)
        return any(last > here for broker, last in self._last_of.items() if broker != before.broker_id)

    def is_still(self, before: Answer, request: CommitRequest) -> bool:
        """Whether the member still had the state that the answer ``before`` gave it, when its broker decided
        a later request: no other connection got an answer of that broker in between.
        """
        start_ms = before.requested_ms - self._lateness.of(before)
        first = bisect_left(self._answers, start_ms, key=lambda answer: answer.responded_ms)
        for at in range(first, len(self._answers)):
            other = self._answers[at]
            if other.responded_ms > request.responded_ms + self._reach:
                break
            if other.broker_id != before.broker_id:
                continue
            if other.connection != before.connection and self._effective_ms(other) <= request.responded_ms:
                return False
        return True

    def _effective_ms(self, answer: Answer) -> int:
        """The earliest moment at which an answer may have become true. A generation begins when JoinGroup is
        answered.
        """
        joins = isinstance(answer, MemberLine) and answer.api_key == JOIN_GROUP
        return (answer.responded_ms if joins else answer.requested_ms) - self._lateness.of(answer)


class EpochTimelines:
    """The answers to members whom one broker answered alone, by its clock.

    Connections do not order these: some clients reconnect again and again, and the producer that commits
    offsets in a transaction has a connection of its own. A member's epoch never falls.
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
        self._timelines: dict[str, tuple[list[Answer], list[AnsweredEpoch | None]]] = {}
        self._earliest: dict[str, list[float]] = {}

    def answered_epoch_at(self, request: CommitRequest) -> AnsweredEpoch | None:
        """The state that the member's answers gave it before the request, if all answers up to the first one
        after the request give the same epoch; otherwise None.
        """
        before = self._before(request)
        if before is None:
            return None
        answers, first, answered = before
        changed = False
        for at in range(first, len(answers)):
            later = answers[at]
            if epoch_of(later) != answered.epoch or joins(later):
                return None
            changed |= isinstance(later, HeartbeatAnswer) and later.assigned is not None
            if self._is_after(later, request):
                assigned_by = None if changed else answered.assigned_by
                return answered._replace(assigned_by=assigned_by, shown=True)
        return None

    def last_before(self, request: CommitRequest) -> tuple[Answer, AnsweredEpoch, Answer | None] | None:
        """The last answer to the request's member before the request, the state that it left the member in,
        and the next answer, which came certainly after the request; None where it is not certain.
        """
        before = self._before(request)
        if before is None:
            return None
        answers, first, answered = before
        if self._earliest_after(request.member_id)[first] <= request.responded_ms:
            return None
        return answers[first - 1], answered, answers[first] if first < len(answers) else None

    def _before(self, request: CommitRequest) -> tuple[list[Answer], int, AnsweredEpoch] | None:
        """The answers to the request's member, the place of the first one that did not come before the
        request, and the state that the one before it left the member in; None where none is known.
        """
        answers, states = self._timeline(request.member_id)
        if not answers or answers[0].broker_id != request.broker_id:
            return None
        arrival = request.requested_ms - self._lateness.of(request)
        first = bisect_right(answers, arrival, key=lambda answer: answer.responded_ms)
        answered = states[first - 1] if first else None
        return None if answered is None else (answers, first, answered)

    def _earliest_after(self, member_id: str) -> list[float]:
        """For each place in a member's timeline the earliest arrival of what it was answered from there on:
        an answer that took longer is later in the list, and its request may be earlier.
        """
        if member_id not in self._earliest:
            answers, _ = self._timeline(member_id)
            arrivals = (each.requested_ms - self._lateness.of(each) for each in reversed(answers))
            self._earliest[member_id] = list(accumulate(arrivals, min, initial=inf))[::-1]
        return self._earliest[member_id]

    def _timeline(self, member_id: str) -> tuple[list[Answer], list[AnsweredEpoch | None]]:
        """The answers to a member in order, and the state that each left it in."""
        if member_id not in self._timelines:
            answers = sorted(
                self._members.get(member_id, ()),
                key=lambda answer: (answer.responded_ms, answer.file, answer.position),
            )
            answered, states = None, []
            for answer in answers:
                answered = answered_epoch(answer, answered)
                states.append(answered)
            self._timelines[member_id] = answers, states
        return self._timelines[member_id]

    def _is_after(self, answer: Answer, request: CommitRequest) -> bool:
        return answer.requested_ms - self._lateness.of(answer) > request.responded_ms
