"""Emitted SQL on Spark, over tables kept as temporary views."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from tlasql_traces import Tables

from tlasql import CompiledModule

_PREFIX = "tlasql_"


def show(spark: SparkSession, tables: Tables) -> None:
    """Make the tables visible to ``rows``."""
    for table in tables.rows:
        columns = tables.schemas[table]
        ddl = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
        schema, _, name = table.partition(".")
        rows = [dict(zip(columns, row, strict=True)) for row in tables.tuples(table)]
        # rows from Arrow are in the JVM: of others, Python would hand over each for every definition
        frame = spark.createDataFrame(pa.Table.from_pylist(rows, to_arrow_schema(StructType.fromDDL(ddl))))
        frame.createOrReplaceTempView(f"{_PREFIX}{schema}_{name}")


def query(spark: SparkSession, sql: str, schemas: Iterable[str]) -> DataFrame:
    """The emitted SQL over the shown tables: as emitted but for the schema in front of a table's name."""
    for table in schemas:
        schema, _, name = table.partition(".")
        sql = sql.replace(f"{schema}.{name}", f"{_PREFIX}{schema}_{name}")
    return spark.sql(sql)


def judged(spark: SparkSession, module: CompiledModule, schemas: Iterable[str]) -> dict[str, list[Row]]:
    """The rows of every definition, by id, as Fencepost has Spark judge."""
    found: dict[str, list[Row]] = {each.mark.id: [] for each in module.definitions}
    for sql in queries(module):
        for row in query(spark, sql, schemas).collect():
            found[row["definition"]].append(row)
    return found


def queries(module: CompiledModule) -> list[str]:
    """Queries that judge every definition once, as Fencepost has Spark judge: in passes, and alone what is in
    none. The rows of each begin with ``definition``, whose they are.
    """
    within = {identity for each in module.passes for identity in each.ids}
    alone = [each for each in module.definitions if each.mark.id not in within]
    return [
        *(each.sql for each in module.passes),
        *(f"SELECT '{each.mark.id}' AS definition, * FROM (\n{each.sql}\n)" for each in alone),
    ]


def kleene(verdicts: Iterable[Any]) -> bool | None:
    """False if any is, else unknown if any is, else true."""
    seen = list(verdicts)
    if any(each is False for each in seen):
        return False
    return None if any(each is None for each in seen) else True
