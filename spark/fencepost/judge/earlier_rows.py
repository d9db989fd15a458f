"""The rows of earlier chapters that the judge needs besides a chapter's own, for definitions that look at
more than one row.

Which rows these are follows from how far a definition looks (:mod:`tlasql.plan.reach`), which its compiled
plan says. A result that depends on rows of several chapters belongs to the last one of them.
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
from tlasql.plan.reach import OVERLAP, STEP

if TYPE_CHECKING:
    from fencepost.judge.engine import Engine


def with_earlier_rows(engine: Engine, compiled: Sequence[Query], history: Chapters) -> list[Query]:
    """The queries, changed so that those that look at more than one row read tables that also have the rows
    they need from earlier chapters. The engine must look at the chapters that are judged.
    """
    if not history.several:
        return list(compiled)
    known = {table.name: table for table in tables()}
    step_queries = [query for query in compiled if query.looks_at == STEP]
    columns = {table: of for query in step_queries for table, of in query.beside.items()}
    names = {
        table: name
        for table, of in columns.items()
        if (
            name := steps.keep(
                engine, known[table], _columns_named(known[table], step_queries), of[1:], history
            )
        )
    }
    changed = []
    for query in compiled:
        if query.looks_at == STEP:
            changed.append(_renamed(query, names))
        elif query.looks_at == OVERLAP:
            read = [(known[table], _columns_named(known[table], [query])) for table in query.beside]
            (keys,) = {of[1:] for of in query.beside.values()}
            kept = overlaps.keep(engine, read, keys, history)
            changed.append(overlaps.without_earlier(_renamed(query, kept)) if kept else query)
        else:
            changed.append(query)
    return changed


def _columns_named(table: Table, queries: Collection[Query]) -> list[str]:
    """The columns of a table that queries name, without ``cluster``."""
    words = {word for query in queries for word in re.findall(r"\w+", query.sql)}
    return [name for name in table.columns if name in words and name != "cluster"]


def _renamed(query: Query, names: Mapping[str, str]) -> Query:
    sql = query.sql
    for table, name in names.items():
        sql = re.sub(rf"\b{re.escape(table)}\b", name, sql)
    return replace(query, sql=sql)
