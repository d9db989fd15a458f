"""Commits answered NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE, which may be stored nevertheless.

A coordinator that accepted a commit and wrote it also answers one of these, if the replicas did not
replicate the record in time or its leadership ended meanwhile
(GroupCoordinatorService.handleOperationException). If the log has the record, the offset is stored, whatever
the client was answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import inf

import numpy as np

from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.protocols.offset_commit.contents import (
    Content,
    content_of,
    contents_of_records,
    is_of_topic,
)
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.matches import Matches
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest
from fencepost.protocols.offset_commit.states import State
from fencepost.replay.group_coordinator.lives import NO_LIFE
from fencepost.replay.group_coordinator.requests import ELSEWHERE, LOADING
from fencepost.replay.logs import Log

_ANSWERED_LATER = ELSEWHERE - {LOADING}


class NotCoordinatorCommits:
    """Such commits, matched with the records of their coordinator's log that no accepted commit wrote."""

    def __init__(
        self,
        requests: Requests,
        log: Log,
        leaders: Mapping[int, int | None],
        lateness: Lateness,
    ) -> None:
        """``leaders``: the elected broker by leader epoch."""
        self._requests = requests
        self._leaders, self._lateness = leaders, lateness
        self._stored: dict[int, list[int]] = {}
        # a missing record proves nothing where compaction has been or where the log has a hole
        self._from_ms, self._to_ms = -inf, -inf
        if len(log.stretches) == 1 and len(log):
            self._to_ms = int(log.max_timestamp_ms.max())
            if log.base is not None:
                self._from_ms = inf if log.base.ms is None else log.base.ms

    def settle(self, matches: Matches) -> None:
        """Mark a request as stored if one of its commits fits exactly one record, which no other commit
        fits.
        """
        requests = self._requests
        errors = requests.with_error(_ANSWERED_LATER)
        if not len(errors):
            return
        free = _free(matches)
        for request in requests.each(np.unique(requests.request[errors])):
            for commit in request.commits:
                if commit.broker_error in _ANSWERED_LATER:
                    records = free.get(content_of(commit), ())
                    fits = [each for each in records if self._fits(commit, matches.records, each)]
                    self._stored[commit.number] = fits
            request.commits = []
        takers = Counter(record for records in self._stored.values() for record in records)
        sure = [number for number, records in self._stored.items() if len(records) == 1 == takers[records[0]]]
        matches.record[sure] = [self._stored[number][0] for number in sure]
        # all records of one request are written together, or none of them
        requests.stored[errors] = np.isin(requests.request[errors], requests.request[sure])

    def _fits(self, commit: Commit, records: CommitRecords, number: int) -> bool:
        request = commit.request
        start_ms = request.requested_ms - self._lateness.of(request)
        return (
            start_ms <= records["timestamp_ms"][number] <= request.responded_ms
            and self._leaders.get(int(records["leader_epoch"][number])) in (None, request.broker_id)
            and is_of_topic(commit, records, number)
        )

    def was_not_decided(self, request: CommitRequest) -> bool:
        """Whether certainly no coordinator decided any commit of the request: the log is complete at that
        time and continues after it, and has no record of them.
        """
        start_ms = request.requested_ms - self._lateness.of(request)
        is_shown = self._from_ms < start_ms and request.responded_ms <= self._to_ms
        return all(
            commit.broker_error == LOADING or (is_shown and self._stored.get(commit.number) == [])
            for commit in request.commits
        )


def _free(matches: Matches) -> dict[Content, list[int]]:
    """The records that no commit certainly wrote or may have written, by their contents."""
    records = matches.records
    is_free = (records["tombstone"] == 0) & (records["based"] == 0)
    is_free[matches.record[matches.record >= 0]] = False
    is_free[[each for records_of_commit in matches.doubtful.values() for each in records_of_commit]] = False
    free: dict[Content, list[int]] = {}
    numbers = np.flatnonzero(is_free)
    for content, number in zip(contents_of_records(records, numbers), numbers.tolist(), strict=True):
        free.setdefault(content, []).append(number)
    return free


def state_of_none() -> State:
    """The state for a commit that no coordinator decided: nothing of the group is known."""
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
