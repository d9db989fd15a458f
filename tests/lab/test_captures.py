"""The stored captures are complete, and their request logs have the answers that their drivers got."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import cases
import pytest
from capture import request_lines
from compacted import first_dirty_offset, records_before
from evidence import all_rows, disagreements, ground_truth
from record import CAPTURES, STORED
from truth import error_name

FOLDERS = [CAPTURES / f"{name}-{version}" for name, versions in STORED.items() for version in versions]
VERSIONS = STORED["troubled"]
OF_PRODUCERS = ("producers", "exhausted", "ends", "markers", "idempotent", "operators", "unclean")
"""Captures about producers, which have no commits outside of transactions; see test_producer_captures.py."""
WITHOUT_MEMBERS = (
    *(*OF_PRODUCERS, "incarnations", "natural", "makers", "platformatic", "days", "rebalances", "streams"),
    *("lags", "upgraded", "by-hand", "removals", "share", "tiered", "zookeeper", "old-clients"),
)
"""Captures without hand-made commits of members: their rows are of other kinds, or there are none."""
WRITTEN_BY_A_CLIENT = re.compile(
    r'"name":|ProducerId set to|\[Consumer (instanceId|clientId)=|stream-client \['
)
BRIEF = ("markers", "idempotent", "operators", "expired", "by-hand", "unclean", "tiered", "zookeeper")
"""Recordings of seconds, in which no segment is closed."""
LIMIT_BYTES = 1_500_000
"""Of one capture."""

# What each version's own rule makes of the cases in which the versions, or the rule and the truth, part.
ANSWERS = {
    "late_kept_by_id": ("NONE", "STALE_MEMBER_EPOCH"),
    "late_kept_by_name": ("NONE", "STALE_MEMBER_EPOCH"),
    "late_kept_others_revoked": ("NONE", "STALE_MEMBER_EPOCH"),
    "late_moved_by_id": ("STALE_MEMBER_EPOCH", "STALE_MEMBER_EPOCH"),
    "late_mixed_request": ("STALE_MEMBER_EPOCH", "STALE_MEMBER_EPOCH"),
    "pending_at_older_epoch": ("NONE", "STALE_MEMBER_EPOCH"),
    "current_epoch_anothers_partition": ("NONE", "NONE"),
    "current_epoch_nobodys_partition": ("NONE", "NONE"),
    "moved_within_current_epoch": ("NONE", "NONE"),
    "in_flight": ("NONE", "STALE_MEMBER_EPOCH"),
    "in_flight_caught_up": ("NONE", "NONE"),
    "regained_epoch_before": ("STALE_MEMBER_EPOCH", "STALE_MEMBER_EPOCH"),
    "left_member_last_epoch": ("UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"),
    "transactional_late_kept": ("NONE", "ILLEGAL_GENERATION"),
    "transactional_late_moved": ("ILLEGAL_GENERATION", "ILLEGAL_GENERATION"),
}


# The same for the captures of GROUPS; None where a case was not played.
_STALE, _ILLEGAL, _UNKNOWN = "STALE_MEMBER_EPOCH", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"
_REBALANCING, _FENCED = "REBALANCE_IN_PROGRESS", "FENCED_INSTANCE_ID"
GROUPS = (
    "groups-4.4.0", "groups-4.3.1", "groups-4.2.1", "groups-4.1.2", "groups-4.0.2", "groups-3.9.2",
    "early-4.1.2",
)  # fmt: skip
_CLASSIC = {
    ("classic-late-kept", "classic_late_kept"): _ILLEGAL,
    ("classic-late-kept", "classic_late_kept_older_version"): _ILLEGAL,
    ("classic-late-moved", "classic_late_moved"): _ILLEGAL,
    ("classic-late-moved", "classic_current_anothers_partition"): "NONE",
    ("classic-between-generations", "classic_revoked_current_generation"): "NONE",
    ("classic-rebalancing", "preparing_current_generation"): "NONE",
    ("classic-rebalancing", "preparing_older_generation"): _ILLEGAL,
    ("classic-rebalancing", "completing_new_generation"): _REBALANCING,
    ("classic-rebalancing", "completing_older_generation"): _ILLEGAL,
    ("classic-rebalancing", "completing_stranger"): _UNKNOWN,
    ("classic-left", "left_before_next_generation"): _UNKNOWN,
    ("classic-expired", "expired_before_next_generation"): _UNKNOWN,
    ("classic-foreign", "classic_future_generation"): _ILLEGAL,
    ("classic-admin", "classic_admin_while_active"): _UNKNOWN,
    ("classic-admin", "classic_admin_when_empty"): "NONE",
    ("static-classic", "static_away"): "NONE",
    ("static-classic", "static_replaced"): _FENCED,
    ("static-classic", "static_replaced_without_instance"): _UNKNOWN,
    ("static-classic", "static_wrong_instance"): _FENCED,
    ("txn-fencing-classic", "txn_late_kept"): _ILLEGAL,
    ("txn-fencing-classic", "txn_late_kept_retried"): "NONE",
    ("txn-fencing-classic", "txn_no_member"): "NONE",
    ("txn-rebalancing", "txn_completing_new_generation"): "NONE",
    ("txn-rebalancing", "txn_completing_older_generation"): _ILLEGAL,
}
_BY_VERSION: dict[tuple[str, str], tuple[str | None, ...]] = {
    ("late-kept", "late_kept_by_name"): ("NONE", _STALE, _STALE, _STALE, None, _STALE),
    ("pending-revocation", "pending_at_older_epoch"): ("NONE", _STALE, _STALE, _STALE, None, None),
    ("static-consumer", "static_away"): (_STALE, _STALE, _STALE, _STALE, None, None),
    ("static-consumer", "static_away_epoch_of_leaving"): ("NONE", "NONE", "NONE", "NONE", None, None),
    ("static-consumer", "static_replaced"): (_UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN, None, None),
    ("static-consumer", "static_successor_epoch_before"): ("NONE", _STALE, _STALE, _STALE, None, None),
    ("txn-fencing-consumer", "txn_late_kept"): ("NONE", _ILLEGAL, _ILLEGAL, _ILLEGAL, None, None),
    ("txn-fencing-consumer", "txn_late_kept_retried"): (None, "NONE", "NONE", "NONE", None, None),
    ("migration", "upgraded_not_rejoined"): ("NONE", "NONE", "NONE", "NONE", None, None),
    ("migration", "upgraded_late_kept"): ("NONE", _ILLEGAL, _ILLEGAL, _ILLEGAL, None, None),
    ("migration", "upgraded_late_moved"): (_ILLEGAL, _ILLEGAL, _ILLEGAL, _ILLEGAL, None, None),
    ("migration", "upgraded_txn_late_kept"): ("NONE", _ILLEGAL, _ILLEGAL, _ILLEGAL, None, None),
    ("migration", "downgraded_not_rejoined"): ("NONE", "NONE", "NONE", "NONE", None, None),
    ("migration", "downgraded_late_kept"): (_ILLEGAL, _ILLEGAL, _ILLEGAL, _ILLEGAL, None, None),
    ("streams-late", "streams_late_kept"): ("NONE", "NONE", None, None, None, _STALE),
    ("streams-late", "streams_late_moved"): (_STALE, _STALE, None, None, None, _STALE),
    ("streams-pending", "streams_pending_older_epoch"): ("NONE", "NONE", None, None, None, _STALE),
    ("streams-topology", "streams_foreign_topic_current"): ("NONE", "NONE", None, None, None, "NONE"),
    ("streams-topology", "streams_foreign_topic_older_epoch"): (_STALE, _STALE, None, None, None, _STALE),
    ("streams-standby", "streams_standby_current_epoch"): ("NONE", "NONE", None, None, None, "NONE"),
    ("txn-fencing-streams", "txn_late_kept"): ("NONE", "NONE", None, None, None, _ILLEGAL),
    ("zombie-current-epoch", "moved_within_current_epoch"): (None, None, _STALE, _STALE, None, None),
}
GROUP_ANSWERS: dict[tuple[str, str], tuple[str | None, ...]] = {
    **{case: (answer,) * 6 + (None,) for case, answer in _CLASSIC.items()},
    # 4.4 decides as 4.3, and may name a wrong epoch in a transaction otherwise (TxnOffsetCommit v6, KIP-1319)
    **{case: (answers[0], *answers) for case, answers in _BY_VERSION.items()},
    ("txn-fencing-consumer", "txn_late_moved"): (_STALE, _ILLEGAL, _ILLEGAL, _ILLEGAL, _ILLEGAL, None, None),
    ("txn-fencing-streams", "txn_late_moved"): (_STALE, _ILLEGAL, _ILLEGAL, None, None, None, _ILLEGAL),
}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_capture_is_whole(folder: Path) -> None:
    cluster = tomllib.loads((folder / "fencepost.toml").read_text())["clusters"][0]
    for broker in cluster["brokers"]:
        (log_dir,) = (folder / d for d in broker["log_dirs"])
        assert (log_dir / "meta.properties").is_file()
        has_metadata_log = bool(list(log_dir.glob("__cluster_metadata-0/*.log")))
        assert has_metadata_log == ("version=1" in (log_dir / "meta.properties").read_text())
        of_producers = folder.name.startswith((*OF_PRODUCERS, "fencings"))
        closed = "__transaction_state" if of_producers else "__consumer_offsets"
        segments = list(log_dir.glob(f"{closed}-*/*.log"))
        assert len(segments) > 1 or folder.name.startswith(BRIEF), "a closed segment and the active one"
        for pattern in (*broker["request_logs"], *broker["server_logs"]):
            assert all(log.stat().st_size for log in folder.glob(pattern))
            assert list(folder.glob(pattern)), pattern
    for client in cluster.get("clients", ()):
        assert WRITTEN_BY_A_CLIENT.search((folder / client["logs"][0]).read_text())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_request_log_shows_every_hand_made_commit(folder: Path) -> None:
    assert bool(ground_truth(folder)) != folder.name.startswith(WITHOUT_MEMBERS)
    assert disagreements(folder) == []


def test_request_log_shows_every_member_that_was_refused() -> None:
    folder = CAPTURES / "fencings-4.3.1"
    logged = {
        (line["requestHeader"]["clientId"], line["requestHeader"]["correlationId"]): line["response"]
        for _, line in request_lines(folder)
    }
    told = [row for row in all_rows(folder) if row.get("kind") == "member"]
    for row in told:
        answer = logged[row["client_id"], row["correlation_id"]]
        (answer,) = answer.get("groups", [answer])
        assert error_name(answer["errorCode"]) == row["error"], row
    assert {row["error"] for row in told if row["victim"]} == {
        *("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "FENCED_MEMBER_EPOCH"),
        *("UNRELEASED_INSTANCE_ID", "STALE_MEMBER_EPOCH"),
    }
    refused = {(row["case"], row["api_version"]): row["error"] for row in ground_truth(folder)}
    assert refused["older_api", 8] == "UNSUPPORTED_VERSION"
    assert (refused["missing_group", 10], refused["missing_group", 8]) == (
        "GROUP_ID_NOT_FOUND",
        "ILLEGAL_GENERATION",
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_wrong_with_the_healthy_cluster(version: str) -> None:
    rows = ground_truth(CAPTURES / f"healthy-{version}")
    assert {row["error"] for row in rows} == {"NONE"}
    assert {row["truth"] for row in rows} == {"owner", "unfenced"}


@pytest.mark.parametrize("version", VERSIONS)
def test_troubled_cluster_has_every_case(version: str) -> None:
    rows = ground_truth(CAPTURES / f"troubled-{version}")
    assert {row["group_id"] for row in rows} == set(cases.CASES)
    assert {row["truth"] for row in rows} == {"owner", "zombie", "not_owner", "unfenced"}
    assert Counter(row["racing"] for row in rows)[True] == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_brokers_answered_by_their_own_rule(version: str) -> None:
    rows = ground_truth(CAPTURES / f"troubled-{version}")
    expected = {case: {answers[VERSIONS.index(version)]} for case, answers in ANSWERS.items()}
    answered = {case: {row["error"] for row in rows if row["case"] == case} for case in expected}
    assert answered == expected


@pytest.mark.parametrize("name", GROUPS)
def test_every_version_answered_by_its_own_rule(name: str) -> None:
    answered: dict[tuple[str, str], set[str]] = {}
    for row in ground_truth(CAPTURES / name):
        answered.setdefault((row["group_id"], row["case"]), set()).add(row["error"])
    wrong = {
        case: (answered.get(case), answers[GROUPS.index(name)])
        for case, answers in GROUP_ANSWERS.items()
        if answered.get(case, {None}) != {answers[GROUPS.index(name)]}
    }
    assert not wrong


@pytest.mark.parametrize("name", GROUPS)
def test_transactional_commits_have_an_outcome(name: str) -> None:
    outcomes = Counter(row["outcome"] for row in ground_truth(CAPTURES / name))
    assert {"committed", "aborted", "replaced", "skipped", "pending"} <= set(outcomes)
    for row in ground_truth(CAPTURES / name):
        is_accepted = row["transactional_id"] is not None and row["error"] == "NONE"
        assert (row["outcome"] is not None) == is_accepted, row


def test_the_coordinator_moved_and_moved_back() -> None:
    folder = CAPTURES / "failover-4.3.1"
    brokers = Counter(
        log.parent.name
        for log, line in request_lines(folder)
        if line["requestHeader"]["clientId"] == "failover-busy-a"
        and line["requestHeader"]["requestApiKeyName"] == "OFFSET_COMMIT"
        and line["response"]["topics"][0]["partitions"][0]["errorCode"] == 0
    )
    assert len(brokers) == 2, "commits were accepted by the first coordinator and by the next"
    rows = ground_truth(folder)
    assert "NOT_COORDINATOR" in {row["error"] for row in rows}
    assert {row["outcome"] for row in rows if row["case"] == "failover_txn_before"} == {"committed"}
    assert {row["protocol"] for row in rows} == {"classic", "consumer", "streams"}


def test_a_record_was_not_replicated_in_time_while_releases_changed() -> None:
    answers = [
        (line["clientInformation"]["softwareVersion"], line["response"]["errorCode"])
        for _, line in request_lines(CAPTURES / "upgraded-3.9.2")
        if line["requestHeader"]["requestApiKeyName"] == "END_TXN"
    ]
    assert {version for version, _ in answers} == {"4.3.1"}
    unavailable = [error for _, error in answers if error == 15]
    assert len(unavailable) == 1


def test_the_cleaner_has_been_there() -> None:
    folder = CAPTURES / "compacted-4.3.1"
    log_dir = folder / "broker-1" / "log_dir"
    dirty = first_dirty_offset(log_dir)
    assert dirty > 0
    assert records_before(log_dir / "__consumer_offsets-0", dirty) < dirty / 2
    assert f"{dirty:020}.log" in {log.name for log in log_dir.glob("__consumer_offsets-0/*.log")}
    assert any(row["case"] == "compacted_late_moved" for row in ground_truth(folder))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_captures_are_small(folder: Path) -> None:
    assert sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) < LIMIT_BYTES
