"""DuckDB in this process, over the lake as PyIceberg reads it: no JVM, bounded memory."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from fencepost import lake
from fencepost.conditions import Where
from fencepost.conditions.sql import in_duckdb
from fencepost.definitions import Query, queries, tables_in
from fencepost.iceberg.commits import is_chosen_whole
from fencepost.judge.cuts import Cut
from fencepost.judge.engine import semi_join
from fencepost.protocols import tables
from fencepost.quoting import quoted
from fencepost.reading.parquet import from_files
from fencepost.reading.spilling import BATCH, MEMORY_OF_TASK, spilling_to
from fencepost.settings import Lake
from fencepost.tables import CHAPTER, Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

AT_ONCE = 200_000
"""A group of queries judges at most so many rows of silver, where a row counts once for each definition."""


@dataclass(frozen=True)
class FilesQuery:
    """A query for rows of files, and how many they are; None if it chooses some of the files' rows."""

    sql: str
    rows: int | None


Read = Callable[[Table, Sequence[str], Where | None], pa.RecordBatchReader | FilesQuery]
Write = Callable[[Table, Iterable[pa.RecordBatch], Where | None], None]


class DuckEngine:
    """An :class:`~fencepost.judge.engine.Engine` that runs a few queries at a time.

    ``read`` returns the named columns of the chosen rows of a table, or a query for them; ``write``
    replaces the chosen rows of a table; ``scratch`` is a folder for what does not fit into memory;
    ``compiled`` are all queries that will be run; ``in_task``: other tasks run beside it on the same
    machine; ``cut``: the rows that it sees of tables that have the column of the cut (None: all). A table of
    silver is loaded when the first query names it and dropped after the last one. Where ``read`` returns a
    query for all rows of files, the table becomes a view, so that each query reads only the columns that it
    needs: that costs less than to read all columns once and keep them in memory.
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
        self._read, self._write = read, write
        self._tables = {table.name: table for table in tables()}
        # Columns that no query names are not read. A word that names something else may cost an extra column,
        # but no column that a query names is ever missing.
        self._words = {word for query in compiled for word in re.findall(r"\w+", query.sql)}
        self._rows: dict[str, int] = {}
        self._kinds: dict[str, str] = {}
        self._chosen: Where | None = None
        self._cut = cut
        self.connection = duckdb.connect(config=spilling_to(scratch))
        # a forked process has no main module, so DuckDB takes it for an interactive one
        self.connection.execute("SET enable_progress_bar = false")
        if in_task:
            self.connection.execute(f"SET threads = 1; SET memory_limit = '{MEMORY_OF_TASK}'")
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute("CREATE SCHEMA silver")
        # the one function in the rules that DuckDB calls otherwise
        self.connection.execute("CREATE MACRO sha2(text, bits) AS sha256(text)")

    @classmethod
    @contextmanager
    def over(cls, place: Lake, catalog: Catalog) -> Iterator[DuckEngine]:
        """An engine on the lake. What it spills lies beside the lake, and is deleted afterwards."""
        with tempfile.TemporaryDirectory(prefix="judge-", dir=place.folder) as scratch:
            read, write = partial(read_rows, catalog), partial(lake.replace_by_batches, catalog)
            engine = cls(read, write, Path(scratch), queries())
            with engine.connection:
                yield engine

    def together(self, queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
        """The queries in groups of at most AT_ONCE rows. Queries without any row are left out."""
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
        # stored, not registered: of Arrow's rows DuckDB does not know how few they are, and joins them with
        # millions of others by a table of the millions
        self.connection.register("arriving", rows)
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM arriving")
        self.connection.unregister("arriving")

    def view(self, name: str, sql: str) -> None:
        """Define ``name`` as the rows of ``sql``, which are computed in each query that names them."""
        self._load(sql)
        self.connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS\n{sql}")

    def keep(self, name: str, sql: str) -> None:
        """Run ``sql`` once and store its rows under ``name``, in place of any that had this name."""
        self._load(sql)
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        self._create(name, f"TEMP TABLE {name} AS\n{sql}")

    def add(self, name: str, sql: str) -> None:
        """Add the rows of ``sql`` to those stored under ``name``."""
        self.connection.execute(
            f"CREATE TEMP TABLE IF NOT EXISTS {name} AS SELECT * FROM (\n{sql}\n) LIMIT 0"
        )
        self.connection.execute(f"INSERT INTO {name}\n{sql}")

    def drop(self, name: str) -> None:
        """Drop the rows that were kept or added under this name."""
        self.connection.execute(f"DROP TABLE {name}")

    def replace(self, table: Table, queries: Iterable[str], where: Where | None = None) -> None:
        """Make the rows of the queries the content of the lake's table, or of the partitions that ``where``
        chooses, in one commit. If ``where`` is empty, the rows are appended. A query is taken when the rows
        of the one before have been read, so it may name other rows by the same name.
        """
        columns = ", ".join(f'"{name}"' for name in table.columns)
        rows = (self.connection.sql(f"SELECT {columns} FROM (\n{sql}\n)") for sql in queries)
        self._write(table, (batch for each in rows for batch in each.to_arrow_reader(BATCH)), where)

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The rows of ``sql``, some at a time."""
        return iter(self.connection.sql(sql).to_arrow_reader(BATCH))

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
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        rows = self._read(table, columns or tuple(table.columns), where)
        self._register(name, f"TEMP TABLE {name}", rows, condition=semi_join("arrived", among))

    def look_at(self, where: Where | None) -> None:
        """From now on, queries see only the rows of silver that ``where`` chooses, with each chapter as a
        cluster of its own. None: they see all rows as they are.
        """
        self._drop_tables(self._loaded_tables)
        self._chosen = where

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows of ``sql``, which must be few, as dicts."""
        self._load(sql)
        found: list[dict[str, Any]] = self.connection.sql(sql).to_arrow_table().to_pylist()
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
            is_view = isinstance(rows, FilesQuery) and rows.rows is not None
            self._kinds[name] = "VIEW" if is_view else "TABLE"
            self._register(name, f"{self._kinds[name]} {name}", rows, selected, condition)

    def _register(
        self,
        name: str,
        created: str,
        rows: pa.RecordBatchReader | FilesQuery,
        shown: str = "*",
        condition: str = "",
    ) -> None:
        if isinstance(rows, FilesQuery):
            self._rows[name] = rows.rows or 0
            self._create(name, f"{created} AS SELECT {shown} FROM ({rows.sql}) AS arrived{condition}")
        else:
            self.connection.register("rows", rows)
            self._create(name, f"{created} AS SELECT {shown} FROM rows AS arrived{condition}")
            self.connection.unregister("rows")

    def _create(self, name: str, created: str) -> None:
        # a table answers with the number of its rows, a view with nothing
        for (rows,) in self.connection.execute(f"CREATE {created}").fetchall():
            self._rows[name] = rows

    @property
    def _loaded_tables(self) -> set[str]:
        """The tables of silver that are loaded."""
        return self._rows.keys() & self._tables.keys()

    def _drop_tables(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            self.connection.execute(f"DROP {self._kinds.pop(name)} {name}")
            del self._rows[name]


def read_rows(
    catalog: Catalog, table: Table, columns: Sequence[str], where: Where | None
) -> pa.RecordBatchReader | FilesQuery:
    """Rows of the lake, or a query for them where DuckDB can read the files itself, at half the cost."""
    present, tasks = lake.planned(catalog, table, where)
    query = from_files(present, tasks)
    if query is None:
        return lake.batches(catalog, table, columns, where)
    chosen = f"SELECT {', '.join(map(quoted, columns))} FROM ({query})"
    if where is None or all(map(is_chosen_whole, tasks)):
        return FilesQuery(chosen, sum(task.file.record_count for task in tasks))
    return FilesQuery(f"{chosen} WHERE {in_duckdb(where)}", None)


def _names(sql: str) -> set[str]:
    """The words in a query that may be names of tables."""
    return set(re.findall(r"\b(?:silver\.)?\w+", sql))
