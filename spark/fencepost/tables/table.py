"""What a table of the lake is, and the columns that many share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

ARROW = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<string>": pa.list_(pa.string()),
    "array<int>": pa.list_(pa.int32()),
}
"""Arrow's type for each Spark type that a table has."""


@dataclass(frozen=True)
class Table:
    """One table: ``name`` (``schema.table``), ``columns`` (name -> Spark DDL type), ``key`` (grain)."""

    name: str
    doc: str
    columns: dict[str, str]
    key: tuple[str, ...]
    partitioned_by: tuple[str, ...] = ()

    @property
    def ddl(self) -> str:
        """The columns as a Spark DDL schema string."""
        return ", ".join(f"`{name}` {kind}" for name, kind in self.columns.items())

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The columns as Arrow types; a timestamp is microseconds in UTC."""
        return pa.schema([(name, ARROW[kind]) for name, kind in self.columns.items()])

    def rows(self, values: Iterable[Sequence[Any]]) -> pa.Table:
        """Rows given as one value for each column, in the table's order. For what is few."""
        named = [dict(zip(self.columns, each, strict=True)) for each in values]
        return pa.Table.from_pylist(named, schema=self.arrow_schema)


INTERVAL = {
    "from_position": "bigint",
    "to_position": "bigint",
    "from_time": "timestamp",
    "to_time": "timestamp",
}
"""The columns of a history row: from where to where, and from when to when, it is true."""
