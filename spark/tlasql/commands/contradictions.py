"""Rows that contradict each other: SQL joins each of them, and would judge states that never were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tlasql.commands.data import Data, quoted
from tlasql.lang.errors import Diagnostic, TlaSqlError
from tlasql.lang.types import SetOf
from tlasql.mapping.model import INTERVAL, History, Whole
from tlasql.mapping.model import Mapping as Sidecar
from tlasql.sql import tree

_BEGIN, _END = "coalesce(from_position, -9223372036854775808)", "coalesce(to_position, 9223372036854775807)"
_ONE = "a row ends (to_position) where the next one of the same key begins (from_position)"
_COVER = "add rows that say from which position to which it is whole, or is not (covered = false)"


def check_rows(data: Data, mapping: Sidecar) -> None:
    """Raises TlaSqlError where a table says two things of one position, or coverage says nothing of a scope
    that has histories.
    """
    problems = _without_begin(data, mapping)
    for table, keys in _keyed(mapping):
        columns = [*mapping.scope, *keys]
        if data.has(table, (*columns, *INTERVAL)):
            problems += [_twice(data, table, columns, row) for row in data.rows(_overlaps(table, columns))]
    for table in _histories(mapping):
        if data.has(table, mapping.scope) and data.has(mapping.coverage, mapping.scope):
            rows = data.rows(_uncovered(table, mapping))
            problems += [_not_covered(data, table, mapping, row) for row in rows]
            is_placed = data.has(table, INTERVAL) and data.has(mapping.coverage, INTERVAL)
            if is_placed and not rows:
                later = data.rows(_beyond(table, mapping))
                problems += [_not_covered(data, table, mapping, row) for row in later]
    if data.has(mapping.coverage, (*mapping.scope, mapping.covered, *INTERVAL)):
        rows = data.rows(_both(mapping))
        problems += [_covered_or_not(data, mapping, row) for row in rows]
    if problems:
        raise TlaSqlError(problems)


def _without_begin(data: Data, mapping: Sidecar) -> list[Diagnostic]:
    """The tables with a row that does not say from where on it is true: no query would see it."""
    whole = [each.table for each in mapping.variables.values() if isinstance(each, Whole)]
    found = []
    for table in dict.fromkeys((*_histories(mapping), *whole, mapping.coverage)):
        if data.has(table, (*mapping.scope, "from_position")):
            shown = ", ".join(map(quoted, mapping.scope))
            rows = data.rows(
                f"SELECT {shown} FROM {_name(table)} WHERE from_position IS NULL ORDER BY ALL LIMIT 1"
            )
            remedy = "write the position from which on it is true; of the first ones, 0"
            for row in rows:
                message = f"{table}: a row of {_of(mapping.scope, row)} has no from_position"
                found.append(Diagnostic(data.places[table], message, remedy))
    return found


def _keyed(mapping: Sidecar) -> Iterator[tuple[str, Sequence[str]]]:
    """Each table whose rows are true for a time, with the columns of which one row is true at a time."""
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    for each in mapping.variables.values():
        if isinstance(each, Whole):
            found[each.table, ()] = None
        elif isinstance(each, History) and not _is_set(each):
            first = each.homes[0]  # others have its values beside keys of their own
            found[first.table, first.key_columns] = None
    yield from found


def _is_set(history: History) -> bool:
    """Its value is made of several rows."""
    kind = history.type
    for _ in range(history.arity):
        kind = getattr(kind, "result", kind)
    return isinstance(kind, SetOf)


def _histories(mapping: Sidecar) -> list[str]:
    every = (each for each in mapping.variables.values() if isinstance(each, History))
    homes = (home for each in every for home in (*each.homes, each.domain) if home is not None)
    return list(dict.fromkeys(home.table for home in homes))


def _overlaps(table: str, columns: Sequence[str]) -> str:
    """The first row of a table that ends before it begins, or within which another one of its key begins."""
    shown = ", ".join(map(quoted, columns))
    following = f"lead({_BEGIN}) OVER (PARTITION BY {shown} ORDER BY {_BEGIN}, {_END})"
    rows = f"SELECT {shown}, from_position, {_END} AS end_, {_BEGIN} AS begin_, {following} AS next_"
    known = " AND ".join(f"{quoted(each)} IS NOT NULL" for each in columns)
    return (
        f"SELECT {shown}, from_position, next_, end_ < begin_ AS turned FROM "
        f"({rows} FROM {_name(table)} WHERE {known}) WHERE end_ < begin_ OR next_ < end_ "
        f"ORDER BY {shown}, begin_ LIMIT 1"
    )


def _uncovered(table: str, mapping: Sidecar) -> str:
    """The first scope with rows of a table of which coverage says nothing."""
    shown = ", ".join(map(quoted, mapping.scope))
    covered = f"SELECT {shown} FROM {_name(mapping.coverage)}"
    return f"SELECT {shown} FROM {_name(table)} EXCEPT {covered} ORDER BY ALL LIMIT 1"


def _beyond(table: str, mapping: Sidecar) -> str:
    """The first row of a table that begins behind a position up to which coverage speaks, and where it says
    nothing.
    """
    coverage, own = _name(mapping.coverage), _name(table)
    same = " AND ".join(f"o.{quoted(each)} = c.{quoted(each)}" for each in mapping.scope)
    begins = f"o.{quoted('from_position')}"
    inside = (
        f"(c.from_position IS NULL OR c.from_position <= {begins}) "
        f"AND (c.to_position IS NULL OR {begins} < c.to_position)"
    )
    of_scope = f"SELECT 1 FROM {coverage} AS c WHERE {same}"
    shown = ", ".join(f"o.{quoted(each)}" for each in mapping.scope)
    return (
        f"SELECT {shown}, {begins} AS at_ FROM {own} AS o "
        f"WHERE EXISTS ({of_scope} AND c.to_position <= {begins}) "
        f"AND NOT EXISTS ({of_scope} AND {inside}) "
        f"ORDER BY ALL LIMIT 1"
    )


def _both(mapping: Sidecar) -> str:
    """The first position that one row of coverage says to be covered, and another one not to be."""
    rows = (
        f"SELECT *, {_BEGIN} AS begin_, {_END} AS end_, {quoted(mapping.covered)} AS covered_ "
        f"FROM {_name(mapping.coverage)}"
    )
    same = " AND ".join(f"a.{quoted(each)} = b.{quoted(each)}" for each in mapping.scope)
    shown = ", ".join(f"a.{quoted(each)}" for each in mapping.scope)
    return (
        f"WITH pieces AS ({rows}) SELECT {shown}, greatest(a.begin_, b.begin_) AS at_ "
        f"FROM pieces AS a JOIN pieces AS b ON {same} AND a.begin_ < b.end_ AND b.begin_ < a.end_ "
        f"WHERE a.covered_ AND NOT b.covered_ ORDER BY ALL LIMIT 1"
    )


def _name(table: str) -> str:
    return tree.table(table).sql(dialect="duckdb")


def _twice(data: Data, table: str, columns: Sequence[str], row: Mapping[str, Any]) -> Diagnostic:
    of = _of(columns, row)
    if row["turned"]:
        message = f"{table}: a row of {of} begins at position {row['from_position']} and ends before that"
    else:
        message = f"{table}: two rows of {of} are true at position {row['next_']}"
    return Diagnostic(data.places[table], message, _ONE)


def _not_covered(data: Data, table: str, mapping: Sidecar, row: Mapping[str, Any]) -> Diagnostic:
    at = f"position {row['at_']} of " if "at_" in row else ""
    message = f"{mapping.coverage} says nothing of {at}{_of(mapping.scope, row)}, of which {table} has rows"
    return Diagnostic(data.places[mapping.coverage], message, _COVER)


def _covered_or_not(data: Data, mapping: Sidecar, row: Mapping[str, Any]) -> Diagnostic:
    at = f"position {row['at_']} of {_of(mapping.scope, row)}"
    message = f"{mapping.coverage} says of {at} that it is covered, and that it is not"
    return Diagnostic(data.places[mapping.coverage], message, "let its rows meet, and none overlap another")


def _of(columns: Sequence[str], row: Mapping[str, Any]) -> str:
    return ", ".join(f"{column} {'NULL' if row[column] is None else row[column]}" for column in columns)
