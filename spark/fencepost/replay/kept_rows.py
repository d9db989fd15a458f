"""The rows that a rebuilt chapter keeps: those that ended in it, and in the last chapter those that go on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Engine, Rows
from fencepost.replay.chapters import Chapter
from fencepost.replay.handed_down_rows import HandedDown, end_times, in_ms, row_names
from fencepost.tables import Table

_ENDS = pa.schema([("id", pa.string()), ("ended", pa.timestamp("us", tz="UTC"))])


class KeptRows:
    """The rows of one chapter."""

    def __init__(self, chapter: Chapter, before: HandedDown | None = None) -> None:
        """``before``: the rows that the chapter before handed down, because they went on at its end."""
        self._chapter = chapter
        self._before = before or {}
        self._ends: dict[str, pa.Table] = {}

    def of(self, engine: Engine, table: Table, found: Mapping[str, Rows]) -> Rows:
        """The rows of a table that the chapter keeps, out of all rebuilt rows (``found``)."""
        if self._chapter.is_all:
            return found[table.name]
        ends = None
        if table.ends_with is not None:
            ends = self._ends_of(engine, table, found)
        return engine.map(
            found[table.name],
            partial(rows_over_in, self._chapter, table, ends, self._before.get(table.name)),
            table.arrow_schema,
        )

    def _ends_of(self, engine: Engine, table: Table, found: Mapping[str, Rows]) -> pa.Table:
        assert table.ends_with is not None
        of, column = table.ends_with
        if of.name not in self._ends:
            rows = engine.map(found[of.name], partial(_ends, of, column), _ENDS)
            self._ends[of.name] = engine.collect(rows)
        return self._ends[of.name]


def rows_over_in(
    chapter: Chapter, table: Table, ends: pa.Table | None, before: pa.Table | None, rows: pa.Table
) -> pa.Table:
    """The rows of a table that ended in the chapter. Also rows that ended earlier if only now a hole in the
    log shows it: the chapter before took them for going on (``before``) and did not keep them.
    """
    if ends is None or table.ends_with is None:
        ended = end_times(table, rows)
    else:
        _, column = table.ends_with
        ended = ends["ended"].take(pc.index_in(rows[column], ends["id"].combine_chunks()))
    until, ms = chapter.ends_of(rows), in_ms(ended)
    after = pc.fill_null(pc.greater_equal(ms, chapter.begin), True) if chapter.begin else True
    until_then = pc.if_else(pc.is_null(until), True, pc.fill_null(pc.less(ms, until), False))
    if before is not None and before.num_rows and chapter.begin:
        late = pc.is_in(row_names(rows, table.key), row_names(before, table.key).combine_chunks())
        after = pc.or_(after, late)
    return rows.filter(pc.and_(after, until_then))


def _ends(table: Table, column: str, rows: pa.Table) -> pa.Table:
    return pa.table({"id": rows[column], "ended": end_times(table, rows)}).cast(_ENDS)
