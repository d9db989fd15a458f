"""Rows of tables, as Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import FileScanTask
from pyiceberg.table import Table as IcebergTable

from fencepost.iceberg import commits
from fencepost.lake.conditions import Where, expression
from fencepost.tables import Table

__all__ = ["Files", "added", "batches", "by_file", "files", "scan", "scan_at", "whole_files"]


@dataclass(frozen=True)
class Files:
    """The files of a table that may have rows which a condition chooses, as the table was then. They have so
    many ``bytes``.
    """

    schema: pa.Schema
    bytes: int
    _scan: ArrowScan | None = None
    _tasks: Sequence[FileScanTask] = ()

    def read(self) -> pa.Table:
        """The rows."""
        return self._rows(self._tasks)

    def read_each(self) -> Iterator[pa.Table]:
        """The rows of one file after the other."""
        return (self._rows([task]) for task in self._tasks)

    def _rows(self, tasks: Sequence[FileScanTask]) -> pa.Table:
        if self._scan is None or not tasks:
            return self.schema.empty_table()
        return self._scan.to_table(tasks).select(self.schema.names).cast(self.schema)


def files(catalog: Catalog, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Files:
    """The files that may have rows which ``where`` chooses, to be read for ``columns`` (all, if none named)
    of these rows, in the table's Arrow types.
    """
    chosen = tuple(columns) or tuple(table.columns)
    schema, present = table.schema_of(chosen), catalog.load_table(table.name)
    if present.metadata.current_snapshot_id is None:
        return Files(schema, 0)
    condition = expression(where)
    found = present.scan(condition, selected_fields=chosen)
    tasks = list(found.plan_files())
    read = ArrowScan(present.metadata, present.io, found.projection(), condition)
    return Files(schema, sum(task.file.file_size_in_bytes for task in tasks), read, tasks)


def scan(catalog: Catalog, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> pa.Table:
    """``columns`` (all, if none is named) of the rows that ``where`` chooses, in the table's Arrow types."""
    return files(catalog, table, columns, where).read()


def scan_at(catalog: Catalog, table: Table, at: int | None) -> pa.Table | None:
    """All rows as they were at a snapshot (None: before the first); None where it has expired."""
    present = catalog.load_table(table.name)
    if at is None:
        return table.arrow_schema.empty_table()
    if present.snapshot_by_id(at) is None:
        return None
    found = present.scan(snapshot_id=at, selected_fields=tuple(table.columns))
    return found.to_arrow().select(list(table.columns)).cast(table.arrow_schema)


def by_file(catalog: Catalog, table: Table, columns: Sequence[str], where: Where) -> Iterator[pa.Table]:
    """``columns`` of the rows that ``where`` chooses, those of one file at a time in memory."""
    return files(catalog, table, columns, where).read_each()


def batches(
    catalog: Catalog, table: Table, columns: Sequence[str], where: Where | None = None
) -> pa.RecordBatchReader:
    """``columns`` of the rows that ``where`` chooses, a batch at a time, as Iceberg's types come."""
    found = catalog.load_table(table.name).scan(expression(where), selected_fields=tuple(columns))
    return found.to_arrow_batch_reader()


def whole_files(
    catalog: Catalog, table: Table, where: Where | None
) -> tuple[IcebergTable, list[FileScanTask]] | None:
    """The table, and its files with the rows that ``where`` chooses; None where a file has others, too."""
    present = catalog.load_table(table.name)
    tasks = list(present.scan(expression(where)).plan_files())
    return (present, tasks) if all(map(commits.is_chosen_whole, tasks)) else None


def added(
    catalog: Catalog, table: Table, columns: Sequence[str], where: Where | None, since: int | None
) -> pa.Table | None:
    """``columns`` of the rows that ``where`` chooses among those appended after a snapshot.

    None where that cannot be told: the snapshot has expired, or rows of it are gone.
    """
    present = catalog.load_table(table.name)
    tasks = commits.added(present, since)
    if not tasks:
        return None if tasks is None else table.schema_of(columns).empty_table()
    found = present.scan(expression(where), selected_fields=tuple(columns))
    read = ArrowScan(present.metadata, present.io, found.projection(), expression(where))
    return read.to_table(tasks).select(list(columns)).cast(table.schema_of(columns))
