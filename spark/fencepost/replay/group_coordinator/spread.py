"""Spreads the evidence of all group coordinators by the log that it is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from fencepost.engines import Engine, Rows
from fencepost.replay.clock_steps import ClockSteps
from fencepost.replay.coordinator_logs import CoordinatorLogs
from fencepost.replay.cuts import LogName
from fencepost.replay.entities import tuples, with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.group_coordinator.decoding import sightings
from fencepost.replay.group_coordinator.evidence import ShardRows
from fencepost.replay.group_coordinator.shards import (
    PLACED_BY,
    incarnation_of,
    seen_places,
    shard_of_name,
    shards_of_log,
    shards_of_quarantine,
    shards_of_requests,
)
from fencepost.replay.incarnations import coordinator_logs
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.logs import BATCH_COLUMNS
from fencepost.replay.metadata import ClusterMetadata, Sighting
from fencepost.replay.metadata_log import MetadataLog
from fencepost.replay.placement import Placement
from fencepost.replay.requests import LINE_COLUMNS
from fencepost.replay.unread_lines import UNREAD, UnreadLines, of_request_logs, unread_lines
from fencepost.tables import BATCHES, CLEANED, QUARANTINE, RECORDS, REQUESTS, Table

_COORDINATORS = ({"topic": OFFSETS_TOPIC},)
_LOG = ("cluster", "topic", "topic_id", "partition")
_OF_BATCHES = (*_LOG, *BATCH_COLUMNS)
_OF_RECORDS = (
    *_LOG, "leader_epoch", "base_offset", "last_offset", "record_offset", "timestamp_ms", "producer_id",
    "producer_epoch", "is_transactional", "is_control", "record_type", "record_name", "decode_status", "key",
    "value", "value_size",
)  # fmt: skip
"""The columns that are read of tables with many rows."""
_PLACES = pa.schema(
    [
        *((name, pa.string()) for name in ("cluster", "topic_id", "group_id")),
        ("partition", pa.int32()), ("ms", pa.int64()),
    ]
)  # fmt: skip
_SIGHTED = Table(
    "sightings",
    "Ids of topics beside their names, in stored commits.",
    {"cluster": "string", "topic": "string", "topic_id": "string", "timestamp_ms": "bigint"},
    ("cluster", "topic", "topic_id"),
)


class Facts(NamedTuple):
    """Facts that the replay of every coordinator's log gets. ``metadata``: cluster -> its metadata, with
    topic ids from stored commits; ``unread``: cluster -> lines of request logs that could not be read;
    ``cuts``, ``clock_steps``: as in Evidence; ``logs``: cluster -> the incarnations of
    ``__consumer_offsets``; ``moved``: cluster -> the groups of which several partitions have records.
    """

    metadata: Mapping[str, ClusterMetadata]
    unread: Mapping[str, UnreadLines]
    cuts: Mapping[LogName, int]
    clock_steps: ClockSteps
    logs: Mapping[str, CoordinatorLogs]
    moved: Mapping[str, frozenset[str]]

    def metadata_of(self, cluster: str) -> ClusterMetadata:
        """The metadata of a cluster; empty if none is known."""
        return self.metadata.get(cluster, ClusterMetadata())

    def rows_of(self, shard: str, evidence: Mapping[str, pa.Table]) -> ShardRows:
        """The evidence of a shard as ShardRows; ``evidence`` has the names of its fields."""
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
            clock_steps=self.clock_steps,
            incarnation=incarnation,
            moved=self.moved.get(cluster, frozenset()),
            **evidence,
        )


class Spread(NamedTuple):
    """The evidence of group coordinators, each row with the coordinator's log that it is about.

    ``rows``: field of ShardRows -> rows as ``Engine.replay`` takes them.
    """

    rows: dict[str, list[Rows]]
    placement: Placement
    facts: Facts


def spread(evidence: Evidence, api_keys: Collection[int], of_records: Sequence[str] = ()) -> Spread:
    """Spread bronze's rows about group coordinators. Of requests those of ``api_keys`` are read, of records
    also the columns ``of_records``.
    """
    engine, (placement, facts) = evidence.engine, evidence.once(_placement_and_facts)
    request_rows = engine.scan(REQUESTS, LINE_COLUMNS, [{"api_key": frozenset(api_keys)}])
    requests = with_entity(
        engine, REQUESTS, request_rows, lambda each: shards_of_requests(each, placement), LINE_COLUMNS
    )
    return Spread({**_of_logs(engine, placement, of_records), "requests": [requests]}, placement, facts)


def _of_logs(engine: Engine, placement: Placement, of_records: Sequence[str] = ()) -> dict[str, list[Rows]]:
    """Rows of coordinators' logs, each with the log that it is about."""
    of = {
        "batches": (BATCHES, _OF_BATCHES),
        "records": (RECORDS, (*_OF_RECORDS, *of_records)),
        "cleaned": (CLEANED, tuple(CLEANED.columns)),
    }
    logs = {
        name: [
            with_entity(
                engine,
                table,
                engine.scan(table, columns, _COORDINATORS),
                partial(shards_of_log, placement=placement),
                columns,
            )
        ]
        for name, (table, columns) in of.items()
    }
    most = max((len(each.incarnations) for each in placement.logs.values()), default=1)
    unread = [
        with_entity(
            engine,
            QUARANTINE,
            engine.scan(QUARANTINE),
            partial(shards_of_quarantine, placement=placement, incarnation=number),
        )
        for number in range(most)
    ]
    return {**logs, "quarantine": unread}


def _placement_and_facts(evidence: Evidence) -> tuple[Placement, Facts]:
    """The placement of groups, and the facts for all replays."""
    engine = evidence.engine
    records, quarantine = engine.scan(RECORDS, PLACED_BY, _COORDINATORS), engine.scan(QUARANTINE)
    places = engine.collect(engine.map(records, _places, _PLACES))
    logs = {
        cluster: each
        for (cluster, topic), each in evidence.once(coordinator_logs).items()
        if topic == OFFSETS_TOPIC
    }
    placement = Placement.of(
        {
            cluster: each.partition_counts[OFFSETS_TOPIC]
            for cluster, each in evidence.metadata.items()
            if OFFSETS_TOPIC in each.partition_counts
        },
        [{(cluster, topic_id, group, number): ms for cluster, topic_id, group, number, ms in tuples(places)}],
        logs,
    )
    sighted = engine.replay(_of_logs(engine, placement), _find_sightings, [_SIGHTED])
    metadata = _with_sightings(evidence, engine.collect(sighted[_SIGHTED.name]))
    unread = unread_lines(engine.collect(engine.map(quarantine, of_request_logs, UNREAD)))
    moved = {cluster: placement.moved(cluster) for cluster in placement.timed}
    return placement, Facts(metadata, unread, evidence.cuts, evidence.clock_steps, logs, moved)


def _find_sightings(shard: str, evidence: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
    cluster, partition, _ = shard_of_name(shard)
    rows = ShardRows(cluster, partition, requests=REQUESTS.arrow_schema.empty_table(), **evidence)
    rows_found = [(cluster, each.topic, each.topic_id, each.timestamp_ms) for each in sightings(rows)]
    yield _SIGHTED, _SIGHTED.rows(rows_found)


def _with_sightings(evidence: Evidence, rows: pa.Table) -> dict[str, ClusterMetadata]:
    sightings_of: dict[str, list[Sighting]] = defaultdict(list)
    for cluster, topic, topic_id, ms in tuples(rows):
        sightings_of[cluster].append(Sighting(topic, topic_id, ms))
    sighted = {
        cluster: ClusterMetadata.of(
            evidence.logs.get(cluster, MetadataLog()), each, evidence.releases.get(cluster)
        )
        for cluster, each in sightings_of.items()
    }
    return {**evidence.metadata, **sighted}


def _places(records: pa.Table) -> pa.Table:
    places = [(*place, ms) for place, ms in seen_places(records).items()]
    return pa.Table.from_pylist(
        [dict(zip(_PLACES.names, each, strict=True)) for each in places], schema=_PLACES
    )
