"""Commits that crossed the deletion of their topic: what the coordinator may have known when it stored them.

A coordinator looks at the metadata that its broker has applied, which may be behind the log. When the broker
applies a deletion, the coordinator removes what it has stored for that topic
(GroupCoordinator.onPartitionsDeleted). So an offset that was removed soon afterwards was stored before. One
that is still there after its coordinator had applied the deletion was stored behind it. Of others nobody
knows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fencepost.protocols.leader_epoch.clocks import MOST_MS, Moments
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.replay.entities import tuples
from fencepost.replay.logs import Longs, longs

MOST_BEHIND_MS = 600_000
"""No broker that answers is further behind the metadata log than this."""

_SOONEST_EXPIRY_MS = 60_000
"""The least that ``offsets.retention.minutes`` can be."""


class _Commit(NamedTuple):
    """The columns of commits.STORED of these names."""

    later_log: str | None
    commit_partition: int
    group_id: str
    topic: str
    partition: int
    topic_id: str | None
    record_offset: int
    ms: int
    follows: int | None
    removed: int | None
    removed_ms: int | None
    current: bool | None
    term_end_ms: int


class _Deletion(NamedTuple):
    """A deletion of a topic. ``named``: the number of its topic id or of its name; ``ms``: None if it is not
    known.
    """

    named: int
    position: int
    ms: int | None


class UnheardDeletions:
    """Finds, of the commits of one cluster, those whose coordinator may not have heard of a deletion."""

    def __init__(self, history: ClusterHistory, moments: Moments, administered: Collection[str]) -> None:
        """``administered``: the groups of which somebody removed offsets by a request."""
        self._moments, self._administered = moments, administered
        gone = [(each, each.gone) for each in history.topics.values() if each.gone is not None]
        topics = dict.fromkeys(each.topic for each, _ in gone if each.topic)
        names = {topic: number for number, topic in enumerate(topics, len(gone))}
        self._ids = pa.array([each.topic_id for each, _ in gone], pa.string())
        self._names = pa.array(list(names), pa.string())
        of_ids = (_Deletion(number, at.position, at.ms) for number, (_, at) in enumerate(gone))
        of_names = (_Deletion(names[each.topic], at.position, at.ms) for each, at in gone if each.topic)
        self._deletions = sorted((*of_ids, *of_names), key=lambda each: each[:2])

    def narrow(self, stored: pa.Table, leaders: Longs, lowest: Longs, highest: Longs) -> None:
        """Change, in place, the windows of the metadata log in which offsets were stored to what their
        coordinators may have applied of it.

        ``stored``: rows of commits.STORED in the order of their logs; ``leaders``: the brokers that wrote
        them.
        """
        if not self._deletions:
            return
        last = self._last_deletions(stored, highest)
        rows = np.flatnonzero(last >= 0)
        commits = list(map(_Commit._make, tuples(stored.select(_Commit._fields).take(pa.array(rows)))))
        for row, commit, newest in zip(rows.tolist(), commits, _newest_of_runs(commits), strict=True):
            deletion = self._deletions[last[row]].position
            has_heard = self._has_heard(commit, newest, int(leaders[row]), int(last[row]))
            if has_heard is not True:
                lowest[row] = min(lowest[row], deletion - 1)
            if has_heard is False:
                highest[row] = deletion - 1

    def _last_deletions(self, stored: pa.Table, highest: Longs) -> Longs:
        """For each row the index of the last deletion, of its topic id or else its topic's name, that it may
        have met; -1 for none, and for one that every broker had applied by then.
        """
        by_id, by_name = _indexes(stored["topic_id"], self._ids), _indexes(stored["topic"], self._names)
        by_name = np.where(by_name >= 0, by_name + len(self._ids), by_name)
        number = np.where(np.asarray(stored["topic_id"].is_valid()), by_id, by_name)
        positions = np.array([each.position for each in self._deletions], dtype=np.int64)
        named = np.array([each.named for each in self._deletions], dtype=np.int64)
        open_end = max(positions.max(), highest.max(initial=0)) + 1
        last = np.searchsorted(named * open_end + positions, number * open_end + highest, side="right") - 1
        met = (number >= 0) & (last >= 0) & (named[last] == number)
        forgotten_ms = MOST_BEHIND_MS + MOST_MS
        until = np.array([_latest(each.ms, forgotten_ms) for each in self._deletions], dtype=np.int64)
        return np.where(met & (longs(stored["ms"]) <= until[last]), last, -1)

    def _has_heard(self, commit: _Commit, newest: _Commit, leader: int, number: int) -> bool | None:
        """Whether the coordinator had applied a deletion when it stored an offset; None where nobody knows.
        ``newest``: the last commit of the same key and topic id behind it, with no other record between.
        """
        deletion = self._deletions[number]
        if self._is_applied(leader, deletion.position, commit.ms):
            return True
        if newest.removed_ms is not None:
            end = self._moments.window(leader, newest.removed_ms, newest.removed_ms).highest
            others = self._deletions[number + 1 : number + 2]
            is_only = not any(each.named == deletion.named and each.position <= end for each in others)
            is_by_broker = commit.group_id not in self._administered
            is_early = newest.removed_ms - newest.ms < _SOONEST_EXPIRY_MS
            return False if is_only and is_by_broker and is_early else None
        is_kept = newest.current is True and newest.removed is None
        return True if is_kept and self._is_applied(leader, deletion.position, commit.term_end_ms) else None

    def _is_applied(self, broker_id: int, position: int, ms: int) -> bool:
        """Whether a broker had certainly applied the log up to a position at a time of its clock."""
        if self._moments.applied(broker_id, ms) >= position:
            return True
        return self._moments.since(broker_id, position, ms) > MOST_BEHIND_MS


def _indexes(values: pa.ChunkedArray, among: pa.Array) -> NDArray[np.int64]:
    return np.asarray(pc.fill_null(pc.index_in(values, among), -1).to_numpy(), dtype=np.int64)


def _latest(ms: int | None, after_ms: int) -> int:
    return np.iinfo(np.int64).max if ms is None else ms + after_ms


def _newest_of_runs(commits: Sequence[_Commit]) -> Iterable[_Commit]:
    """For each commit the last one of its run: of those of its key and topic id that follow each other."""
    newest: list[_Commit] = []
    behind: dict[tuple[object, ...], tuple[_Commit, _Commit]] = {}
    for commit in reversed(commits):
        run = commit[: _Commit._fields.index("record_offset")]
        follower, last = behind.get(run, (None, commit))
        if follower is None or follower.follows != commit.record_offset:
            last = commit
        behind[run] = (commit, last)
        newest.append(last)
    return reversed(newest)
