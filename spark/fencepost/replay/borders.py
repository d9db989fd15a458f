"""From where on the lake keeps evidence. What lies before a border is deleted by its age, or is about to be
(:mod:`fencepost.expiry`): it is not captured again, and no rebuild reads it.

Evidence begins at a border as if the request logs had been rotated away there, and as if retention had
deleted the batches of topics of applications: of a log always those before an offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import Engine, Rows
from fencepost.replay.chapters import reads_logs_since
from fencepost.replay.cuts import LOG, SLACK_MS, LogName
from fencepost.replay.entities import distinct, tuples
from fencepost.replay.log_begins import times
from fencepost.replay.scan import Scan
from fencepost.tables import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    BORDERS,
    PRODUCER_SNAPSHOT_ENTRIES,
    RECORDS,
    REQUEST_IDS,
    REQUESTS,
    Table,
)
from fencepost.words import counted

_LINES = frozenset({REQUESTS.name, REQUEST_IDS.name})
_LOGS = {
    BATCHES.name: "base_offset",
    RECORDS.name: "base_offset",
    PRODUCER_SNAPSHOT_ENTRIES.name: "snapshot_offset",
    ABORTED_TRANSACTIONS.name: "last_offset",
}
"""Tables about logs, and the column of the offset that must not lie before the border."""


@dataclass(frozen=True)
class Borders:
    """``since_ms``: cluster -> the time from which on lines of its request logs are kept, the begin of a
    chapter. ``offsets``: log -> the first offset that is kept, for logs of which batches are deleted.
    """

    since_ms: Mapping[str, int] = field(default_factory=dict)
    offsets: Mapping[LogName, int] = field(default_factory=dict)

    @classmethod
    def of(cls, catalog: Catalog) -> Borders:
        """The borders of all clusters."""
        rows = lake.scan(catalog, BORDERS, (*LOG, "since_ms", "since_offset"))
        since_ms: dict[str, int] = {}
        offsets: dict[LogName, int] = {}
        for cluster, topic, topic_id, partition, ms, offset in tuples(rows):
            if topic is None:
                since_ms[cluster] = ms
            else:
                offsets[cluster, topic, topic_id, partition] = offset
        return cls(since_ms, offsets)

    def reach(self, begin: int) -> bool:
        """Whether a chapter that begins then may read evidence from before a border."""
        return any(evidence_since(begin) < ms for ms in self.since_ms.values())

    def are_before(self, table: Table, rows: pa.Table) -> pa.ChunkedArray | None:
        """For each row of a table whether it lies before the borders; None: none of this table can."""
        if table.name in _LINES:
            clusters = pa.array(self.since_ms, pa.string())
            since = pa.array(self.since_ms.values(), pa.int64()).take(pc.index_in(rows["cluster"], clusters))
            return pc.fill_null(pc.less(rows[str(table.dated_by)], since), False)
        if table.name in _LOGS and self.offsets:
            return are_before(self.offsets, rows, _LOGS[table.name])
        return None

    def explain(self, table: Table) -> str | None:
        """Which rows these are."""
        if table.name in _LINES and self.since_ms:
            return f"{table.dated_by} from {times(self.since_ms)} on"
        if table.name in _LOGS and self.offsets:
            return f"{counted(len(self.offsets), 'log')}, each from where on it is kept"
        return None

    def scan(self, engine: Engine, read: Scan, table: Table, columns: tuple[str, ...], where: Any) -> Rows:
        """Rows of a table that do not lie before the borders; ``read`` reads all rows."""
        if table.name not in _LINES and table.name not in _LOGS:
            return read(table, columns, where)
        rows = read(table, tuple(dict.fromkeys((*columns, *_needed(table)))), where)
        return engine.map(rows, partial(_inside, self, table, columns), table.schema_of(columns))


def evidence_since(begin: int) -> int:
    """The oldest time of evidence that a chapter reads which begins then: to find where logs are cut, it
    looks at somewhat older batches.
    """
    return reads_logs_since(begin) - 2 * SLACK_MS


def are_before(offsets: Mapping[LogName, int], rows: pa.Table, place: str = "base_offset") -> pa.ChunkedArray:
    """For each row whether its offset (in the column ``place``) lies before that of its log; false for a log
    without one.
    """
    logs, number = distinct([rows[name] for name in LOG])
    first = pa.array([offsets.get(tuple(each)) for each in logs], pa.int64()).take(number)
    return pc.fill_null(pc.less(rows[place], first), False)


def _needed(table: Table) -> tuple[str, ...]:
    return ("cluster", str(table.dated_by)) if table.name in _LINES else (*LOG, _LOGS[table.name])


def _inside(borders: Borders, table: Table, columns: tuple[str, ...], rows: pa.Table) -> pa.Table:
    before = borders.are_before(table, rows)
    return (rows if before is None else rows.filter(pc.invert(before))).select(list(columns))
