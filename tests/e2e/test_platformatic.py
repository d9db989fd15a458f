"""What the audit says of clients of @platformatic/kafka, which ``tests/lab/platformatic.py`` played."""

from __future__ import annotations

from typing import Any

CLUSTER = "platformatic-4.3.1"
SHARED = "platformatic-tx-1"
"""The transactional id whose producer id is 0, which every instance says that it has."""


def test_every_line_of_theirs_is_read(audit: Any) -> None:
    assert audit.rows(f"SELECT * FROM marts.fct_quarantine WHERE cluster = '{CLUSTER}'") == []
    joins = audit.rows(f"SELECT * FROM marts.fct_join_decisions WHERE cluster = '{CLUSTER}'")
    assert joins
    assert [row for row in joins if None in (row["presented_generation"], row["claims"])] == []


def test_a_member_that_joined_again_commits_at_the_generation_of_its_id_before(audit: Any) -> None:
    """The one that slept past its session: under its first id it is no member, under its next one it is."""
    refused = {
        (row["broker_error"], row["shipped_error"])
        for row in audit.commits(CLUSTER)
        if row["client_id"] == "platformatic-auto-2" and row["broker_answer"] == "reject"
    }
    assert refused == {(error, error) for error in ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID")}


def test_a_partition_of_a_topic_that_is_gone_leaves_nothing_unknown(audit: Any) -> None:
    commits = audit.commits(CLUSTER)
    gone = {row["request_id"] for row in commits if row["broker_error"] == "UNKNOWN_TOPIC_OR_PARTITION"}
    others = [row for row in commits if row["request_id"] in gone and row["broker_error"] == "NONE"]
    assert others
    assert {row["decision_assignment_epoch"] for row in others} == {"accept"}


def test_they_commit_what_they_read_for_whoever_owns_it_by_then(audit: Any) -> None:
    """They say the epoch that they are in now, whatever it was when they read; also of KIP-848."""
    rows = audit.rows(f"""
        SELECT c.group_id, c.broker_error FROM marts.fct_invariant_verdicts v
        JOIN marts.fct_offset_commits c ON c.cluster = v.cluster AND v.evidence LIKE '%' || c.commit_id || '%'
        WHERE v.cluster = '{CLUSTER}' AND v.verdict = 'violated'
            AND v.invariant IN ('no_commit_for_anothers_partition', 'no_commit_for_unowned_partition')
    """)
    assert {row["group_id"] for row in rows} == {"platformatic-auto", "platformatic-server"}
    assert {row["broker_error"] for row in rows} == {"NONE"}


def test_instances_that_say_producer_id_0_take_over_from_each_other(audit: Any) -> None:
    """The second is given the next epoch, the third, for a retry of the second, the same one."""
    granted = audit.rows(f"""
        SELECT client_id, provided_id, provided_epoch, returned_epoch FROM silver.init_producer_ids
        WHERE cluster = '{CLUSTER}' AND transactional_id = '{SHARED}' AND error = 'NONE'
        ORDER BY responded_at
    """)
    found = [(row["client_id"], row["returned_epoch"]) for row in granted]
    assert found == [(f"{SHARED}-a", 0), (f"{SHARED}-b", 1), (f"{SHARED}-c", 1)]
    assert {(row["provided_id"], row["provided_epoch"]) for row in granted} == {(0, 0)}
    fenced = audit.rows(f"SELECT * FROM marts.fct_fencing_events WHERE cluster = '{CLUSTER}'")
    assert {row["cause"] for row in fenced if row["victim"] == SHARED} == {"client_bump"}
