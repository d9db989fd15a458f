"""What is taken away from the logs makes answers unknown, and changes none into another one."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from altered import ALTERED, ALTERED_PRODUCERS

LOST = {name: whole for name, (whole, _) in (ALTERED | ALTERED_PRODUCERS).items()}
"""Clusters with evidence taken away, each with the one it is made of: not those with another clock."""
for _name in ("set-back", "skewed", "set-back-cleaned", "later"):
    del LOST[_name]

ANSWERS = {
    "fct_removed_offsets": ("group_id, topic, partition, removed_position", "ended_by"),
    "fct_group_lives": ("group_id, life", "ended_by, ended_at, is_current"),
    "fct_member_lives": ("group_id, member_id, from_position", "removed_by, ended_at, is_current"),
    "fct_offset_commits": (
        "group_id, client_id, correlation_id, topic, partition, requested_at",
        "rule, truth, broker_answer, is_zombie_admitted",
    ),
    "fct_member_epochs": ("group_id, member_id, from_position", "is_current, member_epoch"),
    "fct_ownership_intervals": ("group_id, topic, partition, member_id, from_position", "is_current"),
    "fct_rebalances": ("group_id, record_offset", "is_current, reason, waited_for"),
    "fct_last_stable_offsets": ("topic, partition", "held_by, coordinator_has, may_abort"),
    "fct_refused_produces": (
        "client_id, topic, partition, responded_at",
        "fencing_cause, known_last_sequence",
    ),
    "fct_fencing_events": ("protocol, victim, error, occurred_at", "cause, victim_epoch"),
    "fct_transactional_ids": ("transactional_id, to_position", "ended_by, turns"),
}
"""By mart: the columns that tell rows apart in copies of one capture, and those that answer something."""


@pytest.mark.parametrize("mart", ANSWERS)
def test_no_answer_becomes_another_one(audit: Any, mart: str) -> None:
    key, answers = (names.split(", ") for names in ANSWERS[mart])
    rows = audit.rows(f"SELECT * FROM marts.{mart}")
    found = defaultdict[tuple[str, ...], list[dict[str, Any]]](list)
    for row in rows:
        found[row["cluster"], *(str(row[name]) for name in key)].append(row)
    compared, changed = 0, []
    for (cluster, *place), left in found.items():
        whole = found.get((LOST.get(cluster, ""), *place), ())
        # of several in one millisecond, nothing tells which is which
        if (len(left), len(whole)) != (1, 1):
            continue
        for name in answers:
            before, now = whole[0][name], left[0][name]
            compared += 1
            if now not in (before, None, "unknown"):
                changed.append((cluster, *place, name, before, now))
    assert compared
    assert changed == []


def test_a_hole_ends_no_member_and_no_transactional_id(audit: Any) -> None:
    ids = audit.rows("SELECT * FROM marts.fct_transactional_ids WHERE cluster = 'torn'")
    # the rest are those whose last record is not there
    assert {row["ended_by"] for row in ids} == {"unknown"}
    members = audit.rows(
        "SELECT * FROM marts.fct_member_lives WHERE cluster = 'damaged' AND is_current IS NULL"
    )
    assert members
    assert {(row["ended_at"], row["removed_by"], row["unknown_reason"]) for row in members} == {
        (None, None, "not_captured")
    }
