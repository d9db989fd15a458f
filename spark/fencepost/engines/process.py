"""The engine in this process: Arrow tables, PyIceberg, and DuckDB for SQL.

Rows that are too many for memory are read from their files each time they are needed, or kept in temporary
files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import AppendResult, Change, Replay, T, Target, Work
from fencepost.engines.entities import by_entity
from fencepost.engines.intake import Intake
from fencepost.engines.new_rows import NewRows
from fencepost.engines.pieces import PieceBuffer, Pieces, Some, pieces_of, union, whole
from fencepost.lake import Where
from fencepost.tables import Table

_READ_BYTES = 16 << 20
"""Files of at most so many bytes are read at once; as Arrow tables they take up to ten times as much. Of
larger tables one file is read at a time.
"""
_ROWS_AT_ONCE = 1 << 16
_APPENDED_BYTES = 1 << 30
"""After so many bytes of rows all are committed to their tables, and the tasks' reports are returned."""


class ProcessEngine:
    """See :class:`fencepost.engines.Engine`; rows are Arrow tables, or pieces of them where they are many."""

    name = "process"

    def __init__(self, catalog: Catalog, parts: int = 1) -> None:
        self._catalog, self.parallelism = catalog, parts

    def spread(self, tasks: Sequence[T], work: Work[T], tables: Sequence[Table]) -> Mapping[str, Some]:
        """The rows that all tasks yield, by the table's name."""
        return _gathered((each for task in tasks for each in work(task)), tables)

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Some:
        """Rows of a table."""
        files = lake.files(self._catalog, table, columns, where)
        return files.read() if files.bytes <= _READ_BYTES else Pieces(files.schema, files.read_each)

    def map(self, rows: Some, change: Change, schema: pa.Schema) -> Some:
        """The rows that ``change`` makes of these rows; it gets few at a time, so it needs little memory."""

        def changed() -> Iterator[pa.Table]:
            for piece in pieces_of(rows):
                for first in range(0, piece.num_rows, _ROWS_AT_ONCE):
                    yield change(piece.slice(first, _ROWS_AT_ONCE)).cast(schema)

        pieces = Pieces(schema, changed)
        return whole(pieces) if isinstance(rows, pa.Table) else pieces

    def replay(
        self, evidence: dict[str, list[Some]], replay: Replay, tables: Sequence[Table]
    ) -> Mapping[str, Some]:
        """The rows that ``replay`` yields for all entities, by the table's name."""
        return _gathered(chain.from_iterable(starmap(replay, by_entity(evidence))), tables)

    def keep(self, rows: Some) -> Some:
        """The rows."""
        if isinstance(rows, pa.Table):
            return rows
        buffer = PieceBuffer({"": rows.schema})
        for piece in rows:
            buffer.add("", piece)
        return buffer.rows()[""]

    def union(self, parts: Sequence[Some]) -> Some:
        """The rows of all parts."""
        return union(parts)

    def spread_into(
        self, tasks: Sequence[T], work: Work[T], targets: Sequence[Target], report: Table
    ) -> Iterator[AppendResult]:
        """Append the new rows that all tasks yield; returns those of ``report`` once the others
        are stored.
        """
        new = [(each.table, NewRows(self._catalog, each.table, each.within(tasks))) for each in targets]
        intake = Intake(new, report)
        for number, task in enumerate(tasks, start=1):
            for table, rows in work(task):
                intake.take(table, rows)
            if intake.bytes >= _APPENDED_BYTES or number == len(tasks):
                reported = intake.append_all()
                yield AppendResult(intake.added, reported)
                intake.restart()

    def replace(self, table: Table, rows: Some, where: Where | None = None) -> int:
        """Make ``rows`` the content of the table, or of what ``where`` chooses of it."""
        lake.replace_by_pieces(self._catalog, table, pieces_of(rows), where)
        return lake.count(self._catalog, table)

    def collect(self, rows: Some) -> pa.Table:
        """The rows."""
        return whole(rows)


def _gathered(
    rows_by_table: Iterable[tuple[Table, pa.RecordBatch | pa.Table]], tables: Sequence[Table]
) -> dict[str, Some]:
    gathered = PieceBuffer({table.name: table.arrow_schema for table in tables})
    for table, rows in rows_by_table:
        gathered.add(table.name, pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows)
    return gathered.rows()
