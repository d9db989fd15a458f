"""The one way to read the lake: columns of rows by equality, or a query in Spark's SQL; Arrow comes out.

No JVM is needed: PyIceberg finds the files of a table, DuckDB reads them (:mod:`fencepost.reading.iceberg`).
A catalog that PyIceberg does not know is read by Spark (:mod:`fencepost.reading.spark`). Nothing is created
or changed, and nothing heavy is imported before it is needed.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from fencepost.settings import Lake, Settings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from fencepost.reading.iceberg import IcebergReader

_log = logging.getLogger(__name__)

Value = str | int | None
Where = Mapping[str, Value | Sequence[str]]
"""Columns and what they equal: null, a value, or one of several values."""
ENGINES = ("duckdb", "spark")


class LakeError(Exception):
    """The lake, or a table of it, cannot be read; the message says why and what to do."""


class MissingPackageError(LakeError):
    """PyIceberg needs a Python package for this catalog (a driver, a cloud's SDK) that is not there."""


class QueryError(LakeError):
    """An engine refused a query; the message says which, and why."""


class Reader(Protocol):
    """An open lake. Times that come out are UTC; tables are named ``schema.table``."""

    engine: str
    """What runs queries: one of ENGINES."""

    def has(self, table: str) -> bool:
        """Whether there is such a table or view."""

    def scan(self, table: str, columns: Sequence[str] = (), where: Where | None = None) -> pa.Table:
        """``columns`` (all, if none is named) of the rows that equal ``where``, or one of its values.

        Raises LakeError.
        """

    def query(self, sql: str, **parameters: object) -> pa.Table:
        """The rows of a query in Spark's SQL, in which ``:name`` stands for a parameter. Raises LakeError."""

    def query_duckdb(self, sql: str) -> pa.Table:
        """The rows of a query in DuckDB's SQL. Raises LakeError, also where Spark reads this lake."""


@contextmanager
def open_lake(settings: Settings, engine: str | None = None) -> Iterator[Reader]:
    """A reader of the configured lake; ``engine`` asks for one of ENGINES. Raises LakeError.

    A Spark session is started only where Spark is needed, and then stopped, unless it was there before.
    """
    reader = None if engine == "spark" else _iceberg_reader(settings.lake, insist=engine == "duckdb")
    if reader is not None:
        with reader:
            yield reader
    else:
        from fencepost.reading.spark import session_reader

        with session_reader(settings) as through_spark:
            yield through_spark


def reads_without_spark(lake: Lake) -> bool:
    """Whether PyIceberg knows a catalog of this kind."""
    from fencepost.iceberg.catalog import CatalogError, catalog_properties

    try:
        catalog_properties(lake)
    except CatalogError:
        return False
    return True


def _iceberg_reader(lake: Lake, *, insist: bool) -> IcebergReader | None:
    """A reader that needs no Spark; None where there is none for this lake, unless one is insisted on."""
    from fencepost.reading.iceberg import IcebergReader

    if not insist and not reads_without_spark(lake):
        return None
    try:
        return IcebergReader(lake)
    except MissingPackageError as error:
        if insist:
            raise
        _log.warning("%s Spark reads the lake instead.", error)
        return None


def over(source: Reader | SparkSession) -> Reader:
    """A reader, as it is or on an open session of Spark."""
    if type(source).__module__.startswith("pyspark."):
        from fencepost.reading.spark import SparkReader

        return SparkReader(source)  # type: ignore[arg-type]
    return source  # type: ignore[return-value]


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """Arrow's rows in Python: times in UTC and without zone, maps as dict, durations as timedelta."""
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns(table), strict=True)]


def columns(table: pa.Table) -> list[list[Any]]:
    """Arrow's columns as Python's values, as :func:`rows` has them."""
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
    """A span without months is a timedelta, as Spark has it."""
    months, days, nanoseconds = value
    return value if months else dt.timedelta(days=days, microseconds=nanoseconds / 1000)
