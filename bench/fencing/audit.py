"""Steps of an audit over a generated cluster, in its own process, so that it can be measured.

    python bench/fencing/audit.py FOLDER {capture,audit,whole,check}

``audit`` is rebuild and judge, in a session as users have it; ``whole`` is all five steps, without those
that are done already. ``check`` compares every commit with the cluster's ``ground_truth.parquet``. Prints
one line of JSON: the cost and the summary of each step.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from coordinator import POLICIES
from run_steps import run_steps

from fencepost import lake, pipeline
from fencepost.gate import GateFailed
from fencepost.protocols.offset_commit.tables import COMMIT_STATES, COMMITS
from fencepost.tables import DECISIONS

STEPS = {
    "capture": ("capture",),
    "audit": ("rebuild", "judge"),
    "whole": tuple(pipeline.STEPS),
    "check": ("check",),
}
KEY = ("group_id", "client_id", "correlation_id", "topic", "partition")


def main() -> int:
    """Run the steps."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    if name == "whole":
        return run_steps(folder, {step: partial(_unless_done, step) for step in STEPS[name]})
    return run_steps(folder, {step: pipeline.STEPS.get(step, _check) for step in STEPS[name]})


def _unless_done(step: str, run: pipeline.Run) -> dict[str, Any]:
    with suppress(GateFailed):
        return run.step(step)
    return {}


def _check(run: pipeline.Run) -> dict[str, Any]:
    """The number of commits, and of answers, truths and decisions that differ from the ground truth."""
    # Arrow is loaded after the audit's own code, as for users
    from pyarrow import parquet

    truth = parquet.read_table(run.settings.folder / "ground_truth.parquet")
    truth = truth.rename_columns([name if name in KEY else f"told_{name}" for name in truth.column_names])
    with duckdb.connect() as connection:
        connection.register("told", truth)
        for name, table in (("commits", COMMITS), ("states", COMMIT_STATES), ("decided", DECISIONS)):
            connection.register(name, lake.scan(run.catalog, table))
        connection.execute(
            f"CREATE TABLE both_ AS SELECT c.commit_id, c.broker_error, c.unknown_reason, t.* "
            f"FROM commits c FULL JOIN told t USING ({', '.join(KEY)})"
        )
        # other protocols decide about the same commits
        named = ", ".join(f"'{decision}'" for decision in ("broker_rule", *POLICIES))
        expected = " ".join(f"WHEN decision = '{policy}' THEN told_{policy}" for policy in POLICIES)
        questions = {
            "answers": "SELECT count(*) FROM both_ WHERE broker_error IS DISTINCT FROM told_error",
            "unknown": "SELECT count(*) FROM both_ WHERE unknown_reason IS NOT NULL",
            "truths": f"SELECT count(*) FROM states JOIN both_ USING (commit_id) "
            f"WHERE ({_TRUTH}) IS DISTINCT FROM told_truth",
            "decisions": f"SELECT count(*) FROM decided JOIN both_ ON subject = commit_id "
            f"WHERE decision IN ({named}) AND (outcome = 'true') IS DISTINCT FROM "
            f"CASE WHEN decision = 'broker_rule' THEN told_error = 'NONE' {expected} END",
        }
        wrong = {name: _one(connection, query) for name, query in questions.items()}
        counted = {
            "commits": _one(connection, "SELECT count(*) FROM both_"),
            "states": _one(connection, "SELECT count(*) FROM states"),
            "decided": _one(connection, "SELECT count(*) FROM decided"),
        }
    return {**counted, "wrong": wrong}


_TRUTH = """
CASE WHEN client_epoch < 0 THEN 'unfenced' WHEN owned_at_client_epoch AND reassigned_since THEN 'zombie'
  WHEN owned_at_client_epoch AND uninterrupted THEN 'owner'
  WHEN owned_at_client_epoch IS NOT NULL THEN 'not_owner' END
"""


def _one(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


if __name__ == "__main__":
    sys.exit(main())
