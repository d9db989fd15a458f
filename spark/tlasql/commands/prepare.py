"""Prepares compiled queries on empty tables: so an engine refuses a query before there is any data."""

from __future__ import annotations

import importlib.util
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tlasql.commands.data import duckdb_type, quoted
from tlasql.compiler.compiled import CompiledModule
from tlasql.lang.errors import Diagnostic, Location
from tlasql.mapping.model import History, Mapping, Records, Schemas
from tlasql.sql import tree
from tlasql.sql.spark import SPARK

ENGINES = {"duckdb": "duckdb", "spark": "pyspark"}
"""engine -> the package it needs"""
_PLACE = r"(?<![\w.`]){}(?![\w.`])"
_A_FAULT = "write it otherwise; this is a fault of tlasql"
_TOO_LONG = (
    "each fold and set is written out wherever it is asked for: split the definition, or start Spark with a "
    "larger stack (-Xss16m in spark.driver.extraJavaOptions)"
)
_TOO_LARGE = (
    "each fold and set is written out wherever it is asked for: split the definition, fold a sequence with "
    "Head and Tail or FoldLeft, which ask for it once, or raise spark.sql.analyzer.maxIterations"
)
_TOO_DEEP = ("FAILED_TO_PARSE_TOO_COMPLEX", "StackOverflowError")
Refused = Callable[[str], str | None]
"""What an engine has against a query; None when it would run it."""


def installed() -> list[str]:
    """The engines that can be asked on this machine."""
    return [name for name, package in ENGINES.items() if importlib.util.find_spec(package) is not None]


def unprepared(compiled: CompiledModule, engine: str) -> list[Diagnostic]:
    """A diagnostic for each query that the engine refuses, at the definition it was made from."""
    tables = {each: compiled.schemas[each] for each in used(compiled.mapping) if each in compiled.schemas}
    found = []
    with (_duckdb if engine == "duckdb" else _spark)(tables) as refused:
        for place, name, sql in _queries(compiled.in_dialect(engine)):
            problem = refused(sql)
            if problem is not None:
                message = f"{engine} refuses the SQL of {name}: {problem}"
                found.append(Diagnostic(place, message, _remedy(problem)))
    return found


def _remedy(problem: str) -> str:
    if "Max iterations" in problem:
        return _TOO_LARGE
    return _TOO_LONG if any(each in problem for each in _TOO_DEEP) else _A_FAULT


def _queries(compiled: CompiledModule) -> Iterator[tuple[Location, str, str]]:
    places = {each.mark.id: each.definition.location for each in compiled.definitions}
    for each in compiled.definitions:
        yield places[each.mark.id], each.mark.id, each.sql
    for one in compiled.passes:
        yield places[one.ids[0]], " and ".join(one.ids), one.sql


def used(mapping: Mapping) -> list[str]:
    """The tables a mapping names."""
    found = [mapping.coverage]
    for each in mapping.variables.values():
        if isinstance(each, Records):
            found += [each.table, each.universe.table]
        elif isinstance(each, History):
            found += [home.table for home in (*each.homes, *([each.domain] if each.domain else []))]
        else:
            found.append(each.table)
    return list(dict.fromkeys(found))


@contextmanager
def _duckdb(tables: Schemas) -> Iterator[Refused]:
    import duckdb

    connection = duckdb.connect()
    for table, columns in tables.items():
        schema, _, name = table.rpartition(".")
        if schema:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        shown = ", ".join(f"{quoted(column)} {duckdb_type(kind)}" for column, kind in columns.items())
        where = f"{quoted(schema)}.{quoted(name)}" if schema else quoted(name)
        connection.execute(f"CREATE TABLE {where} ({shown})")

    def refused(sql: str) -> str | None:
        try:
            connection.execute(sql)
        except duckdb.Error as error:
            return _first(error)
        return None

    try:
        yield refused
    finally:
        connection.close()


@contextmanager
def _spark(tables: Schemas) -> Iterator[Refused]:
    """In a session of its own, unless the process has one."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    # it would write to the terminal what it raises, too, with the JVM's stack
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    with tempfile.TemporaryDirectory(prefix="tlasql-") as folder:
        running = SparkSession.getActiveSession()
        session = running or (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", False)
            .config("spark.log.level", "ERROR")
            .config("spark.sql.warehouse.dir", os.fspath(folder))
            .config("spark.driver.host", "127.0.0.1")
            .getOrCreate()
        )
        views = {table: f"tlasql_{n}" for n, table in enumerate(tables)}
        places = {table: re.compile(_PLACE.format(re.escape(_printed(table)))) for table in tables}
        for table, columns in tables.items():
            shown = ", ".join(f"{quoted(column, 'spark')} {kind}" for column, kind in columns.items())
            session.createDataFrame([], shown).createOrReplaceTempView(views[table])

        def refused(sql: str) -> str | None:
            for table, view in views.items():
                sql = places[table].sub(view, sql)
            try:
                session.sql(sql)
            except PySparkException as error:
                return _first(error)
            except Py4JJavaError as error:
                # PySpark has no error of its own for what is none of Spark's
                return str(error.java_exception)
            return None

        try:
            yield refused
        finally:
            if running is None:
                session.stop()


def _printed(table: str) -> str:
    return tree.table(table).sql(dialect=SPARK.name)


def _first(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
