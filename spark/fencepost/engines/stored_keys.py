"""The keys that a table has already, of which only those are read that new rows may have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.conditions import Where, Within
from fencepost.engines import Target


class StoredKeys:
    """The keys of a target's table as it was (and what is compared), for the rows of some tasks.

    Where equal keys have about the same time (``Target.times``), only those of the time of the rows are read,
    which come from logs in order: so what a run reads does not grow with the lake.
    """

    def __init__(self, stored: Catalog, target: Target, tasks: Sequence[Any]) -> None:
        self._stored, self._target, self._tasks = stored, target, tasks
        self._where = target.within(tasks)
        self._times: tuple[int, int] | None = None
        self._all_read = False

    def that_may_be_in(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Keys that these rows may have, and that no earlier call has given."""
        column, times = self._target.table.dated_by, self._target.times
        if self._all_read:
            return
        if times is None or column is None or rows[column].null_count:
            self._all_read = True
            yield from self.read(self._where)
            return
        ends = pc.min_max(rows[column])
        first, last = times(self._tasks, ends["min"].as_py(), ends["max"].as_py())
        before = self._times
        self._times = (min(first, before[0]), max(last, before[1])) if before else (first, last)
        parts = [(first, before[0] - 1), (before[1] + 1, last)] if before else [(first, last)]
        for least, most in parts:
            if least <= most:
                bounds = Within(least=least, below=most + 1)
                yield from self._read([{**each, column: bounds} for each in self._where])

    def read(self, where: Where) -> Iterator[pa.Table]:
        """The keys that meet a condition, of those that were given."""
        if not self._all_read and self._times is not None:
            bounds = Within(least=self._times[0], below=self._times[1] + 1)
            where = [{**each, str(self._target.table.dated_by): bounds} for each in where]
        yield from self._read(where)

    def _read(self, where: Where) -> Iterator[pa.Table]:
        return lake.by_file(self._stored, self._target.table, self._target.known_columns, where)
