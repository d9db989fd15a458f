"""The whole way over real brokers' logs, against what the drivers did and were answered."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

KEY = (
    "group_id",
    "member_id",
    "client_id",
    "correlation_id",
    "api_key",
    "topic",
    "partition",
    "committed_offset",
)
POLICIES = ("strict", "member_revocation", "partition_revocation", "assignment_epoch")

# What real brokers of both versions let through, and what follows from it.
CRITICAL = {
    "no_commit_for_anothers_partition",
    "no_zombie_accepted",
    "no_policy_admits_a_zombie",
    "partition_revocation_bound",
}


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEY)


def sure(row: dict[str, Any], column: str) -> bool:
    """Whether the column is known; what is unknown must say why."""
    if row[column] in ("unknown", None):
        assert row["unknown_reason"], f"{column} is unknown without a reason: {row}"
        return False
    return True


def test_every_hand_made_commit_is_there_and_right(audited: Any) -> None:
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in audited.commits:
        rows.setdefault(key(row), []).append(row)
    truth = audited.ground_truth
    assert truth
    for made in truth:
        found = rows.get(key(made), [])
        assert len(found) == 1, f"{made['case']}: {len(found)} rows"
        (row,) = found
        implemented = f"decision_{audited.implemented}"
        answer = "accept" if made["error"] == "NONE" else "reject"
        assert row["broker_error"] == made["error"], made["case"]
        if sure(row, implemented):
            assert row[implemented] == answer, made["case"]
            assert row["broker_agrees"] is True, made["case"]
        if sure(row, "truth"):
            assert row["truth"] == made["truth"], made["case"]
        if row["truth"] != "unknown" and row["owner_member_id"] is not None:
            assert row["owner_member_id"] == made["owner_member_id"], made["case"]


def test_no_broker_broke_its_rule_and_little_is_unknown(audited: Any) -> None:
    commits = audited.commits
    columns = ("truth", *(f"decision_{policy}" for policy in POLICIES))
    unknown = [row for row in commits if False in {sure(row, column) for column in columns}]
    assert len(unknown) < 0.02 * len(commits), [(row["group_id"], row["unknown_reason"]) for row in unknown]
    assert [row for row in commits if row["broker_agrees"] is False] == []


def test_the_gate(audited: Any) -> None:
    critical = {outcome.invariant for outcome in audited.gate.critical}
    if "healthy" in audited.folder.name:
        assert critical == set()
        assert audited.gate.passed
        assert audited.rows("SELECT * FROM marts.fct_invariant_verdicts WHERE verdict = 'violated'") == []
    else:
        assert not audited.gate.passed
        assert critical == CRITICAL


def test_what_was_not_exercised_is_not_green(audited: Any) -> None:
    rows = audited.rows("SELECT * FROM marts.fct_invariant_coverage")
    assert len(rows) == 14
    for row in rows:
        assert (row["status"] == "holds") <= (row["exercised"] > 0 and row["unknown"] == 0), row
        if row["exercised"] == 0 and row["violated"] == 0 and row["unknown"] == 0:
            assert row["status"] == "not_exercised", row


def test_every_violation_points_at_its_evidence(audited: Any) -> None:
    for row in audited.rows("SELECT * FROM marts.fct_invariant_verdicts WHERE verdict = 'violated'"):
        assert row["failed_conjunct"], row
        assert json.loads(row["values"]), row
        assert json.loads(row["evidence"]), row


@pytest.fixture(scope="session")
def damaged(captures: Path, audit_of: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The troubled capture without its second segment and without one of its request logs."""
    folder = tmp_path_factory.mktemp("damaged") / "troubled-4.3.1"
    shutil.copytree(captures / "troubled-4.3.1", folder)
    segments = sorted((folder / "broker-1" / "log_dir").glob("__consumer_offsets-0/*.log"))
    logs = sorted((folder / "broker-1").glob("kafka-request.log*"))
    assert len(segments) > 2 and len(logs) > 2
    segments[1].unlink()
    logs[2].unlink()
    return audit_of(folder)


def test_missing_evidence_turns_verdicts_into_unknown_and_flips_none(
    damaged: Any, captures: Path, audit_of: Callable[[Path], Any]
) -> None:
    whole = {row["commit_id"]: row for row in audit_of(captures / "troubled-4.3.1").commits}
    left = damaged.commits
    assert 0 < len(left) < len(whole)
    columns = ("truth", "broker_agrees", *(f"decision_{policy}" for policy in POLICIES))
    lost = 0
    for row in left:
        for column in columns:
            before, now = whole[row["commit_id"]][column], row[column]
            if now in ("unknown", None):
                lost += before not in ("unknown", None)
            else:
                assert now == before, (column, row)
    assert lost > 0

    query = "SELECT invariant, scope, witness FROM marts.fct_invariant_verdicts WHERE verdict = 'violated'"
    before = {tuple(row.values()) for row in audit_of(captures / "troubled-4.3.1").rows(query)}
    assert {tuple(row.values()) for row in damaged.rows(query)} <= before
    green = "SELECT invariant FROM marts.fct_invariant_coverage WHERE status = 'holds'"
    assert damaged.rows(green) == []


def test_a_second_audit_takes_nothing_new_and_says_the_same(audited: Any) -> None:
    from fencepost import pipeline

    if audited.folder.name != "healthy-4.3.1":
        pytest.skip("one capture is enough")
    query = "SELECT * FROM marts.fct_invariant_verdicts ORDER BY verdict_id"
    counts = "SELECT (SELECT count(*) FROM bronze.records) r, (SELECT count(*) FROM bronze.requests) q"
    verdicts, counted = audited.rows(query), audited.rows(counts)
    pipeline.audit(audited.spark, audited.settings)
    assert audited.rows(counts) == counted
    assert audited.rows(query) == verdicts
