"""One query for several definitions over one table: it reads the table, joins it and puts its rows in order
once.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Dict
from dataclasses import dataclass

from tlasql.mapping.model import Mapping, Schemas, Whole
from tlasql.plan.frames import Column, Frame, HistoryFrame, RecordFrame, StateFrame
from tlasql.plan.reach import reach
from tlasql.sql.dialect import Dialect
from tlasql.sql.histories import Histories
from tlasql.sql.queries import (
    alone,
    from_uncovered,
    from_unplaced,
    printed,
    tables_read,
    uncovered,
    union,
    unplaced,
)
from tlasql.sql.records import decision_query, records_query
from tlasql.sql.rows import Query, fanned
from tlasql.sql.states import States

WIDEST = 16
"""Definitions in one pass at most: beyond, planning the query costs more than reading the table again."""


@dataclass(frozen=True)
class Pass:
    """Definitions judged by one query; the first column of a row, ``definition``, is the id of one."""

    ids: tuple[str, ...]
    sql: str


def passes(
    definitions: Dict[str, tuple[str, tuple[Frame, ...]]],
    mapping: Mapping,
    schemas: Schemas,
    dialect: Dialect,
) -> tuple[Pass, ...]:
    """The queries for ``definitions`` (id -> kind, frames) that can share one; the others are not in any.

    The other columns are those of :func:`tlasql.sql.queries.verdict_sql` or, of decisions, ``decision_sql``.
    """
    groups: list[tuple[str, dict[str, Frame]]] = []
    for identity, (kind, frames) in definitions.items():
        what = "decision" if kind == "decision" else "verdict"
        if len(frames) != 1:
            continue
        fitting = (
            group
            for each, group in groups
            if each == what and len(group) < WIDEST and _fits(frames[0], group.values(), mapping)
        )
        group = next(fitting, None)
        if group is None:
            group = {}
            groups.append((what, group))
        group[identity] = frames[0]
    return tuple(
        Pass(tuple(group), printed(_query(what, group, mapping, schemas, dialect), dialect))
        for what, group in groups
        if len(group) > 1
    )


def _fits(frame: Frame, others: Iterable[Frame], mapping: Mapping) -> bool:
    """Whether all can be columns of one scan, and look equally far. A caller that judges a part of a history
    reads as many rows for a query as its definitions look at.
    """
    looks_at = reach([frame], mapping).looks_at
    if any(reach([each], mapping).looks_at != looks_at for each in others):
        return False
    if isinstance(frame, RecordFrame):
        return all(
            isinstance(each, RecordFrame) and each.records == frame.records and each.gives == frame.gives
            for each in others
        )
    if isinstance(frame, StateFrame):
        return _stands_alone(frame) and all(
            isinstance(each, StateFrame) and _stands_alone(each) for each in others
        )
    if not isinstance(frame, HistoryFrame) or len(frame.scans) > 1:
        return False
    return all(
        isinstance(each, HistoryFrame)
        and each.scans == frame.scans
        and (each.keys == frame.keys or not (each.stepped and frame.stepped))
        and _agree(_labels(each), _labels(frame))
        for each in others
    )


def _stands_alone(frame: StateFrame) -> bool:
    """Whether each state is a row of the table of states, and gives one row."""
    return not frame.clause.ranges and all(isinstance(each, Whole) for each in frame.variables)


def _labels(frame: HistoryFrame) -> dict[str, tuple[Column, bool]]:
    return {each.name: (each.column, False) for each in frame.witnesses} | {
        each.text: (each.column, each.primed) for each in frame.leaves
    }


def _agree(one: dict[str, tuple[Column, bool]], other: dict[str, tuple[Column, bool]]) -> bool:
    return all(other[label] == found for label, found in one.items() if label in other)


def _query(what: str, group: dict[str, Frame], mapping: Mapping, schemas: Schemas, dialect: Dialect) -> Query:
    records = {identity: each for identity, each in group.items() if isinstance(each, RecordFrame)}
    if what == "decision":
        return decision_query(records, mapping, schemas, dialect)
    if records:
        return records_query(records, mapping, schemas, dialect)
    histories = {identity: each for identity, each in group.items() if isinstance(each, HistoryFrame)}
    states = {identity: each for identity, each in group.items() if isinstance(each, StateFrame)}
    judging = Histories(histories, mapping, dialect) if histories else States(states, mapping, dialect)
    judged = judging.query()
    stepped = {i: each.stepped for i, each in histories.items()} | {
        i: each.stepped for i, each in states.items()
    }
    selects = [
        judged.select,
        fanned(
            {identity: uncovered(mapping, each) for identity, each in stepped.items()},
            from_uncovered(mapping, group.values()),
            dialect,
        ),
    ]
    for table in tables_read((*histories.values(), *states.values())):
        rows = {identity: unplaced(mapping, table, each) for identity, each in stepped.items()}
        # what looks equally far compares the same columns
        nowhere = alone((*histories.values(), *states.values()), table, mapping)
        selects.append(fanned(rows, from_unplaced(table, nowhere), dialect))
    return Query(judged.ctes, union(selects))
