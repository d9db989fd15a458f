"""A query in Spark's SQL, translated to DuckDB's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Translation:
    """``sql``: the text for DuckDB. ``tables``: the tables of the lake that the query names, as
    ``schema.table``. ``words``: every name in it, in lower case; None if it needs all columns.
    ``parameters``: the names of its parameters, ``:name``.
    """

    sql: str
    tables: tuple[str, ...]
    words: frozenset[str] | None
    parameters: frozenset[str]
