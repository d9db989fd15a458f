"""Real brokers' logs from bytes to tables: what drivers did and were answered is what the replay tells."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.capture.plan import REQUEST_LOG, SEGMENT, Source
from fencepost.capture.readers import read_all
from fencepost.protocols.offset_commit import shards
from fencepost.protocols.offset_commit.decoding import sightings
from fencepost.protocols.offset_commit.evidence import ShardRows
from fencepost.protocols.offset_commit.replay import replay_rows
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.metadata import ClusterMetadata, metadata_records
from fencepost.tables import BATCHES, CLEANED, QUARANTINE, RECORDS, REQUESTS

CLUSTER = "healthy-4.3.1"
TOLERANCE_MS = 25
KEY = ("group_id", "client_id", "correlation_id", "topic", "partition", "committed_offset")

Rows = dict[str, pa.Table]


@pytest.fixture(scope="module")
def bronze(captures: Path) -> Rows:
    """Bronze of a cluster of three brokers, every replica's rows: what a replay takes once, it takes once."""
    found: dict[str, list[pa.RecordBatch]] = {table.name: [] for table in (BATCHES, RECORDS, REQUESTS)}
    for broker in (1, 2, 3):
        folder = captures / CLUSTER / f"broker-{broker}"
        sources = list(_sources(folder, broker))
        for file in sorted(folder.glob("kafka-request.log*")):
            sources.append(Source(CLUSTER, broker, REQUEST_LOG, str(file), end=file.stat().st_size))
        for table, rows in read_all(sources):
            found.setdefault(table.name, []).append(rows)
    rows = {table.name: pa.Table.from_batches(found[table.name]) for table in (BATCHES, RECORDS, REQUESTS)}
    none = {"cluster": pa.array([], pa.string()), "topic": pa.array([], pa.string())}
    none |= {"kind": pa.array([], pa.string()), "file": pa.array([], pa.string())}
    none |= {name: pa.array([], pa.int64()) for name in ("position", "cleaned_to")}
    empty = pa.table({**none, "partition": pa.array([], pa.int32())})
    return {**rows, CLEANED.name: empty, QUARANTINE.name: empty}


def _sources(folder: Path, broker: int) -> Iterator[Source]:
    for file in sorted((folder / "log_dir").glob("__c*/*.log")):
        topic, _, partition = file.parent.name.rpartition("-")
        place = {"topic": topic, "topic_id": None, "partition": int(partition)}
        yield Source(CLUSTER, broker, SEGMENT, str(file), end=file.stat().st_size, **place)


@pytest.fixture(scope="module")
def replayed(bronze: Rows) -> dict[str, list[dict[str, Any]]]:
    """The tables that the replay of all logs gives."""
    records = metadata_records(bronze[RECORDS.name])
    counts = {CLUSTER: ClusterMetadata.of(records).partition_counts[OFFSETS_TOPIC]}
    placement = shards.Placement.of(counts, [shards.seen_places(bronze[RECORDS.name])])
    parts = _shards(bronze, placement)
    metadata = ClusterMetadata.of(records, [each for rows in parts for each in sightings(rows)])
    found: dict[str, list[dict[str, Any]]] = {}
    for rows in parts:
        for name, table in replay_rows(rows, metadata, TOLERANCE_MS).items():
            found.setdefault(name, []).extend(table.to_pylist())
    return found


def _shards(bronze: Rows, placement: shards.Placement) -> list[ShardRows]:
    of: dict[str, Callable[[pa.Table], pa.Array]] = {
        BATCHES.name: shards.shards_of_log,
        RECORDS.name: shards.shards_of_log,
        REQUESTS.name: lambda rows: shards.shards_of_requests(rows, placement),
        QUARANTINE.name: shards.shards_of_quarantine,
        CLEANED.name: shards.shards_of_log,
    }
    names = {name: of[name](rows).to_pylist() for name, rows in bronze.items()}
    found = []
    for shard in sorted({shard for each in names.values() for shard in each if shard is not None}):
        tables = [
            bronze[name].filter(pa.array([each == shard for each in names[name]], pa.bool_())) for name in of
        ]
        found.append(ShardRows(CLUSTER, int(shard.rpartition("/")[2]), *tables))
    return found


def test_every_commit_of_the_drivers_is_told_as_it_was(
    captures: Path, replayed: dict[str, list[dict[str, Any]]]
) -> None:
    commits = {tuple(row[name] for name in KEY): row for row in replayed["silver.offset_commits"]}
    states: dict[str, list[dict[str, Any]]] = {}
    for row in replayed["silver.offset_commit_states"]:
        states.setdefault(row["commit_id"], []).append(row)
    truth = captures / CLUSTER / "ground_truth.jsonl"
    made = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    assert len(made) > 10
    for each in made:
        commit = commits[tuple(each[name] for name in KEY)]
        assert commit["broker_error"] == each["error"], each["case"]
        assert commit["unknown_reason"] is None, each["case"]
        assert {_truth(state) for state in states[commit["commit_id"]]} == {each["truth"]}, each["case"]


def _truth(state: dict[str, Any]) -> str:
    if state["client_epoch"] < 0:
        return "unfenced"
    if state["owned_at_client_epoch"] and state["reassigned_since"]:
        return "zombie"
    return "owner" if state["owned_at_client_epoch"] and state["uninterrupted"] else "not_owner"


def test_replicas_and_the_order_of_rows_change_nothing(bronze: Rows) -> None:
    """Rows of one log twice, and backwards, give what they give once."""
    placement = shards.Placement({CLUSTER: 50})
    metadata = ClusterMetadata.of(metadata_records(bronze[RECORDS.name]))
    for rows in _shards(bronze, placement):
        twice = [
            pa.concat_tables([table, table]).take(pa.array(range(2 * table.num_rows - 1, -1, -1), pa.int64()))
            for table in (rows.batches, rows.records)
        ]
        again = ShardRows(rows.cluster, rows.partition, *twice, rows.requests, rows.quarantine, rows.cleaned)
        assert replay_rows(again, metadata, TOLERANCE_MS) == replay_rows(rows, metadata, TOLERANCE_MS)
