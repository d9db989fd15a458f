"""What the audit says of clients of four more makers, against what the play did (``tests/lab/makers.py``)."""

from __future__ import annotations

from typing import Any

CLUSTER = "makers-4.3.1"


def test_every_line_of_theirs_is_read(audit: Any) -> None:
    assert audit.rows(f"SELECT * FROM marts.fct_quarantine WHERE cluster = '{CLUSTER}'") == []
    joins = audit.rows(f"SELECT * FROM marts.fct_join_decisions WHERE cluster = '{CLUSTER}'")
    # franz-go says 0 where others say -1; kafka-go names no owned partitions
    assert {-1, 0} < {row["presented_generation"] for row in joins}
    assert [row for row in joins if None in (row["presented_generation"], row["claims"])] == []
    assert [row for row in joins if row["is_stale_admitted"] and row["presented_generation"] == 0] == []


def test_a_commit_of_who_was_told_that_it_is_no_member_is_known_to_be_of_none(audit: Any) -> None:
    """sarama goes on committing when it wakes up, and is refused each time."""
    refused = [
        row
        for row in audit.commits(CLUSTER)
        if row["group_id"] == "sarama-cooperative" and row["broker_error"] == "UNKNOWN_MEMBER_ID"
    ]
    assert refused
    assert {(row["client_id"], row["shipped_error"]) for row in refused} == {
        ("sarama-cooperative-2", "UNKNOWN_MEMBER_ID")
    }


def test_the_second_instance_of_each_maker_fenced_the_first(audit: Any) -> None:
    rows = audit.rows(f"SELECT * FROM marts.fct_fencing_events WHERE cluster = '{CLUSTER}'")
    fenced = {row["victim"] for row in rows if row["cause"] == "new_instance"}
    assert fenced == {"franz-tx-2", "sarama-tx-2", "kafkajs-tx-2"}


def test_kafka_go_commits_what_it_read_for_whoever_owns_it_by_then(audit: Any) -> None:
    """It says the generation that it is in now, whatever it was in when it read."""
    rows = audit.rows(f"""
        SELECT c.client_id, c.owner_member_id, c.broker_error FROM marts.fct_invariant_verdicts v
        JOIN marts.fct_offset_commits c ON c.cluster = v.cluster AND v.evidence LIKE '%' || c.commit_id || '%'
        WHERE v.cluster = '{CLUSTER}' AND v.invariant = 'no_commit_for_anothers_partition'
            AND v.verdict = 'violated'
    """)
    assert {row["client_id"] for row in rows} == {"segmentio-late-1", "segmentio-late-2"}
    assert {row["broker_error"] for row in rows} == {"NONE"}
