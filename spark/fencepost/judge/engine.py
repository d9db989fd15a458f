"""What runs the judge's queries: DuckDB, over silver and over results that were stored under a name."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fencepost import lake
from fencepost.conditions import Where
from fencepost.conditions.sql import in_duckdb
from fencepost.definitions import Query, queries, tables_in
from fencepost.protocols import tables
from fencepost.quoting import quoted
from fencepost.reading.database import BATCH, Arriving, Database, FilesQuery, rows_of
from fencepost.settings import Lake
from fencepost.tables import CHAPTER, Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

AT_ONCE = 200_000
"""A group of queries judges at most so many rows of silver, where a row counts once for each definition."""

Read = Callable[[Table, Sequence[str], Where | None], Arriving]
Write = Callable[[Table, Iterable[pa.RecordBatch], Where | None], None]


@dataclass(frozen=True)
class Cut:
    """A range of the values of ``column``; ``where`` chooses its rows, in a table that has the column."""

    column: str
    where: Where


class Engine(Database):
    """Runs a few queries at a time.

    ``read`` returns the chosen rows of a table, with at least the named columns; ``write`` replaces the
    chosen rows of a table; ``scratch`` is a folder for what does not fit into memory; ``compiled`` are all
    queries that will be run; ``in_task``: other tasks run beside it on the same machine; ``cut``: the rows
    that it sees of tables that have the column of the cut (None: all). A table of silver is loaded when the
    first query names it and dropped after the last one.
    """

    def __init__(
        self,
        read: Read,
        write: Write,
        scratch: Path,
        compiled: Iterable[Query],
        *,
        in_task: bool = False,
        cut: Cut | None = None,
    ) -> None:
        super().__init__(scratch, in_task=in_task)
        self._read, self._write = read, write
        self._tables = {table.name: table for table in tables()}
        # Columns that no query names are not read. A word that names something else may cost an extra column,
        # but no column that a query names is ever missing.
        self._words = {word for query in compiled for word in re.findall(r"\w+", query.sql)}
        self._rows: dict[str, int] = {}
        self._chosen: Where | None = None
        self._cut = cut
        self._run("CREATE SCHEMA silver")
        # the one function in the rules that DuckDB calls otherwise
        self._run("CREATE MACRO sha2(text, bits) AS sha256(text)")

    @classmethod
    @contextmanager
    def over(cls, place: Lake, catalog: Catalog) -> Iterator[Engine]:
        """An engine on the lake. What it spills lies beside the lake, and is deleted afterwards."""
        write = partial(lake.replace_by_batches, catalog)
        with (
            tempfile.TemporaryDirectory(prefix="judge-", dir=place.folder) as scratch,
            cls(reading(catalog), write, Path(scratch), queries()) as engine,
        ):
            yield engine

    def together(self, queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
        """The queries in groups of at most AT_ONCE rows; the queries of a group are run as one. Queries
        without any row are left out.
        """
        group: list[Query] = []
        size = 0
        for number, query in enumerate(queries):
            self._load(query.sql)
            rows = len(query.definitions) * sum(self._rows.get(name, 0) for name in _names(query.sql))
            if group and size + rows > AT_ONCE:
                yield group
                group, size = [], 0
                self._drop_tables(self._loaded_tables.difference(*(each.tables for each in queries[number:])))
            if rows:
                group.append(query)
                size += rows
        if group:
            yield group

    def give(self, name: str, rows: pa.Table) -> None:
        """Store a few rows under ``name``, in place of any that had this name."""
        self._attach(name, rows)

    def view(self, name: str, sql: str) -> None:
        """Define ``name`` as the rows of ``sql``, which are computed in each query that names them."""
        self._load(sql)
        self._run(f"CREATE OR REPLACE TEMP VIEW {name} AS\n{sql}")

    def keep(self, name: str, sql: str) -> None:
        """Run ``sql`` once and store its rows under ``name``, in place of any that had this name."""
        self._load(sql)
        self._run(f"DROP TABLE IF EXISTS {name}")
        ((self._rows[name],),) = self._run(f"CREATE TEMP TABLE {name} AS\n{sql}")

    def add(self, name: str, sql: str) -> None:
        """Add the rows of ``sql`` to those stored under ``name``."""
        self._run(f"CREATE TEMP TABLE IF NOT EXISTS {name} AS SELECT * FROM (\n{sql}\n) LIMIT 0")
        self._run(f"INSERT INTO {name}\n{sql}")

    def drop(self, name: str) -> None:
        """Drop the rows that were kept or added under this name."""
        self._run(f"DROP TABLE {name}")

    def replace(self, table: Table, queries: Iterable[str], where: Where | None = None) -> None:
        """Make the rows of the queries the content of the lake's table, or of the partitions that ``where``
        chooses, in one commit. If ``where`` is empty, the rows are appended. A query is taken when the rows
        of the one before have been read, so it may name other rows by the same name.
        """
        columns = ", ".join(map(quoted, table.columns))
        rows = (self.batches(f"SELECT {columns} FROM (\n{sql}\n)") for sql in queries)
        self._write(table, (batch for each in rows for batch in each), where)

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The rows of ``sql``, some at a time."""
        return iter(self._connection.sql(sql).to_arrow_reader(BATCH))

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
        chosen = columns or tuple(table.columns)
        rows = self._read(table, chosen, where)
        # so that the earlier rows and these are not in memory together
        self._detach(name)
        self._attach(name, rows, ", ".join(map(quoted, chosen)), _semi_join(among), stored=True)

    def look_at(self, where: Where | None) -> None:
        """From now on, queries see only the rows of silver that ``where`` chooses, with each chapter as a
        cluster of its own (:func:`~fencepost.judge.chapters.place`). None: they see all rows as they are.
        """
        self._drop_tables(self._loaded_tables)
        self._chosen = where

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows of ``sql``, which must be few, as dicts."""
        self._load(sql)
        found: list[dict[str, Any]] = self._connection.sql(sql).to_arrow_table().to_pylist()
        return found

    def _load(self, sql: str) -> None:
        for name in sorted(tables_in(sql) - self._loaded_tables):
            table = self._tables[name]
            columns = [column for column in table.columns if column in self._words]
            selected = "*"
            if self._chosen is not None:
                columns.append(CHAPTER)
                selected = f"* EXCLUDE ({CHAPTER}) REPLACE ({CHAPTER} || ' ' || cluster AS cluster)"
            condition = ""
            if self._cut is not None and self._cut.column in table.columns:
                columns = list(dict.fromkeys([*columns, self._cut.column]))
                condition = f" WHERE {in_duckdb(self._cut.where)}"
            rows = self._read(table, columns, self._chosen)
            # the chosen rows of a few files are stored, so that the others are read once only
            stored = isinstance(rows, FilesQuery) and rows.rows is None
            self._rows[name] = self._attach(name, rows, selected, condition, stored=stored) or 0

    @property
    def _loaded_tables(self) -> set[str]:
        """The tables of silver that are loaded."""
        return self._rows.keys() & self._tables.keys()

    def _drop_tables(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            self._detach(name)
            del self._rows[name]


def reading(catalog: Catalog) -> Read:
    """What reads the tables of a catalog for an engine."""
    return lambda table, columns, where: rows_of(catalog.load_table(table.name), columns, where)


def _semi_join(among: tuple[str, Sequence[str]] | None) -> str:
    """The WHERE clause that chooses arrived rows that equal, in some columns, a row stored under a name."""
    if among is None:
        return ""
    name, columns = among
    is_same = " AND ".join(f"arrived.{each} IS NOT DISTINCT FROM {name}.{each}" for each in columns)
    return f" WHERE EXISTS (SELECT 1 FROM {name} WHERE {is_same})"


def _names(sql: str) -> set[str]:
    """The words in a query that may be names of tables."""
    return set(re.findall(r"\b(?:silver\.)?\w+", sql))
