"""Real brokers' logs, cleaned: what answers tell of a transactional id is what its records said."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fencepost.capture.plan import REQUEST_LOG, SEGMENT, Source
from fencepost.capture.readers import read_all
from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.coordinators import (
    Coordinators,
    replay_coordinators,
)
from fencepost.protocols.producer_epoch.homes import (
    PARTITION,
    coordinator_partitions,
    homes,
    newest_homes,
)
from fencepost.protocols.producer_epoch.producer_requests import producer_requests
from fencepost.protocols.producer_epoch.request_rows import concerns_coordinators
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.metadata_log import metadata_log
from fencepost.settings import load
from fencepost.tables import BATCHES, CLEANED, QUARANTINE, RECORDS, REQUESTS

TOLERANCE_MS = 25
CAPTURES = ("producers-tv1-4.3.1", "producers-failover-4.2.1", "producers-4.3.1", "ends-4.3.1")
TABLES = {"end_txn": "request_id", "add_partitions_to_txn": "addition_id"}
TOLD = ("known", "producer_id", "producer_epoch", "status", "listed")

Bronze = dict[str, pa.Table]
States = dict[tuple[str, str], list[dict[str, Any]]]


@cache
def bronze_of(folder: Path) -> Bronze:
    """Bronze of coordinators' logs, the metadata log and request logs."""
    (cluster,) = load(folder / "fencepost.toml").clusters
    found: dict[str, list[pa.RecordBatch]] = {}
    for broker in cluster.brokers:
        root, at = folder / f"broker-{broker.id}", (cluster.name, broker.id)
        sources = []
        for topic in (TRANSACTIONS_TOPIC, "__cluster_metadata"):
            for file in sorted((root / "log_dir").glob(f"{topic}-*/*.log")):
                place = {"topic": topic, "partition": int(file.parent.name.rpartition("-")[2])}
                sources.append(Source(*at, SEGMENT, str(file), end=file.stat().st_size, **place))
        for file in sorted(root.glob("kafka-request.log*")):
            end = file.stat().st_size
            sources.append(Source(*at, REQUEST_LOG, str(file), end=end, timezone=broker.timezone))
        for table, rows in read_all(sources):
            found.setdefault(table.name, []).append(rows)
    read = {each.name: pa.Table.from_batches(found[each.name]) for each in (BATCHES, RECORDS, REQUESTS)}
    return {**read, **{each.name: each.arrow_schema.empty_table() for each in (CLEANED, QUARANTINE)}}


def _replay(bronze: Bronze) -> account.Replayed:
    batches, records, requests = (bronze[each.name] for each in (BATCHES, RECORDS, REQUESTS))
    (cluster,) = set(batches["cluster"].to_pylist())
    known = ClusterMetadata.of(metadata_log(batches, records, bronze[QUARANTINE.name]))
    asked = producer_requests(requests, {cluster: known})
    asked = asked.filter(concerns_coordinators(asked))
    places = coordinator_partitions(asked, {cluster: known}, newest_homes(homes(records)))
    given = Coordinators(
        batches,
        records,
        bronze[QUARANTINE.name],
        bronze[CLEANED.name],
        asked.append_column(PARTITION, places),
        account.rows_of({}, account.WROTE),
    )
    return replay_coordinators(given, {cluster: known}, TOLERANCE_MS)


def replayed(bronze: Bronze) -> tuple[States, dict[tuple[str, str], dict[str, Any]]]:
    """The states that requests met, and the requests, by API and id."""
    tables = _replay(bronze).tables
    states: States = {}
    sent = {}
    for api, key in TABLES.items():
        for row in tables[f"silver.{api}s"].to_pylist():
            sent[api, row[key]] = row
        for row in tables[f"silver.{api}_states"].to_pylist():
            states.setdefault((api, row[key]), []).append(row)
    return states, sent


def cleaned(bronze: Bronze, share: float) -> Bronze:
    """As the log cleaner leaves it: up to a share of each coordinator's log the last record of each key."""
    records, batches = bronze[RECORDS.name], bronze[BATCHES.name]
    gone: set[tuple[int, int]] = set()
    checkpoints = []
    (cluster,) = set(batches["cluster"].to_pylist())
    for partition in range(50):
        mine = records.filter(_of(records, partition))
        offsets = sorted(set(mine["record_offset"].to_pylist()))
        if len(offsets) < 3:
            continue
        to = offsets[int((len(offsets) - 1) * share)]
        newest: dict[bytes, int] = {}
        keyed = [
            (at, key)
            for at, key in zip(mine["record_offset"].to_pylist(), mine["key"].to_pylist(), strict=True)
            if at < to
        ]
        for at, key in keyed:
            newest[key] = max(at, newest.get(key, at))
        gone |= {(partition, at) for at, key in keyed if newest[key] != at}
        place = {"cluster": cluster, "topic": TRANSACTIONS_TOPIC, "partition": partition, "cleaned_to": to}
        checkpoints.append(place)
    left = {
        RECORDS.name: _without(records, "record_offset", gone),
        BATCHES.name: _without(batches, "base_offset", gone),
        CLEANED.name: pa.Table.from_pylist(checkpoints, schema=CLEANED.arrow_schema),
    }
    return {**bronze, **left}


def _of(rows: pa.Table, partition: int) -> pa.Array:
    of_topic = pc.equal(rows["topic"], TRANSACTIONS_TOPIC)
    return pc.and_(of_topic, pc.equal(rows["partition"], partition))


def _without(rows: pa.Table, offset: str, gone: set[tuple[int, int]]) -> pa.Table:
    columns = (rows[name].to_pylist() for name in ("topic", "partition", offset))
    kept = [
        topic != TRANSACTIONS_TOPIC or (partition, at) not in gone
        for topic, partition, at in zip(*columns, strict=True)
    ]
    return rows.filter(pa.array(kept))


def agree(told: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """What is told of a state is so."""
    return all(told.get(name) is None or told[name] == state[name] for name in TOLD)


def _told(bronze: Bronze, share: float) -> list[tuple[dict[str, Any], list[dict[str, Any]], tuple[str, str]]]:
    """Requests that were decided where the cleaner has been, with what answers tell of the state they met."""
    states, sent = replayed(cleaned(bronze, share))
    gone = [key for key, row in sent.items() if (row["unknown_reason"] or "").startswith("cleaned away")]
    return [(sent[key], states.get(key, []), key) for key in gone]


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("capture", CAPTURES)
def test_what_answers_tell_is_what_records_said(captures: Path, capture: str, share: float) -> None:
    bronze = bronze_of(captures / capture)
    met, _ = replayed(bronze)
    gone = _told(bronze, share)
    stood = [(row, told, met[key]) for row, told, key in gone if told and key in met]
    for row, told, states in stood:
        assert any(agree(each, state) for each in told for state in states), (row, told, states)
    assert len(stood) > 0.25 * len(gone) > 2


@pytest.mark.parametrize("capture", CAPTURES)
def test_what_was_known_without_answers_is_known_as_before(captures: Path, capture: str) -> None:
    """The log cleaner takes records. What it has left tells the same."""
    bronze = bronze_of(captures / capture)
    met, _ = replayed(bronze)
    states, sent = replayed(cleaned(bronze, 0.5))
    kept = [key for key, row in sent.items() if row["unknown_reason"] is None]
    assert len(kept) > 5
    for key in kept:
        assert all(any(agree(each, state) for state in met[key]) for each in states[key]), (key, states[key])


@pytest.mark.parametrize("seed", range(4))
def test_lost_lines_tell_less_and_nothing_against_a_broker(captures: Path, seed: int) -> None:
    """Where lines were lost no epoch is another one, and the status of what was refused is not told."""
    chance = random.Random(seed)
    bronze = bronze_of(captures / "producers-tv1-4.3.1")
    met, _ = replayed(bronze)
    kept = pa.array([chance.random() < 0.6 for _ in range(bronze[REQUESTS.name].num_rows)])
    fewer = {**bronze, REQUESTS.name: bronze[REQUESTS.name].filter(kept)}
    gone = _told(fewer, 1.0)
    stood = [(row, told, met[key]) for row, told, key in gone if told and key in met]
    for row, told, states in stood:
        for each in told:
            assert row["error"] == "NONE" or each["status"] is None
            epoch = {**each, "status": None, "listed": None}
            assert any(agree(epoch, state) for state in states), (row, each, states)
    assert len(stood) > 20


@pytest.mark.parametrize("lost", [0.0, 0.4])
@pytest.mark.parametrize("capture", CAPTURES)
def test_answers_tell_of_no_transaction_that_was_not_there(captures: Path, capture: str, lost: float) -> None:
    """Of a producer epoch and a partition they tell of as many as the records, or of fewer."""
    chance = random.Random(capture)
    bronze = bronze_of(captures / capture)
    listed: dict[tuple[Any, ...], int] = {}
    for row in _replay(bronze).account[account.LISTED].to_pylist():
        key = tuple(row[name] for name in ("name", "producer_id", "producer_epoch", "prepared_epoch"))
        listed[key] = listed.get(key, 0) + 1
    kept = pa.array([chance.random() >= lost for _ in range(bronze[REQUESTS.name].num_rows)])
    fewer = {**bronze, REQUESTS.name: bronze[REQUESTS.name].filter(kept)}
    told = _replay(cleaned(fewer, 1.0)).account[account.TOLD].to_pylist()
    for row in told:
        key = tuple(row[name] for name in ("name", "producer_id", "producer_epoch", "prepared_epoch"))
        assert 0 < row["transactions"] <= listed.get(key, 0), row
    counted = sum(row["transactions"] for row in told)
    assert counted > (0.1 if lost else 0.6) * sum(listed.values())
