"""The engine whose tasks write the files of the lake themselves.

A task does what the engine of one process does, over its part of the rows, and returns descriptions of the
files that it wrote. The driver commits them: one commit for each table. What is small the driver does itself,
without a job. Where tasks run is the affair of the back end: in processes of this machine, or on Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile

from fencepost import lake
from fencepost.engines import AppendResult, Change, Replay, T, Target, Work
from fencepost.engines.backends import Backend
from fencepost.engines.entities import by_entity
from fencepost.engines.intake import Intake, TaskRows
from fencepost.engines.new_rows import Hashes, NewRows, is_in
from fencepost.engines.outputs import Output, Place, Scratch, Staging, closed
from fencepost.engines.parts import (
    Part,
    Parts,
    Rows,
    Scanned,
    Shared,
    Temporary,
    WrittenFile,
    parts_of,
    pieces_of,
    union,
    whole,
)
from fencepost.engines.pieces import PIECE_BYTES, PieceBuffer
from fencepost.engines.process import ProcessEngine
from fencepost.engines.scratch import Scratches
from fencepost.formats.arrow_stream import read, written
from fencepost.lake import Where
from fencepost.tables import Table

K = TypeVar("K")

Add = Callable[[str, pa.Table], None]
"""Adds rows to those of a name, in a task."""

SMALL_BYTES = 4 << 20
"""Files of at most so many bytes the driver reads itself."""
TASK_BYTES = 8 << 20
"""About so many bytes of files are worth a task."""
BUCKET_BYTES = 32 << 20
"""About so many bytes of files are replayed by one task at most; as Arrow tables they take ten times as
much.
"""
SHUFFLED_BYTES = 8 << 20
"""Rows are shuffled in pieces of about so many bytes."""
FEW_BYTES = 256 << 10
"""A task returns so many bytes of the rows of a table; for more it writes a file."""
_TASKS_PER_CORE = 4
_TASKS_AT_ONCE = 64
"""After so many tasks for each core their rows are committed: the run after a killed one has only to do the
rest.
"""


class TaskEngine:
    """See :class:`fencepost.engines.Engine`; rows are Arrow tables of the driver, or ``Parts``."""

    def __init__(self, backend: Backend, scratches: Scratches, catalog: Catalog, parts: int = 1) -> None:
        self.name = backend.name
        self.parallelism = parts
        self._backend, self._scratches, self._catalog = backend, scratches, catalog
        self._driver = ProcessEngine(catalog, parts)

    def spread(self, tasks: Sequence[T], work: Work[T], tables: Sequence[Table]) -> Mapping[str, Rows]:
        """The rows that all tasks yield, by the table's name: in the driver, since all are in memory."""
        return self._driver.spread(tasks, work, tables)

    def spread_into(
        self, tasks: Sequence[T], work: Work[T], targets: Sequence[Target], report: Table
    ) -> Iterator[AppendResult]:
        """Append the new rows that all tasks yield; returns those of ``report`` once the others
        are stored.
        """
        at_once = _TASKS_AT_ONCE * self._backend.cores
        for first in range(0, len(tasks), at_once):
            yield self._appended(tasks[first : first + at_once], work, targets, report)

    def _appended(
        self, tasks: Sequence[T], work: Work[T], targets: Sequence[Target], report: Table
    ) -> AppendResult:
        places = [self._place(each.table, each.table.arrow_schema) for each in targets]
        stored = lake.frozen(self._catalog, [each.table.name for each in targets])

        def read_task(task: T) -> tuple[bytes, list[tuple[Output, list[Hashes]]]]:
            rows = [
                (target.table, TaskRows(place, stored, target.within([task]), distinct=target.distinct))
                for target, place in zip(targets, places, strict=True)
            ]
            intake = Intake(rows, report)
            for table, some in work(task):
                intake.take(table, some)
            reported = written(intake.append_all())
            return reported, [each.close() for _, each in rows]

        done = self._backend.run("capture", tasks, read_task)
        added = {
            target.table.name: self._append(target, tasks, [outputs[number] for _, outputs in done])
            for number, target in enumerate(targets)
        }
        return AppendResult(added, whole([read(each) for each, _ in done], report.arrow_schema))

    def _append(
        self, target: Target, tasks: Sequence[T], outputs: Sequence[tuple[Output, list[Hashes]]]
    ) -> int:
        """Commit the rows of tasks, each of which has left out what the table had. Of rows that several tasks
        may have, the first one's are committed, and the others' are compared with the table again.
        """
        table = target.table
        place = self._place(table, table.arrow_schema)
        known: Hashes = np.empty(0, dtype=np.uint64)
        files, few, unsure = [], Staging(replace(place, few_bytes=-1)), list[Rows]()
        for output, hashes_of_task in outputs:
            hashes = np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *hashes_of_task]))
            is_unsure = is_in(hashes, known).any()
            known = np.sort(np.concatenate([known, hashes]), kind="stable")
            if is_unsure:
                unsure.append(self._rows_of(place, [output]))
                continue
            files += output.files
            if output.rows is not None:
                few.add(read(output.rows))
        files += few.close().files
        count = lake.append_files(self._catalog, table, files)
        again = NewRows(self._catalog, table, target.within(tasks))
        pieces = chain.from_iterable(map(pieces_of, unsure))
        return count + sum(map(again.append, _together(pieces)))

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        return self._backend.cores

    def in_tasks(
        self,
        what: str,
        items: Sequence[T],
        work: Callable[[T, Add], None],
        tables: Sequence[Table],
        kept: Mapping[str, pa.Schema],
    ) -> dict[str, Rows]:
        """The rows that a task for each item adds, by name: those of ``tables`` in data files of them, which
        ``replace`` commits, those of ``kept`` for this run only.
        """
        places = {table.name: self._place(table, table.arrow_schema) for table in tables}
        places |= {name: self._kept(schema) for name, schema in kept.items()}

        def stage(item: T) -> dict[str, Output]:
            staged = {name: Staging(place) for name, place in places.items()}
            work(item, lambda name, rows: staged[name].add(rows))
            return closed(staged)

        done = self._backend.run(what, items, stage)
        return {name: self._rows_of(place, [each[name] for each in done]) for name, place in places.items()}

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        """Rows of a table."""
        files = lake.files(self._catalog, table, columns, where)
        if files.bytes <= SMALL_BYTES or files.arrow_scan is None:
            return files.read()
        scan = files.arrow_scan
        scan._table_metadata = lake.without_history(scan._table_metadata)
        shared = Shared(scan)
        return Parts(files.schema, tuple(Part(Scanned(shared, each, files.schema)) for each in files.tasks))

    def map(self, rows: Rows, change: Change, schema: pa.Schema) -> Rows:
        """The rows that ``change`` makes of these rows."""
        return (
            rows.changed(change, schema)
            if isinstance(rows, Parts)
            else self._driver.map(rows, change, schema)
        )

    def union(self, parts: Sequence[Rows]) -> Rows:
        """The rows of all parts."""
        return union(parts)

    def collect(self, rows: Rows) -> pa.Table:
        """The rows, in the driver."""
        if not isinstance(rows, Parts):
            return rows
        if rows.bytes <= SMALL_BYTES:
            return whole(rows, rows.schema)
        schema = rows.schema

        def collected(parts: Sequence[Part]) -> bytes:
            return written(whole(Parts(schema, tuple(parts)), schema).combine_chunks())

        found = self._backend.run("collect", self._grouped(rows.parts, _bytes_of), collected)
        return whole(map(read, found), schema)

    def keep(self, rows: Rows) -> Rows:
        """The same rows, in temporary files."""
        if not isinstance(rows, Parts):
            return rows
        return self._rows_of(place := self._kept(rows.schema), self._staged("keep", rows, place))

    def replay(
        self, evidence: dict[str, list[Rows]], replay: Replay, tables: Sequence[Table]
    ) -> Mapping[str, Rows]:
        """The rows that ``replay`` yields for all entities, by the table's name."""
        if not any(isinstance(each, Parts) for rows in evidence.values() for each in rows):
            return self._driver.replay(evidence, replay, tables)
        named = [(name, part) for name, rows in evidence.items() for part in parts_of(union(rows)).parts]
        schemas = {name: rows[0].schema for name, rows in evidence.items()}
        evidence.clear()
        places = {table.name: self._place_of_replay(table) for table in tables}
        what = f"replay {tables[0].name}"
        size = sum(part.source.bytes for _, part in named)
        buckets = self._buckets(size)

        def replay_rows(rows: Iterable[tuple[str, pa.Table]]) -> dict[str, Output]:
            return _replayed(rows, schemas, replay, places)

        def replay_parts(parts: Sequence[tuple[str, Part]]) -> dict[str, Output]:
            return replay_rows((name, piece) for name, part in parts for piece in part.pieces())

        def replay_bucket(values: Iterator[tuple[str, bytes]]) -> dict[str, Output]:
            return replay_rows((name, read(rows)) for name, rows in values)

        if buckets == 1:
            done = self._backend.run(what, [named], replay_parts)
        else:
            groups = self._grouped(named, lambda each: each[1].source.bytes)
            done = self._backend.shuffle(what, groups, _spread_into(buckets), replay_bucket, buckets)
        return {name: self._rows_of(place, [each[name] for each in done]) for name, place in places.items()}

    def replace(self, table: Table, rows: Rows, where: Where | None = None) -> int:
        """Make ``rows`` the content of the table, or of what ``where`` chooses of it."""
        if not isinstance(rows, Parts):
            return self._driver.replace(table, rows, where)
        files, others = _files_of(table, rows)
        if others.parts:
            place = replace(self._place(table, rows.schema), few_bytes=-1)
            staged = self._staged(f"write {table.name}", others, place)
            files += [file for output in staged for file in output.files]
        if not lake.replace_by_files(self._catalog, table, files, where):
            lake.replace_by_pieces(self._catalog, table, rows, where)
        return lake.count(self._catalog, table)

    def _buckets(self, size: int) -> int:
        """Into how many tasks a replay is cut: as many as cores need, or as memory needs."""
        if size <= TASK_BYTES:
            return 1
        for_cores = min(2 * self._backend.cores, 1 + size // TASK_BYTES)
        return max(1, min(self.parallelism, max(for_cores, size // BUCKET_BYTES)))

    def _staged(self, what: str, rows: Parts, place: Place) -> list[Output]:
        """Write rows to files."""

        def stage(parts: Sequence[Part]) -> Output:
            staging = Staging(place)
            for part in parts:
                for piece in part.pieces():
                    staging.add(piece)
            return staging.close()

        if rows.bytes <= SMALL_BYTES:
            return [stage(rows.parts)]
        return self._backend.run(what, self._grouped(rows.parts, _bytes_of), stage)

    def _rows_of(self, place: Place, outputs: Iterable[Output]) -> Rows:
        """The rows that tasks wrote to a place."""
        few, parts = [], list[Part]()
        for output in outputs:
            if output.rows is not None:
                few.append(read(output.rows))
            if place.table is not None and place.io is not None:
                name, schema, io = place.table.name, place.schema, place.io
                parts += [Part(WrittenFile(name, each, io, schema)) for each in output.files]
            parts += [Part(Temporary(path, size, place.scratch.io)) for path, size in output.temporary]
        in_driver = whole(few, place.schema)
        return Parts(place.schema, (*parts, *parts_of(in_driver).parts)) if parts else in_driver

    def _place(self, table: Table, schema: pa.Schema) -> Place:
        stored = self._catalog.load_table(table.name)
        return Place(
            schema, self._scratch, FEW_BYTES, table, lake.without_history(stored.metadata), stored.io
        )

    def _place_of_replay(self, table: Table) -> Place:
        """Rows of silver go to data files of their table, which ``replace`` then only commits."""
        if table.name.startswith("silver.") and self._catalog.table_exists(table.name):
            return self._place(table, table.arrow_schema)
        return self._kept(table.arrow_schema)

    def _kept(self, schema: pa.Schema) -> Place:
        return Place(schema, self._scratch, FEW_BYTES)

    @property
    def _scratch(self) -> Scratch:
        return self._scratches.own

    def _grouped(self, items: Sequence[K], size: Callable[[K], int]) -> list[list[K]]:
        """The items of tasks of about TASK_BYTES: the largest first, each into the lightest."""
        most = _TASKS_PER_CORE * self._backend.cores
        count = max(1, min(most, len(items), -(-sum(map(size, items)) // TASK_BYTES)))
        groups: list[list[K]] = [[] for _ in range(count)]
        weights = [0] * count
        for item in sorted(items, key=size, reverse=True):
            lightest = weights.index(min(weights))
            groups[lightest].append(item)
            weights[lightest] += size(item)
        return groups


def _together(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The rows in as few pieces as memory allows: each becomes a commit."""
    waiting: list[pa.Table] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(each.nbytes for each in waiting) >= PIECE_BYTES:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _bytes_of(part: Part) -> int:
    return part.source.bytes


def _files_of(table: Table, rows: Parts) -> tuple[list[DataFile], Parts]:
    """The data files of the table that are parts as they are, and the other parts."""
    files, others = [], []
    for part in rows.parts:
        source = part.source
        if isinstance(source, WrittenFile) and source.table == table.name and not part.changes.value:
            files.append(source.file)
        else:
            others.append(part)
    return files, Parts(rows.schema, tuple(others))


def _spread_into(
    buckets: int,
) -> Callable[[Sequence[tuple[str, Part]]], Iterator[tuple[int, tuple[str, bytes]]]]:
    """Spreads rows into buckets by their entity; rows without one are left out."""

    def spread(parts: Sequence[tuple[str, Part]]) -> Iterator[tuple[int, tuple[str, bytes]]]:
        waiting: dict[tuple[int, str], list[pa.Table]] = {}
        for name, part in parts:
            for piece in part.pieces():
                for bucket, rows in _by_bucket(piece, buckets):
                    own = waiting.setdefault((bucket, name), [])
                    own.append(rows)
                    if sum(each.nbytes for each in own) >= SHUFFLED_BYTES:
                        yield bucket, (name, _packed(waiting.pop((bucket, name))))
        for (bucket, name), own in waiting.items():
            yield bucket, (name, _packed(own))

    return spread


def _packed(rows: Sequence[pa.Table]) -> bytes:
    return written(pa.concat_tables(rows).combine_chunks())


def _by_bucket(rows: pa.Table, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    coded = rows["entity"].combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    of_code = np.array([crc32(name.encode()) % buckets for name in coded.dictionary.to_pylist()], np.int64)
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    bucket = np.where(codes < 0, -1, of_code[codes] if len(of_code) else -1)
    for each in np.unique(bucket):
        if each >= 0:
            places = np.flatnonzero(bucket == each)
            yield int(each), rows if len(places) == rows.num_rows else rows.take(pa.array(places))


def _replayed(
    rows: Iterable[tuple[str, pa.Table]],
    schemas: Mapping[str, pa.Schema],
    replay: Replay,
    places: Mapping[str, Place],
) -> dict[str, Output]:
    """Replay each entity of these rows, of which none has rows elsewhere."""
    buffer = PieceBuffer(schemas)
    for name, piece in rows:
        buffer.add(name, piece)
    evidence: dict[str, list[Any]] = {name: [each] for name, each in buffer.rows().items()}
    del buffer
    staged = {name: Staging(place) for name, place in places.items()}
    for entity, own in by_entity(evidence):
        for table, made in replay(entity, own):
            staged[table.name].add(made if isinstance(made, pa.Table) else pa.Table.from_batches([made]))
    return closed(staged)
