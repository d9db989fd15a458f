"""Real brokers' logs: what the rebuild makes of every hand-made commit is what its driver did and was
answered.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession

from fencepost import lake
from fencepost.capture import capture
from fencepost.rebuild import rebuild
from fencepost.settings import Settings, load

_KEY = ("group_id", "member_id", "client_id", "correlation_id", "topic", "partition", "committed_offset")
_STATED = (*_KEY, "topic_id", "api_key", "api_version", "client_epoch")


def _truth(state: Row) -> str:
    if state.client_epoch < 0:
        return "unfenced"
    if state.owned_at_client_epoch is None:
        return "unknown"
    if state.owned_at_client_epoch and state.reassigned_since:
        return "zombie"
    return "owner" if state.owned_at_client_epoch and state.uninterrupted else "not_owner"


def _differences(told: dict[str, Any], commit: Row | None, states: list[Row]) -> list[str]:
    if commit is None:
        return ["no row"]
    found = [f"{name}: {commit[name]!r}" for name in _STATED if commit[name] != told[name]]
    if commit.broker_error != told["error"]:
        found.append(f"answered {commit.broker_error}")
    if commit.broker_error == "NONE" and commit.record_offset is None:
        found.append("record not found")
    if commit.unknown_reason or not states:
        found.append(f"unknown: {commit.unknown_reason}")
    truths = {_truth(state) for state in states}
    if told["truth"] not in truths or (truths != {told["truth"]} and not told["racing"]):
        found.append(f"truth {truths}")
    owners = {state.owner_member_id for state in states}
    if owners != {told["owner_member_id"]} and not told["racing"]:
        found.append(f"owners {owners}")
    return found


def test_hand_made_commits(captures: Path, new_lake: Callable[[], tuple[SparkSession, Settings]]) -> None:
    """Each has its row, the broker's answer, the record it wrote, the state it met, and the truth."""
    spark, settings = new_lake()
    paths = sorted(captures.glob("*/fencepost.toml"))
    settings = replace(settings, clusters=tuple(cluster for path in paths for cluster in load(path).clusters))
    capture(spark, settings, "run")
    summary = rebuild(spark, settings, "run")
    rows = spark.table(lake.COMMITS.name).collect()
    commits = {(row.cluster, *(row[name] for name in _KEY)): row for row in rows}
    assert len(commits) == len(rows) == summary.commits
    states = defaultdict(list)
    for state in spark.table(lake.COMMIT_STATES.name).collect():
        states[state.commit_id].append(state)
    wrong, seen = [], 0
    for path in paths:
        (cluster,) = load(path).clusters
        for line in (path.parent / "ground_truth.jsonl").read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            commit = commits.get((cluster.name, *(told[name] for name in _KEY)))
            met = states[commit.commit_id] if commit else []
            wrong += [f"{cluster.name} {told['case']}: {text}" for text in _differences(told, commit, met)]
            seen += 1
    assert not wrong, "\n".join(wrong)
    assert seen > 100
    unknown = [row for row in rows if row.unknown_reason]
    assert len(unknown) < 0.02 * len(rows)
    _check_members(spark)


def _check_members(spark: SparkSession) -> None:
    """Every epoch is known, in the order the proposal promises."""
    members = spark.table(lake.MEMBERS.name)
    ordered = (
        "revocation_epoch < member_epoch and member_epoch <= target_assignment_epoch "
        "and target_assignment_epoch <= group_epoch"
    )
    assert members.count() > 100
    assert members.where(f"not coalesce({ordered}, false)").collect() == []
    assert spark.table(lake.COVERAGE.name).where("not covered").collect() == []
