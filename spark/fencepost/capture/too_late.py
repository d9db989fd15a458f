"""Evidence that comes when the lake has deleted the evidence of its time (:mod:`fencepost.replay.borders`) is
left out, and counted unless it was read before it was deleted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.log_dirs import base_offset, partition_of
from fencepost.capture.plan import REQUEST_LOG, SEGMENT, Source
from fencepost.capture.rows import OUTCOME, Rows
from fencepost.replay.borders import Borders
from fencepost.replay.cuts import LogName
from fencepost.replay.entities import tuples
from fencepost.tables import BATCHES, FILES, REQUESTS, Table

_LOG = ("cluster", "broker_id", "file_begins")
_FILE = ("cluster", "broker_id", "file")


@dataclass(frozen=True)
class TooLate:
    """Which evidence is too late, as of one moment.

    ``lines``: the log in text with this ``file_begins``, whatever its name -> the position before which
    earlier runs have read it. ``offsets``: log -> ranges of offsets that they have read of any replica, each
    from its first offset to the one after its last.
    """

    borders: Borders
    lines: Mapping[tuple[str, int | None, str], int]
    offsets: Mapping[LogName, Sequence[tuple[int, int]]]

    @classmethod
    def of(cls, catalog: Catalog) -> TooLate | None:
        """None while the lake keeps all evidence."""
        borders = Borders.of(catalog)
        if borders == Borders():
            return None
        lines: dict[tuple[str, int | None, str], int] = {}
        columns = (*_LOG, "consumed_to")
        for *log, position in tuples(lake.scan(catalog, FILES, columns, [{"kind": REQUEST_LOG}])):
            lines[tuple(log)] = max(position, lines.get(tuple(log), 0))
        offsets: defaultdict[LogName, set[tuple[int, int]]] = defaultdict(set)
        columns = ("cluster", "file", "topic_id", "next_offset")
        for name, file, topic_id, end in tuples(lake.scan(catalog, FILES, columns, [{"kind": SEGMENT}])):
            place = partition_of(file)
            if place is not None and end is not None:
                offsets[name, place[0], topic_id or None, place[1]].add((base_offset(file), end))
        return cls(borders, lines, {log: sorted(offsets.get(log, ())) for log in borders.offsets})

    def left_out(self, read: Callable[[Sequence[Source]], Rows], sources: Sequence[Source]) -> Rows:
        """What ``read`` yields of sources, without what is too late; the progress of each file counts it."""
        count: Counter[tuple[object, ...]] = Counter()
        for table, batch in read(sources):
            if table is OUTCOME:
                yield table, _counted(batch, count)
                continue
            rows = pa.Table.from_batches([batch])
            late = self.borders.are_before(table, rows)
            if late is None or not pc.any(late).as_py():
                yield table, batch
                continue
            count.update(self._unread(table, rows.filter(late)))
            yield from ((table, each) for each in rows.filter(pc.invert(late)).combine_chunks().to_batches())

    def _unread(self, table: Table, rows: pa.Table) -> list[tuple[object, ...]]:
        """The file of each line and batch that no earlier run has read."""
        if table is REQUESTS:
            columns = rows.select([*_FILE, "file_begins", "position"])
            return [
                (cluster, broker_id, file)
                for cluster, broker_id, file, begins, position in tuples(columns)
                if position >= self.lines.get((cluster, broker_id, begins), 0)
            ]
        if table is BATCHES:
            columns = rows.select([*_FILE, "topic", "topic_id", "partition", "base_offset"])
            return [
                (cluster, broker_id, file)
                for cluster, broker_id, file, *log, offset in tuples(columns)
                if not any(first <= offset < end for first, end in self.offsets[cluster, *log])
            ]
        # ids and markers belong to such lines and batches, on which states of producers rest, too
        return []


def _counted(batch: pa.RecordBatch, count: Counter[tuple[object, ...]]) -> pa.RecordBatch:
    """Rows of OUTCOME; those of progress with what was counted of their file, which is counted no more."""
    files = tuples(pa.Table.from_batches([batch.select([*_FILE, "reason"])]))
    values = [count.pop(tuple(file), 0) if reason is None else None for *file, reason in files]
    at = batch.schema.get_field_index("too_late")
    return batch.set_column(at, batch.schema.field(at), pa.array(values, pa.int64()))
