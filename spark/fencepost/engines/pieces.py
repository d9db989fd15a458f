"""Rows that may not fit into memory: Arrow tables one after the other, which can be read several times."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from mmap import ACCESS_READ, mmap
from typing import TypeAlias

import pyarrow as pa

HELD_BYTES = 128 << 20
"""So many bytes of new rows are kept in memory; beyond that they go to files."""
PIECE_BYTES = 32 << 20
"""About so many bytes are written to a file, and read from it, at a time."""

_MOST_BATCHES = 8
"""A piece in more batches is copied into one before it is written: each batch costs something to read."""


class Pieces:
    """Rows of a schema, piece by piece. Each iteration computes them anew, or reads them from a file."""

    def __init__(self, schema: pa.Schema, pieces: Callable[[], Iterable[pa.Table]]) -> None:
        self.schema, self._pieces = schema, pieces

    def __iter__(self) -> Iterator[pa.Table]:
        return iter(self._pieces())


Some: TypeAlias = pa.Table | Pieces
"""Rows, all in memory or not."""


def pieces_of(rows: Some) -> Iterable[pa.Table]:
    """The rows, a piece at a time."""
    return [rows] if isinstance(rows, pa.Table) else rows


def whole(rows: Some) -> pa.Table:
    """The rows, all in memory."""
    return rows if isinstance(rows, pa.Table) else pa.concat_tables([rows.schema.empty_table(), *rows])


def union(parts: Sequence[Some]) -> Some:
    """The rows of all parts, which have one schema."""
    if all(isinstance(part, pa.Table) for part in parts):
        return pa.concat_tables(parts)
    return Pieces(parts[0].schema, lambda: (piece for part in parts for piece in pieces_of(part)))


def sliced(rows: pa.Table, size: int) -> Iterator[pa.Table]:
    """The rows in slices of about ``size`` bytes."""
    count = max(1, rows.num_rows * size // max(rows.nbytes, 1))
    for first in range(0, rows.num_rows, count):
        yield rows.slice(first, count)


class PieceFile:
    """Rows of a schema in a temporary file without a name: the system deletes it with this object, even if
    the process is killed. All rows must be written before any is read.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._writer: pa.ipc.RecordBatchFileWriter | None = pa.ipc.new_file(self._file, schema)
        self._reader: pa.ipc.RecordBatchFileReader | None = None
        self._sizes: list[int] = []

    def write(self, rows: pa.Table) -> list[int]:
        """Add rows; returns the numbers by which ``read`` finds them."""
        assert self._writer is not None, "rows were read already"
        first = len(self._sizes)
        for piece in sliced(rows, PIECE_BYTES):
            batches = piece.to_batches()
            if len(batches) > _MOST_BATCHES:
                batches = piece.combine_chunks().to_batches()
            for batch in batches:
                self._writer.write_batch(batch)
                self._sizes.append(batch.nbytes)
        return list(range(first, len(self._sizes)))

    def read(self, numbers: Iterable[int]) -> pa.Table:
        """The rows with these numbers."""
        if self._writer is not None:
            self._writer.close()
            self._file.flush()
            # mapped, not read: the system has one copy of the pages, and drops them when it needs memory
            pages = mmap(self._file.fileno(), 0, access=ACCESS_READ)
            self._writer, self._reader = None, pa.ipc.open_file(pa.py_buffer(pages))
        assert self._reader is not None
        return pa.Table.from_batches(map(self._reader.get_batch, numbers), self.schema)

    def pieces(self) -> Iterator[pa.Table]:
        """All rows, in the order in which they were written."""
        numbers, size = [], 0
        for number, each in enumerate(self._sizes):
            numbers.append(number)
            size += each
            if size > PIECE_BYTES or number + 1 == len(self._sizes):
                yield self.read(numbers)
                numbers, size = [], 0


class PieceBuffer:
    """Collects rows of several tables. When they take too much memory, those of the table with the most
    bytes go to a file.
    """

    def __init__(self, schemas: Mapping[str, pa.Schema]) -> None:
        self._schemas = schemas
        self._in_memory: dict[str, list[pa.Table]] = {name: [] for name in schemas}
        self._bytes = dict.fromkeys(schemas, 0)
        self._stored: dict[str, PieceFile] = {}

    def add(self, name: str, rows: pa.Table) -> None:
        """Add rows of a table."""
        self._in_memory[name].append(rows)
        self._bytes[name] += rows.nbytes
        if sum(self._bytes.values()) > HELD_BYTES:
            self._store(max(self._bytes, key=lambda each: self._bytes[each]))

    def rows(self) -> dict[str, Some]:
        """The rows of each table, by its name."""
        return {name: self._rows(name) for name in self._schemas}

    def _rows(self, name: str) -> Some:
        if name not in self._stored:
            return pa.concat_tables([self._schemas[name].empty_table(), *self._in_memory.pop(name)])
        self._store(name)
        return Pieces(self._schemas[name], self._stored[name].pieces)

    def _store(self, name: str) -> None:
        schema = self._schemas[name]
        if name not in self._stored:
            self._stored[name] = PieceFile(schema)
        self._stored[name].write(pa.concat_tables([schema.empty_table(), *self._in_memory[name]]))
        self._in_memory[name], self._bytes[name] = [], 0
