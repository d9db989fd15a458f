"""The whole way over real brokers' logs, against what the drivers did and were answered."""

from __future__ import annotations

import json
from typing import Any

from fencepost import pipeline

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
    "healthy": set(),
    "live": {"no_commit_for_anothers_partition"},
    "troubled": {
        "no_commit_for_anothers_partition",
        "no_zombie_accepted",
        "no_policy_admits_a_zombie",
        "partition_revocation_bound",
    },
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
    critical = {
        outcome.invariant for outcome in audited.audit.gate.critical if outcome.cluster == audited.name
    }
    assert critical == CRITICAL[audited.name.split("-")[0]]
    assert not audited.audit.gate.passed


def test_nothing_is_violated_in_a_healthy_cluster(audit: Any) -> None:
    query = (
        "SELECT * FROM marts.fct_invariant_verdicts WHERE verdict = 'violated' AND cluster LIKE 'healthy%'"
    )
    assert audit.rows(query) == []


def test_what_was_not_exercised_is_not_green(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM marts.fct_invariant_coverage")
    assert len(rows) == 14 * 6
    for row in rows:
        assert (row["status"] == "holds") <= (row["exercised"] > 0 and row["unknown"] == 0), row
        if row["exercised"] == 0 and row["violated"] == 0 and row["unknown"] == 0:
            assert row["status"] == "not_exercised", row
    assert {row["status"] for row in rows} == {"holds", "violated", "unknown", "not_exercised"}


def test_every_violation_points_at_its_evidence(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM marts.fct_invariant_verdicts WHERE verdict = 'violated'")
    assert rows
    for row in rows:
        assert row["failed_conjunct"], row
        assert json.loads(row["values"]), row
        assert json.loads(row["evidence"]), row


def test_missing_evidence_turns_verdicts_into_unknown_and_flips_none(audit: Any) -> None:
    whole = {(*key(row), row["requested_at"]): row for row in audit.commits("troubled-4.3.1")}
    left = audit.commits("damaged")
    assert 0 < len(left) < len(whole)
    columns = ("truth", "broker_agrees", *(f"decision_{policy}" for policy in POLICIES))
    lost = 0
    for row in left:
        for column in columns:
            before, now = whole[(*key(row), row["requested_at"])][column], row[column]
            if now in ("unknown", None):
                lost += before not in ("unknown", None)
            else:
                assert now == before, (column, row)
    assert lost > 0

    violated = """
        SELECT invariant, scope, from_time, from_position FROM marts.fct_invariant_verdicts
        WHERE verdict = 'violated' AND cluster = '{}'
    """
    before, now = (
        {tuple(row.values()) for row in audit.rows(violated.format(cluster))}
        for cluster in ("troubled-4.3.1", "damaged")
    )
    assert now < before
    green = "SELECT * FROM marts.fct_invariant_coverage WHERE status = 'holds' AND cluster = 'damaged'"
    assert audit.rows(green) == []


def test_a_second_audit_takes_nothing_new_and_says_the_same(audit: Any) -> None:
    query = "SELECT * FROM marts.fct_invariant_verdicts ORDER BY verdict_id"
    counts = "SELECT (SELECT count(*) FROM bronze.records) r, (SELECT count(*) FROM bronze.requests) q"
    verdicts, counted = audit.rows(query), audit.rows(counts)
    pipeline.audit(audit.spark, audit.settings)
    assert audit.rows(counts) == counted
    assert audit.rows(query) == verdicts
