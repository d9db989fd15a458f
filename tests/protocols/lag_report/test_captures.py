"""Captures of real Kafka Streams applications: their logs and groups tell what their drivers know."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.lag_report.bronze import STREAMS_LINES

RACES = {("flow-a", "0_1"), ("flow-a", "1_1"), ("flow-a", "2_1"), ("race-a", "1_0"), ("race-a", "2_0")}
"""Directories that 4.3.1 deleted sooner than 1.5 s after their thread let go of them (KAFKA-20805)."""

CLUSTERS = ("streams-4.3.1", "streams-3.9.2")
Row = dict[str, Any]
Lags = tuple[int | None, int | None]
Bronze = Mapping[str, pa.Table]
Rebuild = Callable[[Bronze], Bronze]


@pytest.fixture(params=CLUSTERS)
def cluster(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def known(captures: Path, cluster: str, kind: str) -> list[Row]:
    lines = (captures / cluster / "ground_truth.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for line in lines if (row := json.loads(line))["kind"] == kind]


def of(silver: dict[str, list[Row]], table: str, cluster: str) -> list[Row]:
    return [row for row in silver[table] if row["cluster"] == cluster]


def test_deletions_are_those_on_the_disks(captures: Path, silver: dict[str, list[Row]], cluster: str) -> None:
    deleted = [row for row in known(captures, cluster, "directory") if row["event"] == "deleted"]
    found = of(silver, "directory_deletions", cluster)
    assert Counter((row["instance"], row["task_id"]) for row in found) == Counter(
        (row["client_id"], row["task_id"]) for row in deleted
    )
    assert {row["deleted_by"] for row in found} == {"cleaner"}
    # a task without stores: nothing is lost with its directory
    assert {row["has_state"] for row in found if row["task_id"] == "3_0"} == {False}
    assert {row["has_state"] for row in found if row["task_id"] != "3_0"} == {True}
    assert {row["cleanup_delay_ms"] for row in found} <= {1500, 2000}


def test_the_races_of_4_3_are_found_and_nothing_else(silver: dict[str, list[Row]], verdicts: Any) -> None:
    by_id = {row["deletion_id"]: row for row in silver["directory_deletions"]}
    found = set()
    for cluster, definition, witness in verdicts.violated:
        if cluster not in CLUSTERS:
            continue
        assert (cluster, definition) == ("streams-4.3.1", "no_cleaning_within_the_delay")
        (deletion_id,) = json.loads(witness).values()
        found.add((by_id[deletion_id]["instance"], by_id[deletion_id]["task_id"]))
        assert by_id[deletion_id]["since_release_ms"] < 1500
    assert found == RACES


def test_what_a_healthy_cluster_exercises_holds(verdicts: Any, cluster: str) -> None:
    assert {definition for each, definition in verdicts.exercised if each == cluster} == {
        "assigned_directory_exists", "no_cleaning_while_lag_is_reported", "no_cleaning_within_the_delay",
        "no_locked_directory_deleted", "reported_sum_is_of_logged_stores", "zero_is_the_identity",
    }  # fmt: skip


def test_lag_reports_are_what_kafka_reads_in_them(
    captures: Path, silver: dict[str, list[Row]], cluster: str
) -> None:
    text = (captures / cluster / "lag_reports.json").read_text(encoding="utf-8")
    told = {
        (row["client_id"], row["generation"], row["member_id"], task, taken)
        for row in json.loads(text)
        for task, taken in row["report"]["task_offset_sums"].items()
        if row["error_code"] == 0
    }
    assert told == {
        (row["client_id"], row["generation"], row["member_id"], row["task_id"], row["offset_sum"])
        for row in of(silver, "lag_reports", cluster)
        if row["reported"] and row["generation"] is not None
    }


def test_the_lag_of_every_report_that_a_leader_took_is_known(
    silver: dict[str, list[Row]], lags: Mapping[str, Lags], cluster: str
) -> None:
    """And it is what the leader's own log says; a join that was refused, or led to no rebalance, had none."""
    rows = [row for row in of(silver, "lag_reports", cluster) if row["task_id"] is not None]
    generations = {
        (row["generation"], row["application_id"]) for row in rows if row["leader_lag"] is not None
    }
    taken: Counter[str] = Counter()
    for row in rows:
        proposed, shipped = lags[row["lag_report_id"]]
        if row["logged_stores"] == 0:
            # a store that is not logged adds zero; a task without stores has no lag
            expected: Lags = (0 if row["non_logged_stores"] else -1, -1)
        elif row["leader_lag"] is not None:
            expected = row["leader_lag"], row["leader_lag"]
            taken[row["kind"]] += 1
        else:
            assert row["generation"] is None or row["group_instance_id"] is not None
            expected = (None, None) if row["offset_sum"] >= 0 else (row["offset_sum"], row["offset_sum"])
        assert (proposed, shipped) == expected
    assert len(generations) >= 8
    assert min(taken[kind] for kind in ("SUM", "LATEST_OFFSET", "NOT_REPORTED")) >= 14


def test_stores_and_sums_are_those_of_the_topology(silver: dict[str, list[Row]], cluster: str) -> None:
    stores = {"0": (1, 0), "1": (0, 1), "2": (1, 1), "3": (0, 0)}
    rows = [row for row in of(silver, "lag_reports", cluster) if row["task_id"] is not None]
    assert rows
    for row in rows:
        assert (row["logged_stores"], row["non_logged_stores"]) == stores[row["task_id"][0]]
    sums = [row for row in rows if row["logged_offset_sum"] is not None]
    assert len(sums) > 5
    assert all(row["logged_offset_sum"] == row["offset_sum"] for row in sums)


def test_restores_are_those_that_listeners_saw(
    captures: Path, silver: dict[str, list[Row]], cluster: str
) -> None:
    ended = [row for row in known(captures, cluster, "streams") if row["event"] == "restore_end"]
    assert ended
    found = [row for row in of(silver, "task_restores", cluster) if row["ended_at"] is not None]
    assert Counter(
        (row["instance"], row["store"], row["changelog_partition"], row["restored_records"]) for row in found
    ) == Counter(
        (row["instance"].removesuffix("-1"), row["store"], row["partition"], row["records"]) for row in ended
    )


def test_an_instance_is_its_process_and_its_states(
    captures: Path, silver: dict[str, list[Row]], cluster: str
) -> None:
    processes = {row["client_id"]: row["process_id"] for row in known(captures, cluster, "process")}
    rows = of(silver, "streams_instances", cluster)
    assert {row["instance"]: row["process_id"] for row in rows} == processes
    assert {row["version"] for row in rows} - {None} == {cluster.removeprefix("streams-")}
    flows = {row["group_protocol"] for row in rows if row["instance"].startswith("flow")}
    assert "streams" in flows or not flows
    states = {row["from"] for row in known(captures, cluster, "streams") if row["event"] == "state"}
    assert states <= {row["state"] for row in rows} | {"CREATED"}


def test_every_rebalance_has_its_report_and_its_assignment(
    captures: Path, silver: dict[str, list[Row]], cluster: str
) -> None:
    text = (captures / cluster / "lag_reports.json").read_text(encoding="utf-8")
    joined = {
        (row["client_id"].removesuffix("-consumer"), row["generation"])
        for row in json.loads(text)
        if row["error_code"] == 0
    }
    rows = of(silver, "streams_rebalances", cluster)
    assert {(row["thread"], row["generation"]) for row in rows if row["generation"] is not None} == joined
    done = [row for row in rows if row["outcome"] == "assigned"]
    assert len(done) >= 15
    assert all(row["reported_at"] <= row["assigned_at"] for row in done)


@pytest.mark.parametrize("keep", ["begin", "end"])
def test_a_log_that_is_cut_tells_less_and_nothing_else(
    streams_bronze: Bronze, rebuild_streams: Rebuild, silver: dict[str, list[Row]], keep: str
) -> None:
    """Of the instance that raced: its log's first or last part alone, without its group."""
    lines = streams_bronze[STREAMS_LINES.name].to_pylist()
    own = [row for row in lines if row["cluster"] == CLUSTERS[0] and row["client"] == "race-a"]
    whole = {(row["file"], row["position"]): row for row in silver["directory_deletions"]}
    empty = {name: rows.slice(0, 0) for name, rows in streams_bronze.items()}
    own.sort(key=lambda row: row["position"])
    for cut in range(0, len(own), 9):
        part = own[:cut] if keep == "begin" else own[cut:]
        told_of = pa.Table.from_pylist(part, schema=STREAMS_LINES.arrow_schema)
        found = rebuild_streams({**empty, STREAMS_LINES.name: told_of})
        for row in found["silver.directory_deletions"].to_pylist():
            told = whole[row["file"], row["position"]]
            for name in ("lag_reported", "has_state", "since_release_ms"):
                assert row[name] in (None, told[name]), (cut, name)
