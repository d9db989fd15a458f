"""User data of Kafka Streams' assignor reads as Kafka's own classes of 4.3.1 wrote and read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fencepost.protocols.lag_report.assignor_data import assignments, reports

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "golden" / "assignor.jsonl").read_text(encoding="utf-8").splitlines()
]
REPORTS = [case for case in CASES if case["record"] == "SubscriptionInfoData"]
ASSIGNMENTS = [case for case in CASES if case["record"] == "AssignmentInfo"]


def what(case: dict[str, Any]) -> str:
    return str(case["what"])


@pytest.mark.parametrize("case", REPORTS, ids=what)
def test_a_report_is_what_kafka_read(case: dict[str, Any]) -> None:
    (report,) = reports([bytes.fromhex(case["hex"])])
    assert report is not None
    assert (report.version, report.process_id) == (case["version"], case["process_id"])
    assert report.latest_supported_version == (None if report.version < 3 else 11)
    assert {str(task): offset_sum for task, offset_sum in report.offset_sums.items()} == case["offset_sums"]


@pytest.mark.parametrize("case", ASSIGNMENTS, ids=what)
def test_an_assignment_is_what_kafka_read(case: dict[str, Any]) -> None:
    (assignment,) = assignments([bytes.fromhex(case["hex"])])
    assert assignment is not None
    assert assignment.version == case["version"]
    assert sorted(map(str, assignment.active)) == case["active_tasks"]
    assert sorted(map(str, assignment.standby)) == case["standby_tasks"]
    assert assignment.error_code == case["error_code"]
    assert assignment.next_rebalance_ms == case["next_rebalance_ms"]


def test_every_version_is_here() -> None:
    for cases in (REPORTS, ASSIGNMENTS):
        assert [case["version"] for case in cases] == list(range(1, 12))


@pytest.mark.parametrize("case", CASES, ids=what)
def test_cut_anywhere_it_is_none(case: dict[str, Any]) -> None:
    read = reports if case in REPORTS else assignments
    data = bytes.fromhex(case["hex"])
    assert read([data[:size] for size in range(len(data))]) == [None] * len(data)


def test_a_version_that_no_release_writes_is_none() -> None:
    for case, read in ((REPORTS[-1], reports), (ASSIGNMENTS[-1], assignments)):
        data = bytes.fromhex(case["hex"])
        for version in (0, 12, -1, 1 << 16):
            assert read([version.to_bytes(4, "big", signed=True) + data[4:], None, b""]) == [None] * 3
