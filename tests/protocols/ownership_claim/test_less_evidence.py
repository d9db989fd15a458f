"""Removed evidence: known values of a case may become unknown, and never change."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

CASES = {path.stem: path for path in sorted(Path(__file__).with_name("cases").glob("*.json"))}
KEYS = {
    "group_generations": ("record_offset",),
    "ownership_claims": ("record_offset", "member_id", "topic", "partition"),
    "classic_assignments": ("record_offset", "member_id", "topic", "partition"),
}
NOT_STATE = {
    # intervals, and names of the evidence itself
    "cluster", "life", "from_position", "to_position", "from_time", "to_time",
    # the earliest or latest of the known lines
    "prepared_at", "joined_at", "rebalance_ms", "reason", "reason_source", "waited_for", "waited_ms",
    # null if there was no owner, and if it is not known
    "previous_owner",
    # why something is unknown
    "unknown_reason", "unknown_detail", "was_assigned_unknown",
}  # fmt: skip

Rows = Mapping[str, list[Mapping[str, Any]]]


def _less(name: str, case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The case without each of its batches and lines, and without random combinations of them.

    A record that compaction left is not lost; it may be unreadable.
    """
    chance = random.Random(name)
    newest = len(case["log"]) - 1
    ways: list[tuple[str, int]] = [("lost", at) for at in range(case.get("cleaned_to", 0), newest)]
    ways += [("unreadable", at) for at in range(newest) if not case["log"][at].get("lost")]
    ways += [("told", at) for at in range(len(case.get("told", ())))]
    ways += [("requests", at) for at in range(len(case.get("requests", ())))]
    for chosen in [[way] for way in ways] + [chance.sample(ways, k=min(3, len(ways))) for _ in range(15)]:
        less = copy.deepcopy(case)
        for how, at in chosen:
            if how in {"lost", "unreadable"}:
                less["log"][at][how] = True
        for how in ("told", "requests"):
            removed = {at for way, at in chosen if way == how}
            less[how] = [each for at, each in enumerate(case.get(how, ())) if at not in removed]
        yield less


@pytest.mark.parametrize("name", CASES)
def test_nothing_that_is_known_changes(
    name: str, replay_of: Callable[[dict[str, Any]], Rows], each_record: Callable[[Rows], Rows]
) -> None:
    """Rows are compared by their keys; a missing row counts as unknown."""
    case = json.loads(CASES[name].read_text(encoding="utf-8"))
    whole = each_record(replay_of(case))
    for less in _less(name, case):
        rows = each_record(replay_of(less))
        for table, key in KEYS.items():
            rows_before = {tuple(row[each] for each in key): row for row in whole[table]}
            for row in rows[table]:
                before = rows_before[tuple(row[each] for each in key)]
                known = {k: v for k, v in row.items() if v is not None and k not in NOT_STATE}
                assert known == {k: before[k] for k in known}, (less, row)


@pytest.mark.parametrize("name", CASES)
def test_no_join_met_another_state(name: str, replay_of: Callable[[dict[str, Any]], Rows]) -> None:
    """With fewer records and coordinator's lines, a join may have met more states, or unknown ones."""
    case = json.loads(CASES[name].read_text(encoding="utf-8"))
    states = _states(replay_of(case))
    for less in _less(name, {**case, "requests": []}):
        states_left = _states(replay_of({**less, "requests": case.get("requests", [])}))
        for request, now in states_left.items():
            for state in states.get(request, []):
                assert any(_agree(state, each) for each in now), (less, request)


def _states(rows: Rows) -> dict[str, list[Mapping[str, Any]]]:
    states: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows["group_join_states"]:
        states.setdefault(row["request_id"], []).append(row)
    return states


def _agree(state: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    fields = (
        "current_generation", "member_known", "instance_known", "instance_fenced", "protocols_supported",
    )  # fmt: skip
    return all(other[name] is None or state[name] is None or other[name] == state[name] for name in fields)
