"""What became of commits: whether they count, how their transactions ended, and what was stored before."""

from __future__ import annotations

from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.offsets import OffsetMetadataManager
from fencepost.protocols.offset_commit.request_states import RequestStates
from fencepost.protocols.offset_commit.requests import Commit
from fencepost.replay.group_coordinator.records import OffsetCommitRecord
from fencepost.replay.requests import NONE

Outcome = tuple[str | None, int | None, int | None, str | None, int | None]
"""How its transaction ended, where and when; what became of the commit; what was stored before."""


def outcome_of(own: OffsetCommitRecord) -> Outcome:
    """What became of a commit that wrote this record."""
    return (own.transaction_outcome, own.ended_offset, own.ended_ms, own.outcome, own.offset_before)


class Outcomes:
    """What one coordinator's log tells of commits that it refused."""

    def __init__(self, offsets: OffsetMetadataManager, lateness: Lateness) -> None:
        self._offsets, self._lateness = offsets, lateness

    def of_refused(self, asked: RequestStates, commit: Commit) -> Outcome:
        """What is known of a commit that wrote no record, as far as one is known."""
        if commit.broker_error in (None, NONE) or not asked.candidates:
            return (None,) * 5
        stretch = _only({candidate.stretch for candidate in asked.candidates})
        leader_epoch = _only({candidate.leader_epoch for candidate in asked.candidates})
        before = self._stored_before_refusal(commit, stretch, leader_epoch)
        return (*self._transaction_of(commit, stretch), None, before)

    def _stored_before_refusal(
        self, commit: Commit, stretch: int | None, leader_epoch: int | None
    ) -> int | None:
        """What was stored when a commit was refused, if it did not change from its arrival to its answer."""
        if commit.topic is None or stretch is None or leader_epoch is None:
            return None
        request = commit.request
        start_ms = request.requested_ms - self._lateness.of(request)
        key = (request.group_id, commit.topic, commit.partition)
        return self._offsets.stored_during(key, start_ms, request.responded_ms, stretch, leader_epoch)

    def _transaction_of(
        self, commit: Commit, stretch: int | None
    ) -> tuple[str | None, int | None, int | None]:
        """How the transaction of a refused commit ended.

        The coordinator's partition is part of a transaction before its commit is looked at, so the
        transaction's marker is written there although the commit is not. Nothing is said when no marker
        follows, or one behind a hole in the log, or where one from around the commit may end the transaction
        before.
        """
        request = commit.request
        if not request.is_transactional or request.producer_id is None or stretch is None:
            return None, None, None
        start_ms = request.requested_ms - self._lateness.of(request)
        marker = self._offsets.marker_after(stretch, request.producer_id, start_ms)
        if marker is None or marker.timestamp_ms <= request.responded_ms:
            return None, None, None
        return marker.outcome, marker.offset, marker.timestamp_ms


def _only(values: set[int]) -> int | None:
    """The one value that all have; None when they differ."""
    return values.pop() if len(values) == 1 else None
