"""Conditions as filters of Arrow rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.conditions import Bound, Where, written


def filter_rows(rows: pa.Table, where: Where | None) -> pa.Table:
    """The rows that ``where`` chooses; all rows if it is None."""
    if where is None or not rows.num_rows:
        return rows
    meets = mask(rows, where)
    # a filter copies the rows that it keeps
    return rows if pc.all(meets).as_py() else rows.filter(meets)


def mask(rows: pa.Table, where: Where) -> pa.ChunkedArray:
    """For each row whether ``where`` chooses it."""
    return written(where, _Masks(rows))


@dataclass(frozen=True)
class _Masks:
    """Masks over rows, without nulls."""

    rows: pa.Table

    def is_null(self, column: str) -> pa.ChunkedArray:
        return pc.is_null(self.rows[column])

    def equals(self, column: str, value: Any) -> pa.ChunkedArray:
        values = self.rows[column]
        return pc.fill_null(pc.equal(values, pa.scalar(value, values.type)), False)

    def is_in(self, column: str, values: frozenset[Any]) -> pa.ChunkedArray:
        return pc.is_in(self.rows[column], pa.array(values, self.rows[column].type))

    def at_least(self, column: str, value: Bound) -> pa.ChunkedArray:
        return pc.fill_null(pc.greater_equal(self.rows[column], value), False)

    def below(self, column: str, value: Bound) -> pa.ChunkedArray:
        return pc.fill_null(pc.less(self.rows[column], value), False)

    def all_of(self, parts: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
        return reduce(pc.and_, parts, self._all(True))

    def any_of(self, parts: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
        return reduce(pc.or_, parts, self._all(False))

    def _all(self, value: bool) -> pa.ChunkedArray:
        return pa.chunked_array([pa.repeat(value, self.rows.num_rows)])
