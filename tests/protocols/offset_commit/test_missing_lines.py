"""A request log may lack lines, and nothing need tell so. What is told without a line is what is told with
all of them, or unknown.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from fencepost import protocols
from fencepost.definitions import Query, queries
from fencepost.protocols.offset_commit.replay import replay
from fencepost.protocols.offset_commit.tables import COMMIT_STATES, COMMITS

TOLERANCE_MS = 5
TOLD_APART = {"same_commits": {3, 4}, "not_the_coordinator": {2, 4, 5}}
"""Of equal commits that compete for a record one is missing: the other one has it."""
AGREED = {"answers": {13}}
"""A commit was accepted, and only this line shows that its member may have joined again before."""
LACKING = {"join_missing": {13}}
"""The case lacks a line already. Without this one nothing is known of the member."""
EXCEPT = TOLD_APART | AGREED | LACKING

Case = dict[str, Any]
Told = dict[tuple[str, str], Any]
"""(Definition, number and partition of a commit) -> verdict or outcome; None if unknown."""


def test_a_missing_line_makes_values_unknown(cases: dict[str, Case], decode: Callable[..., Any]) -> None:
    """Each case is judged without each of its lines."""
    less = {(name, at): each for name, case in cases.items() for at, each in _less(name, case)}
    given = cases | {f"{name} {at}": each for (name, at), each in less.items()}
    told = _told({cluster: replay(*decode(cluster, case), TOLERANCE_MS) for cluster, case in given.items()})
    wrong, same, unknown = [], 0, 0
    for name, at in less:
        whole = told[name]
        for key, value in told[f"{name} {at}"].items():
            same += value is not None and value == whole[key]
            unknown += value is None and whole[key] is not None
            if value is not None and value != whole[key]:
                wrong.append((name, at, *key, whole[key], value))
    assert not wrong, f"{len(wrong)}: {wrong[:20]}"
    # both sides of the claim were met
    assert same > 10_000
    assert unknown > 500


def _less(name: str, case: Case) -> Iterator[tuple[int, Case]]:
    """The case without each of its lines; the others keep their numbers."""
    requests = [{"number": number, **each} for number, each in enumerate(case["requests"])]
    for at in range(len(requests)):
        if at not in EXCEPT.get(name, ()):
            yield at, {**case, "requests": requests[:at] + requests[at + 1 :]}


def _told(replays: Mapping[str, Mapping[str, pa.Table]]) -> dict[str, Told]:
    """What the compiled definitions say of the commits of many replays; each is a cluster."""
    connection = _lake(replays)
    names = {
        row["commit_id"]: (cluster, f"{row['correlation_id']} {row['partition_key']}")
        for cluster, each in replays.items()
        for row in each[COMMITS.name].to_pylist()
    }
    found: dict[str, Told] = defaultdict(dict)
    for query in queries():
        if not any(table.name in query.sql for table in (COMMITS, COMMIT_STATES)):
            continue
        if not query.decides:
            # a definition that holds of a commit has no row for it
            for cluster, commit in names.values():
                found[cluster] |= {(each.id, commit): True for each in query.definitions}
        for commit_id, definition, value in _values(connection, query):
            cluster, commit = names[commit_id]
            found[cluster][definition, commit] = value
    return found


def _lake(replays: Mapping[str, Mapping[str, pa.Table]]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA silver")
    for table in protocols.tables():
        if table.name.startswith("silver."):
            written = replays.values() if table in (COMMITS, COMMIT_STATES) else ()
            rows = pa.concat_tables(
                [table.arrow_schema.empty_table(), *(each[table.name] for each in written)]
            )
            connection.register("rows", rows)
            connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM rows")
    return connection


def _values(connection: duckdb.DuckDBPyConnection, query: Query) -> Iterator[tuple[str, str, Any]]:
    for row in connection.sql(query.sql).to_arrow_table().to_pylist():
        if query.decides:
            yield row["subject"], row["definition"], row["outcome"]
        elif row["witness"] is not None:
            (commit_id,) = json.loads(row["witness"]).values()
            yield commit_id, row["definition"], row["verdict"]
