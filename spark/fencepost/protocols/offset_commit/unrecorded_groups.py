"""Groups that a coordinator has in memory although its log has no record of them.

There is such a group if a member joined it (JoinGroup creates an empty classic group before anything is
written), or if offsets were committed to it without members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fencepost.protocols.offset_commit.answered_epochs import AnsweredEpoch
from fencepost.protocols.offset_commit.answers import Answers, Since
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.protocols.offset_commit.states import State
from fencepost.replay.group_coordinator.records import CONSUMER_METADATA, GroupRecord
from fencepost.replay.logs import Longs
from fencepost.replay.requests import NONE

_NO_GROUP = frozenset({"GROUP_ID_NOT_FOUND", "ILLEGAL_GENERATION"})
_OF_GROUPS_WITH_MEMBERS = frozenset({"UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "REBALANCE_IN_PROGRESS"})
_NAMES_MISSING_GROUP = 9


def began_after(
    ended: GroupRecord | None,
    request: CommitRequest,
    leaders: Mapping[int, int | None],
    lateness: Lateness,
) -> int:
    """When the life before had ended, by the clock of the request's broker, whose memory has the group; 0 if
    another one ended it. ``leaders``: leader epoch -> broker id.
    """
    if ended is None or leaders.get(ended.leader_epoch) != request.broker_id:
        return 0
    return ended.timestamp_ms - lateness.of(request)


class UnrecordedGroups:
    """The evidence that one group may exist before its first record, or after the last record of a life."""

    def __init__(
        self,
        records: Sequence[GroupRecord],
        commits: Longs,
        answers: Answers,
        state_before: Callable[[CommitRequest], AnsweredEpoch | None],
        *,
        leaders: Mapping[int, int | None],
        lateness: Lateness,
    ) -> None:
        """``records``: of the group, in offset order. ``commits``: the offsets of records with its commits,
        sorted. ``state_before``: as in UnwrittenStates. ``leaders``: leader epoch -> broker id.
        """
        self._records, self._commits = records, commits
        self._answers, self._state_before = answers, state_before
        self._leaders = leaders
        self._lateness = lateness

    def note_in(self, state: State, no: int, request: CommitRequest) -> None:
        """Note in a state without a group what the coordinator may have had after its record ``no``, which
        ended a life (0: before the first record): the group, and members that had joined it.
        """
        ended = self._records[no - 1] if no else None
        following = self._records[no] if no < len(self._records) else None
        since = Since(ms=self._since_ms(ended, request))
        start_ms = request.requested_ms - self._lateness.of(request)
        joins = self._answers.joins(request.broker_id)
        members = () if following is None else following.classic_members or ()
        next_member_ids = [member.member_id for member in members]
        is_member = self._answers.may_have_joined(
            request, start_ms, since, next_member_ids, told=_is_told_as_member(request, following)
        )
        has_members = is_member or joins.may_precede(request, start_ms, since)
        may_exist = is_member or joins.may_have_arrived(request, since) or self._has_commits(ended, following)
        told_of_members = bool(request.answers & _OF_GROUPS_WITH_MEMBERS)
        state.group_known = None if may_exist or told_of_members else False
        if has_members or told_of_members:
            state.empty = None
        if request.instance_id is not None and (has_members or "FENCED_INSTANCE_ID" in request.answers):
            state.instance_fenced = None
        if is_member:
            state.member_known = state.member_epoch = state.rebalancing = None
            answered = self._state_before(request)
            if answered is not None and answered.until_ms is None:
                state.group_known = state.member_known = True
                state.member_epoch, state.instance_fenced = answered.epoch, False

    def note_forgotten(self, state: State, no: int, request: CommitRequest) -> None:
        """Note in the state of an empty consumer group, of which the last record is ``no``, that the
        coordinator may have forgotten it: as a JoinGroup makes it do, also one that is then refused
        (conversions.with_unwritten_ends).
        """
        since = Since(ms=self._since_ms(self._records[no - 1], request))
        following = self._records[no] if no < len(self._records) else None
        ends = following is None or (following.tombstone and following.type == CONSUMER_METADATA)
        if (ends and request.answers & _NO_GROUP) or self._answers.joins(
            request.broker_id
        ).may_have_been_refused(request, since):
            self.note_in(state, no, request)
            state.group_known = None

    def _has_commits(self, ended: GroupRecord | None, following: GroupRecord | None) -> bool:
        after = -1 if ended is None else ended.offset
        place = int(np.searchsorted(self._commits, after, side="right"))
        return place < len(self._commits) and (following is None or self._commits[place] < following.offset)

    def _since_ms(self, ended: GroupRecord | None, request: CommitRequest) -> int:
        return began_after(ended, request, self._leaders, self._lateness)


def _is_told_as_member(request: CommitRequest, following: GroupRecord | None) -> bool:
    """Whether a commit to a group without a record got an answer that only a member gets: the line of its
    JoinGroup may be missing. ``following``: the group's next record.
    """
    if request.is_answered_as_member:
        # before this version the same error says that the group is missing
        names_missing = not request.is_transactional and request.api_version >= _NAMES_MISSING_GROUP
        return names_missing or "ILLEGAL_GENERATION" not in request.answers
    # the first generation's record has all its members
    is_first = following is not None and (following.classic_members is None or (following.epoch or 0) <= 1)
    return NONE in request.answers and request.client_epoch > 0 and not is_first
