"""The commits from which consumers read on: those whose offsets OffsetFetch gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from fencepost.protocols.leader_epoch.commit_facts import ClusterFacts
from fencepost.protocols.leader_epoch.commit_times import RepeatedCommits
from fencepost.protocols.leader_epoch.origins import Origins
from fencepost.replay.entities import tuples

_CONTENT = ("group_id", "topic", "partition", "committed")
Row = dict[str, Any]


def with_commits(
    positions: Sequence[Row], stored: pa.Table, ids: pa.Array, origins: Origins, facts: ClusterFacts
) -> list[Row]:
    """Rows of MET_FETCHES, each with the commit whose offset it began at, where that is known.

    ``stored``: rows of STORED; ``ids``: the commit id of each of these.
    """
    if not positions:
        return []
    by_content: dict[tuple[Any, ...], list[tuple[int, str, str | None, int]]] = {}
    rows = stored.select(["group_id", "topic", "partition", "offset", "ms", "leader_epoch"])
    for row, ((*content, ms, leader_epoch), commit_id) in enumerate(
        zip(tuples(rows), ids.to_pylist(), strict=True)
    ):
        origin, _ = origins.of(row)
        by_content.setdefault(tuple(content), []).append((ms, commit_id, origin, leader_epoch))
    commits = {content: RepeatedCommits(of) for content, of in by_content.items()}
    return [_with_commit(position, commits, facts) for position in positions]


def _with_commit(
    position: Row, commits: Mapping[tuple[Any, ...], RepeatedCommits], facts: ClusterFacts
) -> Row:
    repeated = commits.get(tuple(position[name] for name in _CONTENT))
    latest_ms = position["requested_at"].timestamp() * 1000 + facts.tolerance_ms
    newest = None if repeated is None else repeated.newest_at(latest_ms)
    if newest is None:
        return position
    commit_id, topic_id, leader_epoch, has_one_origin = newest
    with_commit = {**position, "origin_commit_id": commit_id, "origin_leader_epoch": leader_epoch}
    if position["origin_topic_id"] is not None or not has_one_origin:
        return with_commit
    return {
        **with_commit,
        "origin_topic_id": topic_id,
        "origin_partition_epoch": facts.partition_epoch(topic_id, position["partition"]),
    }
