"""Which records groups skipped, read again or lost in recorded logs (``fct_delivery_anomalies``)."""

from __future__ import annotations

from typing import Any

import pytest

MART = "marts.fct_delivery_anomalies"
TOLD = {
    # a frozen member of Java's client commits what it had read up to, when another owns its partitions
    "rebalances-3.9.2": {("java-frozen", "read_again", "zombie_refused")},
    "removals-4.3.1": {
        ("expired", "read_again", "expired"),
        ("group-deleted", "read_again", "group_deleted"),
        ("offset-deleted", "read_again", "offset_deleted"),
        ("records-deleted", "skipped", "records_deleted"),
        ("retention", "skipped", "retention"),
    },
    "incarnations-4.3.1": {
        # nobody had read what a deposed leader had
        (None, "lost_unread", "truncated"),
        ("final-past", "lost_after_read", "truncated"),
        ("final-past", "read_again", "truncated"),
        ("identified-kept", "skipped", "late_commit"),
        ("named-equal", "skipped", "late_commit"),
        ("named-older", "skipped", "late_commit"),
        ("survivor-id", "skipped", "topic_deleted"),
        ("survivor-java", "skipped", "topic_deleted"),
        ("survivor-short", "skipped", "topic_deleted"),
        ("unclean-before", "lost_unread", "truncated"),
        ("unclean-past", "lost_after_read", "truncated"),
        ("unclean-past", "read_again", "truncated"),
    },
}


@pytest.mark.parametrize("capture", TOLD)
def test_what_became_of_records(audit: Any, capture: str) -> None:
    found = audit.rows(f"SELECT * FROM {MART} WHERE cluster = '{capture}' AND kind IS NOT NULL")
    assert {(row["group_id"], row["kind"], row["cause"]) for row in found} == TOLD[capture]
    assert all(row["records"] > 0 for row in found)


def test_no_range_is_told_twice(audit: Any) -> None:
    """Two ranges of a group that overlap are of different events, which a consumer's reading has between."""
    overlaps = audit.rows(
        f"SELECT one.*, other.source_id AS other_id FROM {MART} AS one JOIN {MART} AS other "
        "ON one.cluster = other.cluster AND one.group_id = other.group_id AND one.topic_id = other.topic_id "
        "AND one.partition = other.partition AND one.kind = other.kind AND one.source_id < other.source_id "
        "AND one.from_offset < other.to_offset AND other.from_offset < one.to_offset"
    )
    assert overlaps == []


def test_a_range_leads_to_its_own_row(audit: Any) -> None:
    keys = {
        "fct_offset_resets": "fetch_position_id",
        "fct_orphaned_offsets": "commit_id",
        "fct_offsets_past_truncation": "commit_id",
        "fct_leader_epochs": "concat(partition_key, ':', leader_epoch)",
        "fct_false_fencing": "request_id",
        "fct_offset_commits": "commit_id",
    }
    for mart, key in keys.items():
        told = audit.rows(
            f"SELECT count(*) AS told, count_if(source_id IN (SELECT {key} FROM marts.{mart})) AS found "
            f"FROM {MART} WHERE source_mart = '{mart}'"
        )[0]
        assert told["told"] == told["found"] > 0, mart
