"""Captures in which a thread comes late to its assignment, and brokers tell leaders of changelogs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fencepost.protocols.lag_report import changelog_ends
from fencepost.protocols.lag_report.bronze import STREAMS_LINES
from fencepost.protocols.lag_report.leaders import DECIDED
from fencepost.tables import REQUESTS

CLUSTERS = ("lags-4.3.1", "lags-3.9.2")
Row = dict[str, Any]
Bronze = Mapping[str, pa.Table]
Rebuild = Callable[[Bronze], Bronze]
Silver = Mapping[str, list[Row]]


@pytest.fixture(params=CLUSTERS)
def cluster(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def of(silver: Silver, table: str, cluster: str) -> list[Row]:
    return [row for row in silver[table] if row["cluster"] == cluster]


def known(captures: Path, cluster: str, kind: str) -> list[Row]:
    lines = (captures / cluster / "ground_truth.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for line in lines if (row := json.loads(line))["kind"] == kind]


def test_a_task_went_to_an_instance_for_state_that_was_gone(
    captures: Path, silver: Silver, verdicts: Any, cluster: str
) -> None:
    """Its directory went from the disk after one thread had reported it; another one restores it all."""
    gone = [
        row
        for row in of(silver, "assigned_tasks", cluster)
        if row["on_reported_lag"] and row["directory_exists"] is False
    ]
    assert gone
    witnesses = {
        next(iter(json.loads(witness).values()))
        for each, definition, witness in verdicts.violated
        if (each, definition) == (cluster, "assigned_directory_exists")
    }
    assert {row["assigned_task_id"] for row in gone} == witnesses
    deleted = [row for row in known(captures, cluster, "directory") if row["event"] == "deleted"]
    restored = [row for row in known(captures, cluster, "streams") if row["event"] == "restore_start"]
    reports = {row["lag_report_id"]: row for row in of(silver, "lag_reports", cluster)}
    for row in gone:
        task, report = row["task_id"], reports[row["lag_report_id"]]
        assert row["deleted_by"] == "cleaner"
        assert report["process_id"] == row["process_id"]
        assert report["assigned_to"] == row["process_id"]
        begun, taken = _ms(report["reported_at"]), _ms(row["initialized_at"])
        assert any(
            (each["client_id"], each["task_id"]) == (row["instance"], task) and begun < each["at_ms"] < taken
            for each in deleted
        )
        # what its own listener saw: all of the changelog, from its beginning
        assert any(
            each["instance"] == row["instance"]
            and each["partition"] == row["partition"]
            and each["start_offset"] == 0
            and each["end_offset"] >= report["end_offset_sum"]
            and _ms(row["assigned_at"]) < each["at_ms"] < taken + 10_000
            for each in restored
        )


def test_what_is_violated_is_of_the_thread_that_comes_late(
    silver: Silver, verdicts: Any, cluster: str
) -> None:
    deletions = {row["deletion_id"]: row for row in silver["directory_deletions"]}
    found = {definition for each, definition, _ in verdicts.violated if each == cluster}
    within = {"no_cleaning_within_the_delay"} if cluster == "lags-4.3.1" else set()  # KAFKA-20805
    assert found - within == {"assigned_directory_exists", "no_cleaning_while_lag_is_reported"}
    for each, definition, witness in verdicts.violated:
        if (each, definition) == (cluster, "no_cleaning_while_lag_is_reported"):
            row = deletions[next(iter(json.loads(witness).values()))]
            assert row["reported_by"] == "late-a-StreamThread-2"


def test_brokers_told_what_leaders_made_lags_of(
    streams_bronze: Bronze, rebuild_streams: Rebuild, cluster: str
) -> None:
    """Two accounts that share nothing: brokers' answers to ListOffsets, and the leaders' own logs."""
    own = {name: rows.filter(pc.equal(rows["cluster"], cluster)) for name, rows in streams_bronze.items()}
    lines, requests = own[STREAMS_LINES.name], own[REQUESTS.name]
    asked = pc.is_in(requests["api_key"], pa.array(changelog_ends.APIS, pa.int32()))
    decided = pc.is_in(lines["event"], pa.array(sorted(DECIDED)))
    by_leader = _ends(rebuild_streams({**own, REQUESTS.name: requests.filter(pc.invert(asked))}))
    by_broker = _ends(rebuild_streams({**own, STREAMS_LINES.name: lines.filter(pc.invert(decided))}))
    both = {
        report: end for report, end in by_broker.items() if by_leader[report] is not None and end is not None
    }
    assert len(both) > 60
    assert both == {report: by_leader[report] for report in both}
    # a leader that knows sentinels only does not show the end; brokers tell it all the same
    assert sum(end is not None for end in by_broker.values()) > len(both)


def _ends(silver: Bronze) -> dict[str, int | None]:
    return {
        row["lag_report_id"]: row["end_offset_sum"]
        for row in silver["silver.lag_reports"].to_pylist()
        if row["logged_stores"]
    }


def test_the_lag_of_every_report_that_was_taken_is_what_the_leader_made_of_it(
    silver: Silver, lags: Mapping[str, tuple[int | None, int | None]], cluster: str
) -> None:
    rows = [row for row in of(silver, "lag_reports", cluster) if row["logged_stores"]]
    taken = [row for row in rows if row["leader_lag"] is not None]
    assert len(taken) > 100
    assert {row["kind"] for row in taken} == {"SUM", "LATEST_OFFSET", "NOT_REPORTED"}
    assert any(row["leader_lag"] > 0 and row["kind"] == "SUM" for row in taken)
    for row in taken:
        assert lags[row["lag_report_id"]] == (row["leader_lag"],) * 2
    # the rest was refused: the member was to come again with its id
    assert {row["generation"] for row in rows if row["leader_lag"] is None} <= {None}


def test_warm_ups_are_told_from_replicas(silver: Silver) -> None:
    """Of the classic protocol where the leader's configuration is in its log, or it warms up nothing."""
    found: dict[tuple[str, str], set[str | None]] = {}
    for row in silver["assigned_tasks"]:
        if row["kind"] == "standby":
            found.setdefault((row["cluster"], row["application_id"]), set()).add(row["standby_as"])
        else:
            assert row["standby_as"] == ""
    assert found == {
        ("lags-3.9.2", "warm"): {"warmup"},
        # 4.3.1 was told not to log its configuration
        ("lags-4.3.1", "warm"): {None},
        # replicas or warm-ups: nothing says which
        ("lags-3.9.2", "both"): {None},
        ("lags-4.3.1", "both"): {None},
        ("lags-3.9.2", "late"): {"handover"},
        ("lags-4.3.1", "late"): {"handover"},
        ("streams-3.9.2", "race"): {"handover"},
        ("streams-4.3.1", "race"): {"handover"},
        ("streams-3.9.2", "steady"): {"replica"},
        ("streams-4.3.1", "steady"): {"replica", "handover"},
        # the streams protocol: its members are told
        ("streams-4.3.1", "flow"): {"replica"},
    }


def _ms(moment: Any) -> int:
    return round(moment.timestamp() * 1000)
