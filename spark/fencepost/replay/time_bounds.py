"""The evidence of some clusters up to a moment; what was written later is hidden.

Lines end at the moment itself. A log ends behind its last batch that is dated before the moment: batches
before that one are read whatever their dates, because dates in a log may go back. Evidence about a place in
a log (a snapshot, a checkpoint) is read if the place is before the end of the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.conditions import Condition, Where, Within, values_of
from fencepost.engines import Engine, Rows
from fencepost.replay.cuts import LOG, SLACK_MS, LogName
from fencepost.replay.entities import distinct, tuples
from fencepost.replay.scan import Scan
from fencepost.replay.unreadable import segment_logs
from fencepost.tables import BATCHES, QUARANTINE, Table

PARTITION = ("cluster", "topic", "partition")
"""The columns that name a partition, whatever the topic's id."""

_EXTENTS = pa.schema([*((name, BATCHES.arrow_schema.field(name).type) for name in LOG), ("end", pa.int64())])
_SEGMENTS = pa.schema([("cluster", pa.string()), ("file", pa.string()), ("position", pa.int64())])

Partition = tuple[str, str, int]

_EVERYWHERE = np.iinfo(np.int64).max
"""The end of a log that is not cut."""
_NOWHERE = _EVERYWHERE - 1
"""The place of evidence without one, such as an empty index: behind the end of every log that is cut."""


@dataclass(frozen=True)
class Bounds:
    """``until_ms``: cluster -> the moment, None to read everything; a cluster that is missing is not read.
    ``ends``: log -> the first offset behind the moment, for clusters with a moment.
    """

    until_ms: Mapping[str, int | None]
    ends: Mapping[LogName, int]

    @cached_property
    def _of_partitions(self) -> Mapping[Partition, int]:
        """The ends for evidence that does not say of which incarnation of its topic it is."""
        ends: dict[Partition, int] = {}
        for (cluster, topic, _, partition), end in self.ends.items():
            ends[cluster, topic, partition] = max(end, ends.get((cluster, topic, partition), end))
        return ends

    @property
    def are_set(self) -> bool:
        """Whether any cluster has a moment."""
        return any(until is not None for until in self.until_ms.values())

    def scan(
        self, engine: Engine, read: Scan, table: Table, columns: tuple[str, ...], where: Where | None
    ) -> Rows:
        """Rows of a table before the moments; ``read`` reads all rows."""
        if "cluster" not in table.columns:
            return read(table, columns, where)
        if table is QUARANTINE and self.are_set:
            return self._unread(engine, read, columns, where)
        within = with_bounds(table, self.until_ms, where)
        if table.offset_column is None or "topic" not in table.columns or not self.are_set:
            return read(table, columns, within)
        log = [name for name in LOG if name in table.columns]
        needed = tuple(dict.fromkeys((*columns, *log, table.offset_column)))
        change = partial(_inside, self, table.offset_column, columns)
        return engine.map(read(table, needed, within), change, table.schema_of(columns))

    def _unread(self, engine: Engine, read: Scan, columns: tuple[str, ...], where: Where | None) -> Rows:
        """Rows of quarantine, without the pieces of segments that lie behind the end of their log."""
        rows = read(QUARANTINE, tuple(QUARANTINE.columns), with_bounds(QUARANTINE, self.until_ms, where))
        named = engine.map(rows, _segments, _SEGMENTS)
        files = engine.collect(named).group_by(["cluster", "file"]).aggregate([])
        behind: dict[tuple[str, str], int] = {}
        if files.num_rows:
            of_files = [{"cluster": cluster, "file": file} for cluster, file in tuples(files)]
            batches = read(BATCHES, (*LOG, "base_offset", "file", "position"), of_files)
            batches_behind = engine.collect(engine.map(batches, partial(_behind, self), _SEGMENTS))
            first = batches_behind.group_by(["cluster", "file"]).aggregate([("position", "min")])
            behind = {(cluster, file): position for cluster, file, position in tuples(first)}
        return engine.map(rows, partial(_before_end, self, behind, columns), QUARANTINE.schema_of(columns))

    def explain(self, table: Table) -> str | None:
        """Which rows these are."""
        if "cluster" not in table.columns:
            return None
        until = {
            name: each and str(datetime.fromtimestamp(each / 1000, UTC))
            for name, each in self.until_ms.items()
        }
        moments = ", ".join(f"{each or 'the end'} ({name})" for name, each in sorted(until.items()))
        if table is QUARANTINE or table.offset_column is not None:
            return f"before the end of its log at {moments}"
        return f"{table.dated_by} before {moments}" if table.dated_by else f"of {', '.join(sorted(until))}"

    def inside(self, rows: pa.Table, column: str) -> pa.Table:
        """The rows whose place is before the end of their log.

        A row about the end itself is left out: it would also show that nothing more was written until it was
        captured.
        """
        return rows.filter(self.is_inside(rows, column)) if rows.num_rows else rows

    def is_inside(self, rows: pa.Table, column: str) -> pa.ChunkedArray:
        """For each row whether its place is before the end of its log. If the cluster has no moment, that is
        true of rows without a place too.
        """
        return pc.fill_null(pc.less(pc.fill_null(rows[column], _NOWHERE), self._ends_of(rows)), False)

    def _ends_of(self, rows: pa.Table) -> pa.Array:
        names = LOG if "topic_id" in rows.column_names else PARTITION
        logs, number = distinct([rows[name] for name in names])
        return pa.array([self._end_of_log(*each) for each in logs], pa.int64()).take(number)

    def _end_of_log(self, cluster: str, topic: str, *of: Any) -> int | None:
        *topic_id, partition = of
        if self.until_ms.get(cluster) is None or topic_id in ([], [None]):
            return self.end_of(cluster, topic, partition)
        return self.ends.get((cluster, topic, topic_id[0], partition))

    def end_of(self, cluster: str, topic: str, partition: int) -> int | None:
        """The first offset behind the moment; None for a partition that has no batch near it."""
        if self.until_ms.get(cluster) is None:
            return _EVERYWHERE
        return self._of_partitions.get((cluster, topic, partition))


def bounds(engine: Engine, since_ms: Mapping[str, int], until_ms: Mapping[str, int | None]) -> Bounds:
    """The bounds of clusters that are read from about ``since_ms`` up to ``until_ms``."""
    where: list[Condition] = [
        {"cluster": cluster, "max_timestamp_ms": Within(least=since_ms[cluster] - SLACK_MS, below=until)}
        for cluster, until in until_ms.items()
        if until is not None
    ]
    if not where:
        return Bounds(until_ms, {})
    rows = engine.scan(BATCHES, (*LOG, "last_offset"), where)
    extents = engine.collect(engine.map(rows, _extents, _EXTENTS))
    together = extents.group_by(list(LOG)).aggregate([("end", "max")])
    ends = {(name, topic, topic_id, number): end for name, topic, topic_id, number, end in tuples(together)}
    return Bounds(until_ms, ends)


def with_bounds(table: Table, until_ms: Mapping[str, int | None], where: Where | None) -> list[Condition]:
    """A condition that rows of these clusters before their moments meet, and few other rows."""
    conditions: list[Condition] = []
    for each in where or [{}]:
        named = values_of(each, "cluster")
        conditions += [
            {**each, "cluster": cluster, **_before(table, until, each)}
            for cluster, until in until_ms.items()
            if named is None or cluster in named
        ]
    return conditions


def _before(table: Table, until: int | None, each: Condition) -> Condition:
    column = table.dated_by
    if until is None or column is None:
        return {}
    if "base_offset" in table.columns:
        # dates may go back: this reads somewhat more, and places decide which rows are cut off
        until += 2 * SLACK_MS
    asked = each.get(column)
    return {column: (asked if isinstance(asked, Within) else Within()).before(until)}


def _inside(bounds: Bounds, place: str, columns: Sequence[str], rows: pa.Table) -> pa.Table:
    return bounds.inside(rows, place).select(list(columns))


def _segments(quarantine: pa.Table) -> pa.Table:
    is_segment = [each is not None for each in segment_logs(quarantine)]
    return quarantine.filter(pa.array(is_segment, pa.bool_())).select(_SEGMENTS.names)


def _behind(bounds: Bounds, batches: pa.Table) -> pa.Table:
    """The batches behind the end of their log."""
    if batches.num_rows:
        batches = batches.filter(pc.invert(bounds.is_inside(batches, "base_offset")))
    return batches.select(_SEGMENTS.names)


def _before_end(
    bounds: Bounds, behind: Mapping[tuple[str, str], int], columns: Sequence[str], quarantine: pa.Table
) -> pa.Table:
    """The pieces of other files, and pieces of segments without a batch before them that is
    behind the end.
    """
    is_kept = []
    names = zip(*(quarantine[name].to_pylist() for name in _SEGMENTS.names), strict=True)
    for log, (cluster, file, position) in zip(segment_logs(quarantine), names, strict=True):
        if log is None:
            is_kept.append(True)
            continue
        topic, partition, begins = log
        end = bounds.end_of(cluster, topic, partition)
        first = behind.get((cluster, file))
        is_kept.append(end is not None and begins <= end and (first is None or (position or 0) < first))
    return quarantine.filter(pa.array(is_kept, pa.bool_())).select(list(columns))


def _extents(batches: pa.Table) -> pa.Table:
    last = batches.group_by(list(LOG)).aggregate([("last_offset", "max")])
    end = pc.add(last["last_offset_max"], 1)
    return last.select(list(LOG)).append_column("end", end).cast(_EXTENTS)
