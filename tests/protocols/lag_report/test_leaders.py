"""Lags in leaders' logs, written by hand; and long lines that no leader wrote."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fencepost.protocols.lag_report.instance_logs import InstanceLog
from fencepost.protocols.lag_report.leaders import Decisions

ASSIGNMENTS = (
    "{m1=Assignment(partitions=[t-0], userDataSize=9), m2=Assignment(partitions=[t-1], userDataSize=9)}"
)


def process(name: str, active: str = "", standby: str = "", sums: str = "", lags: str = "") -> str:
    """A process as ClientState prints it."""
    return (
        f"{name}=[activeTasks: ([{active}]) standbyTasks: ([{standby}]) prevActiveTasks: ([]) "
        f"prevStandbyTasks: ([]) changelogOffsetTotalsByTask: ([{sums}]) taskLagTotals: ([{lags}]) "
        "clientTags: ([]) capacity: 1 assigned: 1]"
    )


def line(event: str, **fields: Any) -> dict[str, Any]:
    return {"event": event, "thread": "a-StreamThread-1", "told": None, "generation": None, **fields}


def decided(*processes: str, event: str = "decided", more: tuple[dict[str, Any], ...] = ()) -> Decisions:
    lines = [
        line("configured", told='{"num.standby.replicas": "0"}'),
        line("joined", generation=3),
        *more,
        line(event, thread=None, told="{" + ", ".join(processes) + "}"),
        line("finished_assignment", generation=3, told=ASSIGNMENTS),
    ]
    return Decisions.of([InstanceLog("c", "a", "a", "app", lines)])


def end(decisions: Decisions, task: str = "0_0") -> int | None:
    decision = decisions.of_member(3, "m1")
    assert decision is not None
    return decision.end_offset_sum(task)


@pytest.mark.parametrize(
    ("processes", "expected"),
    [
        ([process("a", sums="0_0=40", lags="0_0=7")], 47),
        ([process("a", sums="0_0=-2", lags="0_0=-2")], None),  # the process that runs it has no lag
        ([process("a", sums="0_0=-2", lags="0_0=-2"), process("b", lags="0_0=47")], 47),
        # 10 reported, lag 4: the end is 14, or it is 4; a process that reports nothing decides
        ([process("a", sums="0_0=10", lags="0_0=4"), process("b", lags="0_0=4")], 4),
        ([process("a", sums="0_0=10", lags="0_0=4"), process("b", lags="0_0=14")], 14),
        ([process("a", sums="0_0=10", lags="0_0=4")], 14),  # else ClientState had warned
        # impossible values are not taken
        ([process("a", lags="0_0=4"), process("b", lags="0_0=5")], None),
        ([process("a", sums=f"0_0={2**63 - 1}", lags=f"0_0={2**63 - 1}")], None),
        ([process("a", lags=f"0_0={2**63 - 1}")], 2**63 - 1),
        ([process("a", sums="0_0=5", lags="0_0=99999999999999999999")], None),
        ([process("a", sums="top__0_0=1", lags="top__0_0=2")], None),
    ],
)
def test_an_end_follows_from_lags(processes: list[str], expected: int | None) -> None:
    assert end(decided(*processes)) == expected


def test_a_leader_warns_of_a_sum_past_the_end() -> None:
    warned = line("sum_past_end", task_id="0_0", changelog_offset=4, records=10)
    assert end(decided(process("a", sums="0_0=10", lags="0_0=4"), more=(warned,))) == 4


def test_the_lag_is_of_the_report_that_the_leader_took() -> None:
    decision = decided(process("a", sums="0_0=40", lags="0_0=7")).of_member(3, "m2")
    assert decision is not None
    assert decision.lag("a", "0_0", 40) == 7
    assert decision.lag("a", "0_0", 39) is None
    assert decision.lag("b", "0_0", 40) is None


def test_the_use_of_a_standby_task() -> None:
    one = process("a", active="0_1", standby="0_0", lags="0_0=7")
    for event, expected in (("decided", "replica"), ("decided_to_probe", "warmup")):
        decision = decided(one, event=event).of_member(3, "m1")
        assert decision is not None
        assert decision.standby_as("a", "0_0") == expected
        assert decision.standby_as("a", "0_1") == "handover"
        assert decision.standby_as("a", "0_2") is None
        assert decision.standby_as(None, "0_0") is None


def test_a_decision_is_of_its_generation_its_members_and_its_process() -> None:
    decisions = decided(process("a", lags="0_0=4"))
    assert decisions.of_member(2, "m1") is None
    assert decisions.of_member(3, "m") is None
    lines = [
        line("joined", generation=3),
        line("decided", thread=None, told="{" + process("a", lags="0_0=4") + "}"),
    ]
    finished = line("finished_assignment", generation=3, told=ASSIGNMENTS)
    for between in (None, line("version"), line("joined", generation=3)):
        log = InstanceLog("c", "a", "a", "app", [*lines, between, finished])
        assert Decisions.of([log]).of_member(3, "m1") is None
    lost = [None, *lines[1:], finished]
    assert Decisions.of([InstanceLog("c", "a", "a", "app", lost)]).of_member(3, "m1") is None


@pytest.mark.parametrize(
    "text",
    [
        "a" * 500_000,
        "a=[activeTasks: ([" * 30_000,
        (process("a") + "=[") * 3000,
        process("a", sums="=" * 400_000),
        "",
    ],
)
def test_a_long_line_takes_no_long_time(text: str) -> None:
    begun = time.process_time()
    decided(text)
    assert time.process_time() - begun < 2
