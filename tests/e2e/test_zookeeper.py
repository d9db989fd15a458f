"""A cluster with ZooKeeper passes without what only a metadata log could tell, and the report says so."""

from __future__ import annotations

from typing import Any

from fencepost.reasons import IN_ZOOKEEPER, NOT_CAPTURED

CLUSTER, MIGRATING = "zookeeper-3.9.2", "migrating"
ASK_THE_METADATA_LOG = {"batch_leader_epoch_known", "marker_coordinator_epoch_in_order"}


def unknown(audit: Any, cluster: str, reason: str) -> set[str]:
    rows = audit.rows(f"""
        SELECT invariant FROM marts.fct_invariant_coverage
        WHERE cluster = '{cluster}' AND severity = 'critical' AND exercised > 0 AND reason = '{reason}'
    """)
    return {row["invariant"] for row in rows}


def test_what_no_log_can_tell_is_said_and_does_not_close_the_gate(audit: Any) -> None:
    (found,) = [each for each in audit.gate.clusters if each.cluster == CLUSTER]
    assert unknown(audit, CLUSTER, IN_ZOOKEEPER) == ASK_THE_METADATA_LOG
    assert found.headline == "PASSED"
    (says,) = found.not_told
    assert all(name in says for name in ASK_THE_METADATA_LOG)
    assert "ZooKeeper" in says


def test_a_metadata_log_that_is_there_and_was_not_captured_closes_it(audit: Any) -> None:
    """One broker runs with KRaft already, so there is a metadata log: it is missing."""
    (found,) = [each for each in audit.gate.clusters if each.cluster == MIGRATING]
    assert unknown(audit, MIGRATING, NOT_CAPTURED) >= ASK_THE_METADATA_LOG
    assert found.headline == "NOT JUDGED"
    assert found.not_told == ()


def test_who_was_elected_is_in_no_log_of_it(audit: Any) -> None:
    rows = audit.rows(f"""
        SELECT DISTINCT cluster, unknown_reason FROM marts.fct_leader_epochs
        WHERE cluster IN ('{CLUSTER}', '{MIGRATING}') AND (leader IS NULL OR how IS NULL)
    """)
    found = {(row["cluster"], row["unknown_reason"]) for row in rows}
    assert found == {(CLUSTER, IN_ZOOKEEPER), (MIGRATING, NOT_CAPTURED)}
    (anomalies,) = audit.rows(f"""
        SELECT count(*) AS rows, count_if(unknown_reason = '{IN_ZOOKEEPER}') AS beyond_logs
        FROM marts.fct_delivery_anomalies WHERE cluster = '{CLUSTER}' AND source_mart = 'fct_leader_epochs'
    """)
    assert anomalies["rows"] == anomalies["beyond_logs"] > 0
