"""The engine in this process: Arrow tables, PyIceberg, and DuckDB for what is SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, starmap

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import Appended, Change, Replay, T, Target, Work
from fencepost.engines.new_rows import NewRows
from fencepost.lake import Where
from fencepost.tables import Table

_HELD_BYTES = 128 << 20
"""So much is held of rows that are to be appended."""
_ROWS_AT_ONCE = 1 << 16
_APPENDED_BYTES = 1 << 30
"""After so much of rows all of them are in their tables, and what was done is told."""


class ProcessEngine:
    """See :class:`fencepost.engines.Engine`; rows are Arrow tables."""

    name = "process"

    def __init__(self, catalog: Catalog, parts: int = 1) -> None:
        self._catalog, self.parallelism = catalog, parts

    def spread(self, tasks: Sequence[T], work: Work[T], tables: Sequence[Table]) -> Mapping[str, pa.Table]:
        """The rows that all tasks give, by the table's name."""
        return _gathered((each for task in tasks for each in work(task)), tables)

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> pa.Table:
        """Rows of a table."""
        return lake.scan(self._catalog, table, columns, where)

    def map(self, rows: pa.Table, change: Change, schema: pa.Schema) -> pa.Table:
        """What ``change`` makes of the rows: what it needs meanwhile is of few of them."""
        some = (rows.slice(first, _ROWS_AT_ONCE) for first in range(0, rows.num_rows, _ROWS_AT_ONCE))
        return pa.concat_tables([schema.empty_table(), *(change(each).cast(schema) for each in some)])

    def replay(
        self, evidence: dict[str, list[pa.Table]], replay: Replay, tables: Sequence[Table]
    ) -> Mapping[str, pa.Table]:
        """The rows that ``replay`` gives for each entity, by the table's name."""
        return _gathered(chain.from_iterable(starmap(replay, by_entity(evidence))), tables)

    def keep(self, rows: pa.Table) -> pa.Table:
        """The rows."""
        return rows

    def union(self, parts: Sequence[pa.Table]) -> pa.Table:
        """The rows of all parts."""
        return pa.concat_tables(parts)

    def append_new(self, table: Table, rows: pa.Table, within: Where, *, distinct: bool = False) -> int:
        """Append the rows whose key the table does not hold yet, once each."""
        return NewRows(self._catalog, table, within).append(rows)

    def spread_into(
        self, tasks: Sequence[T], work: Work[T], targets: Sequence[Target], told: Table
    ) -> Iterator[Appended]:
        """Append the new rows that all tasks give; gives back those of ``told`` once the others are there."""
        intake = _Intake(self._catalog, targets, told)
        for task in tasks:
            for table, rows in work(task):
                intake.take(table, rows)
            if intake.bytes >= _APPENDED_BYTES:
                yield intake.appended()
        yield intake.appended()

    def replace(self, table: Table, rows: pa.Table, where: Where | None = None) -> int:
        """Make ``rows`` the content of the table, or of what ``where`` chooses of it."""
        lake.replace(self._catalog, table, rows, where)
        return lake.count(self._catalog, table)

    def collect(self, rows: pa.Table) -> pa.Table:
        """The rows."""
        return rows


class _Intake:
    """Rows on their way into tables: those of the table that holds most are appended before they are many."""

    def __init__(self, catalog: Catalog, targets: Sequence[Target], told: Table) -> None:
        self._new = {each.table.name: NewRows(catalog, each.table, each.within) for each in targets}
        self._schemas = {table.name: table.arrow_schema for table in (*(e.table for e in targets), told)}
        self._told = told.name
        self._parts: dict[str, list[pa.RecordBatch]] = {name: [] for name in self._schemas}
        self._held = dict.fromkeys(self._new, 0)
        self._added = dict.fromkeys(self._new, 0)
        self.bytes = 0

    def take(self, table: Table, rows: pa.RecordBatch) -> None:
        """Rows of one of the tables."""
        self._parts[table.name].append(rows)
        if table.name not in self._held:
            return
        self.bytes += rows.nbytes
        self._held[table.name] += rows.nbytes
        if sum(self._held.values()) > _HELD_BYTES:
            self._append(max(self._held, key=lambda name: self._held[name]))

    def appended(self) -> Appended:
        """All that was taken since the last time, once it is in its table."""
        for name in self._new:
            self._append(name)
        done = Appended(self._added, self._rows(self._told))
        self._added, self.bytes = dict.fromkeys(self._new, 0), 0
        return done

    def _append(self, name: str) -> None:
        self._added[name] += self._new[name].append(self._rows(name))
        self._held[name] = 0

    def _rows(self, name: str) -> pa.Table:
        parts, self._parts[name] = self._parts[name], []
        return pa.Table.from_batches(parts, self._schemas[name])


def _gathered(
    found: Iterator[tuple[Table, pa.RecordBatch | pa.Table]], tables: Sequence[Table]
) -> dict[str, pa.Table]:
    parts: dict[str, list[pa.Table]] = {table.name: [] for table in tables}
    for table, rows in found:
        parts[table.name].append(pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows)
    return {
        table.name: pa.concat_tables([table.arrow_schema.empty_table(), *parts[table.name]])
        for table in tables
    }


def by_entity(evidence: dict[str, list[pa.Table]]) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """Each entity, in the order of their names, with its rows of each name, in their order and without the
    column ``entity``; every name is there for each. Only one entity's rows are copied at a time, and who is
    given them is the only one that has them. The evidence is emptied.
    """
    given = {name: _Places(pa.concat_tables(evidence.pop(name))) for name in list(evidence)}
    for entity in sorted({entity for places in given.values() for entity in places.entities}):
        yield entity, {name: places.take(entity) for name, places in given.items()}


class _Places:
    """Where the rows of each entity are in a table with a column ``entity``; null is nobody."""

    def __init__(self, rows: pa.Table) -> None:
        own = rows.drop_columns("entity")
        self._empty = own.schema.empty_table()
        self._pieces: list[tuple[pa.Table, dict[str, pa.Array]]] = []
        self._of_one: pa.Table | None = None
        if rows.num_rows and not rows["entity"].null_count and len(names := pc.unique(rows["entity"])) == 1:
            # as they are: the rows of a whole cluster are not copied only to be chosen by nothing
            self._of_one, self.entities = own, {names[0].as_py()}
            return
        for first in range(0, rows.num_rows, _ROWS_AT_ONCE):
            # of one chunk each: to take rows out of several would copy all of them first, each time
            piece = rows.slice(first, _ROWS_AT_ONCE).combine_chunks()
            places = _places(piece["entity"].chunk(0))
            self._pieces.append((piece.drop_columns("entity"), places))
        self.entities = {entity for _, places in self._pieces for entity in places}

    def take(self, entity: str) -> pa.Table:
        """The rows of an entity; once."""
        if self._of_one is not None and entity in self.entities:
            found, self._of_one = self._of_one, None
            return found
        own = [piece.take(places.pop(entity)) for piece, places in self._pieces if entity in places]
        return pa.concat_tables([self._empty, *own])


def _places(entities: pa.Array) -> dict[str, pa.Array]:
    """By entity, the places of its rows."""
    encoded = entities.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = encoded.indices.fill_null(len(names))
    ends = np.cumsum(np.bincount(np.asarray(codes), minlength=len(names)))
    parts = np.split(np.asarray(pc.array_sort_indices(codes)), ends)
    return dict(zip(names, map(pa.array, parts), strict=False))
