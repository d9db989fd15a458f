"""Deletes rows of bronze that were read and are not needed any more: files all of whose rows go are dropped
by what the manifests say of them, and only files with rows that stay are written anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.table import FileScanTask
from pyiceberg.table import Table as IcebergTable
from pyiceberg.types import LongType, PrimitiveType, StringType

from fencepost.conditions import Bound, Where, written
from fencepost.conditions.arrow import mask
from fencepost.conditions.iceberg import expression
from fencepost.iceberg import commits
from fencepost.iceberg.listing import Listing
from fencepost.lake.statistics import count, size
from fencepost.tables import Table

__all__ = ["Chosen", "Forgotten", "forget"]


@dataclass(frozen=True)
class Chosen:
    """Chooses rows by a function of their ``columns``: for each row whether it is chosen."""

    columns: Sequence[str]
    of: Callable[[pa.Table], pa.ChunkedArray]


@dataclass(frozen=True)
class Forgotten:
    """How many rows a table has lost, and by how many bytes its files are smaller."""

    rows: int = 0
    bytes: int = 0


def forget(
    catalog: Catalog,
    table: Table,
    where: Where,
    read_at: int | None,
    also: Chosen | None = None,
) -> Forgotten:
    """Delete the rows that ``where`` and ``also`` choose, in one commit; none if another process rewrites
    their files meanwhile.

    ``read_at``: the snapshot up to which all rows were read (None: no row was). Rows of files that came later
    stay, so ``added`` gives the same rows as before.
    """
    present = catalog.load_table(table.name)
    if read_at is None or present.snapshot_by_id(read_at) is None or not where:
        return Forgotten()
    condition = expression(where)
    read = {task.file.file_path for task in present.scan(condition, snapshot_id=read_at).plan_files()}
    tasks = [task for task in present.scan(condition).plan_files() if task.file.file_path in read]
    named = [*(name for each in where for name in each), *(also.columns if also else ())]

    def stays(rows: pa.Table) -> pa.ChunkedArray:
        chosen = mask(rows, where)
        return pc.invert(chosen if also is None else pc.and_(chosen, pc.fill_null(also.of(rows), False)))

    dropped, rewritten = [], list[FileScanTask]()
    for task in tasks:
        if also is None and _is_chosen_whole(present, task.file, where):
            dropped.append(task.file)
            continue
        left = sum(
            pc.sum(stays(rows)).as_py() or 0 for rows in _read(present, [task], list(dict.fromkeys(named)))
        )
        if left == 0:
            dropped.append(task.file)
        elif left < task.file.record_count:
            rewritten.append(task)
    if not dropped and not rewritten:
        return Forgotten()
    before = count(catalog, table), size(catalog, table)
    left_rows = (rows.filter(stays(rows)) for rows in _read(present, rewritten))
    commits.forget(Listing(present), [*dropped, *(task.file for task in rewritten)], left_rows)
    return Forgotten(before[0] - count(catalog, table), before[1] - size(catalog, table))


def _read(
    present: IcebergTable, tasks: Iterable[FileScanTask], columns: Sequence[str] = ()
) -> Iterator[pa.Table]:
    """The rows of these files, one file after the other; all columns if none is named."""
    schema = present.schema().select(*columns) if columns else present.schema()
    arrow_scan = ArrowScan(present.metadata, present.io, schema, AlwaysTrue())
    return (arrow_scan.to_table([task]) for task in tasks)


def _is_chosen_whole(present: IcebergTable, file: DataFile, where: Where) -> bool:
    """Whether the bounds of a file's columns show that ``where`` chooses all of its rows."""
    return any(written([each], _OfAllRows(present, file)) for each in where)


@dataclass(frozen=True)
class _OfAllRows:
    """Whether all rows of a file are known to meet a condition."""

    present: IcebergTable
    file: DataFile

    def is_null(self, column: str) -> bool:
        return False

    def equals(self, column: str, value: Any) -> bool:
        return self.is_in(column, frozenset({value}))

    def is_in(self, column: str, values: frozenset[Any]) -> bool:
        least, most = self._bounds(column)
        # bounds of a text may be cut, but not one that equals a whole value of both sides
        return least is not None and least == most and least in values and self._has_value(column)

    def at_least(self, column: str, value: Bound) -> bool:
        least = self._bounds(column)[0]
        return least is not None and bool(least >= value) and self._has_value(column)

    def below(self, column: str, value: Bound) -> bool:
        most = self._bounds(column)[1]
        return most is not None and bool(most < value) and self._has_value(column)

    def all_of(self, parts: Iterable[bool]) -> bool:
        return all(parts)

    def any_of(self, parts: Iterable[bool]) -> bool:
        return any(parts)

    def _bounds(self, column: str) -> tuple[Any, Any]:
        fields = self.present.specs()[self.file.spec_id].fields
        for place, each in enumerate(fields):
            if each.name == column:
                return self.file.partition[place], self.file.partition[place]
        field = self.present.schema().find_field(column)
        if not isinstance(field.field_type, LongType | StringType):
            return None, None
        kind: PrimitiveType = field.field_type
        bounds = (
            (each or {}).get(field.field_id) for each in (self.file.lower_bounds, self.file.upper_bounds)
        )
        least, most = (None if each is None else from_bytes(kind, each) for each in bounds)
        return least, most

    def _has_value(self, column: str) -> bool:
        """Whether no row has a null there."""
        number = self.present.schema().find_field(column).field_id
        return (self.file.null_value_counts or {}).get(number) == 0
