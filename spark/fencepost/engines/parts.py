"""Rows that are not in memory: files, and the changes of what they hold.

A part is read only where it is used, in a task or in the driver, and again each time. Nothing is kept on
executors, so a task that is lost can be run again anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import pyarrow as pa
from pyarrow import parquet
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.table import FileScanTask

from fencepost.engines import Change
from fencepost.formats.arrow_stream import read, written

T = TypeVar("T")

HELD_BYTES = 8 << 20
"""Rows of the driver travel to tasks in parts of about so many bytes."""
ROWS_AT_ONCE = 1 << 16


class Source(Protocol):
    """Where the rows of a part are read."""

    @property
    def bytes(self) -> int:
        """About the size of the rows, or of the file that has them."""

    def tables(self) -> Iterator[pa.Table]:
        """The rows, some at a time."""


class Shared(Generic[T]):
    """A value that many parts have in common: it travels once with each job, not once with each part."""

    def __init__(self, value: T) -> None:
        self.value = value


@dataclass(frozen=True)
class Held:
    """Rows in memory; they travel with their task."""

    rows: pa.Table

    @property
    def bytes(self) -> int:
        """The size of the rows."""
        return int(self.rows.nbytes)

    def tables(self) -> Iterator[pa.Table]:
        """The rows."""
        yield self.rows

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrow's own way copies all of a table of which this is a slice
        return _held, (written(self.rows.combine_chunks()),)


def _held(rows: bytes) -> Held:
    return Held(read(rows))


@dataclass(frozen=True)
class Scanned:
    """Those rows of a file of the lake that a scan chooses."""

    scan: Shared[ArrowScan]
    task: FileScanTask
    schema: pa.Schema

    @property
    def bytes(self) -> int:
        """The size of the file."""
        return int(self.task.file.file_size_in_bytes)

    def tables(self) -> Iterator[pa.Table]:
        """The rows."""
        yield self.scan.value.to_table([self.task]).select(self.schema.names).cast(self.schema)


@dataclass(frozen=True)
class WrittenFile:
    """A data file that a task has written for a table, and that no snapshot names yet."""

    table: str
    file: DataFile
    io: FileIO
    schema: pa.Schema

    @property
    def bytes(self) -> int:
        """The size of the file."""
        return int(self.file.file_size_in_bytes)

    def tables(self) -> Iterator[pa.Table]:
        """The rows."""
        with self.io.new_input(self.file.file_path).open() as stream:
            for batch in parquet.ParquetFile(stream).iter_batches(ROWS_AT_ONCE, columns=self.schema.names):
                yield pa.Table.from_batches([batch]).select(self.schema.names).cast(self.schema)


@dataclass(frozen=True)
class Temporary:
    """A file that only later tasks of the same run read."""

    path: str
    bytes: int
    io: FileIO

    def tables(self) -> Iterator[pa.Table]:
        """The rows."""
        with self.io.new_input(self.path).open() as stream, pa.ipc.open_file(stream) as file:
            for number in range(file.num_record_batches):
                yield pa.Table.from_batches([file.get_batch(number)])


Changes: TypeAlias = Shared[tuple[tuple[Change, pa.Schema], ...]]

_NONE: Changes = Shared(())


@dataclass(frozen=True)
class Part:
    """Rows of a source after some changes, each with the schema of what it makes."""

    source: Source
    changes: Changes = _NONE

    def pieces(self) -> Iterator[pa.Table]:
        """The rows, some at a time."""
        for rows in self.source.tables():
            for first in range(0, rows.num_rows, ROWS_AT_ONCE):
                piece = rows.slice(first, ROWS_AT_ONCE)
                for change, schema in self.changes.value:
                    piece = change(piece).cast(schema)
                yield piece


@dataclass(frozen=True)
class Parts:
    """Rows of a schema that are not computed yet."""

    schema: pa.Schema
    parts: tuple[Part, ...]

    @property
    def bytes(self) -> int:
        """The size of all sources."""
        return sum(each.source.bytes for each in self.parts)

    def __iter__(self) -> Iterator[pa.Table]:
        return (piece for part in self.parts for piece in part.pieces())

    def changed(self, change: Change, schema: pa.Schema) -> Parts:
        """The rows that ``change`` makes of these rows, in this schema."""
        longer = {id(each.changes): Shared((*each.changes.value, (change, schema))) for each in self.parts}
        return Parts(schema, tuple(Part(each.source, longer[id(each.changes)]) for each in self.parts))


Rows: TypeAlias = pa.Table | Parts


def parts_of(rows: Rows) -> Parts:
    """The rows as parts."""
    if isinstance(rows, Parts):
        return rows
    return Parts(rows.schema, tuple(Part(Held(each)) for each in sliced(rows, HELD_BYTES)))


def pieces_of(rows: Rows) -> Iterable[pa.Table]:
    """The rows, a piece at a time."""
    return rows if isinstance(rows, Parts) else [rows]


def union(rows: Sequence[Rows]) -> Rows:
    """The rows of all of these, which have one schema."""
    if all(isinstance(each, pa.Table) for each in rows):
        return pa.concat_tables(rows)
    return Parts(rows[0].schema, tuple(part for each in rows for part in parts_of(each).parts))


def whole(rows: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    """Pieces of rows as one table."""
    return pa.concat_tables([schema.empty_table(), *rows])


def sliced(rows: pa.Table, size: int) -> Iterator[pa.Table]:
    """The rows in slices of about ``size`` bytes."""
    count = max(1, rows.num_rows * size // max(rows.nbytes, 1))
    for first in range(0, rows.num_rows, count):
        yield rows.slice(first, count)
