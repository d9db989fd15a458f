"""DuckDB in this process, over rows of Iceberg tables: no JVM, and bounded memory where it may spill."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import duckdb

from fencepost.conditions import Where
from fencepost.conditions.sql import in_duckdb
from fencepost.quoting import table_name
from fencepost.reading.local_io import LocalFileIO
from fencepost.reading.parquet import from_files

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table

MEMORY = "1GB"
"""The most memory that DuckDB uses where it may spill; what exceeds it is written to disk."""

MEMORY_OF_TASK = "320MB"
"""As MEMORY, for a task: with one thread that is enough."""

BATCH = 50_000
"""The number of rows that are written at a time."""


@dataclass(frozen=True)
class FilesQuery:
    """A query for rows of files, and how many they are; None if it chooses some of the files' rows."""

    sql: str
    rows: int | None


Arriving: TypeAlias = "FilesQuery | pa.RecordBatchReader | pa.Table"
"""Rows that DuckDB reads from files itself, or those that Arrow gives it."""


class Database:
    """A connection to DuckDB, whose queries may name the rows that are attached to it."""

    def __init__(self, scratch: Path | None = None, *, in_task: bool = False) -> None:
        """``scratch``: a folder to which queries spill rows that exceed MEMORY; without it there is no limit.
        ``in_task``: other tasks run beside it on the same machine.
        """
        # extensions would be downloaded, and spilled rows would go to the working directory
        config: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
        config["temp_directory"] = str(scratch or tempfile.gettempdir())
        if scratch:
            # Rows have no order unless a query orders them: to keep the order of insertion, DuckDB would
            # hold all of them until the last one.
            memory = MEMORY_OF_TASK if in_task else MEMORY
            config |= {"memory_limit": memory, "preserve_insertion_order": False}
        if in_task:
            config["threads"] = 1
        self._connection = duckdb.connect(config=config)
        # a forked process has no main module, so DuckDB takes it for an interactive one
        self._run("SET enable_progress_bar = false")
        self._run("SET TimeZone = 'UTC'")
        self._kinds: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def _run(self, sql: str) -> list[Any]:
        return self._connection.execute(sql).fetchall()

    def _attach(
        self, name: str, rows: Arriving, shown: str = "*", where: str = "", *, stored: bool = False
    ) -> int | None:
        """Let queries name rows, in place of any that had this name. Returns how many they are, None if that
        is not known.

        Rows of files are a view, so that each query reads only the columns that it needs: that costs less
        than to read all columns once and keep them in memory. ``stored``: they are stored nevertheless, as
        rows are that come from Arrow. ``shown``: what to select of ``arrived``; ``where`` chooses rows of it.
        """
        if isinstance(rows, FilesQuery):
            selected = f" AS SELECT {shown} FROM ({rows.sql}) AS arrived{where}"
            if not stored:
                self._define(name, "VIEW", selected)
                return rows.rows
            return self._define(name, "TABLE", selected)
        self._connection.register("arriving", rows)
        number = self._define(name, "TABLE", f" AS SELECT {shown} FROM arriving AS arrived{where}")
        self._connection.unregister("arriving")
        return number

    def _define(self, name: str, kind: str, definition: str) -> int | None:
        """Make a view or a table, in place of any that had this name; returns how many rows a table has."""
        if self._kinds.get(name, kind) != kind:
            self._detach(name)
        found = self._run(f"CREATE OR REPLACE {kind} {table_name(name)}{definition}")
        self._kinds[name] = kind
        return found[0][0] if found else None

    def _detach(self, name: str) -> None:
        """Forget rows, if any have this name."""
        if kind := self._kinds.pop(name, None):
            self._run(f"DROP {kind} {table_name(name)}")


def rows_of(table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Arriving:
    """The rows that ``where`` chooses, with at least ``columns`` (all, if none is named).

    It is a query where DuckDB can read the files itself, at half the cost; else PyIceberg reads them, a batch
    at a time. Raises ValueError and NotImplementedError where only Spark can read the table.
    """
    from fencepost.conditions.iceberg import expression, is_chosen_whole

    condition = expression(where)
    tasks = list(table.scan(condition).plan_files())
    if (query := from_files(table, tasks)) is not None:
        if where is None or all(map(is_chosen_whole, tasks)):
            return FilesQuery(query, sum(task.file.record_count for task in tasks))
        return FilesQuery(f"SELECT * FROM ({query}) WHERE {in_duckdb(where)}", None)
    if any("list<struct<" in str(each.field_type) for each in table.schema().fields):
        raise NotImplementedError("of a list of structs PyIceberg 0.12 makes an empty one where it is null")
    if isinstance(table.io, LocalFileIO):
        from pyiceberg.io.pyarrow import PyArrowFileIO

        table.io = PyArrowFileIO()
    return table.scan(condition, selected_fields=tuple(columns) or ("*",)).to_arrow_batch_reader()
