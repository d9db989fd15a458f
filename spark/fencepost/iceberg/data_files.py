"""Writes rows as files of an Iceberg table, with one piece of the rows in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.io.fileformat import FileFormatFactory
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionFieldValue, PartitionKey
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Record

from fencepost.iceberg.patches import as_stored

FILE_BYTES = 128 << 20
"""A file is closed after the piece with which its rows take so many bytes in memory: some readers of a table
load whole files.
"""

OPEN_FILES = 100
"""How many files are open for writing at most."""

_FORMAT = FileFormatFactory.get(FileFormat.PARQUET)
Values = tuple[Any, ...]
"""The values of a partition, in the columns that the table is partitioned by."""


class DataFiles:
    """Writes the files that a commit adds to the table that ``metadata`` describes. The table must be
    partitioned by identity transforms of columns, or not at all.
    """

    def __init__(
        self, metadata: TableMetadata, io: FileIO, commit: object, begun: Callable[[str], None] | None = None
    ) -> None:
        """``commit`` is a part of the files' names. ``begun`` is called with the path of each file before it
        is created.
        """
        self._metadata, self._io, self._commit = metadata, io, commit
        self._begun = begun or (lambda path: None)
        self._schema, self._spec = metadata.schema(), metadata.spec()
        self._by = [self._schema.find_column_name(each.source_id) or "" for each in self._spec.fields]
        self._places = load_location_provider(metadata.location, metadata.properties)
        self._numbers = count()
        self._open: dict[Values, _DataFile] = {}

    def write(self, pieces: Iterable[pa.Table]) -> Iterator[DataFile]:
        """Write rows that come in ``pieces``, and yield the files."""
        try:
            for piece in pieces:
                yield from self.add(piece)
            yield from self.close()
        finally:
            self.abandon()

    def add(self, piece: pa.Table) -> Iterator[DataFile]:
        """Write rows, and yield the files that are full; the rows of a partition become one row group of a
        file.
        """
        for values, rows in self._by_partition(piece):
            if values not in self._open:
                if len(self._open) == OPEN_FILES:
                    yield self._close(next(iter(self._open)))
                self._open[values] = self._new(values)
            file = self._open[values]
            file.write(rows)
            if file.bytes >= FILE_BYTES:
                yield self._close(values)

    def close(self) -> Iterator[DataFile]:
        """Close the open files, and yield them."""
        while self._open:
            yield self._close(next(iter(self._open)))

    def abandon(self) -> None:
        """Close the open files, which no commit will name."""
        for file in self._open.values():
            file.abandon()

    def _by_partition(self, rows: pa.Table) -> Iterator[tuple[Values, pa.Table]]:
        if not self._by:
            yield (), rows
            return
        numbered = rows.select(self._by).append_column("row", pa.array(np.arange(rows.num_rows)))
        groups = numbered.group_by(self._by, use_threads=False).aggregate([("row", "list")])
        rows_of_groups = groups["row_list"].combine_chunks()
        ordered = rows if groups.num_rows == 1 else rows.take(rows_of_groups.values)
        first = 0
        for values, size in zip(
            groups.select(self._by).to_pylist(), rows_of_groups.value_lengths().to_pylist(), strict=True
        ):
            yield tuple(values.values()), ordered.slice(first, size)
            first += size

    def _new(self, values: Values) -> _DataFile:
        key = None
        if self._by:
            fields = zip(self._spec.fields, values, strict=True)
            named = [PartitionFieldValue(field, value) for field, value in fields]
            key = PartitionKey(named, self._spec, self._schema)
        name = f"00000-{next(self._numbers)}-{self._commit}.{_FORMAT.file_extension()}"
        location = self._places.new_data_location(name, key)
        self._begun(location)
        return _DataFile(self._metadata, self._io, location, key)

    def _close(self, values: Values) -> DataFile:
        return self._open.pop(values).close()


class _DataFile:
    """A file that is being written."""

    def __init__(
        self, metadata: TableMetadata, io: FileIO, location: str, partition: PartitionKey | None
    ) -> None:
        self._spec_id, self._schema = metadata.default_spec_id, metadata.schema()
        self._location, self._partition = location, partition
        self._output = io.new_output(location)
        self._writer = _FORMAT.create_writer(self._output, self._schema, metadata.properties)
        self.bytes = 0

    def write(self, rows: pa.Table) -> None:
        """Add rows."""
        self._writer.write(as_stored(rows, self._schema, _FORMAT))
        self.bytes += rows.nbytes

    def close(self) -> DataFile:
        """Close the file, and return its entry for the manifest."""
        statistics = self._writer.close()
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=self._location,
            file_format=FileFormat.PARQUET,
            partition=Record() if self._partition is None else self._partition.partition,
            file_size_in_bytes=len(self._output),
            spec_id=self._spec_id,
            **statistics.to_serialized_dict(),
        )

    def abandon(self) -> None:
        """Close a file that no commit will name."""
        with suppress(Exception):
            self._writer.close()
