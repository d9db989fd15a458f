"""Whether a coordinator has a group of which its log shows no record.

It has such a group if a member joined it (JoinGroup creates an empty classic group before anything is
written), or if offsets were committed to it without members.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.member_lines import MemberLine
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.replay.group_coordinator.records import GroupRecord
from fencepost.replay.group_coordinator.requests import JOIN_GROUP
from fencepost.replay.logs import Longs


class UnrecordedGroups:
    """The evidence that one group may exist before its first record, or after the last record of a life."""

    def __init__(
        self,
        records: Sequence[GroupRecord],
        commits: Longs,
        lines: Iterable[MemberLine],
        leaders: Mapping[int, int | None],
        lateness: Lateness,
    ) -> None:
        """``records``: of the group, in offset order. ``commits``: the offsets of records with its commits,
        sorted. ``leaders``: leader epoch -> broker id.
        """
        self._records, self._commits = records, commits
        self._joins: dict[int, int] = {}
        for line in lines:
            if line.api_key == JOIN_GROUP:
                newest = self._joins.get(line.broker_id, line.responded_ms)
                self._joins[line.broker_id] = max(newest, line.responded_ms)
        self._leaders = leaders
        self._lateness = lateness

    def of(self, no: int, request: CommitRequest) -> bool | None:
        """Whether the coordinator had the group after its record ``no``, which ended a life (0: before the
        first record): False, or None if it may have been created since.
        """
        ended = self._records[no - 1] if no else None
        after = -1 if ended is None else ended.offset
        before = self._records[no].offset if no < len(self._records) else None
        following = int(np.searchsorted(self._commits, after, side="right"))
        if following < len(self._commits) and (before is None or self._commits[following] < before):
            return None
        joined_ms = self._joins.get(request.broker_id)
        if joined_ms is None:
            return False
        # only a JoinGroup to the same broker creates the group in its memory; two brokers have two clocks
        same_clock = ended is not None and self._leaders.get(ended.leader_epoch) == request.broker_id
        joined_before_end = (
            same_clock and ended is not None and joined_ms < ended.timestamp_ms - self._lateness.of(request)
        )
        return False if joined_before_end else None
