"""Committed offsets: stored commits beside the requests for them, and where consumers went on from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any

import pyarrow as pa

from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.commit_lines import CommitLine
from fencepost.protocols.leader_epoch.commits import StoredOffset
from fencepost.protocols.leader_epoch.known import Known
from fencepost.protocols.leader_epoch.live import candidates
from fencepost.protocols.leader_epoch.states import (
    MET_COMMITS,
    MET_FETCHES,
    columns_of,
    rows_of,
    states_of,
)
from fencepost.protocols.leader_epoch.tables import (
    COMMITTED_OFFSET_STATES,
    COMMITTED_OFFSETS,
    FETCH_POSITION_STATES,
    FETCH_POSITIONS,
    METADATA_LOG,
)
from fencepost.replay.collection import collection_paused
from fencepost.replay.columns import Columns
from fencepost.replay.entities import tuples
from fencepost.replay.keys import digest_of, key_of
from fencepost.replay.requests import NONE
from fencepost.tables import Table

STORED = Table(
    "stored",
    "commits.StoredOffset.",
    {
        "cluster": "string", "commit_partition": "int", "record_offset": "bigint", "coordinator_epoch": "int",
        "ms": "bigint", "group_id": "string", "topic": "string", "partition": "int", "offset": "bigint",
        "leader_epoch": "int", "topic_id": "string", "is_transactional": "boolean", "broker_id": "int",
        "file": "string", "position": "bigint", "follows": "bigint", "removed": "bigint",
        "current": "boolean",
    },
    ("cluster", "commit_partition", "record_offset"),
)  # fmt: skip

TABLES = (COMMITTED_OFFSETS, COMMITTED_OFFSET_STATES, FETCH_POSITIONS, FETCH_POSITION_STATES)
_UNKNOWN_TOPIC_ID = "UNKNOWN_TOPIC_ID"
_OF_CLIENT = slice(CommitLine._fields.index("client"), CommitLine._fields.index("file"))
_STORED = attrgetter(*STORED.columns)
_KEPT = 1 << 14
Extents = Mapping[tuple[str, str], tuple[int | None, int | None]]
Leaders = Mapping[str, Mapping[tuple[int, int], int]]
Row = dict[str, Any]


def stored_rows(stored: Iterable[StoredOffset]) -> pa.Table:
    """Stored offsets as rows of STORED."""
    rows = Columns(STORED)
    for each in stored:
        rows.add(*_STORED(each))
    return rows.to_arrow()


@dataclass(frozen=True)
class Groups:
    """What is known of all groups; ``extents``: logs' beginnings and ends by (cluster, partition_key).

    ``leaders``: by cluster, broker ids by (partition of ``__consumer_offsets``, leader epoch).
    """

    known: Mapping[str, Known]
    extents: Extents
    leaders: Leaders
    tolerance_ms: int


@collection_paused()
def committed_offsets(
    groups: Groups, stored: pa.Table, asked: pa.Table, positions: pa.Table
) -> dict[str, pa.Table]:
    """The rows of TABLES of some groups.

    Given are their rows of STORED, of COMMIT_LINES, and of MET_FETCHES that OffsetFetch gave.
    """
    rows = Columns(MET_COMMITS)
    clusters = {name: _Cluster(groups, name) for name in groups.known}
    lines: dict[tuple[Any, ...], list[CommitLine]] = {}
    refused = []
    for line in map(CommitLine._make, tuples(asked.select(CommitLine._fields))):
        if line.error == NONE:
            lines.setdefault(_key(line), []).append(line)
        elif line.error == _UNKNOWN_TOPIC_ID:
            refused.append(line)
    found: dict[tuple[Any, ...], list[tuple[int, str, str | None, int]]] = {}
    before: dict[tuple[str, int, int | None], _Commit] = {}
    in_order = stored.select(list(STORED.columns)).sort_by([(name, "ascending") for name in STORED.key])
    for values in tuples(in_order):
        each = StoredOffset(*values)
        cluster = clusters.get(each.cluster)
        if cluster is None:
            continue
        matched = [line for line in lines.get(_key(each), ()) if _meets(line, each, groups.tolerance_ms)]
        follows = before.get((each.cluster, each.commit_partition, each.follows))
        commit = _Commit(cluster, each, matched[0] if len(matched) == 1 else None, follows)
        before[each.cluster, each.commit_partition, each.record_offset] = commit
        rows.add(*commit.row())
        of = (each.cluster, each.group_id, each.topic, each.partition, each.offset)
        found.setdefault(of, []).append((each.ms, commit.id, commit.origin[0], each.leader_epoch))
    for line in refused:
        if line.cluster in clusters:
            rows.add(*_refused(clusters[line.cluster], line))
    placed = [_placed(groups, position, found) for position in positions.to_pylist()]
    commits, fetches = rows.to_arrow(), pa.Table.from_pylist(placed, schema=MET_FETCHES.arrow_schema)
    return {
        COMMITTED_OFFSETS.name: rows_of(MET_COMMITS, commits),
        COMMITTED_OFFSET_STATES.name: states_of(MET_COMMITS, commits),
        FETCH_POSITIONS.name: rows_of(MET_FETCHES, fetches),
        FETCH_POSITION_STATES.name: states_of(MET_FETCHES, fetches),
    }


def _key(row: CommitLine | StoredOffset) -> tuple[Any, ...]:
    return (row.cluster, row.group_id, row.topic, row.partition, row.offset, row.leader_epoch)


def _meets(line: CommitLine, stored: StoredOffset, tolerance_ms: int) -> bool:
    """Whether a request may have written a record: both dated by the coordinator."""
    return line.requested_ms - tolerance_ms <= stored.ms <= line.responded_ms + tolerance_ms


class _Cluster:
    """What commits meet in one cluster. Many meet the same: the newest answers are kept."""

    def __init__(self, groups: Groups, name: str) -> None:
        self.known, self.leaders = groups.known[name], groups.leaders.get(name, {})
        self.tolerance_ms = groups.tolerance_ms
        self._name, self._extents = name, groups.extents
        self.met = lru_cache(maxsize=_KEPT)(self._met)
        self.extent = lru_cache(maxsize=_KEPT)(self._extent)

    def _met(
        self, window: Window, topic: str, partition: int, topic_id: str | None = None
    ) -> tuple[tuple[Any, ...], tuple[list[Any], ...]]:
        """The columns of what lived in a window, and their lists (states.columns_of)."""
        return columns_of(candidates(self.known.history, window, topic, partition, topic_id))

    def _extent(self, topic: str, partition: int) -> tuple[int | None, int | None]:
        """Where the log of the topic that lives now begins and ends."""
        lives = self.known.history.by_name.get(topic, [])
        if not lives or lives[-1].gone is not None or not lives[-1].known:
            return (None, None)
        key = key_of(lives[-1].topic_id, partition)
        return self._extents.get((self._name, key or ""), (None, None))


class _Commit:
    """One stored commit; ``follows`` is the one before it of the same key, if it is known which."""

    __slots__ = ("_cluster", "_follows", "_line", "_stored", "id", "origin")

    def __init__(
        self, cluster: _Cluster, stored: StoredOffset, line: CommitLine | None, follows: _Commit | None
    ) -> None:
        self._cluster, self._stored, self._line, self._follows = cluster, stored, line, follows
        self.id = digest_of(stored.cluster, "commit", stored.commit_partition, stored.record_offset)
        self.origin = self._origin()

    def row(self) -> tuple[Any, ...]:
        """Its row of MET_COMMITS."""
        each, cluster, window = self._stored, self._cluster, self._window()
        topic_id, (origin, told_by) = each.topic_id, self.origin
        found, lists = cluster.met(window, each.topic, each.partition, topic_id)
        return (
            each.cluster, METADATA_LOG, each.topic, each.partition, self.id, each.group_id,
            each.offset, each.leader_epoch, topic_id is not None, topic_id or "", *found,
            origin, _epoch(cluster.known, origin, each.partition), told_by, NONE,
            each.commit_partition, each.record_offset, each.is_transactional, each.removed,
            each.current, *cluster.extent(each.topic, each.partition), *_asked(self._line, each), each.ms,
            window.lowest, window.highest + 1, each.ms, each.ms, *lists,
        )  # fmt: skip

    def _window(self) -> Window:
        each = self._stored
        coordinator = self._cluster.leaders.get((each.commit_partition, each.coordinator_epoch), -1)
        return self._cluster.known.moments.window(coordinator, each.ms, each.ms)

    def _origin(self) -> tuple[str | None, str | None]:
        """The incarnation that the offset is of, and what tells it.

        A topic id beside a commit does not: a broker of 4.3 stores the live one's, and a client that goes on
        with an old offset in a new incarnation sends the new id.
        """
        if self._line is None:
            return (None, None)
        if of := self._line.fetched_topic_id:
            return (of, "fetched")
        again = self._told(self._line)
        return (again.origin[0], "committed") if again is not None and again.origin[0] else (None, None)

    def _told(self, line: CommitLine) -> _Commit | None:
        """The commit that its client had been told by OffsetFetch, and repeats."""
        first, last = line.told_from_ms, line.told_to_ms
        if first is None or last is None:
            return None
        one, tolerance_ms = self._follows, self._cluster.tolerance_ms
        while one is not None and one._stored.ms > last + tolerance_ms:
            one = one._follows
        if one is None or one._stored.ms >= first - tolerance_ms:
            # it may have come before the answer, or after
            return None
        what = (one._stored.offset, one._stored.leader_epoch)
        return one if what == (line.offset, line.told_leader_epoch) else None


def _refused(cluster: _Cluster, line: CommitLine) -> tuple[Any, ...]:
    known = cluster.known
    window = known.moments.window(line.broker_id, line.requested_ms, line.responded_ms)
    found, lists = cluster.met(window, line.topic, line.partition)
    identity = digest_of(line.request_id, line.topic, line.topic_id, line.partition)
    origin = line.fetched_topic_id
    return (
        line.cluster, METADATA_LOG, line.topic, line.partition, identity, line.group_id,
        line.offset, line.leader_epoch, line.topic_id is not None, line.topic_id or "",
        *found, origin, _epoch(known, origin, line.partition),
        "fetched" if origin else None, line.error, None, None,
        None, None, False, *cluster.extent(line.topic, line.partition), *_asked(line, line), None,
        window.lowest, window.highest + 1, line.requested_ms, line.responded_ms, *lists,
    )  # fmt: skip


def _asked(line: CommitLine | None, at: CommitLine | StoredOffset) -> tuple[Any, ...]:
    """The columns of the client and of the request line."""
    if line is None:
        return (None,) * 13 + (at.file, at.position)
    return (*tuple(line)[_OF_CLIENT], at.file, at.position)


def _epoch(known: Known, topic_id: str | None, partition: int) -> int | None:
    life = known.history.partition(topic_id, partition)
    return None if life is None else life.partition_epoch


def _placed(
    groups: Groups, position: Row, commits: Mapping[tuple[Any, ...], list[tuple[int, str, str | None, int]]]
) -> Row:
    """A place that OffsetFetch gave, with the commit that it was."""
    names = ("cluster", "group_id", "topic", "partition", "fetch_offset")
    found = commits.get(tuple(position[name] for name in names), [])
    asked_ms = position["requested_at"].timestamp() * 1000 + groups.tolerance_ms
    before = sorted(each for each in found if each[0] <= asked_ms)
    if not before:
        return position
    _, commit_id, topic_id, leader_epoch = before[-1]
    epoch = _epoch(groups.known[position["cluster"]], topic_id, position["partition"])
    one = len({each[2] for each in before}) == 1
    return {
        **position,
        "origin_commit_id": commit_id,
        "origin_topic_id": topic_id if one else None,
        "origin_partition_epoch": epoch if one else None,
        "origin_leader_epoch": leader_epoch,
    }
