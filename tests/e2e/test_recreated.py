"""Coordinators' logs that an operator deleted, against what the drivers did and what Kafka answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

CAPTURES = Path(__file__).parents[1] / "captures"
NAME = "recreated-4.3.1"
TOLD = [
    json.loads(line)
    for line in (CAPTURES / NAME / "ground_truth.jsonl").read_text(encoding="utf-8").splitlines()
]


def told(kind: str) -> list[dict[str, Any]]:
    return [row for row in TOLD if row.get("kind") == kind]


@pytest.fixture(scope="module")
def rows(audit: Any) -> Any:
    return lambda mart: audit.rows(f"SELECT * FROM marts.{mart} WHERE cluster = '{NAME}'")


def test_only_the_transactions_that_nobody_will_end_are_violations(rows: Any) -> None:
    violated = {row["invariant"] for row in rows("fct_invariant_coverage") if row["status"] == "violated"}
    assert violated == {"no_dangling_transaction"}
    hanging = {(row["partition"], row["first_offset"]): row for row in told("hanging") if row["hanging"]}
    found = {(row["partition"], row["first_offset"]): row for row in rows("fct_dangling_transactions")}
    assert hanging and found.keys() == hanging.keys()
    for place, row in found.items():
        assert row["last_stable_offset"] == hanging[place]["last_stable_offset"]
        assert row["log_end_offset"] == hanging[place]["log_end_offset"]
        # the capture has a third one, which this command has ended
        assert row["remedy"].endswith(f"--partition {place[0]} --start-offset {place[1]}")
    held = {row["partition"]: row["held_by"] for row in rows("fct_last_stable_offsets")}
    assert held == {row["partition"]: "dangling" for row in hanging.values()} | {0: "nothing", 3: "nothing"}


def test_the_deletion_is_the_cause_of_what_it_had_refused(rows: Any) -> None:
    events = {json.loads(row["evidence"])["request_id"]: row for row in rows("fct_fencing_events")
              if row["protocol"] != "leader_epoch"}  # fmt: skip
    found = [(row["victim"], row["error"]) for row in events.values() if row["cause"] == "log_deleted"]
    refused = [row for row in (*told("producer"), *told("member")) if row["victim"]]
    assert {row["cause"] for row in refused} == {"log_deleted"}
    commits = {(row["client_id"], row["correlation_id"]): row for row in TOLD if row.get("truth")}
    refused += [row for row in commits.values() if row["case"] == "after_the_deletion"]
    assert len(refused) == 10
    assert sorted(found) == sorted(
        (row.get("transactional_id") or row["member_id"], row["error"]) for row in refused
    )
    for row in events.values():
        evidence = json.loads(row["evidence"])
        if row["protocol"] == "producer_epoch":
            assert evidence["caused_by_client_id"] == "ops"
            assert evidence["fenced_at"] < row["occurred_at"].isoformat()


def test_an_offset_goes_with_the_log_of_its_coordinator(rows: Any) -> None:
    """Kafka's own answers at the end tell which are stored. Of a group that moved to another partition it is
    not known where its coordinator looks.
    """
    stored = {
        (row["asked"]["group_id"], row["partition"]): row["told"]["offset"]
        for row in told("request")
        if row["api"] == "OffsetFetch" and row["error"] == "NONE"
    }
    commits = rows("fct_committed_offsets")
    assert len({row["commit_id"] for row in commits}) == len(commits)
    unknown = set()
    for row in commits:
        answered = stored[row["group_id"], row["partition"]] == row["committed_offset"]
        if row["is_stored"] is None:
            unknown.add(row["group_id"])
        else:
            assert row["is_stored"] == answered, row
    assert unknown == {"simple", "consumer"}
    assert [row for row in commits if row["group_id"] == "gone"]


def test_a_life_of_a_group_ends_with_its_log(audit: Any) -> None:
    lives = audit.rows(f"""
        SELECT group_id, life, max(to_time) AS ended, count_if(to_time IS NULL) AS open
        FROM silver.consumer_groups WHERE cluster = '{NAME}' GROUP BY group_id, life ORDER BY life
    """)
    removed = audit.rows(f"""
        SELECT removed_at FROM marts.fct_topic_incarnations
        WHERE cluster = '{NAME}' AND topic = '__consumer_offsets' AND removed_at IS NOT NULL
        ORDER BY removed_at
    """)
    assert len(removed) == 2
    for group_id in ("classic", "consumer", "simple"):
        first, second, *later = (row for row in lives if row["group_id"] == group_id)
        assert [first["ended"], second["ended"]] == [row["removed_at"] for row in removed]
        assert not first["open"] and not second["open"] and later[-1]["open"]
