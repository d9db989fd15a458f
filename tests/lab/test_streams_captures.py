"""The stored captures of Kafka Streams: the observations of disks and applications are in the logs, and so
is a race.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from incarnation_evidence import rows
from record import CAPTURES, STORED

FOLDERS = [CAPTURES / f"streams-{version}" for version in STORED["streams"]]
FIXED, RACED, SAFE = FOLDERS
"""In 4.3 the age of a task directory is not that of its last use; from 4.4 it is again (KAFKA-20805)."""

LOGGED, UNLOGGED, MIXED, STATELESS = "0_", "1_", "2_", "3_"
"""The subtopologies of ``java/StreamsApp.java``, as task ids begin."""

_DELETED = re.compile(r"\[?(\S+ \S+?)\]? .*Deleting obsolete state directory \S+ for task (\d+_\d+) as")
_RELEASED = re.compile(r"\[?(\S+ \S+?)\]? .*StreamThread-1\] Released state dir lock for task (\d+_\d+)")
LAYOUT = "%Y-%m-%d %H:%M:%S,%f"


def told(folder: Path, what: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / what).read_text())
    return rows


def entries(folder: Path, place: str, pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """Time and task of the lines of one instance's logs, which are those of its restarts, too."""
    return [
        (found[1], found[2])
        for log in sorted(folder.glob(f"clients/{place}*.log"))
        for found in map(pattern.match, log.read_text().splitlines())
        if found
    ]


def delays(folder: Path) -> list[float]:
    """Seconds from the last release of a task's directory to its deletion, of the application ``race``."""
    found = []
    for place in ("race-a", "race-b"):
        released = entries(folder, place, _RELEASED)
        for at, task in entries(folder, place, _DELETED):
            before = [when for when, its in released if its == task and when < at]
            if before:  # a task without stores never locks its directory, nor releases it
                found.append((_time(at) - _time(max(before))).total_seconds())
    return found


def _time(text: str) -> datetime:
    return datetime.strptime(text, LAYOUT)  # one clock


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_what_went_from_the_disk_is_in_the_log_of_its_instance(folder: Path) -> None:
    cleaned = Counter(
        (row["client_id"], row["task_id"]) for row in rows(folder, "directory") if row["event"] == "deleted"
    )
    assert cleaned
    logged: Counter[tuple[str, str]] = Counter()
    for log in folder.glob("clients/*.log"):
        place = re.sub(r"-\d+$", "", log.stem)
        found = re.findall(r"Deleting obsolete state directory \S+ for task (\d+_\d+) as", log.read_text())
        logged.update((place, task) for task in found)
    assert logged == cleaned
    assert not [place for place, _ in cleaned if place.startswith("steady")], "its cleaner waits ten minutes"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_lag_reports_are_of_the_processes_and_name_logged_stores_alone(folder: Path) -> None:
    processes = {row["client_id"]: row["process_id"] for row in rows(folder, "process")}
    reports = told(folder, "lag_reports.json")
    for row in reports:
        place = row["client_id"].removesuffix("-StreamThread-1-consumer")
        assert row["report"]["process_id"] == processes[place]
        assert {task[:2] for task in row["report"]["task_offset_sums"]} <= {LOGGED, MIXED}
    sums = {total for row in reports for total in row["report"]["task_offset_sums"].values()}
    assert -2 in sums, "a running active task"
    assert any(total > 0 for total in sums), "a directory on disk, or a standby"
    assert {row["group_id"] for row in reports} == {"race", "steady", "fixed"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_applications_have_the_tasks_that_their_leader_gave_them(folder: Path) -> None:
    given = [row["assignment"] for row in told(folder, "assignments.json") if row["error_code"] == 0]
    assigned = {(tuple(a["active"]), tuple(a["standby"])) for a in given}
    for row in rows(folder, "streams"):
        # a task that is revoked elsewhere first is given in a later generation
        if row["event"] == "tasks" and row["tasks"]["active"] and not row["instance"].startswith("flow"):
            active = set(row["tasks"]["active"])
            assert any(active <= set(a) for a, _ in assigned), row


def test_a_directory_goes_sooner_than_the_delay_after_its_release() -> None:
    assert min(delays(RACED)) < 1.5
    assert min(delays(SAFE)) >= 1.5
    assert min(delays(FIXED)) >= 1.5
    # and its records are restored from the beginning
    again = [r for r in rows(RACED, "streams") if r["event"] == "restore_start" and r["instance"] == "race-a"]
    assert [r for r in again if r["start_offset"] == 0 and r["end_offset"] > 0]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_instances_stopped_and_came_back(folder: Path) -> None:
    seen = Counter((row["application_id"], row["event"]) for row in rows(folder, "application"))
    assert seen["race", "stopped"] == seen["race", "started"] == 3
    assert seen["steady", "killed"] == 1
    assert (seen["flow", "started"] > 0) == (folder != SAFE)
    moved = {row["event"] for row in rows(folder, "streams")}
    assert moved >= {"state", "tasks", "restore_start", "restore_end", "standby_loaded", "closing", "closed"}
