"""What Iceberg notes of a table and its files. Rows are read only where a note is missing."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.types import LongType

from fencepost.lake.conditions import Where, expression
from fencepost.lake.reading import scan
from fencepost.tables import Table

__all__ = ["Extent", "count", "extents", "greatest", "multiples", "size", "snapshot"]


class Extent(NamedTuple):
    """A file's least and greatest value of a column, infinite where Iceberg does not note them, and its
    bytes.
    """

    first: float
    last: float
    size: int


def count(catalog: Catalog, table: Table) -> int:
    """How many rows the table has, as its newest snapshot says: nothing is read."""
    return _summed(catalog, table, "total-records")


def size(catalog: Catalog, table: Table, where: Where | None = None) -> int:
    """How many bytes the table's files have, or those that can hold rows that ``where`` chooses: none is
    read.
    """
    if where is None:
        return _summed(catalog, table, "total-files-size")
    found = catalog.load_table(table.name).scan(expression(where))
    return sum(task.file.file_size_in_bytes for task in found.plan_files())


def snapshot(catalog: Catalog, table: Table) -> int | None:
    """The id of the table's newest snapshot; None of a table that never had a row."""
    return catalog.load_table(table.name).metadata.current_snapshot_id


def greatest(catalog: Catalog, table: Table, column: str, where: Where) -> int | None:
    """The greatest value of a column of bigint in the rows that ``where`` chooses; None without any.

    ``where`` names columns that the table is partitioned by: files tell it, and are not read.
    """
    present = catalog.load_table(table.name)
    number = present.schema().find_field(column).field_id
    found: list[int] = []
    for task in present.scan(expression(where)).plan_files():
        bound = (task.file.upper_bounds or {}).get(number)
        if bound is None:
            values = scan(catalog, table, (column,), where)[column]
            return max(values.drop_null().to_pylist(), default=None)
        found.append(int(from_bytes(LongType(), bound)))
    return max(found, default=None)


def extents(catalog: Catalog, table: Table, column: str) -> list[Extent]:
    """Of each file of a table the values of a column of bigint; none is read."""
    present = catalog.load_table(table.name)
    number = present.schema().find_field(column).field_id
    found = []
    for task in present.scan().plan_files():
        least, most = (task.file.lower_bounds or {}).get(number), (task.file.upper_bounds or {}).get(number)
        first = -inf if least is None else int(from_bytes(LongType(), least))
        last = inf if most is None else int(from_bytes(LongType(), most))
        found.append(Extent(first, last, task.file.file_size_in_bytes))
    return found


def multiples(catalog: Catalog, table: Table, column: str, of: int, where: Where) -> set[int]:
    """The multiples of a length that a column of bigint has values in: each at the value or less than the
    length below it. Of files whose values are in one or two of them, as ``greatest``, none is read.
    """
    present = catalog.load_table(table.name)
    number = present.schema().find_field(column).field_id
    found, wide = set[int](), []
    planned = present.scan(expression(where), selected_fields=(column,))
    for task in planned.plan_files():
        bounds = [(each or {}).get(number) for each in (task.file.lower_bounds, task.file.upper_bounds)]
        first, last = (None if each is None else int(from_bytes(LongType(), each)) // of for each in bounds)
        if first is None or last is None or last - first > 1:
            wide.append(task)
        else:
            found |= {first, last}
    for task in wide:
        read = ArrowScan(present.metadata, present.io, planned.projection(), expression(where))
        values = pc.unique(pc.drop_null(read.to_table([task])[column]))
        found.update((values.to_numpy() // of).tolist())
    return {each * of for each in found}


def _summed(catalog: Catalog, table: Table, what: str) -> int:
    snapshot = catalog.load_table(table.name).current_snapshot()
    if snapshot is None or snapshot.summary is None:
        return 0
    return int(snapshot.summary[what] or 0)
