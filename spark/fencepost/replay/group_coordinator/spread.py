"""Spreads the evidence of all group coordinators by the log that it is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa

from fencepost.engines import Engine, Rows
from fencepost.replay.entities import tuples, with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.group_coordinator.decoding import SIGHTED_BY, SIGHTINGS, sightings
from fencepost.replay.group_coordinator.group_replays import Facts, together
from fencepost.replay.group_coordinator.records import COMMIT_TYPES
from fencepost.replay.group_coordinator.shards import (
    PLACED_BY,
    seen_places,
    shards_of_lines,
    shards_of_log,
    shards_of_quarantine,
    shards_of_requests,
)
from fencepost.replay.incarnations import coordinator_logs
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.log_ends import log_ends
from fencepost.replay.logs import BATCH_COLUMNS
from fencepost.replay.metadata import ClusterMetadata, Sighting
from fencepost.replay.placement import Placement
from fencepost.replay.requests import LINE_COLUMNS
from fencepost.replay.unread_lines import UNREAD, of_request_logs, unread_lines
from fencepost.tables import BATCHES, CLEANED, QUARANTINE, RECORDS, REQUESTS

_COORDINATORS = ({"topic": OFFSETS_TOPIC},)
_COMMITS = ({"topic": OFFSETS_TOPIC, "record_type": frozenset(COMMIT_TYPES)},)
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


def replayed(evidence: Evidence) -> Mapping[str, Rows]:
    """The rows of the replays of all protocols (``Evidence.group_replays``), by the table's name. The
    evidence is spread once: the logs, the requests, and each protocol's lines.
    """
    engine, replays = evidence.engine, evidence.group_replays
    placement, facts = evidence.once(placement_and_facts)
    api_keys = frozenset(key for each in replays for key in each.api_keys)
    request_rows = engine.scan(REQUESTS, LINE_COLUMNS, [{"api_key": api_keys}])
    requests = with_entity(
        engine, REQUESTS, request_rows, lambda each: shards_of_requests(each, placement), LINE_COLUMNS
    )
    rows = _of_logs(engine, placement, [name for each in replays for name in each.of_records])
    rows["requests"] = [requests]
    for table, where in (lines for each in replays for lines in each.lines):
        of_groups = partial(shards_of_lines, placement=placement)
        rows[table.name] = [with_entity(engine, table, engine.scan(table, where=where), of_groups)]
    run = together(replays, facts, evidence.tolerance_ms)
    return engine.replay(rows, run, [table for each in replays for table in each.tables])


def _of_logs(engine: Engine, placement: Placement, of_records: Sequence[str]) -> dict[str, list[Rows]]:
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


def placement_and_facts(evidence: Evidence) -> tuple[Placement, Facts]:
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
        OFFSETS_TOPIC,
        evidence.metadata,
        [{(cluster, topic_id, group, number): ms for cluster, topic_id, group, number, ms in tuples(places)}],
        logs,
    )
    commits = engine.scan(RECORDS, SIGHTED_BY, _COMMITS)
    metadata = _with_sightings(evidence, engine.collect(engine.map(commits, sightings, SIGHTINGS)))
    unread = unread_lines(engine.collect(engine.map(quarantine, of_request_logs, UNREAD)))
    moved = {cluster: placement.moved(cluster) for cluster in placement.timed}
    ends = log_ends(evidence.log_ends, evidence.high_watermarks, metadata, OFFSETS_TOPIC)
    return placement, Facts(metadata, unread, evidence.cuts, evidence.line_times, logs, moved, ends)


def _with_sightings(evidence: Evidence, rows: pa.Table) -> dict[str, ClusterMetadata]:
    sightings_of: dict[str, list[Sighting]] = defaultdict(list)
    for cluster, topic, topic_id, ms in tuples(rows):
        sightings_of[cluster].append(Sighting(topic, topic_id, ms))
    sighted = {cluster: evidence.metadata_of(cluster, each) for cluster, each in sightings_of.items()}
    return {**evidence.metadata, **sighted}


def _places(records: pa.Table) -> pa.Table:
    places = [(*place, ms) for place, ms in seen_places(records).items()]
    return pa.Table.from_pylist(
        [dict(zip(_PLACES.names, each, strict=True)) for each in places], schema=_PLACES
    )
