"""What a coordinator knows of a group of which its log shows no record.

It has such a group if a member joined it (JoinGroup creates an empty classic group before anything is
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
from fencepost.replay.group_coordinator.records import GroupRecord
from fencepost.replay.logs import Longs


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
        is_member = self._answers.may_have_joined(
            request, start_ms, since, [member.member_id for member in members]
        )
        may_exist = is_member or joins.may_have_arrived(request, since) or self._has_commits(ended, following)
        state.group_known = None if may_exist else False
        if not is_member and not joins.may_precede(request, start_ms, since):
            return
        state.empty = None
        if request.instance_id is not None:
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
        if self._answers.joins(request.broker_id).may_have_been_refused(request, since):
            self.note_in(state, no, request)
            state.group_known = None

    def _has_commits(self, ended: GroupRecord | None, following: GroupRecord | None) -> bool:
        after = -1 if ended is None else ended.offset
        place = int(np.searchsorted(self._commits, after, side="right"))
        return place < len(self._commits) and (following is None or self._commits[place] < following.offset)

    def _since_ms(self, ended: GroupRecord | None, request: CommitRequest) -> int:
        """When the life before had ended, by the clock of the request's broker, whose memory has the group; 0
        if another one ended it.
        """
        same_clock = ended is not None and self._leaders.get(ended.leader_epoch) == request.broker_id
        return ended.timestamp_ms - self._lateness.of(request) if ended is not None and same_clock else 0
