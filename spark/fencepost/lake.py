"""What is done with the tables of the lake: create, read, append and replace, through Iceberg's own catalog.

No JVM is needed. The tables are declared in :mod:`fencepost.tables`; what comes in and out is Arrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from math import inf
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg import expressions
from pyiceberg.catalog import Catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.exceptions import TableAlreadyExistsError
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask
from pyiceberg.table import Table as IcebergTable
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from fencepost import commits
from fencepost.catalog import open_catalog
from fencepost.protocols import tables
from fencepost.settings import Lake
from fencepost.tables import CHAPTER, SCHEMAS, VERDICTS, Table

__all__ = [
    "AtLeast",
    "Below",
    "Condition",
    "Extent",
    "Files",
    "Where",
    "added",
    "append",
    "batches",
    "by_file",
    "count",
    "delete",
    "ensure",
    "extents",
    "files",
    "greatest",
    "multiples",
    "put_together",
    "replace",
    "replace_by_batches",
    "replace_by_pieces",
    "scan",
    "scan_at",
    "size",
    "snapshot",
    "whole_files",
]


Bound = int | datetime
"""What a column is compared with."""


@dataclass(frozen=True)
class AtLeast:
    """A column lies at or above ``value``."""

    value: Bound


@dataclass(frozen=True)
class Below:
    """A column lies below ``value``, and at or above ``least`` if there is one."""

    value: Bound
    least: Bound | None = None


class Extent(NamedTuple):
    """A file's least and greatest value of a column, and its bytes. What is not told may be any."""

    first: float
    last: float
    size: int


# built by pydantic from names that mypy does not know
_of: Any = expressions

Condition = Mapping[str, Any]

Where = Sequence[Condition]
"""Which rows: those that meet any of the given conditions.

One condition says of each column that it equals a value (None: is null), is one of a frozenset of values, or
is :class:`AtLeast` or :class:`Below` one.
"""

_PROPERTIES = {
    "format-version": "2",
    # with the default of 4, commits of concurrent writers get lost on a SQLite catalog
    "commit.retry.num-retries": "20",
    # tasks are few and partitions fewer: neither shuffle nor sort all rows only to write them
    "write.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
}
_TYPES: dict[str, IcebergType] = {
    "string": StringType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "binary": BinaryType(),
    "timestamp": TimestamptzType(),
    # ids of elements are beyond those of any column
    "array<string>": ListType(1000, StringType(), element_required=False),
}


def ensure(lake: Lake) -> Catalog:
    """The open catalog, with every schema and table, and each column that a table lacked or had otherwise.

    What is written from now on is partitioned as the table is declared; what was written before stays.
    """
    if lake.folder is not None:
        lake.folder.mkdir(parents=True, exist_ok=True)
    catalog = open_catalog(lake)
    for schema in SCHEMAS:
        catalog.create_namespace_if_not_exists(schema)
    present = {".".join(each) for schema in SCHEMAS for each in catalog.list_tables(schema)}
    for table in tables():
        if table.name not in present:
            _create(catalog, table)
        else:
            kept = catalog.load_table(table.name)
            _fit_columns(kept, table)
            _fit_partitions(kept, table)
    return catalog


@dataclass(frozen=True)
class Files:
    """The files of a table that may have rows of what was asked for, as the table was then. They have so many
    ``bytes``.
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
    condition = _condition(where)
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
    found = catalog.load_table(table.name).scan(_condition(where), selected_fields=tuple(columns))
    return found.to_arrow_batch_reader()


def whole_files(
    catalog: Catalog, table: Table, where: Where | None
) -> tuple[IcebergTable, list[FileScanTask]] | None:
    """The table, and its files with the rows that ``where`` chooses; None where a file has others, too."""
    present = catalog.load_table(table.name)
    tasks = list(present.scan(_condition(where)).plan_files())
    return (present, tasks) if all(map(commits.is_chosen_whole, tasks)) else None


def count(catalog: Catalog, table: Table) -> int:
    """How many rows the table has, as its newest snapshot says: nothing is read."""
    return _summed(catalog, table, "total-records")


def size(catalog: Catalog, table: Table, where: Where | None = None) -> int:
    """How many bytes the table's files have, or those that can hold rows that ``where`` chooses: none is
    read.
    """
    if where is None:
        return _summed(catalog, table, "total-files-size")
    found = catalog.load_table(table.name).scan(_condition(where))
    return sum(task.file.file_size_in_bytes for task in found.plan_files())


def snapshot(catalog: Catalog, table: Table) -> int | None:
    """The id of the table's newest snapshot; None of a table that never had a row."""
    return catalog.load_table(table.name).metadata.current_snapshot_id


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
    found = present.scan(_condition(where), selected_fields=tuple(columns))
    read = ArrowScan(present.metadata, present.io, found.projection(), _condition(where))
    return read.to_table(tasks).select(list(columns)).cast(table.schema_of(columns))


def put_together(catalog: Catalog, table: Table) -> None:
    """Make few files of many small ones; the rows stay the same."""
    commits.put_together(catalog.load_table(table.name))


def greatest(catalog: Catalog, table: Table, column: str, where: Where) -> int | None:
    """The greatest value of a column of bigint in the rows that ``where`` chooses; None without any.

    ``where`` names columns that the table is partitioned by: files tell it, and are not read.
    """
    present = catalog.load_table(table.name)
    number = present.schema().find_field(column).field_id
    found: list[int] = []
    for task in present.scan(_condition(where)).plan_files():
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
    planned = present.scan(_condition(where), selected_fields=(column,))
    for task in planned.plan_files():
        bounds = [(each or {}).get(number) for each in (task.file.lower_bounds, task.file.upper_bounds)]
        first, last = (None if each is None else int(from_bytes(LongType(), each)) // of for each in bounds)
        if first is None or last is None or last - first > 1:
            wide.append(task)
        else:
            found |= {first, last}
    for task in wide:
        read = ArrowScan(present.metadata, present.io, planned.projection(), _condition(where))
        values = pc.unique(pc.drop_null(read.to_table([task])[column]))
        found.update((values.to_numpy() // of).tolist())
    return {each * of for each in found}


def _summed(catalog: Catalog, table: Table, what: str) -> int:
    snapshot = catalog.load_table(table.name).current_snapshot()
    if snapshot is None or snapshot.summary is None:
        return 0
    return int(snapshot.summary[what] or 0)


def append(catalog: Catalog, table: Table, rows: pa.Table) -> int:
    """Append rows, in one commit; gives back how many."""
    if rows.num_rows:
        commits.append(catalog.load_table(table.name), _aligned(rows, table))
    return int(rows.num_rows)


def replace(catalog: Catalog, table: Table, rows: pa.Table, where: Where | None = None) -> int:
    """Make ``rows`` the content of the table (or of the part that ``where`` chooses), in one commit."""
    replace_by_pieces(catalog, table, [rows], where)
    return int(rows.num_rows)


def replace_by_pieces(
    catalog: Catalog, table: Table, pieces: Iterable[pa.Table], where: Where | None = None
) -> None:
    """As ``replace``, rows that come in pieces, one of them at a time in memory."""
    aligned = (_aligned(rows, table) for rows in pieces)
    commits.replace(catalog.load_table(table.name), aligned, _condition(where))


def delete(catalog: Catalog, table: Table, where: Where) -> None:
    """Take the rows that ``where`` chooses out of the table, in one commit."""
    commits.delete(catalog.load_table(table.name), _condition(where))


def replace_by_batches(
    catalog: Catalog, table: Table, rows: pa.RecordBatchReader, where: Where | None = None
) -> None:
    """As ``replace``, rows that come in batches, some of them at a time in memory."""
    replace_by_pieces(catalog, table, commits.in_pieces(rows), where)


def _condition(where: Where | None) -> Any:
    if where is None:
        return _of.AlwaysTrue()
    return reduce(_of.Or, [_all_of(each) for each in where], _of.AlwaysFalse())


def _all_of(values: Mapping[str, Any]) -> Any:
    return reduce(_of.And, [_is(name, value) for name, value in values.items()], _of.AlwaysTrue())


def _is(name: str, value: Any) -> Any:
    if value is None:
        return _of.IsNull(name)
    if isinstance(value, AtLeast):
        return _of.GreaterThanOrEqual(name, value.value)
    if isinstance(value, Below):
        below = _of.LessThan(name, value.value)
        return below if value.least is None else _of.And(_of.GreaterThanOrEqual(name, value.least), below)
    if not isinstance(value, frozenset):
        return _of.EqualTo(name, value)
    one_of = _of.In(name, value - {None}) if value - {None} else _of.AlwaysFalse()
    return _of.Or(one_of, _of.IsNull(name)) if None in value else one_of


def _aligned(rows: pa.Table, table: Table) -> pa.Table:
    """Exactly the table's columns, in its order and types. Fails when one is missing.

    What is in no chapter is in the first: all of history may be one.
    """
    if table.in_chapters and CHAPTER not in rows.column_names:
        rows = rows.append_column(CHAPTER, pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows))
    return rows.select(list(table.stored)).cast(table.stored_schema)


def _create(catalog: Catalog, table: Table) -> None:
    properties = {**_PROPERTIES, "comment": table.doc}
    fields = [
        PartitionField(list(table.stored).index(name) + 1, 1000 + number, IdentityTransform(), name)
        for number, name in enumerate(table.stored_by)
    ]
    # another process may be first
    with suppress(TableAlreadyExistsError):
        catalog.create_table(
            table.name, _schema(table), partition_spec=PartitionSpec(*fields), properties=properties
        )


def _schema(table: Table) -> Schema:
    columns = enumerate(table.stored.items(), start=1)
    return Schema(*[NestedField(number, name, _TYPES[kind]) for number, (name, kind) in columns])


def _fit_columns(present: IcebergTable, table: Table) -> None:
    there = set(present.schema().column_names)
    grown = [name for name in table.columns if name in there and _has_grown(present, table, name)]
    retyped = [name for name in table.columns if name in there and _is_retyped(present, table, name)]
    added = [name for name in table.stored if name not in there or name in retyped]
    if added or grown:
        with present.update_schema(allow_incompatible_changes=bool(retyped)) as update:
            for name in retyped:
                update.delete_column(name)
            for name in added:
                update.add_column(name, _TYPES[table.stored[name]])
            for name in grown:
                update.update_column(name, _TYPES[table.columns[name]])


def _fit_partitions(present: IcebergTable, table: Table) -> None:
    names = {each.name for each in present.spec().fields}
    gone, new = names - set(table.stored_by), [name for name in table.stored_by if name not in names]
    by_chapter = CHAPTER in table.stored_by
    if (by_chapter and new) or gone:
        with present.update_spec() as update:
            for name in gone:
                update.remove_field(name)
            for name in new if by_chapter else ():
                update.add_identity(name)


def _has_grown(present: IcebergTable, table: Table, name: str) -> bool:
    """Whether an int became a bigint; of all changes the one that Iceberg makes and tables here need."""
    return table.columns[name] == "bigint" and isinstance(present.schema().find_type(name), IntegerType)


def _is_retyped(present: IcebergTable, table: Table, name: str) -> bool:
    """Whether a column of the verdicts has another type now. Every run judges anew and replaces their tables,
    so nothing is lost when it starts again empty.
    """
    kept = type(present.schema().find_type(name))
    return table in VERDICTS and kept is not type(_TYPES[table.columns[name]])
