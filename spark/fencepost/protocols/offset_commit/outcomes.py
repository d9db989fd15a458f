"""The outcomes of commits: whether they count, how their transactions ended, and what was stored before."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.matches import Matches
from fencepost.protocols.offset_commit.offsets import OffsetMetadataManager
from fencepost.protocols.offset_commit.request_states import RequestStates
from fencepost.protocols.offset_commit.requests import Commit
from fencepost.replay.logs import Longs
from fencepost.replay.requests import NONE

_OF_REFUSED = (
    "transaction_outcome", "transaction_ended_position", "transaction_ended_at", "offset_before",
)  # fmt: skip
"""The columns that the log may show for a commit that wrote no record."""


class Outcomes:
    """The outcomes of commits, as one coordinator's log shows them."""

    def __init__(self, offsets: OffsetMetadataManager, matches: Matches, lateness: Lateness) -> None:
        self._offsets, self._matches, self._lateness = offsets, matches, lateness
        self._refused: dict[int, tuple[str | None, int | None, int | None, int | None]] = {}

    def note_refused(self, pending: RequestStates, commit: Commit) -> None:
        """Note what is known of a commit that wrote no record; to be called before its row is made."""
        if commit.broker_error in (None, NONE) or not pending.candidates:
            return
        if self._matches.record[commit.number] >= 0:
            return
        stretch = _only({candidate.stretch for candidate in pending.candidates})
        leader_epoch = _only({candidate.leader_epoch for candidate in pending.candidates})
        before = self._stored_before_refusal(commit, stretch, leader_epoch)
        self._refused[commit.number] = (*self._transaction_of(commit, stretch), before)

    def columns(self, commits: Longs) -> dict[str, pa.Array]:
        """The outcomes of these commits as columns of COMMITS. Call it once for each commit."""
        columns = self._offsets.columns(self._matches.record[commits])
        is_refused = np.isin(commits, np.array(list(self._refused), dtype=np.int64))
        refused = map(self._refused.pop, commits[is_refused].tolist())
        for name, values in zip(_OF_REFUSED, zip(*refused, strict=True), strict=False):
            column = columns[name]
            columns[name] = pc.replace_with_mask(column, pa.array(is_refused), pa.array(values, column.type))
        return columns

    def _stored_before_refusal(
        self, commit: Commit, stretch: int | None, leader_epoch: int | None
    ) -> int | None:
        """The offset stored when a commit was refused; None if it changed between its arrival and answer."""
        topic = commit.topic
        if topic is None or stretch is None or leader_epoch is None:
            return None
        request = commit.request
        start_ms = request.requested_ms - self._lateness.of(request)
        key = (request.group_id, topic, commit.partition)
        return self._offsets.stored_during(key, start_ms, request.responded_ms, stretch, leader_epoch)

    def _transaction_of(
        self, commit: Commit, stretch: int | None
    ) -> tuple[str | None, int | None, int | None]:
        """How the transaction of a refused commit ended.

        The coordinator's partition is added to the transaction before the commit is validated, so it gets the
        transaction's marker although the commit was refused. The outcome is unknown if no marker follows, if
        it follows behind a hole in the log, or if it was written around the time of the commit: then it may
        end the transaction before.
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
    """The only value of a set; None if it has none or several."""
    return values.pop() if len(values) == 1 else None
