"""The replays of several protocols over each group coordinator's log: what each declares, and all in one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.conditions import Where
from fencepost.engines import Replay
from fencepost.replay.arrow_slices import filtered
from fencepost.replay.coordinator_logs import CoordinatorLogs
from fencepost.replay.cuts import LogName
from fencepost.replay.group_coordinator.evidence import ShardRows
from fencepost.replay.group_coordinator.shards import incarnation_of, shard_of_name
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.line_times import LineTimes
from fencepost.replay.log_ends import Ends, end_of
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.unread_lines import UnreadLines
from fencepost.tables import Table

_TABLES = ("batches", "records", "requests", "quarantine", "cleaned")
"""The fields of ShardRows that are tables."""


class Facts(NamedTuple):
    """Facts that the replay of every coordinator's log gets. ``metadata``: cluster -> its metadata, with
    topic ids from stored commits; ``unread``: cluster -> lines of request logs that could not be read;
    ``cuts``, ``line_times``: as in Evidence; ``logs``: cluster -> the incarnations of
    ``__consumer_offsets``; ``moved``: cluster -> the groups of which several partitions have records or may;
    ``ends``: log_ends.log_ends of ``__consumer_offsets``.
    """

    metadata: Mapping[str, ClusterMetadata]
    unread: Mapping[str, UnreadLines]
    cuts: Mapping[LogName, int]
    line_times: LineTimes
    logs: Mapping[str, CoordinatorLogs]
    moved: Mapping[str, frozenset[str]]
    ends: Ends

    def metadata_of(self, cluster: str) -> ClusterMetadata:
        """The metadata of a cluster; empty if none is known."""
        return self.metadata.get(cluster, ClusterMetadata())

    def rows_of(self, shard: str, evidence: Mapping[str, pa.Table]) -> ShardRows:
        """The evidence of a shard as ShardRows, of whose fields ``evidence`` has the tables."""
        cluster, partition, _ = shard_of_name(shard)
        incarnation = incarnation_of(shard, self.logs)
        # a log that was captured without its topic's id has none
        cuts = (
            0 if partition is None else self.cuts.get((cluster, OFFSETS_TOPIC, topic_id, partition), 0)
            for topic_id in (incarnation.topic_id, None)
        )
        return ShardRows(
            cluster,
            partition,
            unread_lines=self.unread.get(cluster, {}),
            cut=max(cuts),
            line_times=self.line_times,
            incarnation=incarnation,
            moved=self.moved.get(cluster, frozenset()),
            end=end_of(self.ends, cluster, partition, is_gone=incarnation.is_gone),
            **{name: evidence[name] for name in _TABLES},
        )


class Lines(NamedTuple):
    """The rows of a table of bronze that ``where`` chooses. It has the columns cluster, group_id, broker_id
    and logged_at_ms.
    """

    table: Table
    where: Where


@dataclass(frozen=True)
class GroupReplay:
    """A protocol's replay of the evidence of each coordinator's log.

    ``api_keys``: the requests that it reads; ``of_records``: the columns of ``bronze.records`` that it reads
    beside those that all do; ``lines``: other lines about groups. ``replay`` makes the replay, which gets
    ShardRows and the lines, of facts and of how late a request's line may be (ms); it yields rows of
    ``tables``.
    """

    api_keys: Collection[int]
    tables: Sequence[Table]
    replay: Callable[[Facts, int], Replay]
    of_records: Sequence[str] = ()
    lines: Sequence[Lines] = ()


def together(replays: Sequence[GroupReplay], facts: Facts, tolerance_ms: int) -> Replay:
    """All replays, one after the other, over the evidence that was read for all of them.

    The one that reads the most requests is the last: it frees the rows.
    """
    ordered = sorted(replays, key=lambda each: len(each.api_keys))
    own = [(frozenset(each.api_keys), each.replay(facts, tolerance_ms)) for each in ordered]

    def run(shard: str, evidence: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
        left = dict(evidence)
        del evidence
        for number, (api_keys, replay) in enumerate(own, start=1):
            is_read = pc.is_in(left["requests"]["api_key"], pa.array(sorted(api_keys), pa.int16()))
            rows = {**left, "requests": filtered(left["requests"], is_read)}
            if number == len(own):
                left.clear()
            steps = replay(shard, rows)
            del rows
            yield from steps

    return run
