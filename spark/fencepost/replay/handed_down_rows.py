"""What a chapter hands down to the next one: the rows that were true when it ended.

The next chapter sees the same rows where it begins, but not how they began: its logs are cut there, and the
lines that caused them are of the chapter before. So of a row that both know, the earlier chapter tells where
it began and whatever the later one does not know of it; how it goes on is the later one's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Engine, Rows, on_engine
from fencepost.replay.chapters import Chapter
from fencepost.tables import Table

_BEGIN = ("from_position", "from_time")
_TEXT = pa.large_string()
_KEYS = pa.schema([("key", _TEXT)])

HandedDown = Mapping[str, pa.Table]
"""By table's name, the rows of all clusters."""


def take_over(engine: Engine, table: Table, rows: Rows, before: pa.Table | None, begin: int) -> Rows:
    """The rows of a chapter that begins then, with what the chapter before knew of them."""
    if before is None or not before.num_rows or not table.is_handed_down or table.handed_down_columns == ():
        return rows
    found = engine.map(rows, partial(fill_in, table, before, begin), table.arrow_schema)
    if not table.stays_open:
        return found
    names = _identity(table)
    seen = engine.collect(engine.map(rows, partial(_keys, names), _KEYS))
    gone = before.filter(pc.invert(pc.is_in(row_names(before, names), seen["key"].combine_chunks())))
    if not gone.num_rows:
        return found
    return engine.union([found, on_engine(engine, table, gone)])


def hand_down(engine: Engine, table: Table, rows: Rows, chapter: Chapter) -> pa.Table:
    """The rows that were true at the end of a chapter, of clusters that have a next one."""
    return engine.collect(engine.map(rows, partial(_true_at_end, chapter, table), table.arrow_schema))


def fill_in(table: Table, before: pa.Table, begin: int, rows: pa.Table) -> pa.Table:
    """The rows; those that were true at ``begin`` also have what ``before`` says of them."""
    if not rows.num_rows:
        return rows
    names = _identity(table)
    place = pc.index_in(row_names(rows, names), row_names(before, names))
    place = pc.if_else(_had_begun(table, rows, begin), place, pa.scalar(None, pa.int32()))
    known = before.take(place)
    if table.has_interval:
        # what has no position with it in common is another one of its name
        after = pc.fill_null(pc.greater(rows["to_position"], known["from_position"]), True)
        same = pc.and_(after, pc.fill_null(pc.greater(known["to_position"], rows["from_position"]), True))
        if "last_position" in known.column_names:
            # what is known of a log has to reach where it goes on
            same = pc.and_(
                same, pc.fill_null(pc.greater_equal(known["last_position"], rows["from_position"]), True)
            )
        place = pc.if_else(same, place, pa.scalar(None, pa.int32()))
        known = before.take(place)
    for at, name in enumerate(rows.column_names):
        values = rows[name]
        if table.handed_down_columns is not None and name not in table.handed_down_columns:
            continue
        if name in (*_BEGIN, *table.begin_columns):
            earlier = pc.and_(pc.is_valid(known[name]), pc.is_valid(place))
            values = pc.if_else(pc.fill_null(earlier, False), known[name], values)
        elif name not in ("to_position", "to_time", *table.end_columns):
            past = known[name]
            if name in table.open_row_columns:
                past = pc.if_else(
                    pc.is_null(rows[table.effective_end_columns[0]]), past, pa.scalar(None, past.type)
                )
            values = pc.coalesce(values, past)
        rows = rows.set_column(at, rows.schema.field(at), values)
    return rows


def _identity(table: Table) -> tuple[str, ...]:
    return tuple(name for name in table.key if name not in _BEGIN)


def _is_named_whole(table: Table) -> bool:
    """Whether a row is recognised wherever it begins: its key does not say when it began, and only columns
    that never change are handed down.
    """
    return table.begin_column is None or (
        table.handed_down_columns is not None and not set(_BEGIN) & set(table.key)
    )


def row_names(rows: pa.Table, names: tuple[str, ...]) -> pa.ChunkedArray:
    """One text for each row that these columns tell from others."""
    texts = [rows[name].cast(_TEXT) for name in names]
    joined = pc.binary_join_element_wise(
        *texts, pa.scalar("\x00", _TEXT), null_handling="replace", null_replacement="\x01"
    )
    return joined if isinstance(joined, pa.ChunkedArray) else pa.chunked_array([joined])


def end_times(table: Table, rows: pa.Table) -> pa.ChunkedArray:
    """When each row was over, null while it goes on."""
    return pc.coalesce(*(rows[name] for name in table.effective_end_columns))


def in_ms(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times in milliseconds."""
    return pc.divide(column.cast(pa.int64()), 1000)


def _had_begun(table: Table, rows: pa.Table, at: int | pa.Array) -> pa.ChunkedArray:
    """What has no time may have begun whenever."""
    if _is_named_whole(table):
        return pa.chunked_array([pa.repeat(True, rows.num_rows)])
    return pc.fill_null(pc.less(in_ms(rows[table.begin_column]), at), True)


def _true_at_end(chapter: Chapter, table: Table, rows: pa.Table) -> pa.Table:
    ends = chapter.ends_of(rows)
    goes_on = pc.fill_null(pc.greater_equal(in_ms(end_times(table, rows)), ends), True)
    return rows.filter(pc.and_(pc.is_valid(ends), pc.and_(goes_on, _had_begun(table, rows, ends))))


def _keys(names: tuple[str, ...], rows: pa.Table) -> pa.Table:
    return pa.table({"key": row_names(rows, names)}).cast(_KEYS)
