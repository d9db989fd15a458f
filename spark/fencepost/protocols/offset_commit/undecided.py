"""Commits whose broker said that it is not the coordinator: were they decided all the same, and stored?

NOT_COORDINATOR and COORDINATOR_NOT_AVAILABLE are also what a coordinator answers that accepted a commit and
wrote it, if the replicas did not take it in time or its leadership ended meanwhile
(GroupCoordinatorService.handleOperationException). What the log has of it is then stored, whatever the client
was told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from fencepost.protocols.offset_commit.contents import (
    Content,
    content_of,
    content_of_record,
    same_topic,
)
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.matches import Matches
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest
from fencepost.protocols.offset_commit.states import State
from fencepost.replay.group_coordinator.lives import NO_LIFE
from fencepost.replay.group_coordinator.records import OffsetCommitRecord
from fencepost.replay.group_coordinator.requests import ELSEWHERE, LOADING
from fencepost.replay.logs import Log

_ANSWERED_LATER = ELSEWHERE - {LOADING}


class Undecided:
    """Such commits beside the records of their coordinator's log that no accepted commit wrote."""

    def __init__(
        self,
        requests: Iterable[CommitRequest],
        records: Iterable[OffsetCommitRecord],
        log: Log,
        leaders: Mapping[int, int],
        lateness: Lateness,
    ) -> None:
        """``leaders``: who was elected, by leader epoch."""
        self._commits = [
            commit
            for request in requests
            for commit in request.commits
            if commit.broker_error in _ANSWERED_LATER
        ]
        self._records = records
        self._leaders, self._lateness = leaders, lateness
        self._stored: dict[Commit, list[OffsetCommitRecord]] = {}
        # what compaction has been over, and what a hole may hide, shows nothing
        self._from_ms, self._to_ms = -inf, -inf
        if len(log.stretches) == 1 and len(log):
            self._to_ms = int(log.max_timestamp_ms.max())
            if log.base is not None:
                self._from_ms = inf if log.base.ms is None else log.base.ms

    def settle(self, matches: Matches) -> None:
        """Take the request of a commit that alone can have written a record, and no other, for accepted."""
        if not self._commits:
            return
        taken = {own.offset for own in matches.sure.values()}
        taken.update(record.offset for found in matches.doubtful.values() for record in found)
        free: dict[Content, list[OffsetCommitRecord]] = {}
        for record in self._records:
            if not (record.tombstone or record.based or record.offset in taken):
                free.setdefault(content_of_record(record), []).append(record)
        takers: dict[int, int] = {}
        for commit in self._commits:
            found = [each for each in free.get(content_of(commit), ()) if self._fits(commit, each)]
            self._stored[commit] = found
            for record in found:
                takers[record.offset] = takers.get(record.offset, 0) + 1
        for commit, found in self._stored.items():
            if len(found) == 1 and takers[found[0].offset] == 1:
                matches.sure[commit] = found[0]
                # the records of one request are written together, or none is
                for each in commit.request.commits:
                    each.accepted = each.accepted or each.broker_error in _ANSWERED_LATER

    def _fits(self, commit: Commit, record: OffsetCommitRecord) -> bool:
        request = commit.request
        start_ms = request.requested_ms - self._lateness.of(request)
        return (
            start_ms <= record.timestamp_ms <= request.responded_ms
            and self._leaders.get(record.leader_epoch) in (None, request.broker_id)
            and same_topic(commit, record)
        )

    def met_none(self, request: CommitRequest) -> bool:
        """Whether no coordinator decided any commit of the request: its log, which is whole there and goes on
        behind it, has none of them.
        """
        start_ms = request.requested_ms - self._lateness.of(request)
        is_shown = self._from_ms < start_ms and request.responded_ms <= self._to_ms
        return all(
            commit.broker_error == LOADING
            or (is_shown and commit in self._stored and not self._stored[commit])
            for commit in request.commits
        )


def state_of_none() -> State:
    """What a commit met that no coordinator decided: nothing of the group."""
    return State(
        NO_LIFE,
        None,
        known=False,
        alive=True,
        empty=None,
        state_position=None,
        owned_key=None,
        generation=None,
        rebalancing=None,
    )
