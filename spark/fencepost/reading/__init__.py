"""Reads the lake: columns of rows that meet a condition, or a query in Spark's SQL. Results are Arrow tables.

No JVM is needed: PyIceberg finds the files of a table, DuckDB reads them (:mod:`fencepost.reading.iceberg`).
A catalog that PyIceberg does not know is read by Spark (:mod:`fencepost.reading.spark`). Nothing is created
or changed, and nothing heavy is imported before it is needed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fencepost.conditions import Condition

if TYPE_CHECKING:
    import pyarrow as pa

ENGINES = ("duckdb", "spark")


class LakeError(Exception):
    """The lake, or a table of it, cannot be read; the message says why and what to do."""


class QueryError(LakeError):
    """An engine refused a query; the message names the engine and the reason."""


class Reader(Protocol):
    """An open lake. Times in results are in UTC; tables are named ``schema.table``."""

    engine: str
    """The engine that runs queries: one of ENGINES."""

    def has(self, table: str) -> bool:
        """Whether this table or view exists."""

    def scan(self, table: str, columns: Sequence[str] = (), where: Condition | None = None) -> pa.Table:
        """``columns`` (all by default) of the rows for which ``where`` holds.

        Raises LakeError.
        """

    def query(self, sql: str, **parameters: object) -> pa.Table:
        """The rows of a query in Spark's SQL, in which ``:name`` stands for a parameter. Raises LakeError."""

    def query_duckdb(self, sql: str) -> pa.Table:
        """The rows of a query in DuckDB's SQL. Raises LakeError, also if Spark reads this lake."""


@dataclass(frozen=True)
class SqlFunction:
    """A function that queries of the lake may call, in DuckDB and in Spark.

    ``call`` takes a value for each of ``parameters`` and returns one of ``returns`` (Spark's types: int,
    binary); a ValueError ends the query with its message. If an argument is null, so is the result.
    """

    name: str
    call: Callable[..., Any]
    parameters: tuple[str, ...]
    returns: str


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """Arrow's rows as Python values: times in UTC without zone, maps as dict, durations as timedelta."""
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns(table), strict=True)]


def columns(table: pa.Table) -> list[list[Any]]:
    """Arrow's columns as the Python values of :func:`rows`."""
    return [_values(column) for column in table.columns]


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    plain = str(column.type) in _PLAIN
    return values if plain else [_value(value, column.type) for value in values]


_PLAIN = {"string", "int8", "int16", "int32", "int64", "double", "bool"}


def _value(value: Any, kind: pa.DataType) -> Any:
    import pyarrow.types as is_a

    if value is None:
        return None
    if is_a.is_map(kind):
        pairs = [(_value(key, kind.key_type), _value(each, kind.item_type)) for key, each in value]
        return dict(pairs) if not is_a.is_nested(kind.key_type) else pairs
    if is_a.is_struct(kind):
        return {field.name: _value(value[field.name], field.type) for field in kind}
    if is_a.is_nested(kind):
        return [_value(each, kind.value_type) for each in value]
    if is_a.is_interval(kind):
        return _duration(value)
    return _in_utc(value)


def _in_utc(value: Any) -> Any:
    if isinstance(value, dt.datetime) and value.tzinfo:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return value


def _duration(value: Any) -> Any:
    """A duration without months is a timedelta, as in Spark."""
    months, days, nanoseconds = value
    return value if months else dt.timedelta(days=days, microseconds=nanoseconds / 1000)
