"""What the compiled decisions say of the commits of hand-written cases: ``decisions`` in ``cases/*.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import yaml

from fencepost.definitions import queries
from fencepost.protocols.offset_commit.brokers import ASSIGNMENT_EPOCH, GENERATION, NONE_ACCEPTED, STRICT
from fencepost.protocols.offset_commit.tables import COMMIT_STATES, COMMITS
from fencepost.replay.group_coordinator.records import EPOCH_TYPES

CASES = Path(__file__).parent / "cases"
MART = Path(__file__).resolve().parents[3] / "dbt" / "models" / "offset_commit" / "fct_offset_commits.yml"
NAMES = [
    path.stem for path in sorted(CASES.glob("*.json")) if "decisions" in json.loads(path.read_text("utf-8"))
]

Rows = dict[str, list[SimpleNamespace]]


@pytest.mark.parametrize("name", NAMES)
def test_decisions(name: str, cases: dict[str, dict[str, Any]], replayed: dict[str, Rows]) -> None:
    told = cases[name]["decisions"]
    assert {decision: dict(_decided(decision, replayed[name])) for decision in told} == told


def _decided(decision: str, rows: Rows) -> Iterator[tuple[str, Any]]:
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA silver")
    for table in (COMMITS, COMMIT_STATES):
        given = pa.Table.from_pylist(list(map(vars, rows[table.name])), table.arrow_schema)
        connection.register("given", given)
        connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM given")
    (query,) = (each for each in queries() if decision in [one.id for one in each.definitions])
    commits = {row.commit_id: row for row in rows[COMMITS.name]}
    for outcome in connection.sql(query.sql).to_arrow_table().to_pylist():
        if outcome["definition"] != decision:
            continue
        yield str(commits[outcome["subject"]].committed_offset), outcome["outcome"]


def test_the_mart_takes_every_kind_of_group_and_every_rule() -> None:
    """A value that a mart does not list ends the audit, as the kind of a share group once did."""
    columns = yaml.safe_load(MART.read_text("utf-8"))["models"][0]["columns"]
    values = {each["name"]: each.get("config", {}).get("meta", {}).get("values") for each in columns}
    assert set(values["protocol"]) == {*EPOCH_TYPES.values()}
    assert set(values["rule"]) == {GENERATION, STRICT, ASSIGNMENT_EPOCH, NONE_ACCEPTED}
