"""Steps of an audit of rebalances over a generated group, in its own process, so that it can be measured.

    python bench/rebalances/rebalance_steps.py FOLDER {capture,rebuild,judge,check}

``rebuild`` and ``judge`` are for this protocol only: others read the same records. ``check`` compares silver
with the generator's ground truth, record by record and in both directions: by table, the rows that differ.
Prints one line of JSON: the cost and the summary of the step.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

sys.path.append(str(Path(__file__).resolve().parents[1] / "fencing"))

from run_steps import run_steps

from fencepost import lake, pipeline
from fencepost.definitions import queries
from fencepost.judge.engine import Engine
from fencepost.judge.run import run as judge_all
from fencepost.protocols.ownership_claim.protocol import PROTOCOL
from fencepost.protocols.ownership_claim.rebuild import group_replay
from fencepost.protocols.ownership_claim.tables import TABLES
from fencepost.replay.evidence import evidence
from fencepost.tables import BATCHES, RECORDS, REQUESTS

_ORDINARY = (
    "claimed_generation > greatest_claim_of_others AND assigned_to_self AND was_assigned "
    "AND claimed_generation = previous_generation"
)
_OF_EACH_RECORD = """
SELECT g.record_offset, r.* EXCLUDE (record_offset){replaced}
FROM {table} r JOIN group_generations g ON g.record_offset BETWEEN r.record_offset AND r.last_record_offset
WHERE {where}
"""
_LATER = "if(r.{0} >= 0, r.{0} + g.generation - r.generation, r.{0}) AS {0}"
_CLAIM_GENERATIONS = ("claimed_generation", "greatest_claim_of_others")
_JOINS = """
SELECT t.*, s.candidates, s.current_generation AS found_generation, s.member_known AS found_known
FROM truth_joins t LEFT JOIN (
  SELECT j.client_id, epoch_ms(j.requested_at) AS requested_ms, j.member_id, j.answered_member_id, j.error,
    j.response_generation, j.presented_generation, j.claims_held, any_value(j.candidates) AS candidates,
    list(m.current_generation) AS current_generation, list(m.member_known) AS member_known
  FROM group_joins j LEFT JOIN group_join_states m USING (request_id) GROUP BY ALL
) s USING (
  client_id, requested_ms, member_id, answered_member_id, error, response_generation, presented_generation,
  claims_held
)
"""


def main() -> int:
    """Run the step."""
    folder, step = Path(sys.argv[1]), sys.argv[2]
    return run_steps(folder, {step: STEPS[step]})


def rebuild(run: pipeline.Run) -> dict[str, int]:
    """Rebuild the tables of this protocol."""
    size = sum(lake.size(run.catalog, table) for table in (BATCHES, RECORDS, REQUESTS))
    engine = run.engine_for(size, "rebuild")
    rebuilt = PROTOCOL.rebuild(evidence(engine, run.catalog, run.settings, [group_replay()]))
    return {table.name: engine.replace(table, rebuilt[table.name]) for table in TABLES}


def judge(run: pipeline.Run) -> dict[str, Any]:
    """Judge the definitions of this protocol."""
    own = {table.name for table in TABLES}
    own_queries = [query for query in queries() if own.issuperset(query.tables)]
    with Engine.over(run.settings.lake, run.catalog) as engine:
        return vars(judge_all(engine, run.settings, own_queries))


def differences(run: pipeline.Run) -> dict[str, Any]:
    """By table, some of the rows that only the truth or only silver has; how many rows have how many claims;
    and for how many JoinGroups the state is known.
    """
    truth = run.settings.folder / "truth"
    counts = json.loads((truth / "counts.json").read_text())
    wrong: dict[str, Any] = {}
    with duckdb.connect() as connection:
        for table in TABLES:
            connection.register(table.name.removeprefix("silver."), lake.scan(run.catalog, table))
        for file in truth.glob("*.parquet"):
            connection.execute(f"CREATE VIEW truth_{file.stem} AS SELECT * FROM read_parquet('{file}')")
        whole = counts["whole"]
        columns = ", ".join(_LATER.format(name) for name in _CLAIM_GENERATIONS)
        tables = {
            "claims": _OF_EACH_RECORD.format(
                table="ownership_claims",
                replaced=f" REPLACE ({columns})",
                where="TRUE" if whole else f"NOT ({_ORDINARY.replace('claimed_', 'r.claimed_')})",
            ).replace("previous_generation", "r.previous_generation"),
            "assignments": _OF_EACH_RECORD.format(
                table="classic_assignments", replaced="", where="TRUE" if whole else "r.is_added"
            ),
            "generations": "SELECT *, len(members_without_partitions) AS without FROM group_generations",
        }
        for name, query in tables.items():
            names = ", ".join(f'"{each[0]}"' for each in connection.sql(f"DESCRIBE truth_{name}").fetchall())
            expected, rebuilt = f"SELECT {names} FROM truth_{name}", f"SELECT {names} FROM ({query})"
            for first, second, what in ((expected, rebuilt, "missing"), (rebuilt, expected, "more")):
                different = connection.sql(f"({first}) EXCEPT ALL ({second})").to_arrow_table()
                if different.num_rows:
                    wrong[f"{name}: {different.num_rows} {what}"] = different.slice(0, 3).to_pylist()
        rows = {}
        for name, table in (("claims", "ownership_claims"), ("assignments", "classic_assignments")):
            rows[name], records = connection.sql(f"SELECT count(*), sum(records) FROM {table}").fetchall()[0]
            if records != counts[name]:
                wrong[f"{name}: {records} in place of {counts[name]}"] = []
        joins = connection.sql(_JOINS).to_arrow_table().to_pylist()
    unlike = [each for each in joins if not _fits(each)]
    if unlike:
        wrong[f"joins: {len(unlike)} differ"] = unlike[:3]
    known = sum(each["candidates"] == 1 for each in joins)
    return {"wrong": wrong, "rows": rows, "counts": counts, "joins": len(joins), "known": known}


def _fits(join: dict[str, Any]) -> bool:
    """Whether one of the possible states of a JoinGroup is the true one; null matches any."""
    if join["candidates"] is None:
        return False
    candidates = zip(join["found_generation"], join["found_known"], strict=True)
    return join["candidates"] == 0 or any(
        generation in {None, join["current_generation"]} and known in {None, join["member_known"]}
        for generation, known in candidates
    )


STEPS: dict[str, Callable[[pipeline.Run], Any]] = {
    "capture": pipeline.STEPS["capture"],
    "rebuild": rebuild,
    "judge": judge,
    "check": differences,
}


if __name__ == "__main__":
    sys.exit(main())
