"""Where tasks write their rows: into data files of a table, or into temporary files.

A task returns descriptions of its files only; no snapshot names them before the driver commits. Where it has
few rows, it returns the rows: small tables then get one file, not one from each task.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import uuid4

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.table.metadata import TableMetadata

from fencepost import lake
from fencepost.engines import piece_files
from fencepost.engines.parts import ROWS_AT_ONCE, Held, Part, Source, Temporary, WrittenFile, whole
from fencepost.engines.piece_files import PieceFile
from fencepost.iceberg.data_files import DataFiles
from fencepost.tables import Table

_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True)
class Scratch:
    """The folder of a run for temporary files, and for the names of data files that its tasks begin."""

    run: str
    folder: str
    io: FileIO

    def note(self, table: str, path: str) -> None:
        """Note that a data file of a table is begun: unless the driver commits it, it can be deleted."""
        with self.io.new_output(f"{self.folder}/begun-{uuid4()}.json").create() as file:
            file.write(json.dumps({"table": table, "path": path}).encode())


@dataclass(frozen=True)
class Place:
    """Where tasks write rows of ``schema``: into data files of ``table``, which ``metadata`` describes;
    without a table into temporary files, in the folder ``scratch`` or, without one, of this process. Rows of
    at most ``few_bytes`` a task returns.
    """

    schema: pa.Schema
    few_bytes: int
    scratch: Scratch | None = None
    table: Table | None = None
    metadata: TableMetadata | None = None
    io: FileIO | None = None

    def in_files(self) -> Place:
        """The same place, where a file is made however few the rows are."""
        return replace(self, few_bytes=-1)


@dataclass
class Output:
    """What a task has made of rows: ``rows`` if they are few, data files, or temporary files."""

    rows: Held | None = None
    files: list[DataFile] = field(default_factory=list)
    temporary: list[Source] = field(default_factory=list)

    def parts(self, place: Place) -> list[Part]:
        """The rows in files; ``place``: where the task wrote them."""
        found = [Part(each) for each in self.temporary]
        if place.table is not None and place.io is not None:
            name, schema, io = place.table.name, place.schema, place.io
            found += [Part(WrittenFile(name, each, io, schema)) for each in self.files]
        return found


class Staging:
    """Takes rows of one place in a task."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._waiting: list[pa.Table] = []
        self._bytes = 0
        self._files: DataFiles | None = None
        self._pieces: PieceFile | None = None
        self._done = Output()

    def add(self, rows: pa.Table) -> None:
        """Take rows."""
        if rows.num_rows:
            self._waiting.append(rows)
            self._bytes += rows.nbytes
            if self._bytes >= piece_files.PIECE_BYTES:
                self._write()

    def close(self) -> Output:
        """Write what waits; returns where all rows are."""
        nothing_written = self._files is None and not self._done.temporary
        if nothing_written and self._bytes <= self._place.few_bytes:
            self._done.rows = Held(whole(self._waiting, self._place.schema))
            return self._done
        self._write()
        if self._files is not None:
            self._done.files += self._files.close()
        return self._done

    def _write(self) -> None:
        if not self._waiting:
            return
        piece = pa.concat_tables(self._waiting)
        self._waiting, self._bytes = [], 0
        if self._place.table is not None:
            self._files = self._files or _data_files(self._place)
            self._done.files += self._files.add(lake.aligned(piece, self._place.table))
        elif self._place.scratch is not None:
            self._done.temporary.append(_temporary(self._place.scratch, piece))
        else:
            if self._pieces is None:
                self._pieces = PieceFile(self._place.schema)
                self._done.temporary.append(self._pieces)
            self._pieces.write(piece)


def _temporary(scratch: Scratch, rows: pa.Table) -> Temporary:
    path = f"{scratch.folder}/{uuid4()}.arrow"
    with (
        scratch.io.new_output(path).create() as stream,
        pa.ipc.new_file(stream, rows.schema, options=_LZ4) as file,
    ):
        file.write_table(rows, ROWS_AT_ONCE)
    return Temporary(path, rows.nbytes, scratch.io)


def _data_files(place: Place) -> DataFiles:
    assert place.table is not None
    assert place.metadata is not None
    assert place.io is not None
    assert place.scratch is not None
    name, scratch = place.table.name, place.scratch
    return DataFiles(
        place.metadata, place.io, f"{scratch.run}-{uuid4()}", lambda path: scratch.note(name, path)
    )


def closed(staged: Mapping[str, Staging]) -> dict[str, Output]:
    """The outputs of all of these, by their names."""
    return {name: each.close() for name, each in staged.items()}
