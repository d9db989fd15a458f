"""Cuts what queries judge into ranges of their scopes, so that a task has few rows.

A row of a result rests on rows of its own scope only (:mod:`tlasql.plan.reach`). So the results of a range of
scopes are found in that range, and no scope is in two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.definitions import Query
from fencepost.quoting import literal, quoted
from tlasql.plan.reach import ALL

if TYPE_CHECKING:
    from fencepost.judge.engine import Engine
    from fencepost.tables import Table

AT_ONCE = 2_000_000
"""About so many rows of silver are judged at once; a scope with more is judged whole."""


@dataclass(frozen=True)
class Cut:
    """The rows of which ``column`` is in a range: from ``first`` on, and below ``until``. Without ``first``
    also those where it is null, without ``until`` all others.
    """

    column: str
    first: str | None
    until: str | None

    @property
    def condition(self) -> str:
        """It as a condition of SQL."""
        column = quoted(self.column)
        above = [] if self.first is None else [f"{column} >= {literal(self.first)}"]
        below = [] if self.until is None else [f"{column} < {literal(self.until)}"]
        both = " AND ".join([*above, *below])
        return both if self.first is not None else f"({both} OR {column} IS NULL)"


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
    bounds = list(_bounds(counted, AT_ONCE * sizes[largest] // rows))
    if not bounds:
        return [None]
    return [Cut(column, *each) for each in zip([None, *bounds], [*bounds, None], strict=True)]


def _bounds(counted: Sequence[Mapping[str, object]], most: int) -> Iterator[str]:
    """The scopes with which the second range and those after it begin."""
    size = 0
    for row in counted:
        number = int(str(row["number"]))
        if size and size + number > most:
            yield str(row["scope"])
            size = 0
        size += number
