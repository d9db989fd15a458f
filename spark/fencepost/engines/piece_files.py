"""Rows of this process that may not fit into memory, in temporary files without names."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from mmap import ACCESS_READ, mmap

import pyarrow as pa

from fencepost.engines.parts import Part, Parts, Rows, sliced, whole

HELD_BYTES = 128 << 20
"""So many bytes of new rows are kept in memory; beyond that they go to files."""
PIECE_BYTES = 32 << 20
"""About so many bytes are written to a file, and read from it, at a time."""

_MOST_BATCHES = 8
"""A piece in more batches is copied into one before it is written: each batch costs something to read."""


class PieceFile:
    """Rows of a schema in a temporary file without a name: the system deletes it with this object, even if
    the process is killed. All rows must be written before any is read. It is a source of parts, for this
    process only.
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

    @property
    def bytes(self) -> int:
        """The size of all rows."""
        return sum(self._sizes)

    def tables(self) -> Iterator[pa.Table]:
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

    def rows(self) -> dict[str, Rows]:
        """The rows of each table, by its name."""
        return {name: self._rows(name) for name in self._schemas}

    def _rows(self, name: str) -> Rows:
        schema = self._schemas[name]
        if name not in self._stored:
            return whole(self._in_memory.pop(name), schema)
        self._store(name)
        return Parts(schema, (Part(self._stored[name]),))

    def _store(self, name: str) -> None:
        schema = self._schemas[name]
        if name not in self._stored:
            self._stored[name] = PieceFile(schema)
        self._stored[name].write(whole(self._in_memory[name], schema))
        self._in_memory[name], self._bytes[name] = [], 0
