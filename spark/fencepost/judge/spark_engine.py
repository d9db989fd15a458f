"""Spark, for a silver that is too large for one process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fencepost.definitions import Dialect, Query, tables_in
from fencepost.engines.spark import condition
from fencepost.judge.engine import semi_join
from fencepost.lake import Where
from fencepost.tables import CHAPTER, Table


class SparkEngine:
    """An :class:`~fencepost.judge.engine.Engine` on an open session: all queries at once."""

    dialect: Dialect = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._added: dict[str, DataFrame] = {}
        self._seen: Where | None = None

    def together(self, queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
        """All of them."""
        if queries:
            yield queries

    def give(self, name: str, rows: pa.Table) -> None:
        """Call a few rows ``name``."""
        self._spark.createDataFrame(rows).createOrReplaceTempView(name)

    def view(self, name: str, sql: str) -> None:
        """Call the rows of ``sql`` ``name``: they are computed where it stands in a query."""
        self._spark.sql(self._over_seen(sql)).createOrReplaceTempView(name)

    def keep(self, name: str, sql: str) -> None:
        """Run ``sql`` once and call its rows ``name``, in place of what had this name."""
        # A checkpoint, so that what is made of these rows is planned from here on: each rule names the
        # results of others several times, and to plan all of that takes Spark longer than the rows do.
        self._computed(self._over_seen(sql)).createOrReplaceTempView(name)

    def add(self, name: str, sql: str) -> None:
        """Add the rows of ``sql`` to those called ``name``."""
        frame = self._computed(sql)
        self._added[name] = self._added[name].union(frame) if name in self._added else frame
        self._added[name].createOrReplaceTempView(name)

    def drop(self, name: str) -> None:
        """Let go of the rows that were kept or added under this name."""
        self._added.pop(name, None)
        self._spark.catalog.dropTempView(name)

    def replace(self, table: Table, sql: str, where: Where | None = None) -> None:
        """Make the rows of ``sql`` the content of the lake's table, or of the partitions that ``where``
        chooses, in one commit. If it chooses none, they are added.
        """
        rows = self._spark.sql(sql).select([F.col(name).cast(kind) for name, kind in table.columns.items()])
        if where is not None and not where:
            rows.writeTo(table.name).append()
        else:
            rows.writeTo(table.name).overwrite(F.lit(True) if where is None else condition(where))

    def fetch(
        self,
        name: str,
        table: Table,
        where: Where | None,
        columns: Sequence[str] = (),
        among: tuple[str, Sequence[str]] | None = None,
    ) -> None:
        """Call ``columns`` (all, if none is named) of the rows of the lake's table that ``where`` chooses
        (None: all) ``name``, in place of what had this name. ``among``: only rows that are alike, in some
        columns, to one of the rows that have a name.
        """
        rows = self._spark.table(table.name)
        if where is not None:
            rows = rows.where(condition(where))
        rows.select(*(columns or table.columns)).createOrReplaceTempView("arrived")
        self.keep(name, f"SELECT * FROM arrived{semi_join('arrived', among)}")

    def look_at(self, where: Where | None) -> None:
        """From here on queries see of silver the rows that ``where`` chooses, each chapter as a cluster by
        itself. None: all rows as they are.
        """
        self._seen = where

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows of ``sql``, which are few, by column name."""
        found: list[dict[str, Any]] = self._spark.sql(self._over_seen(sql)).toArrow().to_pylist()
        return found

    def _computed(self, sql: str) -> DataFrame:
        """The rows of ``sql``, computed once."""
        # A union has a task for each of its parts, and every task reads the plan of all of them.
        partitions = int(str(self._spark.conf.get("spark.sql.shuffle.partitions")))
        return self._spark.sql(sql).coalesce(partitions).localCheckpoint()

    def _over_seen(self, sql: str) -> str:
        """``sql`` over views of the chosen rows."""
        if self._seen is None:
            return sql
        for table in tables_in(sql):
            view = table.replace(".", "_seen_")
            seen = self._spark.table(table).where(condition(self._seen))
            apart = F.concat_ws(" ", F.col(CHAPTER), F.col("cluster"))
            seen.withColumn("cluster", apart).createOrReplaceTempView(view)
            sql = re.sub(rf"\b{re.escape(table)}\b", view, sql)
        return sql
