"""The whole way over real brokers' logs, against what the drivers did and were answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from altered import ALTERED, ALTERED_PRODUCERS

from fencepost import pipeline
from fencepost.definitions import definitions
from fencepost.outcomes import FAILED, PASSED, STATUS_WORDS
from fencepost.report.clocks import clock_sentences

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

CAPTURES = sorted(path.parent.name for path in Path(__file__).parents[1].glob("captures/*/fencepost.toml"))
ZOMBIE = {"no_zombie_accepted", "no_policy_admits_a_zombie"}
ANOTHERS = {"no_commit_for_anothers_partition"}
WITHOUT_MEMBERS = (
    *("producers", "exhausted", "ends", "markers", "idempotent", "incarnations", "natural", "days"),
    *("operators", "makers", "platformatic", "old-clients", "upgraded", "zookeeper"),
    *("rebalances", "streams", "lags", "by-hand", "unclean", "removals", "share", "tiered"),
)
"""Captures whose drivers commit as no member: about something else, or of ordinary clients only."""

HEALTHY = ("healthy", "natural", "days", "upgraded", "zookeeper")
"""Captures of clusters in which nothing went wrong that an invariant is about."""

UNKNOWN = {
    # the log cleaner took the records: members were told, ordinary clients at their next heartbeat only
    "natural": 0.4,
    # groups moved to another partition of their coordinators' topic, and when that was is not known
    "recreated": 0.1,
}
"""The largest share of commits of a capture of which a decision may be unknown; of all others 0.02."""

# What real brokers let through, and what follows from it.
CRITICAL: dict[str, set[str]] = {
    "healthy": set(),
    "failover": set(),
    "live": ANOTHERS,
    "groups": ANOTHERS,
    "early": ANOTHERS,
    "compacted": ANOTHERS,
    "troubled": {*ANOTHERS, *ZOMBIE},
    "subscriptions": {*ANOTHERS, *ZOMBIE},
    "subscribed-again": set(),
    "recreated": {"no_dangling_transaction"},
    "removals": set(),
    "share": set(),
    "tiered": set(),
    "exhausted": {"no_dangling_transaction"},
    "fencings": set(),
    "expired": set(),
    "natural": set(),
    "days": set(),
    "upgraded": set(),
    "zookeeper": set(),
    # kafka-go and @platformatic/kafka commit what they read in an epoch before with the one that they are in
    "makers": ANOTHERS,
    # an application calls commitSync(Map)
    "by-hand": ANOTHERS,
    "platformatic": ANOTHERS,
    "old-clients": set(),
    "ends": set(),
    # before 4.3 no next producer id is written
    "ends-4.0": {"next_producer_id_at_exhaustion"},
    "ends-4.2": {"next_producer_id_at_exhaustion"},
    "markers": set(),
    # before 4.2 the second copy of a marker ends the next transaction
    "markers-4.0": {"no_write_outside_transaction", "marker_of_the_right_type"},
    "markers-4.1": {"no_write_outside_transaction", "marker_of_the_right_type"},
    # by hand, to a partition that has forgotten its producers
    "idempotent": {"no_sequence_gap", "no_sequence_reset", "no_write_after_fence"},
    # by hand, and by a coordinator that skips markers (KAFKA-20734)
    "operators": {
        *("marker_of_the_right_type", "every_marker_is_written", "no_dangling_transaction"),
        *("no_write_outside_transaction", "no_sequence_gap"),
    },
    # an unclean election loses a marker (KAFKA-20716)
    "unclean": {"every_marker_is_written", "no_dangling_transaction"},
    "incarnations": {"committed_leader_epoch_bound", "no_offset_of_earlier_incarnation"},
    "producers": {"no_dangling_transaction", "no_write_outside_transaction"},
    "producers-failover": set(),
    "rebalances": {"no_two_valid_claims", "no_stale_claim_wins", "no_handover_before_revocation"},
    "streams": set(),
    # an instance with two threads, of which one comes late
    "lags": {"assigned_directory_exists", "no_cleaning_while_lag_is_reported"},
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
    assert audited.ground_truth or audited.name.startswith(WITHOUT_MEMBERS)
    for made in audited.ground_truth:
        found = rows.get(key(made), [])
        assert len(found) == 1, f"{made['case']}: {len(found)} rows"
        (row,) = found
        assert row["broker_error"] == made["error"], made["case"]
        if row["broker_answer"] in ("accept", "reject") and sure(row, "decision_broker_rule"):
            assert row["decision_broker_rule"] == row["broker_answer"], made["case"]
            assert row["broker_agrees"] is True, made["case"]
        if row["broker_answer"] in ("accept", "reject") and sure(row, "shipped_error"):
            assert row["shipped_error"] == made["error"], made["case"]
        if made.get("outcome") and row["outcome"] is not None:
            assert row["outcome"] == made["outcome"], made["case"]
        if sure(row, "truth"):
            assert row["truth"] == made["truth"], made["case"]
        if row["truth"] != "unknown" and row["owner_member_id"] is not None:
            assert row["owner_member_id"] == made["owner_member_id"], made["case"]


def test_no_broker_broke_its_rule_and_little_is_unknown(audited: Any) -> None:
    commits = audited.commits
    decided = [row for row in commits if row["broker_answer"] != "other_error"]
    unknown = [row for row in decided if not sure(row, "decision_broker_rule")]
    share = next((most for name, most in UNKNOWN.items() if audited.name.startswith(name)), 0.02)
    assert len(unknown) <= share * len(decided), [(row["group_id"], row["unknown_reason"]) for row in unknown]
    assert [row for row in commits if row["broker_agrees"] is False] == []


def test_little_is_unknown_of_the_truth_and_of_any_policy(audit: Any) -> None:
    columns = ("truth", *(f"decision_{policy}" for policy in POLICIES))
    whole = [name for name in CAPTURES if not name.startswith(("compacted", *UNKNOWN))]
    decided = [row for name in whole for row in audit.commits(name) if row["broker_answer"] != "other_error"]
    unknown = [row for row in decided if False in {sure(row, column) for column in columns}]
    assert len(unknown) <= 0.02 * len(decided), [(row["group_id"], row["unknown_reason"]) for row in unknown]


def test_after_a_compaction_only_what_it_took_is_unknown(audit: Any) -> None:
    """What was committed after the cleaner had been there is decided, epochs from before aside."""
    (start,) = audit.rows("""
        SELECT max(timestamp_millis(max_timestamp_ms)) AS at FROM bronze.batches b
        JOIN bronze.cleaned c USING (cluster, topic, partition)
        WHERE cluster = 'compacted-4.3.1' AND topic = '__consumer_offsets' AND b.base_offset < c.cleaned_to
    """)
    later = [row for row in audit.commits("compacted-4.3.1") if row["requested_at"] > start["at"]]
    assert len(later) > 50
    assert [row for row in later if row["decision_broker_rule"] == "unknown"] == []
    ancient = [row for row in later if row["truth"] == "unknown"]
    assert 0 < len(ancient) < 0.1 * len(later)


def test_the_gate(audited: Any) -> None:
    critical = {
        outcome.invariant for outcome in audited.audit.gate.critical if outcome.cluster == audited.name
    }
    family = max((name for name in CRITICAL if audited.name.startswith(name)), key=len)
    assert critical == CRITICAL[family]
    assert not audited.audit.gate.passed


def test_a_cluster_passes_exactly_if_it_was_judged_and_nothing_critical_is_violated(audited: Any) -> None:
    (found,) = [each for each in audited.audit.gate.clusters if each.cluster == audited.name]
    assert found.headline == (FAILED if found.violated else PASSED)
    assert found.violated or found.not_judged == ()


def test_nothing_is_violated_in_a_healthy_cluster(audit: Any) -> None:
    rows = audit.rows(
        "SELECT cluster, invariant FROM marts.fct_invariant_verdicts WHERE verdict = 'violated'"
    )
    found = {(row["cluster"], row["invariant"]) for row in rows if row["cluster"].startswith(HEALTHY)}
    # aiokafka tells the coordinator no member, so nobody can tell that it commits for its own consumer
    assert found == {("natural-4.3.1", "no_memberless_commit_for_owned_partition")}


def test_memberless_commits_for_owned_partitions_are_told(audit: Any) -> None:
    rows = audit.rows("""
        SELECT v.verdict_id, c.client_id FROM marts.fct_invariant_verdicts v
        JOIN marts.fct_offset_commits c
        ON c.cluster = v.cluster AND c.commit_id = get_json_object(v.witness, '$.c')
        WHERE v.cluster = 'expired-4.3.1' AND v.verdict = 'violated'
          AND v.invariant = 'no_memberless_commit_for_owned_partition'
    """)
    assert sorted(row["client_id"] for row in rows) == [
        *["expired-memberless-worker"] * 2,
        "memberless-classic-worker",
    ]


def test_what_was_not_exercised_is_not_green(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM marts.fct_invariant_coverage")
    checked = [found for found in definitions() if found.kind != "decision"]
    assert len(rows) == len(checked) * len(audit.settings.clusters)
    for row in rows:
        assert (row["status"] == "holds") <= (row["exercised"] > 0 and row["unknown"] == 0), row
        assert (row["status"] == "holds_partly") <= (row["holds"] > 0), row
        if row["exercised"] == 0 and row["violated"] == 0 and row["unknown"] == 0:
            assert row["status"] == "not_exercised", row
    assert {row["status"] for row in rows} == {*STATUS_WORDS, "violated"}


def test_every_violation_points_at_its_evidence(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM marts.fct_invariant_verdicts WHERE verdict = 'violated'")
    assert rows
    for row in rows:
        assert row["failed_conjunct"], row
        # who owns what is said by the witness alone
        assert json.loads(row["observed"]) or json.loads(row["witness"]), row
        assert json.loads(row["evidence"]), row


@pytest.mark.parametrize("name", ALTERED)
def test_less_evidence_turns_verdicts_into_unknown_and_flips_none(audit: Any, name: str) -> None:
    original, _ = ALTERED[name]
    whole: dict[Any, list[dict[str, Any]]] = {}
    for row in audit.commits(original):
        whole.setdefault(key(row), []).append(row)
    left = audit.commits(name)
    assert len(left) > 0
    columns = ("truth", "outcome", "broker_agrees", "decision_broker_rule", "shipped_error", "proposed_error")
    columns = (*columns, *(f"decision_{policy}" for policy in POLICIES))
    lost = 0
    for row in left:
        for column in columns:
            before = {known[column] for known in whole[key(row)]}
            if row[column] in ("unknown", None):
                lost += not before & {"unknown", None}
            else:
                assert row[column] in before, (column, row)
    assert lost > 0 or name in {"skewed", "migrating"}  # from which no evidence of commits was taken

    violated = """
        SELECT invariant, count(*) AS times FROM marts.fct_invariant_verdicts
        WHERE verdict = 'violated' AND cluster = '{}' GROUP BY invariant
    """
    before, now = (
        {row["invariant"]: row["times"] for row in audit.rows(violated.format(cluster))}
        for cluster in (original, name)
    )
    assert all(times <= before.get(invariant, 0) for invariant, times in now.items()), (before, now)


def test_nothing_is_green_where_a_segment_is_missing(audit: Any) -> None:
    violated = """
        SELECT invariant, scope, from_time, from_position FROM marts.fct_invariant_verdicts
        WHERE verdict = 'violated' AND cluster = '{}'
    """
    before, now = (
        {tuple(row.values()) for row in audit.rows(violated.format(cluster))}
        for cluster in ("troubled-4.3.1", "damaged")
    )
    assert now < before
    # the segment is one of __consumer_offsets
    green = """
        SELECT * FROM marts.fct_invariant_coverage
        WHERE status = 'holds' AND cluster = 'damaged' AND module = 'OffsetCommitProps'
    """
    assert audit.rows(green) == []


def test_nothing_is_green_where_lines_of_a_request_log_are_missing(audit: Any) -> None:
    """Half of the lines are gone, or a file that no configuration names: the commits that were stored, and
    the transactions that were committed meanwhile show it.
    """
    thinned = {"half", "fewer-lines", "damaged"}
    unlogged = audit.rows("SELECT DISTINCT cluster FROM marts.fct_unlogged_commits")
    assert {row["cluster"] for row in unlogged} == thinned
    ends = {row["cluster"] for row in audit.rows("SELECT DISTINCT cluster FROM marts.fct_unlogged_ends")}
    assert ends
    assert not ends & set(CAPTURES)
    thinned |= ends
    green = "SELECT DISTINCT cluster FROM marts.fct_invariant_coverage WHERE status = 'holds'"
    clusters = {row["cluster"] for row in audit.rows(green)}
    assert clusters
    assert not clusters & thinned


def test_a_second_audit_takes_nothing_new_and_says_the_same(audit: Any) -> None:
    query = "SELECT * FROM marts.fct_invariant_verdicts ORDER BY verdict_id"
    counts = "SELECT (SELECT count(*) FROM bronze.records) r, (SELECT count(*) FROM bronze.requests) q"
    verdicts, counted = audit.rows(query), audit.rows(counts)
    with pipeline.Run(audit.settings) as run:
        pipeline.audit(run)
    assert audit.rows(counts) == counted
    assert audit.rows(query) == verdicts


@pytest.mark.parametrize(
    ("name", "finding"),
    [("set-back", "went_back"), ("set-back-cleaned", "went_back"), ("seconds", "whole_seconds")],
)
def test_times_that_tell_no_moment_make_nothing_wrong(audit: Any, name: str, finding: str) -> None:
    """Of what they date, more is unknown; nothing is violated that is not violated by a right clock. What is
    wrong with them is told.
    """
    whole, _ = {**ALTERED, **ALTERED_PRODUCERS}[name]
    query = "SELECT invariant, violated, unknown FROM marts.fct_invariant_coverage WHERE cluster = '{}'"
    expected = {row["invariant"]: row for row in audit.rows(query.format(whole))}
    found = audit.rows(query.format(name))
    assert [row for row in found if row["violated"] > expected[row["invariant"]]["violated"]] == []
    assert sum(row["unknown"] for row in found) > sum(row["unknown"] for row in expected.values())
    rows = audit.rows(f"SELECT * FROM marts.fct_request_clocks WHERE cluster = '{name}'")
    assert {row["finding"] for row in rows} == {finding}
    assert clock_sentences(rows, {1: "UTC"})
