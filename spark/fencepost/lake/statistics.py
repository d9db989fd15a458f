"""Sizes and bounds of tables and their files, from Iceberg's statistics. Rows are read only where these are
missing.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import Any, NamedTuple

import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.types import LongType, PrimitiveType, StringType

from fencepost.conditions import Where
from fencepost.conditions.iceberg import expression
from fencepost.lake.reading import scan
from fencepost.tables import Table

__all__ = ["Extent", "count", "extents", "greatest", "present", "size", "snapshot"]


class Extent(NamedTuple):
    """A file's least and greatest value of a column, infinite where Iceberg has none, and its
    size in bytes.
    """

    first: float
    last: float
    size: int


def count(catalog: Catalog, table: Table) -> int:
    """How many rows the table has, from the summary of its newest snapshot: no file is read."""
    return _summed(catalog, table, "total-records")


def size(catalog: Catalog, table: Table, where: Where | None = None) -> int:
    """How many bytes the table's files have, or those of them that may have rows that ``where`` chooses; no
    file is read.
    """
    if where is None:
        return _summed(catalog, table, "total-files-size")
    scan_of_rows = catalog.load_table(table.name).scan(expression(where))
    return sum(task.file.file_size_in_bytes for task in scan_of_rows.plan_files())


def snapshot(catalog: Catalog, table: Table) -> int | None:
    """The id of the table's newest snapshot; None if the table never had a row."""
    return catalog.load_table(table.name).metadata.current_snapshot_id


def greatest(catalog: Catalog, table: Table, column: str, where: Where) -> int | None:
    """The greatest value of a bigint column in the rows that ``where`` chooses; None without rows.

    ``where`` must name only columns that the table is partitioned by: then the files' bounds are enough.
    """
    present = catalog.load_table(table.name)
    number = present.schema().find_field(column).field_id
    bounds: list[int] = []
    for task in present.scan(expression(where)).plan_files():
        bound = (task.file.upper_bounds or {}).get(number)
        if bound is None:
            values = scan(catalog, table, (column,), where)[column]
            return max(values.drop_null().to_pylist(), default=None)
        bounds.append(int(from_bytes(LongType(), bound)))
    return max(bounds, default=None)


def extents(catalog: Catalog, table: Table, column: str) -> list[Extent]:
    """The extent of a bigint column in each file of a table; no file is read."""
    present = catalog.load_table(table.name)
    number = present.schema().find_field(column).field_id
    extents_of_files = []
    for task in present.scan().plan_files():
        least, most = _bounds(task.file, number, LongType())
        first, last = -inf if least is None else least, inf if most is None else most
        extents_of_files.append(Extent(first, last, task.file.file_size_in_bytes))
    return extents_of_files


def present(catalog: Catalog, table: Table, column: str, values: Collection[str]) -> frozenset[str]:
    """Those of the values that a text column has. A file is read only if its bounds show that it may have one
    that was not found yet.
    """
    stored = catalog.load_table(table.name)
    number = stored.schema().find_field(column).field_id
    planned = stored.scan(selected_fields=(column,))
    missing = set(values)
    for task in planned.plan_files():
        least, most = _bounds(task.file, number, StringType())
        if any((least is None or least <= each) and (most is None or each <= most) for each in missing):
            arrow_scan = ArrowScan(stored.metadata, stored.io, planned.projection(), AlwaysTrue())
            missing -= set(pc.unique(arrow_scan.to_table([task])[column]).to_pylist())
    return frozenset(values) - missing


def _bounds(file: DataFile, number: int, kind: PrimitiveType) -> tuple[Any, Any]:
    """The least and the greatest value of a column in a file, by the column's id; None where Iceberg has
    none.
    """
    bounds = ((each or {}).get(number) for each in (file.lower_bounds, file.upper_bounds))
    least, most = (None if each is None else from_bytes(kind, each) for each in bounds)
    return least, most


def _summed(catalog: Catalog, table: Table, what: str) -> int:
    snapshot = catalog.load_table(table.name).current_snapshot()
    if snapshot is None or snapshot.summary is None:
        return 0
    return int(snapshot.summary[what] or 0)
