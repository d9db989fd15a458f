"""A cause precedes its effect: in every mart, of every capture, whose recordings have one clock each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

CAPTURES = [path.parent.name for path in Path(__file__).parents[1].glob("captures/*/fencepost.toml")]

# What must not be: (table, when).
BROKEN = [
    ("silver.producer_fencings", "fenced_at > occurred_at"),
    ("silver.leader_epoch_fencings", "caused_at > occurred_at"),
    ("silver.leader_epoch_fencings", "ended_at < occurred_at"),
    ("marts.fct_broker_fencings", "unfenced_at < fenced_at"),
    ("marts.fct_controllers", "active_until < active_from"),
    ("marts.fct_leader_epochs", "replaced_at < elected_at"),
    ("marts.fct_topic_incarnations", "removed_at < created_at"),
    ("marts.fct_orphaned_offsets", "used_at < topic_removed_at"),
    ("marts.fct_offsets_past_truncation", "elected_at < committed_at OR used_at < elected_at"),
    ("marts.fct_member_epochs", "to_time < from_time"),
    ("marts.fct_ownership_intervals", "to_time < from_time OR pending_revocation_since < from_time"),
    # the marker may be written before the answer to the commit is
    ("marts.fct_offset_commits", "transaction_ended_at < requested_at"),
    ("marts.fct_false_fencing", "refused_at < requested_at OR recovered_at < refused_at"),
    ("marts.fct_false_fencing", "transaction_ended_at < refused_at"),
    ("marts.fct_bounced_partitions", "returned_at < left_at"),
    ("marts.fct_rebalances", "joined_at < prepared_at OR stabilized_at < joined_at"),
    ("marts.fct_stuck_rebalances", "ended_at < began_at"),
    ("marts.fct_unowned_time", "unowned_to < unowned_from"),
    ("marts.fct_transactions", "prepared_at < started_at OR completed_at < prepared_at"),
    ("marts.fct_producer_epochs", "to_time < from_time"),
    ("marts.fct_local_bumps", "again_offset <= original_offset"),
    ("marts.fct_lag_reports", "assigned_at < reported_at"),
    ("marts.fct_standby_progress", "made_active_at < started_at"),
    ("marts.fct_cleanup_races", "deleted_at < released_at"),
    ("marts.fct_assigned_without_directory", "initialized_at < assigned_at"),
]


@pytest.mark.parametrize(("table", "broken"), BROKEN)
def test_a_cause_precedes_its_effect(audit: Any, table: str, broken: str) -> None:
    names = ", ".join(f"'{name}'" for name in CAPTURES)
    assert audit.rows(f"SELECT * FROM {table} WHERE cluster IN ({names}) AND ({broken})") == []
