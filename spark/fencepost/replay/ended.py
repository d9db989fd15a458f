"""Which rows a rebuilt chapter keeps: those that were over in it, and a cluster's last one what goes on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Engine, Rows
from fencepost.replay.chapters import Chapter
from fencepost.replay.handed_down import HandedDown, in_ms, named, over
from fencepost.tables import Table

_ENDS = pa.schema([("id", pa.string()), ("ended", pa.timestamp("us", tz="UTC"))])


class Selected:
    """The rows of one chapter."""

    def __init__(self, chapter: Chapter, before: HandedDown | None = None) -> None:
        """``before``: what went on at its begin, as far as the chapter before knew."""
        self._chapter = chapter
        self._before = before or {}
        self._ends: dict[str, pa.Table] = {}

    def of(self, engine: Engine, table: Table, found: Mapping[str, Rows]) -> Rows:
        """The rows of a table that the chapter keeps, of all that were rebuilt."""
        if self._chapter.is_all:
            return found[table.name]
        ends = None
        if table.goes_with is not None:
            ends = self._ends_of(engine, table, found)
        return engine.map(
            found[table.name],
            partial(ended_in, self._chapter, table, ends, self._before.get(table.name)),
            table.arrow_schema,
        )

    def _ends_of(self, engine: Engine, table: Table, found: Mapping[str, Rows]) -> pa.Table:
        assert table.goes_with is not None
        of, column = table.goes_with
        if of.name not in self._ends:
            rows = engine.map(found[of.name], partial(_ends, of, column), _ENDS)
            self._ends[of.name] = engine.collect(rows)
        return self._ends[of.name]


def ended_in(
    chapter: Chapter, table: Table, ends: pa.Table | None, before: pa.Table | None, rows: pa.Table
) -> pa.Table:
    """Rows of a table that were over in the chapter, or earlier, where only now a hole tells it: the chapter
    before took them for going on (``before``) and did not keep them.
    """
    if ends is None or table.goes_with is None:
        ended = over(table, rows)
    else:
        _, column = table.goes_with
        ended = ends["ended"].take(pc.index_in(rows[column], ends["id"].combine_chunks()))
    until, ms = chapter.ends_of(rows), in_ms(ended)
    after = pc.fill_null(pc.greater_equal(ms, chapter.begin), True) if chapter.begin else True
    until_then = pc.if_else(pc.is_null(until), True, pc.fill_null(pc.less(ms, until), False))
    if before is not None and before.num_rows and chapter.begin:
        late = pc.is_in(named(rows, table.key), named(before, table.key).combine_chunks())
        after = pc.or_(after, late)
    return rows.filter(pc.and_(after, until_then))


def _ends(table: Table, column: str, rows: pa.Table) -> pa.Table:
    return pa.table({"id": rows[column], "ended": over(table, rows)}).cast(_ENDS)
