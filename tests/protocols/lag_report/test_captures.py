"""Captures of real Kafka Streams applications: their logs and groups agree with the ground truth of the
drivers.
"""

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
"""Directories that 4.3.1 deleted sooner than 1.5 s after their thread had released them (KAFKA-20805)."""

CLUSTERS = ("streams-4.4.0", "streams-4.3.1", "streams-3.9.2")
Row = dict[str, Any]
Lags = tuple[int | None, int | None]
Bronze = Mapping[str, pa.Table]
Rebuild = Callable[[Bronze], Bronze]


@pytest.fixture(params=CLUSTERS)
def cluster(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def ground_truth(captures: Path, cluster: str, kind: str) -> list[Row]:
    lines = (captures / cluster / "ground_truth.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for line in lines if (row := json.loads(line))["kind"] == kind]


def rows_of(silver: dict[str, list[Row]], table: str, cluster: str) -> list[Row]:
    return [row for row in silver[table] if row["cluster"] == cluster]


def test_deletions_are_those_on_the_disks(captures: Path, silver: dict[str, list[Row]], cluster: str) -> None:
    deleted = [row for row in ground_truth(captures, cluster, "directory") if row["event"] == "deleted"]
    deletions = rows_of(silver, "directory_deletions", cluster)
    assert Counter((row["instance"], row["task_id"]) for row in deletions) == Counter(
        (row["client_id"], row["task_id"]) for row in deleted
    )
    assert {row["deleted_by"] for row in deletions} == {"cleaner"}
    # a task without stores loses nothing with its directory
    assert {row["has_state"] for row in deletions if row["task_id"] == "3_0"} == {False}
    assert {row["has_state"] for row in deletions if row["task_id"] != "3_0"} == {True}
    assert {row["cleanup_delay_ms"] for row in deletions} <= {1500, 2000}


def test_the_races_of_4_3_are_found_and_nothing_else(silver: dict[str, list[Row]], verdicts: Any) -> None:
    by_id = {row["deletion_id"]: row for row in silver["directory_deletions"]}
    races = set()
    for cluster, definition, witness in verdicts.violated:
        if cluster not in CLUSTERS:
            continue
        assert (cluster, definition) == ("streams-4.3.1", "no_cleaning_within_the_delay")
        (deletion_id,) = json.loads(witness).values()
        races.add((by_id[deletion_id]["instance"], by_id[deletion_id]["task_id"]))
        assert by_id[deletion_id]["since_release_ms"] < 1500
    assert races == RACES


def test_a_healthy_cluster_exercises_all_invariants(verdicts: Any, cluster: str) -> None:
    assert {definition for each, definition in verdicts.exercised if each == cluster} == {
        "assigned_directory_exists", "no_cleaning_while_lag_is_reported", "no_cleaning_within_the_delay",
        "no_locked_directory_deleted", "reported_sum_is_of_logged_stores", "zero_is_the_identity",
    }  # fmt: skip


def test_lag_reports_are_what_kafka_reads_in_them(
    captures: Path, silver: dict[str, list[Row]], cluster: str
) -> None:
    text = (captures / cluster / "lag_reports.json").read_text(encoding="utf-8")
    reports = {
        (row["client_id"], row["generation"], row["member_id"], task, offset_sum)
        for row in json.loads(text)
        for task, offset_sum in row["report"]["task_offset_sums"].items()
        if row["error_code"] == 0
    }
    assert reports == {
        (row["client_id"], row["generation"], row["member_id"], row["task_id"], row["offset_sum"])
        for row in rows_of(silver, "lag_reports", cluster)
        if row["reported"] and row["generation"] is not None
    }


@pytest.mark.parametrize("name", [*CLUSTERS, "lags-4.3.1", "lags-3.9.2"])
def test_reports_led_to_the_assignments_that_kafka_reads(
    captures: Path, silver: dict[str, list[Row]], name: str
) -> None:
    text = (captures / name / "assignments.json").read_text(encoding="utf-8")
    assignments = {
        (row["group_id"], row["generation"], row["member_id"]): row["assignment"]
        for row in json.loads(text)
        if row["error_code"] == 0
    }
    rows = [row for row in rows_of(silver, "lag_reports", name) if row["assigned_as"] is not None]
    members = {(row["application_id"], row["generation"], row["member_id"]) for row in rows}
    for row in rows:
        assigned = assignments.get((row["application_id"], row["generation"], row["member_id"]))
        if assigned is None:  # a static member that returned keeps its assignment, without a leader
            assert row["group_instance_id"] is not None
            continue
        as_active, as_standby = (row["task_id"] in assigned[kind] for kind in ("active", "standby"))
        assert row["assigned_as"] == ("active" if as_active else "standby" if as_standby else "")
    # every member with a task has a row, whether or not its instance had reported the task
    assert {member for member, assigned in assignments.items() if assigned["active"]} - members == set()
    owners = {
        (group_id, generation, task): member_id
        for (group_id, generation, member_id), assigned in assignments.items()
        for task in assigned["active"]
    }
    processes = {(row["generation"], row["member_id"]): row["process_id"] for row in rows}
    for row in rows:
        owner = owners.get((row["application_id"], row["generation"], row["task_id"]))
        if row["assigned_to"] is not None:
            assert owner is not None
            assert row["assigned_to"] == processes[row["generation"], owner]


def test_the_lag_of_every_report_that_a_leader_used_is_known(
    silver: dict[str, list[Row]], lags: Mapping[str, Lags], cluster: str
) -> None:
    """It is the lag in the leader's own log. A join that was refused or led to no rebalance has none."""
    rows = [row for row in rows_of(silver, "lag_reports", cluster) if row["task_id"] is not None]
    generations = {
        (row["generation"], row["application_id"]) for row in rows if row["leader_lag"] is not None
    }
    with_lag: Counter[str] = Counter()
    for row in rows:
        proposed, shipped = lags[row["lag_report_id"]]
        if row["logged_stores"] == 0:
            # a store that is not logged adds zero; a task without stores has no lag
            expected: Lags = (0 if row["non_logged_stores"] else -1, -1)
        elif row["leader_lag"] is not None:
            expected = row["leader_lag"], row["leader_lag"]
            with_lag[row["kind"]] += 1
        else:
            assert row["generation"] is None or row["group_instance_id"] is not None
            expected = (None, None) if row["offset_sum"] >= 0 else (row["offset_sum"], row["offset_sum"])
        assert (proposed, shipped) == expected
    assert len(generations) >= 8
    assert min(with_lag[kind] for kind in ("SUM", "LATEST_OFFSET", "NOT_REPORTED")) >= 14


def test_stores_and_sums_are_those_of_the_topology(silver: dict[str, list[Row]], cluster: str) -> None:
    stores = {"0": (1, 0), "1": (0, 1), "2": (1, 1), "3": (0, 0)}
    rows = [row for row in rows_of(silver, "lag_reports", cluster) if row["task_id"] is not None]
    assert rows
    for row in rows:
        assert (row["logged_stores"], row["non_logged_stores"]) == stores[row["task_id"][0]]
    sums = [row for row in rows if row["logged_offset_sum"] is not None]
    assert len(sums) > 5
    assert all(row["logged_offset_sum"] == row["offset_sum"] for row in sums)


def test_restores_are_those_that_listeners_saw(
    captures: Path, silver: dict[str, list[Row]], cluster: str
) -> None:
    ended = [row for row in ground_truth(captures, cluster, "streams") if row["event"] == "restore_end"]
    assert ended
    restores = [row for row in rows_of(silver, "task_restores", cluster) if row["ended_at"] is not None]
    assert Counter(
        (row["instance"], row["store"], row["changelog_partition"], row["restored_records"])
        for row in restores
    ) == Counter(
        (row["instance"].removesuffix("-1"), row["store"], row["partition"], row["records"]) for row in ended
    )


def test_an_instance_is_its_process_and_its_states(
    captures: Path, silver: dict[str, list[Row]], cluster: str
) -> None:
    processes = {row["client_id"]: row["process_id"] for row in ground_truth(captures, cluster, "process")}
    rows = rows_of(silver, "streams_instances", cluster)
    assert {row["instance"]: row["process_id"] for row in rows} == processes
    assert {row["version"] for row in rows} - {None} == {cluster.removeprefix("streams-")}
    flows = {row["group_protocol"] for row in rows if row["instance"].startswith("flow")}
    assert "streams" in flows or not flows
    states = {row["from"] for row in ground_truth(captures, cluster, "streams") if row["event"] == "state"}
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
    rows = rows_of(silver, "streams_rebalances", cluster)
    assert {(row["thread"], row["generation"]) for row in rows if row["generation"] is not None} == joined
    done = [row for row in rows if row["outcome"] == "assigned"]
    assert len(done) >= 15
    assert all(row["reported_at"] <= row["assigned_at"] for row in done)


@pytest.mark.parametrize("keep", ["begin", "end"])
def test_a_cut_log_changes_no_known_value(
    streams_bronze: Bronze, rebuild_streams: Rebuild, silver: dict[str, list[Row]], keep: str
) -> None:
    """The log of the instance with the race: its first or last part alone, without its group."""
    lines = streams_bronze[STREAMS_LINES.name].to_pylist()
    own = [row for row in lines if row["cluster"] == CLUSTERS[0] and row["client"] == "race-a"]
    whole = {(row["file"], row["position"]): row for row in silver["directory_deletions"]}
    empty = {name: rows.slice(0, 0) for name, rows in streams_bronze.items()}
    own.sort(key=lambda row: row["position"])
    for cut in range(0, len(own), 9):
        part = own[:cut] if keep == "begin" else own[cut:]
        part_of_lines = pa.Table.from_pylist(part, schema=STREAMS_LINES.arrow_schema)
        silver_of_part = rebuild_streams({**empty, STREAMS_LINES.name: part_of_lines})
        for row in silver_of_part["silver.directory_deletions"].to_pylist():
            whole_row = whole[row["file"], row["position"]]
            for name in ("lag_reported", "has_state", "since_release_ms"):
                assert row[name] in (None, whole_row[name]), (cut, name)


def test_tasks_of_a_streams_group_are_those_that_its_instances_had(
    captures: Path, silver: dict[str, list[Row]]
) -> None:
    """The streams protocol: the broker stored the tasks that an instance logged afterwards."""
    cluster = CLUSTERS[0]
    rows = [row for row in rows_of(silver, "streams_group_tasks", cluster) if row["application_id"] == "flow"]
    processes = {row["client_id"]: row["process_id"] for row in ground_truth(captures, cluster, "process")}
    assert {row["process_id"] for row in rows} == {processes["flow-a"], processes["flow-b"]}
    assert {row["instance"] for row in rows} == {"flow-a", "flow-b"}
    assert {row["kind"] for row in rows} == {"active", "standby"}  # no warm-ups up to 4.3
    stored: dict[tuple[str, int], dict[str, set[str]]] = {}
    for row in rows:
        kinds = stored.setdefault(
            (row["instance"], row["record_offset"]), {"active": set(), "standby": set()}
        )
        kinds[row["kind"]].add(row["task_id"])
    assigned = [(instance, kinds) for (instance, _), kinds in stored.items()]
    logged = [
        (row["instance"].removesuffix("-1"), {kind: set(tasks) for kind, tasks in row["tasks"].items()})
        for row in ground_truth(captures, cluster, "streams")
        if row["event"] == "tasks" and row["instance"].startswith("flow") and row["tasks"]["active"]
    ]
    # an instance may close tasks one after the other: only its last state of them was stored
    stored_as_logged = [each for each in logged if each in assigned]
    assert len(stored_as_logged) >= 4
    assert {instance for instance, _ in stored_as_logged} == {"flow-a", "flow-b"}
