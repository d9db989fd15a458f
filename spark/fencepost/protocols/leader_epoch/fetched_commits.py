"""Where consumers went on from that were told by OffsetFetch: the commits that they were told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from fencepost.protocols.leader_epoch.commit_facts import ClusterFacts
from fencepost.protocols.leader_epoch.commit_times import RepeatedCommits
from fencepost.protocols.leader_epoch.origins import Origins
from fencepost.replay.entities import tuples

_CONTENT = ("group_id", "topic", "partition", "fetch_offset")
Row = dict[str, Any]


def with_commits(
    positions: Sequence[Row], stored: pa.Table, ids: pa.Array, origins: Origins, facts: ClusterFacts
) -> list[Row]:
    """Rows of MET_FETCHES, each with the commit that it was, where one is known. ``ids`` of ``stored``, which
    are rows of STORED.
    """
    if not positions:
        return []
    found: dict[tuple[Any, ...], list[tuple[int, str, str | None, int]]] = {}
    rows = stored.select(["group_id", "topic", "partition", "offset", "ms", "leader_epoch"])
    for row, ((*content, ms, leader_epoch), commit_id) in enumerate(
        zip(tuples(rows), ids.to_pylist(), strict=True)
    ):
        origin, _ = origins.found.get(row, (None, None))
        found.setdefault(tuple(content), []).append((ms, commit_id, origin, leader_epoch))
    commits = {content: RepeatedCommits(of) for content, of in found.items()}
    return [_with_commit(position, commits, facts) for position in positions]


def _with_commit(
    position: Row, commits: Mapping[tuple[Any, ...], RepeatedCommits], facts: ClusterFacts
) -> Row:
    of = commits.get(tuple(position[name] for name in _CONTENT))
    asked_ms = position["requested_at"].timestamp() * 1000 + facts.tolerance_ms
    newest = None if of is None else of.newest_at(asked_ms)
    if newest is None:
        return position
    commit_id, topic_id, leader_epoch, one = newest
    return {
        **position,
        "origin_commit_id": commit_id,
        "origin_topic_id": topic_id if one else None,
        "origin_partition_epoch": facts.partition_epoch(topic_id, position["partition"]) if one else None,
        "origin_leader_epoch": leader_epoch,
    }
