"""Reads a lake with Spark, from any catalog and store that Iceberg supports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import AnalysisException, ParseException, PythonException
from pyspark.sql import DataFrame, SparkSession

from fencepost.conditions import Condition
from fencepost.conditions.sql import in_spark
from fencepost.quoting import spark_quoted
from fencepost.reading import LakeError, QueryError
from fencepost.reading.statements import no_schema, statement
from fencepost.session import session_for_lake
from fencepost.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa


class SparkReader:
    """A :class:`fencepost.reading.Reader` on an open session."""

    engine = "spark"

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def has(self, table: str) -> bool:
        """See Reader. Raises LakeError when the catalog cannot be read."""
        try:
            return bool(self._session.catalog.tableExists(table))
        except Py4JJavaError as error:
            raise LakeError(
                f"Spark cannot read the catalog ({_cause(error)}). Check [lake] in the configuration, and "
                "that the catalog's driver is among the jars of Spark (spark.jars, or .jars/spark)."
            ) from error

    def scan(self, table: str, columns: Sequence[str] = (), where: Condition | None = None) -> pa.Table:
        """See Reader."""
        frame = self._table(table)
        if where:
            frame = frame.where(in_spark([where]))
        return frame.select(*columns or ["*"]).toArrow()

    def _table(self, name: str) -> DataFrame:
        try:
            return self._session.table(name)
        except AnalysisException as error:
            raise LakeError(f"{_message(error)} `fencepost audit` makes the tables of the lake.") from error

    def query(self, sql: str, **parameters: object) -> pa.Table:
        """See Reader."""
        if (asked := statement(sql)) is not None:
            return asked.answer(self)
        try:
            return self._session.sql(sql, args=dict(parameters)).toArrow()
        except (AnalysisException, ParseException, PythonException) as error:
            raise QueryError(f"Spark refused the query: {_message(error)}") from error

    def schemas(self) -> Sequence[str]:
        """See fencepost.reading.statements.Names."""
        return [each.name for each in self._session.catalog.listDatabases()]

    def tables(self, schema: str) -> Sequence[str]:
        """See fencepost.reading.statements.Names."""
        if schema not in self.schemas():
            raise LakeError(no_schema(schema, self.schemas()))
        of_schema = spark_quoted(schema)
        shown = (self._session.sql(f"SHOW {kind} IN {of_schema}").collect() for kind in ("TABLES", "VIEWS"))
        return sorted({row[1] for each in shown for row in each})

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        """See fencepost.reading.statements.Names."""
        return [(name, kind) for name, kind in self._table(table).dtypes]

    def query_duckdb(self, sql: str) -> pa.Table:
        """See Reader."""
        raise LakeError(
            "This lake is read by Spark: DuckDB reads a local warehouse with a SQLite catalog only."
        )


@contextmanager
def session_reader(settings: Settings) -> Iterator[SparkReader]:
    """A reader on the process's session. If there is none, it is started, and stopped again afterwards."""
    was_open = SparkContext._active_spark_context is not None
    session = session_for_lake(settings)
    try:
        yield SparkReader(session)
    finally:
        if not was_open:
            session.stop()


def _cause(error: Py4JJavaError) -> str:
    """The message of the exception in Java that caused all others."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.getMessage() or cause.toString()).splitlines()[0]


def _message(error: Exception) -> str:
    """What Spark says, without the plan and the JVM's stack."""
    return str(error).split("\n\nJVM stacktrace", maxsplit=1)[0].partition(";\n")[0]
