"""Filters Arrow rows by the conditions of :func:`fencepost.lake.scan`."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.lake import AtLeast, Below, Condition, Where


def filter_rows(rows: pa.Table, where: Where | None) -> pa.Table:
    """The rows that ``where`` chooses; all rows if it is None."""
    if where is None or not rows.num_rows:
        return rows
    none = pa.chunked_array([pa.repeat(False, rows.num_rows)])
    meets = reduce(pc.or_, (_meets(rows, each) for each in where), none)
    # a filter copies the rows that it keeps
    return rows if pc.all(meets).as_py() else rows.filter(meets)


def _meets(rows: pa.Table, condition: Condition) -> pa.ChunkedArray:
    result = pa.chunked_array([pa.repeat(True, rows.num_rows)])
    for name, value in condition.items():
        result = pc.and_(result, pc.fill_null(_is(rows[name], value), False))
    return result


def _is(column: pa.ChunkedArray, value: Any) -> pa.ChunkedArray:
    if value is None:
        return pc.is_null(column)
    if isinstance(value, AtLeast):
        return pc.greater_equal(column, value.value)
    if isinstance(value, Below):
        below = pc.less(column, value.value)
        return below if value.least is None else pc.and_(below, pc.greater_equal(column, value.least))
    if isinstance(value, frozenset):
        return pc.is_in(column, pa.array(value, column.type))
    return pc.equal(column, pa.scalar(value, column.type))
