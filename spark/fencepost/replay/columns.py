"""Rows of a table of the lake, collected as tuples and converted to Arrow by the table's own schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.tables import Table

_ROWS_AT_ONCE = 4_096


class Rows:
    """Rows of a schema while they are made; only few of them are Python objects at a time."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[tuple[Any, ...]] = []

    def add(self, *values: Any) -> None:
        """Add a row: a value for each column, in the schema's order; timestamps as milliseconds."""
        self._rows.append(values)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    def to_arrow(self) -> pa.Table:
        """Every row added so far."""
        self._flush()
        return pa.Table.from_batches(self._batches, schema=self._schema)

    def take(self, at_least: int = 1) -> Iterator[pa.Table]:
        """The rows added since the last call, if there are ``at_least`` so many."""
        if sum(map(len, self._batches)) + len(self._rows) >= at_least:
            yield self.to_arrow()
            self._batches = []

    def _flush(self) -> None:
        if not self._rows:
            return
        arrays = self._arrays(self._schema, list(zip(*self._rows, strict=True)))
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows = []

    def _arrays(self, schema: pa.Schema, columns: Sequence[Sequence[Any]]) -> list[pa.Array]:
        """The columns of rows that were added."""
        return [array_of(values, field.type) for values, field in zip(columns, schema, strict=True)]


class Columns(Rows):
    """The rows of one table while they are made."""

    def __init__(self, table: Table) -> None:
        super().__init__(table.arrow_schema)
        self.table = table


def array_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values of a column as this type of Arrow; timestamps are milliseconds."""
    if len(values) > 1 and values[0] is values[-1] and values.count(values[0]) == len(values):
        # comparing values takes a fraction of the time of converting them
        return pa.repeat(array_of(values[:1], kind)[0], len(values))
    if pa.types.is_timestamp(kind):
        return as_type(pa.array(values, pa.int64()), kind)
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        # JSON may escape half of a surrogate pair, which is not valid text: Java writes '?' for it
        return pa.array(
            [None if each is None else each.encode("utf-8", "replace").decode() for each in values], kind
        )


def as_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column as this type; timestamps are milliseconds."""
    if pa.types.is_timestamp(kind):
        values = pc.multiply(values, pa.scalar(1000, pa.int64()))
    return values.cast(kind)
