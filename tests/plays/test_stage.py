"""Scripts: made from seeds, given on a real broker, made small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plays.making import make
from plays.oracles.case import Fault
from plays.script import Script, Step, read
from plays.shrink import shrink
from plays.stage import perform


def test_a_seed_makes_one_script(tmp_path: Path) -> None:
    script = make(5, 3)
    assert script == make(5, 3) != make(8, 3)
    script.write(tmp_path / "script.jsonl")
    assert read(tmp_path / "script.jsonl") == script


def test_seeds_make_all_kinds_of_steps_and_clusters() -> None:
    scripts = [make(seed, 15) for seed in range(40)]
    ops = {step["op"] for script in scripts for step in script.steps}
    assert ops >= {
        "clock",
        "write",
        "marker",
        "fence",
        "commit",
        "beat",
        "kround",
        "truncate",
        "restart",
        "copy",
        "cast",
        "down",
    }
    settings = [script.setting for script in scripts]
    assert {setting.release for setting in settings} == {"4.4.0", "4.3.1", "4.2.1", "3.9.2"}
    assert {setting.transaction_version for setting in settings} == {0, 1, 2}
    assert {setting.brokers for setting in settings} == {1, 3}
    assert {len(setting.ahead_s) for setting in settings} == {0, 1, 3}


@pytest.mark.live
def test_a_script_is_given_and_accounted_for(tmp_path: Path) -> None:
    """Every step is played on a real broker, and every request has its line with the same ids."""
    script = make(14, 2, 40, "4.3.1")
    performance = perform(
        script.of(step for step in script.steps if step["op"] != "sleep"), tmp_path / "stage"
    )
    events = [fact["event"] for fact in performance.facts]
    assert "step_failed" not in events and "lost" not in events
    assert events.count("answers") == 3
    asked = {(f["client"], f["correlation_id"]) for f in performance.facts if f["event"] == "request"}
    log = (tmp_path / "stage" / "broker-1" / "kafka-request.log").read_text().splitlines()
    headers = [json.loads(line[line.index("{") : line.rindex("}") + 1])["requestHeader"] for line in log]
    assert asked <= {(header["clientId"], header["correlationId"]) for header in headers}
    assert len(asked) > 60


def test_a_failure_is_made_small() -> None:
    """What needs two steps of one play is left with these two, in their order."""
    script = make(7, 3)
    steps: list[Step] = [
        *script.steps[:20],
        {"op": "a", "play": "p9"},
        *script.steps[20:],
        {"op": "b", "play": "p9"},
    ]

    def find(tried: Script) -> list[Fault]:
        ops: dict[str, list[str]] = {}
        for step in tried.steps:
            ops.setdefault(str(step.get("play")), []).append(step["op"])
        faulty = [label for label, told in ops.items() if "a" in told and "b" in told[told.index("a") :]]
        return [{"fault": "O2:x", "play": label} for label in faulty]

    *_, smallest = shrink(script.of(steps), "O2:x", find, 60, [])
    assert [step["op"] for step in smallest.steps] == ["a", "b"]
    first, *_ = shrink(script.of(steps), "O2:x", find, 60, ["p9"])
    assert [step["op"] for step in first.steps] == ["a", "b", "sleep"]


def test_tries_of_one_play_are_made_together() -> None:
    """What needs three steps of a long play is left with these three, after few scripts."""
    steps: list[Step] = [{"play": "p7", "op": str(number), "topic": "a-p7"} for number in range(60)]
    scripts = []

    def find(tried: Script) -> list[Fault]:
        scripts.append(tried)
        labels = {step["play"] for step in tried.steps}
        ops = {label: [s["op"] for s in tried.steps if s["topic"] == f"a-{label}"] for label in labels}
        wanted = ["3", "31", "58"]
        return [
            {"fault": "O3:x", "kafka": f"a-{label}:0"}
            for label, told in ops.items()
            if [op for op in told if op in wanted] == wanted
        ]

    *_, smallest = shrink(make(7, 1).of(steps), "O3:x", find, 60, ["p7"])
    assert [step["op"] for step in smallest.steps] == ["3", "31", "58"]
    assert len(scripts) < 25
