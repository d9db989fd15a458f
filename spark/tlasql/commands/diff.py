"""``tlasql diff``: judges states of data on this machine by SQL and by TLC, and lists differences."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tlasql.commands.contradictions import check_rows
from tlasql.commands.data import Data
from tlasql.commands.progress import progress
from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.mapping.model import History, Whole
from tlasql.replay.confirm import computes, verdicts
from tlasql.replay.trace import TooLargeError
from tlasql.replay.window import state_columns, states_sql, variables_of
from tlasql.sql.duckdb import DUCKDB

Row = Mapping[str, Any]
SAME, DIFFERENT, UNJUDGED = 0, 1, 2


def differences(compiled: CompiledModule, options: argparse.Namespace) -> int:
    """Judge the same states by SQL and by TLC; 1 when a known verdict differs, or else 2 when nothing is
    compared, or TLC cannot judge a definition.
    """
    data = Data(options.data, compiled.schemas)
    check_rows(data, compiled.mapping)
    judged = [
        each for each in compiled.definitions if each.mark.kind != "decision" and _stateful(compiled, each)
    ]
    beside = ", ".join(each.mark.id for each in compiled.definitions if each not in judged)
    if beside:
        print(f"not compared, since rows of records make up no state: {beside}", file=sys.stderr)
    names = sorted({name for each in judged for name in variables_of(each)})
    mapped = tuple(
        v for v in (compiled.mapping.variables[n] for n in names) if isinstance(v, History | Whole)
    )
    columns = state_columns(compiled, mapped)
    rows = data.rows(states_sql(compiled, mapped, DUCKDB)) if mapped else []
    rows = sorted(rows, key=lambda row: (str(_scope(compiled, row)), row["from_position"] or 0))[
        : options.states
    ]
    by_sql = {}
    for place, each in enumerate(judged, start=1):
        progress(f"SQL: {place} of {len(judged)} definitions")
        by_sql[each.mark.id] = _by_scope(compiled, data.rows(each.sql, each.definition.location))
    steps = {each.mark.id for each in judged if each.mark.kind == "step"}
    ends = frozenset(n for n, pair in enumerate(pairwise(rows)) if not _adjacent(compiled, *pair))
    compared, unknown, stops, wrong = 0, 0, 0, []
    progress(f"TLC: 0 of {len(rows)} states")
    states = [{name: row[column] for name, column in columns.items()} for row in rows]

    def asked(definitions: Sequence[Compiled]) -> dict[tuple[str, int], bool | None]:
        def told(done: int) -> None:
            progress(f"TLC: {done} of {len(rows)} states")

        return verdicts(compiled, definitions, states, ends, told)

    left: list[Compiled] = []
    try:
        by_tlc = asked(judged)
    except TooLargeError as error:
        left = [each for each in judged if computes(each)]
        progress("")
        ids = ", ".join(each.mark.id for each in left)
        print(f"not compared, since they compute with integers and {error}: {ids}", file=sys.stderr)
        rest = [each for each in judged if each not in left]
        by_tlc = asked(rest) if rest else {}
    progress("")
    for (identity, index), oracle in by_tlc.items():
        scope, position = _scope(compiled, rows[index]), rows[index]["from_position"]
        verdict = _verdict(by_sql[identity].get(scope, []), position, identity in steps)
        compared += 1
        unknown += verdict is None
        stops += oracle is None
        if verdict is not None and verdict is not oracle:
            words = "stops" if oracle is None else oracle
            wrong.append(f"{identity} {scope} position {position}: SQL {verdict}, TLC {words}")
    for line in wrong:
        print(line)
    summary = f"{compared} verdicts compared, {len(wrong)} differ, {unknown} unknown to SQL"
    print(f"{summary}; TLC stops at {stops}" if stops else summary)
    if not compared and not left:
        print(
            "nothing was compared: the data has no state of what these definitions speak of", file=sys.stderr
        )
    return DIFFERENT if wrong else UNJUDGED if left or not compared else SAME


def _scope(compiled: CompiledModule, row: Row) -> tuple[Any, ...]:
    return tuple(row[column] for column in compiled.mapping.scope)


def _adjacent(compiled: CompiledModule, one: Row, other: Row) -> bool:
    return _scope(compiled, one) == _scope(compiled, other) and one["to_position"] == other["from_position"]


def _stateful(compiled: CompiledModule, each: Compiled) -> bool:
    return all(isinstance(compiled.mapping.variables.get(n), History | Whole) for n in variables_of(each))


def _by_scope(compiled: CompiledModule, rows: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    first, *others = compiled.mapping.scope
    for row in rows:
        inner = json.loads(row["scope"])
        found[(row[first], *(inner[column] for column in others))].append(row)
    return found


def _verdict(rows: Sequence[Row], position: int, step: bool) -> bool | None:
    found = [row["verdict"] for row in rows if _about(row, position, step)]
    return False if False in found else None if None in found else True


def _about(row: Row, position: int, step: bool) -> bool:
    begin, end = row["from_position"], row["to_position"]
    if step and row["verdict"] is not None:
        return bool(begin == position)
    return (begin is None or begin <= position) and (end is None or position < end)
