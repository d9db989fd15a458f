"""The stored captures about rebalances: drivers' and real assignors' accounts, compared with the logs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from incarnation_evidence import disagreements, rows
from rebalance_evidence import joins, logged_assignments, stabilized
from record import CAPTURES, STORED

FOLDERS = [CAPTURES / f"rebalances-{version}" for version in STORED["rebalances"]]
KINDS_OF_CLAIMS = {"generation_id", "user_data", "none", "unreadable"}

pytestmark = pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)


def test_logs_show_every_hand_made_request(folder: Path) -> None:
    assert rows(folder, "request")
    assert disagreements(folder) == []


def test_the_coordinator_logged_every_generation_that_was_synced(folder: Path) -> None:
    told = {(r["group_id"], r["generation"]) for r in rows(folder, "generation") if r["is_synced"]}
    assert len(told) > 60
    assert told <= stabilized(folder)


def test_leaders_sent_the_assignments_that_they_told(folder: Path) -> None:
    logged = logged_assignments(folder)
    told = [r for r in rows(folder, "generation") if r["is_synced"]]
    for row in told:
        sent = logged[row["group_id"], row["generation"]]
        if sent is not None:  # a group of another protocol type
            given = {m["member_id"]: {tuple(p) for p in m["assigned"]} for m in row["members"]}
            assert sent == given, row


def test_members_claimed_in_the_log_what_leaders_were_told(folder: Path) -> None:
    claimed = joins(folder)
    compared = 0
    for row in rows(folder, "generation"):
        for member in row["members"]:
            absent = (row["group_id"], row["generation"]) == ("static-absent", 4) and member["instance_id"]
            if row["generation"] is None or member["claim_source"] == "unreadable" or absent:
                continue
            partitions = {tuple(p) for p in member["claims"]}
            assert (row["generation"], partitions) in claimed[row["group_id"], member["member_id"]]
            compared += len(partitions)
    assert compared > 200


def test_there_are_claims_of_every_kind(folder: Path) -> None:
    members = [(row, m) for row in rows(folder, "generation") for m in row["members"]]
    assert {m["claim_source"] for _, m in members} == KINDS_OF_CLAIMS
    assert {m["subscription_version"] for _, m in members} >= {0, 1, 2, 3}
    assert any(m["stale"] for _, m in members)
    assert any(m["contradicted"] for _, m in members)
    # a stale or contradicted claim is somebody else's partition, or was contradicted before
    for row, m in members:
        if m["stale"] and row["is_synced"]:
            assert m["stale"][0] in m["not_held"], row


def test_rules_are_broken_only_by_whom_they_are_meant_to_be(folder: Path) -> None:
    broken = Counter((row["group_id"], row["rule"]) for row in rows(folder, "broken_rule"))
    meant = {
        ("hasty", "handover_before_revocation"),
        ("away-credulous", "stale_claim_wins"),
        ("java-credulous", "stale_claim_wins"),
    }
    # Kafka's own assignors may: one compares with the field of a subscription that has none, and members
    # with unlike subscriptions are another algorithm's
    kafkas = {(f"java-led-{which}", "stale_claim_wins") for which in ("undated", "unequal")}
    assert set(broken) - kafkas == meant


def test_a_rebalance_comes_again_and_again_with_the_same_claims(folder: Path) -> None:
    endless = [row for row in rows(folder, "generation") if row["group_id"] == "endless"]
    said = Counter(str([(m["member_id"], m["claims"]) for m in row["members"]]) for row in endless)
    assert max(said.values()) == 8


def test_kafkas_consumer_refuses_a_custom_assignor_that_is_hasty(folder: Path) -> None:
    log = (folder / "clients" / "java-hasty-leader.log").read_text()
    assert "With the COOPERATIVE protocol, owned partitions cannot be reassigned" in log
    (refused,) = (
        r for r in rows(folder, "generation") if r["group_id"] == "java-hasty" and r["generation"] is None
    )
    assert not refused["is_synced"]


def test_kafkas_assignor_complains_of_claims_that_collide(folder: Path) -> None:
    log = (folder / "clients" / "java-led-leader.log").read_text()
    assert "claiming the same TopicPartition orders-" in log
    assert log.count("Found multiple consumers") == 1
    assert log.count("in different generations") == 2


def test_the_broker_answered_as_it_does(folder: Path) -> None:
    asked = [(r["case"], r["api"], r["error"]) for r in rows(folder, "request")]
    for case in ("away", "away-user-data", "away-undated"):
        assert (case, "JoinGroup", "UNKNOWN_MEMBER_ID") in asked
    assert ("interrupted", "SyncGroup", "REBALANCE_IN_PROGRESS") in asked
    assert ("static", "Heartbeat", "FENCED_INSTANCE_ID") in asked
    # no broker refuses a stale claim, since none reads claims
    assert "ILLEGAL_GENERATION" not in {error for _, api, error in asked if api == "JoinGroup"}
