"""The engine in this process: Arrow tables, PyIceberg, and DuckDB for what is SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
        entities = by_entity(evidence)
        return _gathered(
            (
                (table, rows)
                for entity in sorted(entities)
                for table, rows in replay(entity, entities.pop(entity))
            ),
            tables,
        )

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


def by_entity(evidence: dict[str, list[pa.Table]]) -> dict[str, dict[str, pa.Table]]:
    """Each entity's rows of each name, without the column ``entity``; every name is there for each. The
    evidence is emptied.
    """
    found: dict[str, dict[str, pa.Table]] = {}
    empty: dict[str, pa.Table] = {}
    for name in list(evidence):
        rows = pa.concat_tables(evidence.pop(name))
        empty[name] = rows.slice(0, 0).drop_columns("entity")
        if rows["entity"].null_count:
            rows = rows.filter(pc.is_valid(rows["entity"]))
        if pc.count_distinct(rows["entity"]).as_py() == 1:
            # as it is: the rows of a whole cluster are not copied only to be sorted by nothing
            found.setdefault(rows["entity"][0].as_py(), {})[name] = rows.drop_columns("entity")
            continue
        order = pc.sort_indices(rows, sort_keys=[("entity", "ascending")])
        rows = rows.take(order)
        runs = pc.run_end_encode(rows["entity"].combine_chunks()) if rows.num_rows else None
        begun = 0
        for entity, end in zip(*_runs(runs), strict=True):
            found.setdefault(entity, {})[name] = rows.slice(begun, end - begun).drop_columns("entity")
            begun = end
    return {entity: {**empty, **rows} for entity, rows in found.items()}


def _runs(runs: pa.RunEndEncodedArray | None) -> tuple[list[str], list[int]]:
    if runs is None:
        return [], []
    chunks = runs.chunks if isinstance(runs, pa.ChunkedArray) else [runs]
    (run,) = chunks
    return run.values.to_pylist(), run.run_ends.to_pylist()
