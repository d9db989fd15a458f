"""Cuts what queries judge into ranges of their scopes, so that a task has few rows.

A row of a result rests on rows of its own scope only (:mod:`tlasql.plan.reach`). So the results of a range of
scopes are found in that range, and no scope is in two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fencepost.conditions import Within
from fencepost.definitions import Query
from fencepost.judge.engine import Cut, Engine
from fencepost.quoting import quoted
from tlasql.plan.reach import ALL

if TYPE_CHECKING:
    from fencepost.tables import Table

AT_ONCE = 1_700_000
"""About so many rows of silver are judged at once; a scope with more is judged whole."""


def cuts(
    engine: Engine, queries: Sequence[Query], sizes: Mapping[str, int], known: Mapping[str, Table]
) -> list[Cut | None]:
    """The ranges in which these queries are judged; one None if they are judged at once.

    ``sizes``: the rows of each table of silver; ``known``: the tables by name.
    """
    names = sorted(set().union(*(each.tables for each in queries)))
    rows = max(sum(sizes[name] for name in each.tables) for each in queries)
    columns = [
        column
        for column in queries[0].scope
        if column != "cluster" and all(known[name].columns.get(column) == "string" for name in names)
    ]
    if rows <= AT_ONCE or not columns or any(each.looks_at == ALL for each in queries):
        return [None]
    column, largest = columns[-1], max(names, key=lambda name: sizes[name])
    counted = engine.rows(
        f"SELECT {quoted(column)} AS scope, COUNT(*) AS number FROM {largest} "
        f"WHERE {quoted(column)} IS NOT NULL GROUP BY ALL ORDER BY ALL"
    )
    first, *others = _ranges(counted, AT_ONCE * sizes[largest] // rows)
    if not others:
        return [None]
    # what has no value is in the first range
    return [
        Cut(column, [{column: first}, {column: None}]),
        *(Cut(column, [{column: each}]) for each in others),
    ]


def _ranges(counted: Sequence[Mapping[str, Any]], most: int) -> Iterator[Within]:
    """Ranges that follow each other, with at most so many rows, but for scopes that have more."""
    least, size = None, 0
    for row in counted:
        if size and size + row["number"] > most:
            yield Within(least=least, below=row["scope"])
            least, size = row["scope"], 0
        size += row["number"]
    yield Within(least=least)
