"""Frames to SQL: one SELECT for each definition, every predicate written once, printed from sqlglot trees.

An invariant or step gives rows of the first column of the scope and VERDICT (``tlasql.mapping.model``):
verdict true holds, false violated, null unknown, for ``reason``. A decision gives rows of the first column of
the scope and DECISION.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from sqlglot import exp

from tlasql.mapping.model import INTERVAL, Mapping, Schemas
from tlasql.plan.frames import Frame, HistoryFrame, RecordFrame, StateFrame
from tlasql.sql import tree
from tlasql.sql.dialect import Dialect
from tlasql.sql.histories import Histories
from tlasql.sql.reasons import reason_of_row, reason_uncovered
from tlasql.sql.records import decision_query, records_query
from tlasql.sql.rows import Query, verdict_row
from tlasql.sql.states import States
from tlasql.sql.whole_values import tables_of


def verdict_sql(frames: Sequence[Frame], mapping: Mapping, schemas: Schemas, dialect: Dialect) -> str:
    """The SELECT of an invariant or step: the rows of its frames, and null rows where nothing is covered."""
    queries: list[Query] = []
    for number, frame in enumerate(frames, start=1):
        suffix = f"_{number}" if len(frames) > 1 else ""
        if isinstance(frame, HistoryFrame):
            queries.append(Histories({"": frame}, mapping, dialect, suffix).query())
        elif isinstance(frame, StateFrame):
            queries.append(States({"": frame}, mapping, dialect, suffix).query())
        else:
            queries.append(records_query({"": frame}, mapping, schemas, dialect, suffix))
    selects = [query.select for query in queries]
    histories = [each for each in frames if not isinstance(each, RecordFrame)]
    if histories:
        stepped = any(each.stepped for each in histories)
        selects.append(from_uncovered(mapping, histories, *uncovered(mapping, stepped)))
        tables = tables_read(histories)
        selects += [
            from_unplaced(each, alone(histories, each, mapping), *unplaced(mapping, each, stepped))
            for each in tables
        ]
    ctes = tuple(cte for query in queries for cte in query.ctes)
    return printed(Query(ctes, union(selects)), dialect)


def decision_sql(frame: RecordFrame, mapping: Mapping, schemas: Schemas, dialect: Dialect) -> str:
    """The SELECT of a decision: its outcome for every element of the record set."""
    return printed(decision_query({"": frame}, mapping, schemas, dialect), dialect)


def uncovered(mapping: Mapping, stepped: bool) -> list[exp.Expr]:
    """The columns of an unknown row, for each piece of a scope's extent that is not completely known."""
    return _unknown(mapping, stepped, reason_uncovered(mapping))


def unplaced(mapping: Mapping, table: str, stepped: bool) -> list[exp.Expr]:
    """The columns of an unknown row, for each row of ``table`` that does not say what it is about."""
    return _unknown(mapping, stepped, reason_of_row(mapping, table))


def _unknown(mapping: Mapping, stepped: bool, reason: exp.Expr) -> list[exp.Expr]:
    interval: list[exp.Expr] = [tree.col(each) for each in INTERVAL]
    if stepped:
        # the step into the first state after the piece comes from a state that is not known either
        interval[1] = exp.Add(this=interval[1], expression=exp.Literal.number(1))
    return verdict_row(mapping, interval=interval, exercised=exp.false(), reason=reason)


def from_uncovered(mapping: Mapping, frames: Iterable[Frame], *columns: exp.Expr) -> exp.Select:
    """``columns`` of the pieces that are not completely known, in scopes that can have rows of the frames."""
    unseen = tree.negation(tree.surely(tree.col(mapping.covered)))
    placed = ("from_position", *mapping.scope)
    pieces = tree.any_of([unseen, *(tree.is_null(tree.col(each)) for each in placed)])
    found = exp.select(*columns).from_(tree.table(mapping.coverage)).where(pieces)
    whole = any(isinstance(each, StateFrame) for each in frames)
    tables = tables_read(each for each in frames if isinstance(each, HistoryFrame))
    if whole or not mapping.extents.keys() >= set(tables):
        return found
    return found.where(tree.any_of(_inside(mapping, each) for each in sorted(tables)))


def alone(frames: Sequence[HistoryFrame | StateFrame], table: str, mapping: Mapping) -> exp.Expr:
    """Whether no query can put a row of ``table`` anywhere, or beside the rows that belong to it."""
    compared = (each.compared(table) for each in frames if isinstance(each, HistoryFrame))
    names = dict.fromkeys(("from_position", *chain.from_iterable(compared)))
    if any(each.beside for each in frames):
        names |= dict.fromkeys(mapping.scope)
    return tree.any_of(tree.is_null(tree.col(each)) for each in names)


def from_unplaced(table: str, where: exp.Expr, *columns: exp.Expr) -> exp.Select:
    """``columns`` of the rows that are ``alone``; what others say there is not known whole."""
    return exp.select(*columns).from_(tree.table(table)).where(where)


def tables_read(frames: Iterable[HistoryFrame | StateFrame]) -> list[str]:
    """The tables of histories and states that the frames read, each once."""
    found: dict[str, None] = {}
    for frame in frames:
        if isinstance(frame, HistoryFrame):
            found |= dict.fromkeys(scan.table for scan in frame.scans)
        else:
            found |= dict.fromkeys(table for each in frame.variables for table in tables_of(each))
    return list(found)


def _inside(mapping: Mapping, table: str) -> exp.Expr:
    """Whether a scope can have rows of ``table``."""
    parts = []
    for each in mapping.extents[table]:
        equal = exp.EQ(this=tree.col(each.column), expression=tree.string(each.value))
        is_inside = tree.negation(equal) if each.never else equal
        parts.append(tree.any_of([is_inside, tree.is_null(tree.col(each.column))]))
    return tree.all_of(parts)


def union(selects: Sequence[exp.Query]) -> exp.Query:
    """The rows of all of them."""
    found: exp.Query = selects[0]
    for each in selects[1:]:
        found = exp.union(found, each, distinct=False)
    return found


def printed(query: Query, dialect: Dialect) -> str:
    """The text, common table expressions first."""
    found = query.select
    for cte_name, select in query.ctes:
        found = found.with_(cte_name, as_=select, copy=False)
    return dialect.printed(found)
