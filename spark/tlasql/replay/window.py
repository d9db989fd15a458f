"""The states around a verdict, as whole values: a person is shown them, and TLC judges them again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.lang.ir import Variable, walk
from tlasql.lang.source import cited
from tlasql.mapping.model import INTERVAL, History, Whole
from tlasql.plan.clauses import Clause
from tlasql.plan.frames import Frame, RecordFrame, StateFrame
from tlasql.sql import tree
from tlasql.sql.dialect import Dialect
from tlasql.sql.rows import Names
from tlasql.sql.whole_values import whole_values

LONGEST = 50
"""States a window has at most."""

Rows = Callable[[str], list[Mapping[str, Any]]]
"""Runs a SELECT and gives its rows, values as :mod:`tlasql.replay.trace` has them."""


@dataclass(frozen=True)
class Window:
    """``states``: successive states, the last one that of the verdict; ``positions``: where each begins."""

    states: list[Mapping[str, Any]]
    positions: list[int | None]


def window(
    compiled: CompiledModule, definition: Compiled, verdict: Mapping[str, Any], run: Rows, dialect: Dialect
) -> Window:
    """The states up to the one of a verdict; variables that the definition does not mention are None.

    ``verdict``: its row, of which the first column of the scope, scope, witness, from_position and
    failed_conjunct are read.
    """
    frame, names = frame_of(definition, verdict), variables_of(definition)
    others = dict.fromkeys(names)  # not known: a verdict on one set of records says nothing of another
    if isinstance(frame, RecordFrame):
        found = _record_window(compiled, frame, verdict, run, dialect)
        return replace(found, states=[{**others, **state} for state in found.states])
    variables = [compiled.mapping.variables[name] for name in names]
    mapped = tuple(each for each in variables if isinstance(each, History | Whole))
    columns = state_columns(compiled, mapped)
    rows = run(states_sql(compiled, mapped, dialect, verdict))
    rows = sorted(rows, key=lambda row: (row["from_position"] is not None, row["from_position"]))
    rows = _unbroken(rows, 2 if definition.mark.kind == "step" else 1)
    states: list[Mapping[str, Any]] = [
        {**others, **{name: row[column] for name, column in columns.items()}} for row in rows
    ]
    return Window(states, [row["from_position"] for row in rows])


def frame_of(definition: Compiled, verdict: Mapping[str, Any]) -> Frame:
    """The frame a verdict comes from: of several, the one with the conjunct that the verdict cites."""
    for frame in definition.frames:
        if verdict["failed_conjunct"] in map(cited, frame.conjuncts):
            return frame
    return definition.frames[0]


def state_columns(compiled: CompiledModule, variables: tuple[History | Whole, ...]) -> dict[str, str]:
    """Variable -> the column of ``states_sql`` that has its value."""
    names = Names((*compiled.mapping.scope, *INTERVAL, "evidence"))
    return {each.name: names.add(each.name) for each in variables}


def _unbroken(rows: list[Mapping[str, Any]], needed: int) -> list[Mapping[str, Any]]:
    """The last rows, back to the first hole; the last ``needed`` whatever lies between them."""
    first = max(len(rows) - needed, 0)
    while first > 0 and rows[first - 1]["to_position"] == rows[first]["from_position"]:
        first -= 1
    return rows[first:]


def variables_of(definition: Compiled) -> list[str]:
    """The variables that a definition mentions."""
    if definition.mark.kind == "decision":
        return sorted({each.name for each in walk(definition.body) if isinstance(each, Variable)})
    return list(definition.variables)


def states_sql(
    compiled: CompiledModule,
    variables: tuple[History | Whole, ...],
    dialect: Dialect,
    verdict: Mapping[str, Any] | None = None,
) -> str:
    """Whole states of every scope, or at most LONGEST of one scope up to the position of a verdict."""
    mapping = compiled.mapping
    names = state_columns(compiled, variables)
    ctes = whole_values(StateFrame(variables, Clause((), (), ()), stepped=False), mapping, dialect, names, "")
    columns: list[exp.Expr] = [tree.col(each) for each in (*mapping.scope, *INTERVAL, *names.values())]
    found = exp.select(*columns).from_(tree.table(ctes[-1][0]))
    if verdict is not None:
        found = found.where(tree.all_of(_in_scope(mapping.scope, verdict)))
        order = exp.Ordered(this=tree.col("from_position"), desc=True, nulls_first=False)
        found = found.order_by(order).limit(LONGEST)
    for name, select in ctes:
        found = found.with_(name, as_=select, copy=False)
    return dialect.printed(found)


def _in_scope(columns: tuple[str, ...], verdict: Mapping[str, Any]) -> list[exp.Expr]:
    scope = {columns[0]: verdict[columns[0]], **json.loads(verdict["scope"])}
    found: list[exp.Expr] = [_is(tree.col(column), value) for column, value in scope.items()]
    if verdict["from_position"] is not None:
        begin = tree.col("from_position")
        at = exp.Literal.number(int(verdict["from_position"]))
        found.append(tree.any_of([tree.is_null(begin), exp.LTE(this=begin.copy(), expression=at)]))
    return found


def _is(column: exp.Expr, value: Any) -> exp.Expr:
    if value is None:
        return tree.is_null(column)
    shown = exp.Literal.number(value) if isinstance(value, int) else tree.string(str(value))
    return exp.EQ(this=column, expression=shown)


def _record_window(
    compiled: CompiledModule, frame: RecordFrame, verdict: Mapping[str, Any], run: Rows, dialect: Dialect
) -> Window:
    """One state: the records that met it, of the first of the states the element may have met. Where nothing
    relates them, those that the definition looks at: the element alone, or all.
    """
    records = frame.records
    cluster = compiled.mapping.scope[0]
    subject = next(iter(json.loads(verdict["witness"]).values()))
    identity = subject if isinstance(subject, dict) else {records.identity[0]: subject}
    shared = [cluster, *(records.fields[each] for each in records.within)]
    shared += [records.alternatives] if records.alternatives else []
    if not records.within and not frame.aggregates:
        shared += records.identity
    on = tree.all_of(exp.NullSafeEQ(this=tree.col(c, "met"), expression=tree.col(c, "own")) for c in shared)
    columns = [tree.alias(tree.col(column, "met"), name) for name, column in records.fields.items()]
    own = {cluster: verdict[cluster], **identity}
    wanted = [_is(tree.col(column, "own"), value) for column, value in own.items()]
    if records.alternatives:
        columns.append(tree.alias(tree.col(records.alternatives, "met"), "alternative_"))
    found = exp.select(*columns).from_(tree.table(records.table, "own"))
    found = found.join(tree.table(records.table, "met"), on=on).where(tree.all_of(wanted))
    rows = run(dialect.printed(found))
    first = min((row.get("alternative_", 0) for row in rows), default=0)
    elements = [
        {name: row[name] for name in records.fields} for row in rows if row.get("alternative_", 0) == first
    ]
    return Window([{records.name: elements}], [verdict["from_position"]])
