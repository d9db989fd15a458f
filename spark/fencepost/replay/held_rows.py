"""Reads bronze for many chapters at once, before they need it.

A file of bronze has what one run captured, which may be months of evidence, and a chapter scans the batches
of a day a dozen times. So the rows of some days are held in memory, sorted by date, in which each
chapter finds its own. All other rows are read from the table as usual.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.conditions import Where, Within
from fencepost.conditions.arrow import filter_rows
from fencepost.engines import Engine, Rows, tasks
from fencepost.replay.logs import Longs
from fencepost.tables import Table

HELD_BYTES = 48 << 20
"""So much of a table is kept in memory, or as much as one chapter needs."""

FILES_BYTES = 32 << 20
"""If the files are larger together, nothing is kept: then reading them is most of the work anyway."""

_WIDER = 8
"""At most so many times the requested range of dates is read at once."""


@dataclass(frozen=True)
class _Dates:
    """A range of dates in ms; ``until`` is not included."""

    since: float
    until: float

    def contains(self, other: _Dates) -> bool:
        return self.since <= other.since and other.until <= self.until

    @property
    def are_bounded(self) -> bool:
        return self.since > -inf and self.until < inf


_ALL = _Dates(-inf, inf)
_NONE = _Dates(inf, -inf)


@dataclass(frozen=True)
class _KeptRows:
    dates: _Dates
    rows: pa.Table
    ms: Longs | None

    def of(self, dates: _Dates) -> pa.Table:
        """The rows in a range of dates; all rows if the table has no dates."""
        if self.ms is None:
            return self.rows
        first, end = np.searchsorted(self.ms, [dates.since, dates.until])
        return self.rows.slice(first, end - first)


class HeldRows:
    """The rows of ``tables`` that are in memory. Nothing writes to them while chapters are rebuilt."""

    def __init__(self, engine: Engine, catalog: Catalog, tables: Iterable[Table]) -> None:
        self._engine, self._catalog = engine, catalog
        self._tables = {table.name for table in tables}
        self._kept: dict[str, _KeptRows] = {}

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        """Rows of a table."""
        dates = _dates(table.dated_by, where)
        if table.name not in self._tables or dates == _NONE or (table.dated_by and dates == _ALL):
            return self._engine.scan(table, columns, where)
        kept = self._kept.get(table.name)
        if kept is None or not kept.dates.contains(dates):
            kept = self._read(table, dates, kept)
            if kept is None:
                return self._engine.scan(table, columns, where)
            self._kept[table.name] = kept
        rows = filter_rows(kept.of(dates), where)
        return rows.select(list(columns)) if columns else rows

    def has(self, table: Table) -> bool:
        """Whether any rows of the table are in memory."""
        return table.name in self._kept

    def _read(self, table: Table, dates: _Dates, before: _KeptRows | None) -> _KeptRows | None:
        """Read the rows to keep from now on; None if their files are too large."""
        most = FILES_BYTES if self._engine.is_here else tasks.TASK_BYTES
        for each in dict.fromkeys((_wider(dates, before), dates)):
            where = _where(table.dated_by, each)
            if lake.size(self._catalog, table, where) <= most:
                rows = self._engine.collect(self._engine.scan(table, (), where))
                return _in_order(table.dated_by, each, rows)
        return None


def _in_order(dated_by: str | None, dates: _Dates, rows: pa.Table) -> _KeptRows:
    if dated_by is None:
        return _KeptRows(dates, rows, None)
    ms = rows[dated_by].to_numpy()
    order = np.argsort(ms, kind="stable")
    if (order[1:] < order[:-1]).any():
        rows, ms = rows.take(pa.array(order)), ms[order]
    return _KeptRows(dates, rows.combine_chunks(), ms)


def _wider(dates: _Dates, before: _KeptRows | None) -> _Dates:
    """A wider range of dates to read: later chapters will need what follows, and a little of what was
    before.
    """
    if before is None or not (dates.are_bounded and before.dates.are_bounded):
        return dates
    width = before.dates.until - before.dates.since
    fits = width * HELD_BYTES / max(1, before.rows.nbytes)
    width_asked = dates.until - dates.since
    since = min(dates.since, max(before.dates.since, dates.since - width_asked))
    return _Dates(since, max(dates.until, dates.since + min(fits, _WIDER * width_asked)))


def _dates(dated_by: str | None, where: Where | None) -> _Dates:
    if dated_by is None or where is None:
        return _ALL
    ranges = [_NONE, *(_dates_of(each.get(dated_by)) for each in where)]
    return _Dates(min(each.since for each in ranges), max(each.until for each in ranges))


def _dates_of(value: object) -> _Dates:
    if not isinstance(value, Within):
        return _ALL
    since = value.least if isinstance(value.least, int) else -inf
    return _Dates(since, value.below if isinstance(value.below, int) else inf)


def _where(dated_by: str | None, dates: _Dates) -> Where | None:
    if dated_by is None:
        return None
    least, below = (int(each) if isfinite(each) else None for each in (dates.since, dates.until))
    return [{dated_by: Within(least=least, below=below)}]
