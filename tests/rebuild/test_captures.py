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
    if commit.outcome and told.get("outcome") and commit.outcome != told["outcome"]:
        found.append(f"became {commit.outcome}")
    truths = {_truth(state) for state in states}
    if truths and not truths & {told["truth"], "unknown"}:
        found.append(f"truth {truths}")
    owners = {state.owner_member_id for state in states}
    if owners and told["owner_member_id"] not in owners:
        found.append(f"owners {owners}")
    return found


def _unknown(told: dict[str, Any], commit: Row | None, states: list[Row]) -> bool:
    """Whether anything that the driver knows of its commit is not told by the logs."""
    truths = {_truth(state) for state in states}
    unsure = truths != {told["truth"]} and not told["racing"]
    return commit is not None and (commit.unknown_reason is not None or unsure)


def test_hand_made_commits(captures: Path, new_lake: Callable[[], tuple[SparkSession, Settings]]) -> None:
    """Each has its row, the broker's answer, the record it wrote, the state it met, and the truth."""
    spark, settings = new_lake()
    paths = sorted(captures.glob("*/fencepost.toml"))
    settings = replace(settings, clusters=tuple(cluster for path in paths for cluster in load(path).clusters))
    capture(spark, settings, "run")
    summary = rebuild(spark, settings, "run")
    rows = spark.table(lake.COMMITS.name).collect()
    commits = {(row.cluster, *(row[name] for name in _KEY)): row for row in rows}
    assert len(commits) == len(rows) == summary["silver.offset_commits"]
    states = defaultdict(list)
    for state in spark.table(lake.COMMIT_STATES.name).collect():
        states[state.commit_id].append(state)
    wrong, seen, unknown = [], 0, 0
    for path in paths:
        (cluster,) = load(path).clusters
        for line in (path.parent / "ground_truth.jsonl").read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            commit = commits.get((cluster.name, *(told[name] for name in _KEY)))
            met = states[commit.commit_id] if commit else []
            wrong += [f"{cluster.name} {told['case']}: {text}" for text in _differences(told, commit, met)]
            # what compaction took is not there to be known, and who is no coordinator knows nothing
            if not cluster.name.startswith("compacted") and told["error"] != "NOT_COORDINATOR":
                seen += 1
                unknown += _unknown(told, commit, met)
    assert unknown <= 0.02 * seen
    assert not wrong, "\n".join(wrong)
    _check_members(spark)


def _check_members(spark: SparkSession) -> None:
    """Every epoch that is known is in the order the proposal promises."""
    members = spark.table(lake.MEMBERS.name)
    ordered = (
        "revocation_epoch < member_epoch and member_epoch <= target_assignment_epoch "
        "and target_assignment_epoch <= group_epoch"
    )
    assert members.count() > 1000
    assert members.where(f"not coalesce({ordered}, true)").collect() == []
    unknown = members.where(f"({ordered}) is null")
    # before the first target assignment is written, and where compaction took the beginning
    assert (
        unknown.where("target_assignment_epoch is not null and cluster not like 'compacted%'").collect() == []
    )
    assert spark.table(lake.COVERAGE.name).where("not covered").collect() == []
