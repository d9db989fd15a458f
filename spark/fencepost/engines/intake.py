"""Rows on their way from sources into tables, of which only those are added that are new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost.conditions import Where
from fencepost.engines import Compared, Target, piece_files
from fencepost.engines.key_hashes import Hashes, hashes_of
from fencepost.engines.new_rows import KnownKeys, by_date
from fencepost.engines.outputs import Output, Place, Staging
from fencepost.engines.stored_keys import StoredKeys
from fencepost.tables import Table

HELD_BYTES = piece_files.HELD_BYTES
"""So many bytes of new rows wait in memory to be appended."""


class Appends(Protocol):
    """Appends rows to one table."""

    def append(self, rows: pa.Table) -> int:
        """Append the new ones of the rows; returns how many they are."""


class Intake:
    """Takes rows of several tables; those of the table with the most bytes are appended before memory is
    full.

    Rows of the table ``report`` are kept until they are asked for.
    """

    def __init__(self, appends: Iterable[tuple[Table, Appends]], report: Table) -> None:
        of_tables = list(appends)
        self._appends = {table.name: each for table, each in of_tables}
        self._schemas = {table.name: table.arrow_schema for table in (*(t for t, _ in of_tables), report)}
        self._report = report.name
        self._parts: dict[str, list[pa.RecordBatch]] = {name: [] for name in self._schemas}
        self._waiting_bytes = dict.fromkeys(self._appends, 0)
        self.added = dict.fromkeys(self._appends, 0)
        self.bytes = 0

    def take(self, table: Table, rows: pa.RecordBatch) -> None:
        """Take rows of one of the tables."""
        self._parts[table.name].append(rows)
        if table.name not in self._waiting_bytes:
            return
        self.bytes += rows.nbytes
        self._waiting_bytes[table.name] += rows.nbytes
        if sum(self._waiting_bytes.values()) > HELD_BYTES:
            self._append(max(self._waiting_bytes, key=lambda name: self._waiting_bytes[name]))

    def append_all(self) -> pa.Table:
        """Append all rows that were taken since the last call; returns the rows that were reported."""
        for name in self._appends:
            self._append(name)
        return self._rows(self._report)

    def restart(self) -> None:
        """Count from nothing again."""
        self.added, self.bytes = dict.fromkeys(self._appends, 0), 0

    def _append(self, name: str) -> None:
        self.added[name] += self._appends[name].append(self._rows(name))
        self._waiting_bytes[name] = 0

    def _rows(self, name: str) -> pa.Table:
        parts, self._parts[name] = self._parts[name], []
        return pa.Table.from_batches(parts, self._schemas[name])


class TaskRows:
    """Of the rows of one task, those whose key neither the table had when the task began, nor an earlier row
    of the task. They go to files that the driver commits. ``reported``: where rows that were left out differ
    from those that are known.
    """

    def __init__(self, place: Place, stored: Catalog, target: Target, tasks: Sequence[Any]) -> None:
        """``stored``: the table as it was; ``tasks``: all that this task does."""
        self._table, self._staging, self._distinct = target.table, Staging(place), target.distinct
        self._stored_keys = StoredKeys(stored, target, tasks)
        self._known_columns, self._compared = list(target.known_columns), target.compared
        again = None if self._compared is None else partial(self._compare, self._compared)
        self._known = KnownKeys(self._table, self._keys, again)
        self.reported: list[pa.RecordBatch] = []
        self._own_keys: list[pa.Table] = []
        self._own_hashes: list[Hashes] = []

    def append(self, rows: pa.Table) -> int:
        """Add the new ones of the rows; returns how many they are."""
        if not rows.num_rows:
            return 0
        for keys in self._stored_keys.that_may_be_in(rows):
            self._known.learn(hashes_of(keys.select(list(self._table.key))))
        rows = rows.select(list(self._table.columns)).cast(self._table.arrow_schema)
        keys = rows.select(list(self._table.key))
        hashes = hashes_of(keys)
        new = self._known.new(rows, hashes)
        if not self._distinct:
            self._known.learn(hashes)
            self._own_keys.append(rows.select(self._known_columns))
            self._own_hashes.append(hashes if new is rows else hashes_of(new.select(list(self._table.key))))
        self._staging.add(by_date(new, self._table.dated_by))
        return int(new.num_rows)

    def close(self) -> tuple[Output, list[Hashes]]:
        """Where the rows are, and the hashes of their keys; none if no other task can have the same keys."""
        return self._staging.close(), self._own_hashes

    def _compare(self, compared: Compared, rows: pa.Table, known: pa.Table) -> None:
        """Report the rows that are not what is known by their keys."""
        differ = pc.fill_null(pc.not_equal(rows[compared.column], known[compared.column]), False)
        if pc.any(differ).as_py():
            self.reported.append(compared.report(rows.filter(differ), known.filter(differ)))

    def _keys(self, where: Where) -> list[pa.Table]:
        return [*self._stored_keys.read(where), *self._own_keys]
