"""Rows that a chapter hands down to the next one: those that were true when it ended.

The next chapter rebuilds the same rows where it begins, but does not see how they began: its logs are cut
there, and the lines that caused them are in the chapter before. So a row that both chapters have gets its
beginning, and values that the later chapter does not know, from the earlier one; its end is the later one's.
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
_WHY = ("unknown_reason", "unknown_detail")
_TEXT = pa.large_string()
_KEYS = pa.schema([("key", _TEXT)])

HandedDown = Mapping[str, pa.Table]
"""Table's name -> the rows of all clusters."""


def take_over(engine: Engine, table: Table, rows: Rows, before: pa.Table | None, begin: int) -> Rows:
    """The rows of a chapter that begins at ``begin``, completed from the rows of the chapter before."""
    if before is None or not before.num_rows or not table.is_handed_down or table.handed_down_columns == ():
        return rows
    completed = engine.map(rows, partial(fill_in, table, before, begin), table.arrow_schema)
    if not table.stays_open:
        return completed
    names = _identity(table)
    keys = engine.collect(engine.map(rows, partial(_keys, names), _KEYS))
    missing = before.filter(pc.invert(pc.is_in(row_names(before, names), keys["key"].combine_chunks())))
    if not missing.num_rows:
        return completed
    return engine.union([completed, on_engine(engine, table, missing)])


def hand_down(engine: Engine, table: Table, rows: Rows, chapter: Chapter) -> pa.Table:
    """The rows that were true at the end of a chapter, for clusters that have a next chapter."""
    return engine.collect(engine.map(rows, partial(_true_at_end, chapter, table), table.arrow_schema))


def fill_in(table: Table, before: pa.Table, begin: int, rows: pa.Table) -> pa.Table:
    """The rows; those that were true at ``begin`` are completed from the same rows in ``before``."""
    if not rows.num_rows:
        return rows
    names = _identity(table)
    place = pc.index_in(row_names(rows, names), row_names(before, names))
    place = pc.if_else(_had_begun(table, rows, begin), place, pa.scalar(None, pa.int32()))
    earlier_rows = before.take(place)
    if table.has_interval:
        # a row of the same name that shares no position with it is another row
        after = pc.fill_null(pc.greater(rows["to_position"], earlier_rows["from_position"]), True)
        same = pc.and_(
            after, pc.fill_null(pc.greater(earlier_rows["to_position"], rows["from_position"]), True)
        )
        if "last_position" in earlier_rows.column_names:
            # the earlier coverage of a log has to reach the later one
            same = pc.and_(
                same,
                pc.fill_null(pc.greater_equal(earlier_rows["last_position"], rows["from_position"]), True),
            )
        place = pc.if_else(same, place, pa.scalar(None, pa.int32()))
        earlier_rows = before.take(place)
    explained = table.explained_column
    for at, name in enumerate(rows.column_names):
        values = rows[name]
        if explained is not None and name in _WHY:
            continue
        if table.handed_down_columns is not None and name not in table.handed_down_columns:
            continue
        if name in (*_BEGIN, *table.begin_columns):
            earlier = pc.and_(pc.is_valid(earlier_rows[name]), pc.is_valid(place))
            values = pc.if_else(pc.fill_null(earlier, False), earlier_rows[name], values)
        elif name not in ("to_position", "to_time", *table.end_columns):
            past = earlier_rows[name]
            if name in table.open_row_columns:
                past = pc.if_else(
                    pc.is_null(rows[table.effective_end_columns[0]]), past, pa.scalar(None, past.type)
                )
            values = pc.coalesce(values, past)
        rows = rows.set_column(at, rows.schema.field(at), values)
    return rows if explained is None else _explained(rows, explained)


def _explained(rows: pa.Table, column: str) -> pa.Table:
    """The rows, without a reason where another chapter knows the column."""
    for name in _WHY:
        why = pc.if_else(pc.is_null(rows[column]), rows[name], pa.scalar(None, pa.string()))
        rows = rows.set_column(rows.column_names.index(name), rows.schema.field(name), why)
    return rows


def _identity(table: Table) -> tuple[str, ...]:
    return tuple(name for name in table.key if name not in _BEGIN)


def _is_named_whole(table: Table) -> bool:
    """Whether a row is recognised wherever it begins: its key does not contain its beginning, and only
    columns that never change are handed down.
    """
    return table.begin_column is None or (
        table.handed_down_columns is not None and not set(_BEGIN) & set(table.key)
    )


def row_names(rows: pa.Table, names: tuple[str, ...]) -> pa.ChunkedArray:
    """A text for each row; rows that differ in these columns have different ones."""
    texts = [rows[name].cast(_TEXT) for name in names]
    joined = pc.binary_join_element_wise(
        *texts, pa.scalar("\x00", _TEXT), null_handling="replace", null_replacement="\x01"
    )
    return joined if isinstance(joined, pa.ChunkedArray) else pa.chunked_array([joined])


def end_times(table: Table, rows: pa.Table) -> pa.ChunkedArray:
    """When each row ended; null if it has not."""
    return pc.coalesce(*(rows[name] for name in table.effective_end_columns))


def in_ms(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times in milliseconds."""
    return pc.divide(column.cast(pa.int64()), 1000)


def _had_begun(table: Table, rows: pa.Table, at: int | pa.Array) -> pa.ChunkedArray:
    """Whether each row had begun at a time; a row without a time may have begun at any time."""
    if _is_named_whole(table):
        return pa.chunked_array([pa.repeat(True, rows.num_rows)])
    return pc.fill_null(pc.less(in_ms(rows[table.begin_column]), at), True)


def _true_at_end(chapter: Chapter, table: Table, rows: pa.Table) -> pa.Table:
    ends = chapter.ends_of(rows)
    goes_on = pc.fill_null(pc.greater_equal(in_ms(end_times(table, rows)), ends), True)
    return rows.filter(pc.and_(pc.is_valid(ends), pc.and_(goes_on, _had_begun(table, rows, ends))))


def _keys(names: tuple[str, ...], rows: pa.Table) -> pa.Table:
    return pa.table({"key": row_names(rows, names)}).cast(_KEYS)
