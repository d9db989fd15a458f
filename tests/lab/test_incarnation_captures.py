"""The stored captures about leader epochs and incarnations: the answers to drivers are in the logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from incarnation_evidence import (
    Told,
    agrees,
    checkpoint,
    disagreements,
    folders,
    heads,
    metadata_told,
    rows,
)
from record import CAPTURES, STORED

FOLDERS = [CAPTURES / f"incarnations-{version}" for version in STORED["incarnations"]]
THREE = CAPTURES / "incarnations-4.3.1"
BY_ID = ("incarnations-4.3.1", "incarnations-4.2.1")
"""Where commits may identify their topic."""

EPOCHS = {"NONE", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH"}
CONTROLLER = {
    "STALE_BROKER_EPOCH",
    "DUPLICATE_BROKER_REGISTRATION",
    "FENCED_LEADER_EPOCH",
    "INVALID_UPDATE_VERSION",
    "UNKNOWN_TOPIC_ID",
}


def errors(folder: Path, case: str, *apis: str) -> set[str]:
    return {
        r["error"] for r in rows(folder, "request") if r["case"] == case and (not apis or r["api"] in apis)
    }


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_logs_show_every_hand_made_request(folder: Path) -> None:
    assert rows(folder, "request")
    assert disagreements(folder) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_logs_show_what_metadata_told(folder: Path) -> None:
    told: dict[tuple[str, int], set[Told]] = {}
    for row in rows(folder, "request"):
        if row["api"] in ("Metadata", "DescribeTopicPartitions") and row["told"]:
            said = (row["topic"], row["partition"], row["told"]["topic_id"], row["told"]["leader_epoch"])
            told.setdefault((row["client_id"], row["correlation_id"]), set()).add(said)
    logged = metadata_told(folder)
    assert told
    assert {key: logged.get(key) for key in told} == told


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_every_incarnation_has_its_folders(folder: Path) -> None:
    found = folders(folder)
    told = rows(folder, "topic")
    created, deleted = (
        {r["topic_id"] for r in told if r["event"] == event} for event in ("created", "deleted")
    )
    assert deleted < created
    gone = {topic_id for *_, topic_id, state in found if state != "live"}
    assert deleted <= gone
    last = [row for row in rows(folder, "leaders") if row["moment"] == "end"][-1]
    hosted = {
        (broker_id, p["topic"], p["partition"], p["topic_id"], "live")
        for p in last["partitions"]
        for broker_id in p["replicas"]
    }
    live = {each for each in found if each[-1] == "live" and each[1] != "__cluster_metadata"}
    assert live == hosted
    assert {p["topic_id"] for p in last["partitions"]} >= created - deleted


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_the_metadata_log_has_snapshots(folder: Path) -> None:
    for log in folder.glob("broker-*/log_dir/__cluster_metadata-0"):
        assert list(log.glob("*.checkpoint")), log
        assert (log / "00000000000000000000.log").is_file(), "and goes back to its beginning"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_checkpoints_of_leader_epochs_are_those_of_the_batches(folder: Path) -> None:
    compared = 0
    for broker_id, topic, partition, _, state in folders(folder):
        if state == "live" and topic != "__cluster_metadata":
            found = heads(folder, broker_id, (topic, partition))
            assert agrees(checkpoint(folder, broker_id, (topic, partition)), found), (broker_id, topic)
            compared += len(found) > 0
    assert compared > 5


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_offsets_went_with_their_topic_and_came_back_with_late_commits(folder: Path) -> None:
    asked = [r for r in rows(folder, "request") if r["api"] == "OffsetFetch" and r["error"] == "NONE"]
    early = [r for r in asked if r["asked"]["group_id"] in ("named-early", "identified-early")]
    assert early
    assert {r["told"]["offset"] for r in early} == {-1}
    orphans = rows(folder, "orphan")
    made_by = {"late_commit"} | ({"position_kept"} if folder.name in BY_ID else set())
    assert {r["made_by"] for r in orphans} == made_by | ({"coordinator_away"} if folder == THREE else set())
    for row in orphans:
        assert row["earlier_topic_id"] != row["live_topic_id"]
        if row["returned_offset"] is not None:
            assert row["returned_offset"] == row["committed_offset"]
            assert (row["reset_to"] is not None) == row["out_of_range"]
        if row["read_first"] is not None:
            assert row["read_first"] == (0 if row["out_of_range"] else row["committed_offset"])


def test_a_real_consumer_skips_what_is_below_an_orphaned_offset() -> None:
    (orphan,) = (r for r in rows(THREE, "orphan") if r["group_id"] == "survivor-java")
    lines = [
        line for line in (THREE / "clients" / "survivor-back.log").read_text().splitlines() if line[0] == "{"
    ]
    consumed = [json.loads(line) for line in lines if '"records_consumed"' in line]
    (read,) = consumed[0]["partitions"]
    assert read["minOffset"] == orphan["committed_offset"] == orphan["at_risk"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_real_consumers_seek_to_whatever_offset_they_are_given(folder: Path) -> None:
    stored = rows(folder, "stored")
    assert {row["safe"] for row in stored} == {True, False}
    for row in stored:
        assert row["safe"] == (row["topic_id"] == row["live_topic_id"])
        within = row["offset"] <= row["log_end_offset"]
        assert row["read"] == ([row["offset"], row["offset"] + 1] if within else [])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_epochs_and_ids_of_before_are_refused(folder: Path) -> None:
    assert errors(folder, "epochs", "Fetch", "OffsetForLeaderEpoch") == EPOCHS
    assert errors(folder, "epochs", "OffsetCommit") == {"NONE"}, "nobody compares the epoch of a commit"
    assert errors(folder, "identified", "Fetch") == {"NONE", "UNKNOWN_TOPIC_ID", "INCONSISTENT_TOPIC_ID"}
    by_id = {"NONE", "UNKNOWN_TOPIC_ID"} if folder.name in BY_ID else set()
    assert errors(folder, "identified", "OffsetCommit") == by_id
    assert (
        errors(folder, "controller", "BrokerHeartbeat", "BrokerRegistration", "AlterPartition") >= CONTROLLER
    )


def test_a_resumed_broker_told_of_before_what_others_had_told_already() -> None:
    stale = rows(THREE, "stale_answer")
    assert {(row["client_id"], row["what"]) for row in stale} == {
        (client, what)
        for client in ("stale-witness", "stale-older")
        for what in ("incarnation", "leader_epoch")
    }
    requests = rows(THREE, "request")
    for row in stale:
        newer = [
            r
            for r in requests
            if (r["client_id"], r["topic"], r["api"]) == (row["client_id"], row["topic"], "Metadata")
            and r["answered_at_ms"] < row["answered_at_ms"]
            and r["told"]["topic_id"] in (row["current_topic_id"], None)
            and r["told"]["leader_epoch"] == row["current_leader_epoch"]
        ]
        assert newer, row


def test_lost_records_are_in_no_log_but_that_of_a_broker_that_is_gone() -> None:
    lost = rows(THREE, "lost")
    assert {row["topic"] for row in lost} == {"deposed", "unclean", "unclean-final"}
    last = [row for row in rows(THREE, "leaders") if row["moment"] == "end"][-1]["partitions"]
    for row in lost:
        place = (row["topic"], row["partition"])
        (hosts,) = (p["replicas"] for p in last if (p["topic"], p["partition"]) == place)
        still = {
            broker_id
            for broker_id in hosts
            for base, end, epoch in heads(THREE, broker_id, place)
            if epoch == row["leader_epoch"] and base <= row["last_offset"] and end >= row["first_offset"]
        }
        assert still == ({row["survives_on"]} if row["survives_on"] else set())


def test_three_brokers_left_a_stray_folder() -> None:
    assert {topic for _, topic, _, _, state in folders(THREE) if state == "stray"} == {"stray"}
