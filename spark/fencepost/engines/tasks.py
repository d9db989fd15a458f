"""The engine: it does the work of a run in tasks, which write the files of the lake themselves.

A task works on its part of the rows, and returns descriptions of the files that it wrote. The driver commits
them: one commit for each table. What is small the driver does itself, without a job. Where tasks run is the
affair of the back end: in this process, in others of this machine, or on Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile

from fencepost import lake
from fencepost.conditions import Where
from fencepost.engines import AppendResult, Change, Replay, T, Target, Work
from fencepost.engines.appending import Appending
from fencepost.engines.backends import Backend
from fencepost.engines.outputs import Output, Place, Staging, closed
from fencepost.engines.parts import (
    Held,
    Part,
    Parts,
    Rows,
    Scanned,
    Shared,
    WrittenFile,
    parts_of,
    pieces_of,
    union,
    whole,
)
from fencepost.engines.places import Places, rows_of
from fencepost.engines.replaying import Shuffled, gathered, into_buckets, replay_all
from fencepost.engines.scratch import Scratches
from fencepost.engines.this_process import ThisProcess
from fencepost.tables import Table

K = TypeVar("K")

Add = Callable[[str, pa.Table], None]
"""Adds rows to those of a name, in a task."""

READ_BYTES = 16 << 20
"""In one process, files of at most so many bytes are read at once; as Arrow tables they take up to ten times
as much.
"""
SMALL_BYTES = 4 << 20
"""Files of at most so many bytes the driver reads itself where tasks run in other processes."""
TASK_BYTES = 8 << 20
"""About so many bytes of files are worth a task."""
BUCKET_BYTES = 32 << 20
"""About so many bytes of files are replayed by one task at most; as Arrow tables they take ten times as
much.
"""
_TASKS_PER_CORE = 4
_TASKS_AT_ONCE = 64
"""After so many tasks for each core their rows are committed: the run after a killed one has only to do the
rest.
"""


class TaskEngine:
    """See :class:`fencepost.engines.Engine`; rows are Arrow tables of the driver, or ``Parts``."""

    def __init__(
        self,
        catalog: Catalog,
        parts: int = 1,
        backend: Backend | None = None,
        scratches: Scratches | None = None,
    ) -> None:
        """``backend``: this process, if none is given."""
        self._catalog, self.parallelism = catalog, parts
        self._backend = backend or ThisProcess()
        self.name, self.is_here = self._backend.name, self._backend.is_here
        self._places = Places(catalog, scratches or Scratches(catalog), is_here=self.is_here)

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        return self._backend.cores

    def spread(self, tasks: Sequence[T], work: Work[T], tables: Sequence[Table]) -> Mapping[str, Rows]:
        """The rows that all tasks yield, by the table's name: in the driver, which has the tasks."""
        places = {table.name: self._places.temporary(table.arrow_schema) for table in tables}
        staged = {name: Staging(place) for name, place in places.items()}
        for task in tasks:
            for table, rows in work(task):
                staged[table.name].add(pa.Table.from_batches([rows]))
        return _rows_of_all(places, [closed(staged)])

    def spread_into(
        self, tasks: Sequence[T], work: Work[T], targets: Sequence[Target], report: Table
    ) -> Iterator[AppendResult]:
        """Append the new rows that all tasks yield; returns those of ``report`` once the others are
        stored.
        """
        appending = Appending(self._catalog, self._backend, self._places, targets, report)
        at_once = _TASKS_AT_ONCE * self.cores
        for first in range(0, len(tasks), at_once):
            some = tasks[first : first + at_once]
            groups = [some] if self.is_here else [[each] for each in some]
            yield appending.done(groups, work)

    def in_tasks(
        self,
        what: str,
        items: Sequence[T],
        work: Callable[[T, Add], None],
        tables: Sequence[Table],
        kept: Mapping[str, pa.Schema],
    ) -> Mapping[str, Rows]:
        """The rows that a task for each item adds, by name: those of ``tables`` in data files of them, which
        ``replace`` commits, those of ``kept`` for this run only.
        """
        places = {table.name: self._places.of_table(table) for table in tables}
        places |= {name: self._places.temporary(schema) for name, schema in kept.items()}

        def stage(item: T) -> dict[str, Output]:
            staged = {name: Staging(place) for name, place in places.items()}
            work(item, lambda name, rows: staged[name].add(rows))
            return closed(staged)

        return _rows_of_all(places, self._backend.run(what, items, stage))

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        """Rows of a table."""
        files = lake.files(self._catalog, table, columns, where)
        if files.arrow_scan is None or files.bytes <= self._small_bytes:
            return files.read()
        shared = Shared(files.arrow_scan)
        return Parts(files.schema, tuple(Part(Scanned(shared, each, files.schema)) for each in files.tasks))

    def map(self, rows: Rows, change: Change, schema: pa.Schema) -> Rows:
        """The rows that ``change`` makes of these rows; it gets few at a time, so it needs little memory."""
        if isinstance(rows, Parts):
            return rows.changed(change, schema)
        return whole(Parts(rows.schema, (Part(Held(rows)),)).changed(change, schema), schema)

    def union(self, parts: Sequence[Rows]) -> Rows:
        """The rows of all parts."""
        return union(parts)

    def collect(self, rows: Rows) -> pa.Table:
        """The rows, in the driver."""
        if not isinstance(rows, Parts):
            return rows
        if self.is_here or rows.bytes <= SMALL_BYTES:
            return whole(rows, rows.schema)
        schema = rows.schema

        def collected(parts: Sequence[Part]) -> Held:
            return Held(whole(Parts(schema, tuple(parts)), schema))

        found = self._backend.run("collect", self._grouped(rows.parts, _bytes_of), collected)
        return whole((each.rows for each in found), schema)

    def keep(self, rows: Rows) -> Rows:
        """The same rows, in temporary files."""
        if not isinstance(rows, Parts):
            return rows
        place = self._places.temporary(rows.schema)
        return rows_of(place, self._staged("keep", rows, place))

    def replay(
        self, evidence: dict[str, list[Rows]], replay: Replay, tables: Sequence[Table]
    ) -> Mapping[str, Rows]:
        """The rows that ``replay`` yields for all entities, by the table's name."""
        places = {table.name: self._places.of_replay(table) for table in tables}
        if self.is_here or not any(isinstance(each, Parts) for rows in evidence.values() for each in rows):
            return _rows_of_all(places, [replay_all(evidence, replay, places)])
        what = f"replay {tables[0].name}"
        parts = {name: parts_of(union(rows)) for name, rows in evidence.items()}
        evidence.clear()
        buckets = self._buckets(sum(each.bytes for each in parts.values()))
        if buckets == 1:
            whole_evidence = {name: [each] for name, each in parts.items()}
            done = self._backend.run(what, [whole_evidence], lambda all_: replay_all(all_, replay, places))
            return _rows_of_all(places, done)
        schemas = {name: each.schema for name, each in parts.items()}
        named = [(name, part) for name, each in parts.items() for part in each.parts]

        def spread(some: Sequence[tuple[str, Part]]) -> Iterator[tuple[int, Shuffled]]:
            return into_buckets(some, buckets)

        def replay_bucket(values: Iterator[Shuffled]) -> dict[str, Output]:
            return replay_all(gathered(values, schemas), replay, places)

        groups = self._grouped(named, lambda each: each[1].source.bytes)
        return _rows_of_all(places, self._backend.shuffle(what, groups, spread, replay_bucket, buckets))

    def replace(self, table: Table, rows: Rows, where: Where | None = None) -> int:
        """Make ``rows`` the content of the table, or of what ``where`` chooses of it."""
        if self.is_here or not isinstance(rows, Parts):
            lake.replace_by_pieces(self._catalog, table, pieces_of(rows), where)
            return lake.count(self._catalog, table)
        files, others = _files_of(table, rows)
        if others.parts:
            place = self._places.of_table(table).in_files()
            files += [
                file for each in self._staged(f"write {table.name}", others, place) for file in each.files
            ]
        if not lake.replace_by_files(self._catalog, table, files, where):
            lake.replace_by_pieces(self._catalog, table, rows, where)
        return lake.count(self._catalog, table)

    @property
    def _small_bytes(self) -> int:
        return READ_BYTES if self.is_here else SMALL_BYTES

    def _buckets(self, size: int) -> int:
        """Into how many tasks a replay is cut: as many as cores need, or as memory needs."""
        if size <= TASK_BYTES:
            return 1
        for_cores = min(2 * self.cores, 1 + size // TASK_BYTES)
        return max(1, min(self.parallelism, max(for_cores, size // BUCKET_BYTES)))

    def _staged(self, what: str, rows: Parts, place: Place) -> list[Output]:
        """Write rows to files."""

        def stage(parts: Sequence[Part]) -> Output:
            staging = Staging(place)
            for part in parts:
                for piece in part.pieces():
                    staging.add(piece)
            return staging.close()

        if self.is_here or rows.bytes <= SMALL_BYTES:
            return [stage(rows.parts)]
        return self._backend.run(what, self._grouped(rows.parts, _bytes_of), stage)

    def _grouped(self, items: Sequence[K], size: Callable[[K], int]) -> list[list[K]]:
        """The items of tasks of about TASK_BYTES: the largest first, each into the lightest."""
        most = _TASKS_PER_CORE * self.cores
        count = max(1, min(most, len(items), -(-sum(map(size, items)) // TASK_BYTES)))
        groups: list[list[K]] = [[] for _ in range(count)]
        weights = [0] * count
        for item in sorted(items, key=size, reverse=True):
            lightest = weights.index(min(weights))
            groups[lightest].append(item)
            weights[lightest] += size(item)
        return groups


def _rows_of_all(places: Mapping[str, Place], done: Sequence[Mapping[str, Output]]) -> dict[str, Rows]:
    return {name: rows_of(place, [each[name] for each in done]) for name, place in places.items()}


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
