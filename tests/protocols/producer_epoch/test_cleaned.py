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
from fencepost.protocols.producer_epoch.homes import homes, placement_of, with_homes
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
SHOWN_BY_ANSWERS = ("known", "producer_id", "producer_epoch", "status", "listed")

Bronze = dict[str, pa.Table]
States = dict[tuple[str, str], list[dict[str, Any]]]


@cache
def bronze_of(folder: Path) -> Bronze:
    """Bronze of coordinators' logs, the metadata log and request logs."""
    (cluster,) = load(folder / "fencepost.toml").clusters
    pieces: dict[str, list[pa.RecordBatch]] = {}
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
            pieces.setdefault(table.name, []).append(rows)
    read = {each.name: pa.Table.from_batches(pieces[each.name]) for each in (BATCHES, RECORDS, REQUESTS)}
    return {**read, **{each.name: each.arrow_schema.empty_table() for each in (CLEANED, QUARANTINE)}}


def _replay(bronze: Bronze) -> account.Replayed:
    batches, records, requests = (bronze[each.name] for each in (BATCHES, RECORDS, REQUESTS))
    (cluster,) = set(batches["cluster"].to_pylist())
    cluster_metadata = ClusterMetadata.of(metadata_log(batches, records, bronze[QUARANTINE.name]))
    requests_of_producers = producer_requests(requests, {cluster: cluster_metadata})
    requests_of_producers = requests_of_producers.filter(concerns_coordinators(requests_of_producers))
    placement = placement_of(homes(records), {cluster: cluster_metadata}, {})
    coordinators = Coordinators(
        batches,
        records,
        bronze[QUARANTINE.name],
        bronze[CLEANED.name],
        with_homes(placement, requests_of_producers),
        account.rows_of({}, account.CONNECTION_EPOCH),
    )
    return replay_coordinators(coordinators, {cluster: cluster_metadata}, TOLERANCE_MS)


def replayed(bronze: Bronze) -> tuple[States, dict[tuple[str, str], dict[str, Any]]]:
    """The states that requests met, and the requests, by API and id."""
    tables = _replay(bronze).tables
    states: States = {}
    requests = {}
    for api, key in TABLES.items():
        for row in tables[f"silver.{api}s"].to_pylist():
            requests[api, row[key]] = row
        for row in tables[f"silver.{api}_states"].to_pylist():
            states.setdefault((api, row[key]), []).append(row)
    return states, requests


def cleaned(bronze: Bronze, share: float) -> Bronze:
    """What the log cleaner leaves: in the first part (``share``) of each coordinator's log, only the last
    record of each key.
    """
    records, batches = bronze[RECORDS.name], bronze[BATCHES.name]
    removed: set[tuple[int, int]] = set()
    checkpoints = []
    (cluster,) = set(batches["cluster"].to_pylist())
    for partition in range(50):
        log_records = records.filter(_of(records, partition))
        offsets = sorted(set(log_records["record_offset"].to_pylist()))
        if len(offsets) < 3:
            continue
        cleaned_to = offsets[int((len(offsets) - 1) * share)]
        newest: dict[bytes, int] = {}
        keyed = [
            (at, key)
            for at, key in zip(
                log_records["record_offset"].to_pylist(), log_records["key"].to_pylist(), strict=True
            )
            if at < cleaned_to
        ]
        for at, key in keyed:
            newest[key] = max(at, newest.get(key, at))
        removed |= {(partition, at) for at, key in keyed if newest[key] != at}
        place = {
            "cluster": cluster,
            "topic": TRANSACTIONS_TOPIC,
            "partition": partition,
            "cleaned_to": cleaned_to,
        }
        checkpoints.append(place)
    compacted = {
        RECORDS.name: _without(records, "record_offset", removed),
        BATCHES.name: _without(batches, "base_offset", removed),
        CLEANED.name: pa.Table.from_pylist(checkpoints, schema=CLEANED.arrow_schema),
    }
    return {**bronze, **compacted}


def _of(rows: pa.Table, partition: int) -> pa.Array:
    of_topic = pc.equal(rows["topic"], TRANSACTIONS_TOPIC)
    return pc.and_(of_topic, pc.equal(rows["partition"], partition))


def _without(rows: pa.Table, offset: str, removed: set[tuple[int, int]]) -> pa.Table:
    columns = (rows[name].to_pylist() for name in ("topic", "partition", offset))
    is_kept = [
        topic != TRANSACTIONS_TOPIC or (partition, at) not in removed
        for topic, partition, at in zip(*columns, strict=True)
    ]
    return rows.filter(pa.array(is_kept))


def agree(shown: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """Whether everything that is shown of a state is true of it."""
    return all(shown.get(name) is None or shown[name] == state[name] for name in SHOWN_BY_ANSWERS)


def _compacted_requests(
    bronze: Bronze, share: float
) -> list[tuple[dict[str, Any], list[dict[str, Any]], tuple[str, str]]]:
    """The requests that were decided in the compacted part of the log, each with the states that answers
    show, and its key.
    """
    states, requests = replayed(cleaned(bronze, share))
    keys = [key for key, row in requests.items() if (row["unknown_detail"] or "").startswith("cleaned away")]
    return [(requests[key], states.get(key, []), key) for key in keys]


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("capture", CAPTURES)
def test_answers_show_the_states_that_records_show(captures: Path, capture: str, share: float) -> None:
    bronze = bronze_of(captures / capture)
    met_states, _ = replayed(bronze)
    compacted = _compacted_requests(bronze, share)
    comparable = [
        (row, shown, met_states[key]) for row, shown, key in compacted if shown and key in met_states
    ]
    for row, shown, states in comparable:
        assert any(agree(each, state) for each in shown for state in states), (row, shown, states)
    assert len(comparable) > 0.25 * len(compacted) > 2


@pytest.mark.parametrize("capture", CAPTURES)
def test_compaction_changes_no_known_state(captures: Path, capture: str) -> None:
    """A state that is known of a compacted log is the one that was known of the whole log."""
    bronze = bronze_of(captures / capture)
    met_states, _ = replayed(bronze)
    states, requests = replayed(cleaned(bronze, 0.5))
    kept = [key for key, row in requests.items() if row["unknown_reason"] is None]
    assert len(kept) > 5
    for key in kept:
        assert all(any(agree(each, state) for state in met_states[key]) for each in states[key]), (
            key,
            states[key],
        )


@pytest.mark.parametrize("seed", range(4))
def test_lost_lines_show_less_and_nothing_against_a_broker(captures: Path, seed: int) -> None:
    """With lost lines no epoch becomes another one, and the status that a refused request met is
    not shown.
    """
    chance = random.Random(seed)
    bronze = bronze_of(captures / "producers-tv1-4.3.1")
    met_states, _ = replayed(bronze)
    is_kept = pa.array([chance.random() < 0.6 for _ in range(bronze[REQUESTS.name].num_rows)])
    fewer = {**bronze, REQUESTS.name: bronze[REQUESTS.name].filter(is_kept)}
    compacted = _compacted_requests(fewer, 1.0)
    comparable = [
        (row, shown, met_states[key]) for row, shown, key in compacted if shown and key in met_states
    ]
    for row, shown, states in comparable:
        for each in shown:
            assert row["error"] == "NONE" or each["status"] is None
            epoch = {**each, "status": None, "listed": None}
            assert any(agree(epoch, state) for state in states), (row, each, states)
    assert len(comparable) > 20


@pytest.mark.parametrize("lost", [0.0, 0.4])
@pytest.mark.parametrize("capture", CAPTURES)
def test_answers_show_no_transaction_that_did_not_exist(captures: Path, capture: str, lost: float) -> None:
    """For a producer epoch and a partition they show as many transactions as the records, or fewer."""
    chance = random.Random(capture)
    bronze = bronze_of(captures / capture)
    listed: dict[tuple[Any, ...], int] = {}
    for row in _replay(bronze).account[account.LISTED_PARTITION].to_pylist():
        key = tuple(row[name] for name in ("name", "producer_id", "producer_epoch", "prepared_epoch"))
        listed[key] = listed.get(key, 0) + 1
    is_kept = pa.array([chance.random() >= lost for _ in range(bronze[REQUESTS.name].num_rows)])
    fewer = {**bronze, REQUESTS.name: bronze[REQUESTS.name].filter(is_kept)}
    answered = _replay(cleaned(fewer, 1.0)).account[account.ANSWERED_TRANSACTION].to_pylist()
    for row in answered:
        key = tuple(row[name] for name in ("name", "producer_id", "producer_epoch", "prepared_epoch"))
        assert 0 < row["transactions"] <= listed.get(key, 0), row
    counted = sum(row["transactions"] for row in answered)
    assert counted > (0.1 if lost else 0.6) * sum(listed.values())
