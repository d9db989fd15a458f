"""The stored captures are whole, and their request logs say what their drivers were told."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import cases
import pytest
from evidence import disagreements, ground_truth
from record import CAPTURES, STORED, VERSIONS

FOLDERS = [CAPTURES / f"{scenario}-{version}" for scenario in STORED for version in VERSIONS]
LIMIT_BYTES = 4_000_000

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


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_capture_is_whole(folder: Path) -> None:
    cluster = tomllib.loads((folder / "fencepost.toml").read_text())["clusters"][0]
    for broker in cluster["brokers"]:
        (log_dir,) = (folder / d for d in broker["log_dirs"])
        assert (log_dir / "meta.properties").is_file()
        assert list(log_dir.glob("__cluster_metadata-0/*.log"))
        assert len(list(log_dir.glob("__consumer_offsets-*/*.log"))) > 1, (
            "a closed segment and the active one"
        )
        for pattern in (*broker["request_logs"], *broker["server_logs"]):
            assert all(log.stat().st_size for log in folder.glob(pattern))
            assert list(folder.glob(pattern)), pattern
    for client in cluster["clients"]:
        assert '"name":' in (folder / client["logs"][0]).read_text()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_request_log_shows_every_hand_made_commit(folder: Path) -> None:
    assert ground_truth(folder)
    assert disagreements(folder) == []


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


def test_captures_are_small() -> None:
    assert sum(f.stat().st_size for f in CAPTURES.rglob("*") if f.is_file()) < LIMIT_BYTES
