"""DuckDB in this process, over the lake as PyIceberg reads it: no JVM, bounded memory."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from fencepost import lake
from fencepost.definitions import Dialect, Query, queries, tables_in
from fencepost.judge.engine import semi_join
from fencepost.lake import Where
from fencepost.protocols import tables
from fencepost.reading.parquet import from_files
from fencepost.reading.spilling import BATCH, spilling_to
from fencepost.settings import Lake
from fencepost.tables import CHAPTER, Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

AT_ONCE = 200_000
"""So many rows of silver are judged by queries at once, each row as often as there are definitions."""

Read = Callable[[Table, Sequence[str], Where | None], pa.RecordBatchReader | str]
Write = Callable[[Table, pa.RecordBatchReader, Where | None], None]


class DuckEngine:
    """An :class:`~fencepost.judge.engine.Engine` that judges by few queries at once.

    ``read`` gives the named columns of a table, of the rows that are chosen, or a query for them; ``write``
    replaces these rows of a table; ``scratch`` is a folder for what does not fit into memory; ``compiled``
    are the queries to come. A table of silver is looked up when the first query names it and let go of after
    the last one. What can be read by a query is read by each that names it, of each file the columns that it
    asks for: that takes less than to read all columns once and to hold them.
    """

    dialect: Dialect = "duckdb"

    def __init__(self, read: Read, write: Write, scratch: Path, compiled: Iterable[Query]) -> None:
        self._read, self._write = read, write
        self._tables = {table.name: table for table in tables()}
        # What no query names need not be read. A word that names something else costs a column; no column
        # that a query names is ever missing.
        self._words = {word for query in compiled for word in re.findall(r"\w+", query.sql)}
        self._rows: dict[str, int] = {}
        self._kinds: dict[str, str] = {}
        self._seen: Where | None = None
        self._connection = duckdb.connect(config=spilling_to(scratch))
        self._connection.execute("SET TimeZone = 'UTC'")
        self._connection.execute("CREATE SCHEMA silver")
        # the one function of the rules that has another name here
        self._connection.execute("CREATE MACRO sha2(text, bits) AS sha256(text)")

    @classmethod
    @contextmanager
    def over(cls, place: Lake, catalog: Catalog) -> Iterator[DuckEngine]:
        """On the lake; what is spilled lies beside it and is gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="judge-", dir=place.folder) as scratch:
            read, write = partial(_rows, catalog), partial(lake.replace_by_batches, catalog)
            engine = cls(read, write, Path(scratch), queries(cls.dialect))
            with engine._connection:
                yield engine

    def together(self, queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
        """As many queries at a time as have few rows; what has none gives none, and is left out."""
        group: list[Query] = []
        size = 0
        for number, query in enumerate(queries):
            self._load(query.sql)
            rows = len(query.definitions) * sum(self._rows.get(name, 0) for name in _names(query.sql))
            if group and size + rows > AT_ONCE:
                yield group
                group, size = [], 0
                self._forget(self._present.difference(*(each.tables for each in queries[number:])))
            if rows:
                group.append(query)
                size += rows
        if group:
            yield group

    def give(self, name: str, rows: pa.Table) -> None:
        """Call a few rows ``name``."""
        self._connection.register(name, rows)

    def view(self, name: str, sql: str) -> None:
        """Call the rows of ``sql`` ``name``: they are computed where it stands in a query."""
        self._load(sql)
        self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS\n{sql}")

    def keep(self, name: str, sql: str) -> None:
        """Run ``sql`` once and call its rows ``name``, in place of what had this name."""
        self._load(sql)
        self._connection.execute(f"DROP TABLE IF EXISTS {name}")
        self._create(name, f"TEMP TABLE {name} AS\n{sql}")

    def add(self, name: str, sql: str) -> None:
        """Add the rows of ``sql`` to those called ``name``."""
        self._connection.execute(
            f"CREATE TEMP TABLE IF NOT EXISTS {name} AS SELECT * FROM (\n{sql}\n) LIMIT 0"
        )
        self._connection.execute(f"INSERT INTO {name}\n{sql}")

    def drop(self, name: str) -> None:
        """Let go of the rows that were kept or added under this name."""
        self._connection.execute(f"DROP TABLE {name}")

    def replace(self, table: Table, sql: str, where: Where | None = None) -> None:
        """Make the rows of ``sql`` the content of the lake's table, or of the partitions that ``where``
        chooses, in one commit. If it chooses none, they are added.
        """
        columns = ", ".join(f'"{name}"' for name in table.columns)
        found = self._connection.sql(f"SELECT {columns} FROM (\n{sql}\n)")
        self._write(table, found.to_arrow_reader(BATCH), where)

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
        self._connection.execute(f"DROP TABLE IF EXISTS {name}")
        rows = self._read(table, columns or tuple(table.columns), where)
        self._arrived(name, f"TEMP TABLE {name}", rows, among=semi_join("arrived", among))

    def look_at(self, where: Where | None) -> None:
        """From here on queries see of silver the rows that ``where`` chooses, each chapter as a cluster by
        itself. None: all rows as they are.
        """
        self._forget(self._present)
        self._seen = where

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows of ``sql``, which are few, by column name."""
        self._load(sql)
        found: list[dict[str, Any]] = self._connection.sql(sql).to_arrow_table().to_pylist()
        return found

    def _load(self, sql: str) -> None:
        for name in sorted(tables_in(sql) - self._present):
            table = self._tables[name]
            wanted = [column for column in table.columns if column in self._words]
            shown = "*"
            if self._seen is not None:
                wanted.append(CHAPTER)
                shown = f"* EXCLUDE ({CHAPTER}) REPLACE ({CHAPTER} || ' ' || cluster AS cluster)"
            rows = self._read(table, wanted, self._seen)
            self._kinds[name] = "VIEW" if isinstance(rows, str) else "TABLE"
            self._arrived(name, f"{self._kinds[name]} {name}", rows, shown)

    def _arrived(
        self, name: str, created: str, rows: pa.RecordBatchReader | str, shown: str = "*", among: str = ""
    ) -> None:
        source = rows if isinstance(rows, str) else "SELECT * FROM rows"
        if not isinstance(rows, str):
            self._connection.register("rows", rows)
        self._create(name, f"{created} AS SELECT {shown} FROM ({source}) AS arrived{among}")
        if not isinstance(rows, str):
            self._connection.unregister("rows")

    def _create(self, name: str, created: str) -> None:
        self._connection.execute(f"CREATE {created}")
        ((self._rows[name],),) = self._connection.execute(f"SELECT COUNT(*) FROM {name}").fetchall()

    @property
    def _present(self) -> set[str]:
        """The tables of silver that are here."""
        return self._rows.keys() & self._tables.keys()

    def _forget(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            self._connection.execute(f"DROP {self._kinds.pop(name)} {name}")
            del self._rows[name]


def _rows(
    catalog: Catalog, table: Table, columns: Sequence[str], where: Where | None
) -> pa.RecordBatchReader | str:
    """Rows of the lake; a query for them, where DuckDB can read whole files by itself, which costs half."""
    found = lake.whole_files(catalog, table, where)
    query = None if found is None else from_files(*found)
    if query is None:
        return lake.batches(catalog, table, columns, where)
    return "SELECT {} FROM ({})".format(", ".join(f'"{name}"' for name in columns), query)


def _names(sql: str) -> set[str]:
    """What may be the name of a table in it."""
    return set(re.findall(r"\b(?:silver\.)?\w+", sql))
