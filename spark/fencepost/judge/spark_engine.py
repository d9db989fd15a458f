"""Spark, for a silver that is too large for one process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from fencepost.definitions import Dialect, Query
from fencepost.tables import Table


class SparkEngine:
    """An :class:`~fencepost.judge.engine.Engine` on an open session: all queries at once."""

    dialect: Dialect = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def together(self, queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
        """All of them."""
        yield queries

    def give(self, name: str, rows: pa.Table) -> None:
        """Call a few rows ``name``."""
        self._spark.createDataFrame(rows).createOrReplaceTempView(name)

    def view(self, name: str, sql: str) -> None:
        """Call the rows of ``sql`` ``name``: they are computed where it stands in a query."""
        self._spark.sql(sql).createOrReplaceTempView(name)

    def keep(self, name: str, sql: str) -> None:
        """Run ``sql`` once and call its rows ``name``, in place of what had this name."""
        # A checkpoint, so that what is made of these rows is planned from here on: each rule names the
        # results of others several times, and to plan all of that takes Spark longer than the rows do.
        frame = self._spark.sql(sql).localCheckpoint()
        frame.createOrReplaceTempView(name)

    def add(self, name: str, sql: str) -> None:
        """Call the rows of ``sql`` ``name``: there is but one group."""
        self.view(name, sql)

    def replace(self, table: Table, sql: str) -> None:
        """Make the rows of ``sql`` the whole content of the lake's table, in one commit."""
        rows = self._spark.sql(sql).select([F.col(name).cast(kind) for name, kind in table.columns.items()])
        rows.writeTo(table.name).overwrite(F.lit(True))

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows of ``sql``, which are few, by column name."""
        found: list[dict[str, Any]] = self._spark.sql(sql).toArrow().to_pylist()
        return found
