"""What the judge asks of the engine that runs its queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from fencepost.conditions import Where
from fencepost.definitions import Query
from fencepost.tables import Table


class Engine(Protocol):
    """Runs queries over silver, and over results that were stored under a name."""

    def together(self, queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
        """The queries in groups; the queries of a group are run as one."""

    def give(self, name: str, rows: pa.Table) -> None:
        """Register a few rows under ``name``."""

    def view(self, name: str, sql: str) -> None:
        """Define ``name`` as the rows of ``sql``, which are computed in each query that names them."""

    def keep(self, name: str, sql: str) -> None:
        """Run ``sql`` once and store its rows under ``name``, in place of any that had this name."""

    def add(self, name: str, sql: str) -> None:
        """Add the rows of ``sql`` to those stored under ``name``."""

    def drop(self, name: str) -> None:
        """Drop the rows that were kept or added under this name."""

    def replace(self, table: Table, queries: Iterable[str], where: Where | None = None) -> None:
        """Make the rows of the queries the content of the lake's table, or of the partitions that ``where``
        chooses, in one commit. If ``where`` is empty, the rows are appended. A query is taken when the rows
        of the one before have been read, so it may name other rows by the same name.
        """

    def fetch(
        self,
        name: str,
        table: Table,
        where: Where | None,
        columns: Sequence[str] = (),
        among: tuple[str, Sequence[str]] | None = None,
    ) -> None:
        """Store rows of the lake's table that ``where`` chooses (None: all) under ``name``, in place of any
        that had this name. ``columns``: the columns to store, all if none is named. ``among`` (name,
        columns): only rows that equal, in these columns, one of the rows stored under that name.
        """

    def look_at(self, where: Where | None) -> None:
        """From now on, queries see only the rows of silver that ``where`` chooses, with each chapter as a
        cluster of its own (:func:`~fencepost.judge.chapters.place`). None: they see all rows as they are.
        """

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows of ``sql``, which must be few, as dicts."""


def semi_join(rows: str, among: tuple[str, Sequence[str]] | None) -> str:
    """The WHERE clause that chooses those of ``rows`` that equal, in some columns, a row stored under a
    name.
    """
    if among is None:
        return ""
    name, columns = among
    is_same = " AND ".join(f"{rows}.{each} IS NOT DISTINCT FROM {name}.{each}" for each in columns)
    return f" WHERE EXISTS (SELECT 1 FROM {name} WHERE {is_same})"
