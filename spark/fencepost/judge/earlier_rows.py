"""The rows of earlier chapters on which a chapter is judged besides its own, for definitions that look at
more than one row.

Which rows these are follows from how far a definition looks (:mod:`tlasql.reach`), which its compiled plan
tells. What looks at rows of several chapters is judged in the last one of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.definitions import Query
from fencepost.judge import overlaps, steps
from fencepost.judge.chapters import Chapters
from fencepost.protocols import tables
from fencepost.tables import Table
from tlasql.reach import OVERLAP, STEP

if TYPE_CHECKING:
    from fencepost.judge.engine import Engine


def with_earlier_rows(engine: Engine, compiled: Sequence[Query], history: Chapters) -> list[Query]:
    """The queries, of which those that look at more than one row read their rows from tables that have what
    they need of earlier chapters, too. The engine looks at the chapters that are judged.
    """
    if not history.several:
        return list(compiled)
    known = {table.name: table for table in tables()}
    stepped = [query for query in compiled if query.looks_at == STEP]
    columns = {table: of for query in stepped for table, of in query.beside.items()}
    names = {
        table: called
        for table, of in columns.items()
        if (called := steps.keep(engine, known[table], _named(known[table], stepped), of[1:], history))
    }
    found = []
    for query in compiled:
        if query.looks_at == STEP:
            found.append(_renamed(query, names))
        elif query.looks_at == OVERLAP:
            read = [(known[table], _named(known[table], [query])) for table in query.beside]
            (keys,) = {of[1:] for of in query.beside.values()}
            kept = overlaps.keep(engine, read, keys, history)
            found.append(overlaps.without_earlier(_renamed(query, kept)) if kept else query)
        else:
            found.append(query)
    return found


def _named(table: Table, queries: Collection[Query]) -> list[str]:
    """The columns of a table that queries name, but ``cluster``."""
    words = {word for query in queries for word in re.findall(r"\w+", query.sql)}
    return [name for name in table.columns if name in words and name != "cluster"]


def _renamed(query: Query, names: Mapping[str, str]) -> Query:
    sql = query.sql
    for table, name in names.items():
        sql = re.sub(rf"\b{re.escape(table)}\b", name, sql)
    return replace(query, sql=sql)
