"""Spark, for a silver that is too large for one process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fencepost.judge.compiled import Dialect, Query
from fencepost.tables import Table


class SparkEngine:
    """An :class:`~fencepost.judge.engine.Engine` on an open session: all queries at once, each row computed once."""

    dialect: Dialect = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._kept: list[DataFrame] = []

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
        """Call the rows of ``sql`` ``name``; they are computed when they are first asked for, and once."""
        frame = self._spark.sql(sql).persist()
        frame.createOrReplaceTempView(name)
        self._kept.append(frame)

    def add(self, name: str, sql: str) -> None:
        """Call the rows of ``sql`` ``name``: there is but one group."""
        self.view(name, sql)

    def replace(self, table: Table, sql: str) -> None:
        """Make the rows of ``sql`` the whole content of the lake's table, in one commit."""
        rows = self._spark.sql(sql).select([F.col(name).cast(kind) for name, kind in table.columns.items()])
        rows.writeTo(table.name).overwrite(F.lit(True))

    def rows(self, sql: str) -> Iterable[tuple[object, ...]]:
        """The rows of ``sql``."""
        return [tuple(row) for row in self._spark.sql(sql).collect()]

    def close(self) -> None:
        """Let go of what was kept."""
        for frame in self._kept:
            frame.unpersist()
