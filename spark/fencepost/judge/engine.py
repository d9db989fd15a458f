"""What runs the judge's queries: DuckDB in this process, or Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from fencepost.definitions import Dialect, Query
from fencepost.engines import MANY_ROWS, Sessions, why_spark
from fencepost.lake import Where
from fencepost.settings import Settings
from fencepost.tables import Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

LARGEST = 20_000_000
"""Rows of silver that one process judges. At every size measured DuckDB took less CPU and time than Spark
on the same machine; beyond this one a run is long enough for other machines to be worth their start.
"""


class Engine(Protocol):
    """Runs queries over silver, and over results that were given a name."""

    @property
    def dialect(self) -> Dialect:
        """Which of the compiled queries it reads."""

    def together(self, queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
        """The queries in groups, each of which is judged at once."""

    def give(self, name: str, rows: pa.Table) -> None:
        """Call a few rows ``name``."""

    def view(self, name: str, sql: str) -> None:
        """Call the rows of ``sql`` ``name``; they are computed where a query names them."""

    def keep(self, name: str, sql: str) -> None:
        """Run ``sql`` once and call its rows ``name``, in place of what had this name."""

    def add(self, name: str, sql: str) -> None:
        """Add the rows of ``sql`` to those called ``name``."""

    def drop(self, name: str) -> None:
        """Let go of the rows that were kept or added under this name."""

    def replace(self, table: Table, sql: str, where: Where | None = None) -> None:
        """Make the rows of ``sql`` the content of the lake's table, or of the partitions that ``where``
        chooses, in one commit. If it chooses none, they are added.
        """

    def fetch(
        self,
        name: str,
        table: Table,
        where: Where | None,
        columns: Sequence[str] = (),
        among: tuple[str, Sequence[str]] | None = None,
    ) -> None:
        """Call ``columns`` (all, if none is named) of the rows of the lake's table that ``where`` chooses
        (None: all) ``name``, in place of what had this name. ``among``: only rows that are alike, in some
        columns, to one of the rows that have a name.
        """

    def look_at(self, where: Where | None) -> None:
        """From here on queries see of silver the rows that ``where`` chooses, each chapter as a cluster by
        itself (:func:`~fencepost.judge.chapters.place`). None: all rows as they are.
        """

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows of ``sql``, which are few, by column name."""


@dataclass(frozen=True)
class Choice:
    """Which engine judges so many rows of silver, and why."""

    engine: Dialect
    reason: str
    rows: int


def choose(settings: Settings, rows: int) -> Choice:
    """The engine for a silver of so many rows."""
    reason = why_spark(settings, rows, LARGEST, "rows of silver")
    return Choice("spark", reason, rows) if reason else Choice("duckdb", f"silver has {rows:,} rows", rows)


def opened(
    choice: Choice, settings: Settings, catalog: Catalog, session: Sessions
) -> AbstractContextManager[Engine]:
    """The engine, for a ``with`` block; ``session`` is called if it is Spark."""
    if choice.engine == "spark":
        from fencepost.judge.spark_engine import SparkEngine

        return nullcontext(SparkEngine(session(small=choice.rows < MANY_ROWS)))
    from fencepost.judge.duckdb_engine import DuckEngine

    return DuckEngine.over(settings.lake, catalog)


def semi_join(rows: str, among: tuple[str, Sequence[str]] | None) -> str:
    """What follows ``FROM rows`` to choose those that are alike, in some columns, to one that has a name."""
    if among is None:
        return ""
    name, columns = among
    alike = " AND ".join(f"{rows}.{each} IS NOT DISTINCT FROM {name}.{each}" for each in columns)
    return f" WHERE EXISTS (SELECT 1 FROM {name} WHERE {alike})"
