"""Reads rows of tables as Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import FileScanTask
from pyiceberg.table import Table as IcebergTable

from fencepost.conditions import Where
from fencepost.conditions.iceberg import expression
from fencepost.iceberg import commits
from fencepost.lake.frozen import without_history
from fencepost.tables import Table

__all__ = ["Files", "added", "by_file", "files", "scan", "scan_at"]


@dataclass(frozen=True)
class Files:
    """The files of a table that may have rows that a condition chooses, as of one snapshot of the table.

    ``bytes``: the size of all these files. ``snapshot``: the snapshot's id, None if the table never had a
    row. ``arrow_scan`` reads the rows of ``tasks``, one for each file.
    """

    schema: pa.Schema
    bytes: int
    snapshot: int | None = None
    arrow_scan: ArrowScan | None = None
    tasks: Sequence[FileScanTask] = ()

    def read(self) -> pa.Table:
        """All rows that the condition chooses."""
        return self._rows(self.tasks)

    def read_each(self) -> Iterator[pa.Table]:
        """The chosen rows, one file after the other."""
        return (self._rows([task]) for task in self.tasks)

    def _rows(self, tasks: Sequence[FileScanTask]) -> pa.Table:
        if self.arrow_scan is None or not tasks:
            return self.schema.empty_table()
        return self.arrow_scan.to_table(tasks).select(self.schema.names).cast(self.schema)


def files(catalog: Catalog, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Files:
    """The files that may have rows that ``where`` chooses. Reading them gives ``columns`` (all, if none is
    named) of these rows, in the table's Arrow types.
    """
    chosen = tuple(columns) or tuple(table.columns)
    schema, present = table.schema_of(chosen), catalog.load_table(table.name)
    if present.metadata.current_snapshot_id is None:
        return Files(schema, 0)
    tasks = list(present.scan(expression(where), selected_fields=chosen).plan_files())
    return _files(present, schema, tasks, where)


def scan(catalog: Catalog, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> pa.Table:
    """``columns`` (all, if none is named) of the rows that ``where`` chooses, in the table's Arrow types."""
    return files(catalog, table, columns, where).read()


def scan_at(catalog: Catalog, table: Table, at: int | None) -> pa.Table | None:
    """All rows as of a snapshot (None: before the first one, so none); None if the snapshot has expired."""
    present = catalog.load_table(table.name)
    if at is None:
        return table.arrow_schema.empty_table()
    if present.snapshot_by_id(at) is None:
        return None
    scan_of_snapshot = present.scan(snapshot_id=at, selected_fields=tuple(table.columns))
    return scan_of_snapshot.to_arrow().select(list(table.columns)).cast(table.arrow_schema)


def by_file(catalog: Catalog, table: Table, columns: Sequence[str], where: Where) -> Iterator[pa.Table]:
    """``columns`` of the rows that ``where`` chooses; only one file's rows are in memory at a time."""
    return files(catalog, table, columns, where).read_each()


def added(
    catalog: Catalog, table: Table, columns: Sequence[str], where: Where | None, since: int | None
) -> Files | None:
    """The files that were appended after the snapshot ``since``. Reading them gives ``columns`` of the rows
    in them that ``where`` chooses.

    None where these files are not known: the snapshot has expired, or rows were removed since.
    """
    present = catalog.load_table(table.name)
    tasks = commits.added(present, since)
    return None if tasks is None else _files(present, table.schema_of(columns), tasks, where)


def _files(
    present: IcebergTable, schema: pa.Schema, tasks: Sequence[FileScanTask], where: Where | None
) -> Files:
    snapshot = present.metadata.current_snapshot_id
    if not tasks:
        return Files(schema, 0, snapshot)
    condition = expression(where)
    projection = present.scan(condition, selected_fields=tuple(schema.names)).projection()
    # the scan is sent to tasks, and the history grows with every commit
    arrow_scan = ArrowScan(without_history(present.metadata), present.io, projection, condition)
    size = sum(task.file.file_size_in_bytes for task in tasks)
    return Files(schema, size, snapshot, arrow_scan, tasks)
