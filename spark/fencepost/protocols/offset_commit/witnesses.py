"""The answers to members as a second witness of their state, where the records of it are gone.

A member of a consumer or streams group gets its epoch and its partitions only in the answers to its own
heartbeats. A generation of a classic group lasts until its members have joined again; a member that has not
is removed. So an answer holds until the member's next such request, if a later line shows that it is still a
member.

Without such a line, a classic member that did not leave remains one until its session timeout or its
rebalance timeout, both as its JoinGroup gave them, may have expired. Until then no generation begins without
it. This holds for dynamic members only: a static one may remain a member of generations that it did not
join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from fencepost.protocols.offset_commit.answered_assignments import AnsweredAssignments, Owners, Revocations
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
from fencepost.replay.group_coordinator.requests import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP
from fencepost.replay.line_times import LineTimesOfCluster
from fencepost.replay.logs import Longs
from fencepost.replay.metadata import Topics
from fencepost.replay.unread_lines import UnreadLines, are_read

_Line = CommitRequest | Answer


class Assignment(NamedTuple):
    """What answers show of a member's assignment.

    ``owned``: keys of partitions that it certainly owned; it may have owned others too. ``owners``: of all
    partitions of a classic group; None if unknown. ``revocations``: what was revoked from it before; None if
    unknown.
    """

    owned: frozenset[str]
    owners: Owners | None
    revocations: Revocations | None


class _Last(NamedTuple):
    """The last answer to a member on a connection, and the member's state after it.

    ``firm``: the answer from which its timeouts count, at the earliest (see ``_firm``).
    """

    answer: Answer
    answered: AnsweredEpoch
    firm: MemberLine | None


class Witnesses:
    """The answers to the members of one group, as evidence of the states that its commits met."""

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
        line_times: LineTimesOfCluster,
        came_before: Callable[[_Line, Answer], bool],
    ) -> None:
        """``numbers``: of the group's requests. ``came_before``: RequestPlacement.came_before."""
        self._unread_lines, self._line_times = unread_lines, line_times
        self._came_before = came_before
        self._lateness = lateness
        self._answered: dict[int, AnsweredEpoch] = {}
        # in a consumer group a classic member's generation is its member epoch, for which other rules hold
        answers: list[Answer] = [*heartbeats] if heartbeats else [*lines]
        moving: dict[str, list[Answer]] = {}
        self._joins: dict[tuple[str, int | None], list[MemberLine]] = {}
        for answer in answers:
            if isinstance(answer, HeartbeatAnswer) or answer.api_key in (JOIN_GROUP, LEAVE_GROUP):
                moving.setdefault(answer.member_id, []).append(answer)
            if isinstance(answer, MemberLine) and answer.api_key == JOIN_GROUP:
                self._joins.setdefault((answer.member_id, answer.generation), []).append(answer)
        self._newest_heartbeats: dict[tuple[str, int | None], dict[int, MemberLine]] = {}
        for answer in answers:
            if isinstance(answer, MemberLine) and answer.api_key == HEARTBEAT and answer.fine:
                newest = self._newest_heartbeats.setdefault((answer.member_id, answer.generation), {})
                known = newest.setdefault(answer.broker_id, answer)
                newest[answer.broker_id] = max(known, answer, key=lambda each: each.responded_ms)
        self._moving = {member_id: EpochMoves(each, lateness) for member_id, each in moving.items()}
        if answers:
            for chain in turns(lines_of(requests, numbers, answers)).chains():
                self._note(_lines(chain, requests, numbers, answers))
        self._timelines = EpochTimelines(answers, lateness)
        self._assignments = AnsweredAssignments(answers, topics)

    def state_before(self, request: CommitRequest) -> AnsweredEpoch | None:
        """The state that the member of a request had when it was decided; None if unknown.

        It is certain if a later line shows it. Otherwise it follows from the absence of lines, and a log
        may lack lines. Then it is returned only if the broker's answer agrees.
        """
        answered = self._answered.get(request.number)
        if answered is None or not answered.shown:
            answered = self._timelines.answered_epoch_at(request) or answered or self._of_silent(request)
        if answered is None or request.instance_id not in (None, answered.instance_id):
            return None
        if not answered.shown and answered.is_against(request):
            return None
        met_again = answered.until_ms is not None and self._is_met_again(request, answered)
        return answered._replace(met_again=met_again)

    def assignment_before(self, request: CommitRequest, answered: AnsweredEpoch) -> Assignment:
        """What the answers show of the assignment of a request's member, which had the state ``answered``."""
        of_members, whole = self._assignments, not any(self._unread_lines.values())
        if whole:
            before_ms = request.requested_ms - self._lateness.of(request)
            answered = of_members.with_assignment(request.member_id, answered, before_ms)
        by = answered.assigned_by
        return Assignment(
            frozenset() if by is None else of_members.keys(by) or frozenset(),
            of_members.owners(request.member_id, answered),
            of_members.revocations(request.member_id, answered) if whole else None,
        )

    def revocations_before(self, request: CommitRequest, epoch: int | None) -> Revocations | None:
        """What had been revoked from a request's member, which had this epoch; None if its answers do not
        certainly tell.
        """
        answered = self.state_before(request)
        if answered is None or answered.until_ms is not None or answered.epoch != epoch:
            return None
        return self.assignment_before(request, answered).revocations

    def _note(self, chain: Iterable[_Line]) -> None:
        newest: dict[str, _Last] = {}
        waiting: dict[str, list[CommitRequest]] = {}
        given: set[str] = set()
        for line in chain:
            if isinstance(line, CommitRequest):
                if line.member_id in newest:
                    waiting.setdefault(line.member_id, []).append(line)
                continue
            before = newest.pop(line.member_id, None)
            requests = waiting.pop(line.member_id, ())
            if before is not None:
                self._settle(requests, before, line)
            answered = answered_epoch(line, None if before is None else before.answered)
            if answered is not None and answered.rebalancing is None and self._is_loaded(line, answered):
                answered = answered._replace(rebalancing=False)
            if answered is not None:
                firm = _firm(line, answered, before, new=line.member_id in given)
                newest[line.member_id] = _Last(line, answered, firm)
            given.discard(line.member_id)
            if not isinstance(line, HeartbeatAnswer) and line.gives_id:
                given.add(line.member_id)
        for member_id, requests in waiting.items():
            self._settle(requests, newest[member_id], None)

    def _is_loaded(self, line: Answer, answered: AnsweredEpoch) -> bool:
        """Whether a Heartbeat found a generation that had begun under another coordinator: its own has loaded
        it from the log, and so with its assignment.
        """
        if isinstance(line, HeartbeatAnswer) or line.api_key != HEARTBEAT or not line.fine:
            return False
        began = self._joins.get((line.member_id, answered.epoch), ())
        return bool(began) and all(
            join.broker_id != line.broker_id or self._came_before(join, line) for join in began
        )

    def _settle(self, requests: Sequence[CommitRequest], before: _Last, after: Answer | None) -> None:
        """Note that requests met the state after the answer ``before``, if the member certainly kept it."""
        answered = before.answered
        lasts = after is not None and epoch_of(after) == answered.epoch and not joins(after)
        if after is not None and self._skips(answered, after):
            return
        kept = answered._replace(
            until_ms=None if after is not None and (lasts or stays(after)) else self._until(before),
            shown=lasts or _begins_next(before, len(requests), after),
        )
        for request in requests:
            # a request with a later epoch shows that an answer is missing in the log
            if lasts or (
                request.client_epoch <= answered.epoch
                and self._is_next(before, request, after)
                and self._is_kept(before, request, after)
            ):
                self._answered[request.number] = kept

    def _is_met_again(self, request: CommitRequest, answered: AnsweredEpoch) -> bool:
        """Whether another broker, which was coordinator later, still had the member at its epoch."""
        heartbeats = self._newest_heartbeats.get((request.member_id, answered.epoch), {})
        return any(
            self._came_before(request, each)
            for broker_id, each in heartbeats.items()
            if broker_id != request.broker_id
        )

    def _of_silent(self, request: CommitRequest) -> AnsweredEpoch | None:
        """The state that a dynamic member's last Heartbeat told, at a request on another connection while its
        session lasted: a producer's, which commits in a transaction.
        """
        last = self._timelines.last_before(request)
        if last is None or (heartbeat := _heartbeat_of_dynamic(last[0], last[1])) is None:
            return None
        _, answered, after = last
        before = _Last(heartbeat, answered, heartbeat)
        if heartbeat.connection == request.connection or request.client_epoch > answered.epoch:
            return None
        if (after is not None and self._skips(answered, after)) or not self._is_next(before, request, after):
            return None
        if not self._is_within_timeout(before, request):
            return None
        return answered._replace(until_ms=self._until(before), shown=False)

    def _skips(self, answered: AnsweredEpoch, after: Answer) -> bool:
        """Whether answers to a classic member are missing in between: it joins every generation, so it
        skipped one, or the line of its JoinGroup is missing.
        """
        if (
            isinstance(after, HeartbeatAnswer)
            or after.generation is None
            or after.generation <= answered.epoch
        ):
            return False
        return after.generation > answered.epoch + 1 or (after.member_id, after.generation) not in self._joins

    def _is_next(self, last: _Last, request: CommitRequest, after: Answer | None) -> bool:
        """Whether the member sent nothing in between, on any connection, that may have changed its epoch."""
        before = last.answer
        end = after.position if after is not None and after.file == before.file else None
        if before.file != request.file or not are_read(self._unread_lines, before.file, before.position, end):
            return False
        moving = self._moving.get(before.member_id)
        if moving is None:
            return True
        # what a later coordinator met had not ended before
        elsewhere = moving.may_be_later_elsewhere(before, last.answered)
        if elsewhere and not self._is_met_again(request, last.answered):
            return False
        return moving.is_still(before, request)

    def _is_kept(self, before: _Last, request: CommitRequest, after: Answer | None) -> bool:
        """Whether the member of a request was still one, and no generation had begun without it: a later line
        shows it, or too little time since its last answer. A later line is not enough for a static member: a
        generation may begin that it did not join, and it remains a member.
        """
        if after is not None and stays(after):
            return before.answered.instance_id is None or self._is_within_timeout(before, request)
        return self._is_within_timeout(before, request)

    def _is_within_timeout(self, before: _Last, request: CommitRequest) -> bool:
        until_ms = self._until(before)
        return until_ms is not None and request.responded_ms < until_ms

    def _until(self, before: _Last) -> int | None:
        """When a member's session or rebalance timeout may expire; None if no JoinGroup in the
        log has them.
        """
        firm = before.firm
        join_requests = self._joins.get((before.answer.member_id, before.answered.epoch), ())
        timeouts = [line.timeout_ms for line in join_requests if line.timeout_ms is not None]
        if firm is None or not timeouts:
            return None
        start_ms = firm.requested_ms - self._lateness.of(firm)
        until_ms = start_ms + min(timeouts)
        return until_ms if self._line_times.is_steady(firm.broker_id, start_ms, until_ms) else None


def _heartbeat_of_dynamic(answer: Answer, answered: AnsweredEpoch) -> MemberLine | None:
    """A Heartbeat that told a dynamic member of a classic group that its generation lasts and has its
    assignment; None of another answer.
    """
    if isinstance(answer, HeartbeatAnswer) or answer.api_key != HEARTBEAT or not answer.fine:
        return None
    return answer if answered.rebalancing is False and answered.instance_id is None else None


def _begins_next(before: _Last, count: int, after: Answer | None) -> bool:
    """Whether the next generation had not begun before the JoinGroup that ``after`` answers: it waited for
    that generation, or it is the member's first one for it. One that is sent again is answered at once.

    ``count``: the commits between the two answers. A client numbers its requests one by one, so that the
    numbers (correlation ids) show whether a line is missing.
    """
    answer, answered = before.answer, before.answered
    if not (isinstance(answer, MemberLine) and isinstance(after, MemberLine) and joins(after)):
        return False
    if after.generation != answered.epoch + 1:
        return False
    return after.waited or after.correlation_id - answer.correlation_id == count + 1


def _lines(chain: Longs, requests: Requests, numbers: Longs, answers: Sequence[Answer]) -> Iterator[_Line]:
    """The lines of a chain. A place is that of a request among these numbers or, after them, of an answer."""
    commit_requests = requests.each_alone(numbers[chain[chain < len(numbers)]])
    for at in chain.tolist():
        yield next(commit_requests) if at < len(numbers) else answers[at - len(numbers)]


def _firm(line: Answer, answered: AnsweredEpoch, before: _Last | None, *, new: bool) -> MemberLine | None:
    """The answer from which a member's timeouts count, at the earliest: a successful Heartbeat once the
    member has its assignment, or a JoinGroup that brings a new generation. ``new``: the member had been given
    its id by the answer before; a request without its id is a new member's, too.
    """
    if isinstance(line, HeartbeatAnswer):
        return None
    rises = before is not None and before.answered.epoch < answered.epoch
    if line.api_key == JOIN_GROUP and (rises or new or not line.named):
        return line
    if line.api_key == HEARTBEAT and line.fine and answered.rebalancing is False:
        return line
    if before is None:
        return None
    # also if it joined once more in the same generation, as after an answer that it did not get
    return before.firm if before.answered.epoch == answered.epoch else None
