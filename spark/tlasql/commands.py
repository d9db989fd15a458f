"""``tlasql explain`` and ``tlasql diff``: compiled definitions over data on this machine."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tlasql.compiler import Compiled, CompiledModule
from tlasql.data import Data
from tlasql.dialect import DUCKDB
from tlasql.errors import Location, TlaSqlError, fail
from tlasql.explain import explanation
from tlasql.mapping import History, Whole
from tlasql.replay import confirm, exported, verdicts
from tlasql.tlc import TlcError, UnreadableError
from tlasql.trace import TooLargeError
from tlasql.window import state_columns, states_sql, variables_of, window

Row = Mapping[str, Any]
NOTHING, FOUND, UNJUDGED = 0, 1, 2


def explain_violations(compiled: CompiledModule, options: argparse.Namespace) -> int:
    """Judge the data, tell the first violations of each definition; 1 when there is any, or else 2 when the
    data of a definition cannot be judged.
    """
    data = Data(options.data, compiled.schemas)
    found, unjudged = NOTHING, False
    chosen = _chosen(compiled, options.only)
    for place, each in enumerate(chosen, start=1):
        _progress(f"judging {each.mark.id}, {place} of {len(chosen)}")
        try:
            rows = data.rows(each.sql, each.definition.location)
        except TlaSqlError as error:
            _progress("")
            print(error, file=sys.stderr)
            unjudged = True
            continue
        _progress("")
        violated = sorted((row for row in rows if row["verdict"] is False), key=_order)
        print(f"{each.mark.id}: {_counted(rows)}")
        found = FOUND if violated else found
        for number, row in enumerate(violated[: options.limit], start=1):
            around = window(compiled, each, row, data.rows, DUCKDB)
            print(f"\n{explanation(compiled, each, row, around)}")
            if options.confirm:
                print(_confirmed(compiled, each, around.states))
            if options.export is not None:
                print(_exported(compiled, each, around.states, options.export / f"{each.mark.id}_{number}"))
            print()
    return UNJUDGED if unjudged and found == NOTHING else found


def _chosen(compiled: CompiledModule, only: str | None) -> list[Compiled]:
    judged = [each for each in compiled.definitions if each.mark.kind != "decision"]
    chosen = [each for each in judged if only in (None, each.mark.id)]
    if not chosen:
        known = ", ".join(each.mark.id for each in judged)
        raise fail(Location(str(compiled.file), 1, 1), f"no invariant or step {only}", f"known are {known}")
    return chosen


def _counted(rows: Sequence[Row]) -> str:
    """Never "holds" where nothing was exercised or something is unknown."""
    violated = sum(row["verdict"] is False for row in rows)
    unknown = sum(row["verdict"] is None for row in rows)
    exercised = sum(bool(row["exercised"]) for row in rows)
    status = "violated" if violated else "unknown" if unknown else "holds" if exercised else "not exercised"
    return f"{status} ({len(rows)} checked, {exercised} exercised, {violated} violated, {unknown} unknown)"


def _order(row: Row) -> tuple[str, int, str]:
    return str(row["scope"]), row["from_position"] or 0, str(row["witness"])


def _confirmed(compiled: CompiledModule, each: Compiled, states: Sequence[Row]) -> str:
    try:
        outcome = confirm(compiled, each, states)
    except TooLargeError as error:
        return f"TLC cannot judge it: {error}, and the definition computes with them."
    except UnreadableError as error:
        return f"TLC cannot judge it, since it cannot read the module made for it:\n{error}"
    except TlcError as error:
        return f"TLC DISAGREES, it cannot evaluate it:\n{error}"
    return "TLC confirms it." if outcome.confirmed else f"TLC DISAGREES:\n{outcome.module}\n{outcome.output}"


def _exported(compiled: CompiledModule, each: Compiled, states: Sequence[Row], folder: Path) -> str:
    try:
        files = exported(compiled, each, states)
    except TooLargeError as error:
        return f"It cannot be written for TLC: {error}, and the definition computes with them."
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return f"{len(states)} states in {folder}; there: java -cp tla2tools.jar tlc2.TLC Replay"


def differences(compiled: CompiledModule, options: argparse.Namespace) -> int:
    """Judge the same states by SQL and by TLC; 1 when a known verdict differs."""
    data = Data(options.data, compiled.schemas)
    judged = [
        each for each in compiled.definitions if each.mark.kind != "decision" and _stateful(compiled, each)
    ]
    names = sorted({name for each in judged for name in variables_of(each)})
    mapped = tuple(
        v for v in (compiled.mapping.variables[n] for n in names) if isinstance(v, History | Whole)
    )
    columns = state_columns(compiled, mapped)
    rows = data.rows(states_sql(compiled, mapped, DUCKDB))
    rows = sorted(rows, key=lambda row: (str(_scope(compiled, row)), row["from_position"] or 0))[
        : options.states
    ]
    by_sql = {}
    for place, each in enumerate(judged, start=1):
        _progress(f"SQL: {place} of {len(judged)} definitions")
        by_sql[each.mark.id] = _by_scope(compiled, data.rows(each.sql, each.definition.location))
    steps = {each.mark.id for each in judged if each.mark.kind == "step"}
    ends = frozenset(n for n, pair in enumerate(pairwise(rows)) if not _adjacent(compiled, *pair))
    compared, unknown, stops, wrong = 0, 0, 0, []
    _progress(f"TLC: 0 of {len(rows)} states")
    states = [{name: row[column] for name, column in columns.items()} for row in rows]
    by_tlc = verdicts(
        compiled, judged, states, ends, lambda done: _progress(f"TLC: {done} of {len(rows)} states")
    )
    _progress("")
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
    return FOUND if wrong else NOTHING


def _progress(words: str) -> None:
    """One line that replaces itself, for whoever waits at a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{words}")
        sys.stderr.flush()


def _scope(compiled: CompiledModule, row: Row) -> tuple[Any, ...]:
    return tuple(row[column] for column in compiled.mapping.scope)


def _adjacent(compiled: CompiledModule, one: Row, other: Row) -> bool:
    return _scope(compiled, one) == _scope(compiled, other) and one["to_position"] == other["from_position"]


def _stateful(compiled: CompiledModule, each: Compiled) -> bool:
    return all(isinstance(compiled.mapping.variables.get(n), History | Whole) for n in variables_of(each))


def _by_scope(compiled: CompiledModule, rows: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        inner = json.loads(row["scope"])
        found[(row["cluster"], *(inner[column] for column in compiled.mapping.scope[1:]))].append(row)
    return found


def _verdict(rows: Sequence[Row], position: int, step: bool) -> bool | None:
    found = [row["verdict"] for row in rows if _about(row, position, step)]
    return False if False in found else None if None in found else True


def _about(row: Row, position: int, step: bool) -> bool:
    begin, end = row["from_position"], row["to_position"]
    if step and row["verdict"] is not None:
        return bool(begin == position)
    return (begin is None or begin <= position) and (end is None or position < end)
