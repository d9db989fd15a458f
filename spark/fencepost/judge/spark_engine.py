"""The judge's engine on Spark, for a silver that is too large for one process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
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
    """An :class:`~fencepost.judge.engine.Engine` on an open session. It runs all queries at once."""

    dialect: Dialect = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._added: dict[str, DataFrame] = {}
        self._chosen: Where | None = None

    def together(self, queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
        """All queries in one group."""
        if queries:
            yield queries

    def give(self, name: str, rows: pa.Table) -> None:
        """Register a few rows under ``name``."""
        self._spark.createDataFrame(rows).createOrReplaceTempView(name)

    def view(self, name: str, sql: str) -> None:
        """Define ``name`` as the rows of ``sql``, which are computed in each query that names them."""
        self._spark.sql(self._over_chosen(sql)).createOrReplaceTempView(name)

    def keep(self, name: str, sql: str) -> None:
        """Run ``sql`` once and store its rows under ``name``, in place of any that had this name."""
        # A checkpoint, so that Spark plans later queries from these rows on: each rule names the results of
        # others several times, and planning all of that takes Spark longer than computing the rows.
        self._computed(self._over_chosen(sql)).createOrReplaceTempView(name)

    def add(self, name: str, sql: str) -> None:
        """Add the rows of ``sql`` to those stored under ``name``."""
        frame = self._computed(sql)
        self._added[name] = self._added[name].union(frame) if name in self._added else frame
        self._added[name].createOrReplaceTempView(name)

    def drop(self, name: str) -> None:
        """Drop the rows that were kept or added under this name."""
        self._added.pop(name, None)
        self._spark.catalog.dropTempView(name)

    def replace(self, table: Table, queries: Iterable[str], where: Where | None = None) -> None:
        """Make the rows of the queries the content of the lake's table, or of the partitions that ``where``
        chooses, in one commit. If ``where`` is empty, the rows are appended. A query is taken when the rows
        of the one before have been read, so it may name other rows by the same name.
        """
        columns = [F.col(name).cast(kind) for name, kind in table.columns.items()]
        rows = reduce(DataFrame.union, (self._spark.sql(sql).select(columns) for sql in queries))
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
        """Store rows of the lake's table that ``where`` chooses (None: all) under ``name``, in place of any
        that had this name. ``columns``: the columns to store, all if none is named. ``among`` (name,
        columns): only rows that equal, in these columns, one of the rows stored under that name.
        """
        rows = self._spark.table(table.name)
        if where is not None:
            rows = rows.where(condition(where))
        rows.select(*(columns or table.columns)).createOrReplaceTempView("arrived")
        self.keep(name, f"SELECT * FROM arrived{semi_join('arrived', among)}")

    def look_at(self, where: Where | None) -> None:
        """From now on, queries see only the rows of silver that ``where`` chooses, with each chapter as a
        cluster of its own. None: they see all rows as they are.
        """
        self._chosen = where

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows of ``sql``, which must be few, as dicts."""
        found: list[dict[str, Any]] = self._spark.sql(self._over_chosen(sql)).toArrow().to_pylist()
        return found

    def _computed(self, sql: str) -> DataFrame:
        """The rows of ``sql``, computed once."""
        # A union has a task for each of its parts, and every task reads the plan of all parts.
        partitions = int(str(self._spark.conf.get("spark.sql.shuffle.partitions")))
        return self._spark.sql(sql).coalesce(partitions).localCheckpoint()

    def _over_chosen(self, sql: str) -> str:
        """``sql`` with each table of silver replaced by a view of the rows that ``look_at`` chose."""
        if self._chosen is None:
            return sql
        for table in tables_in(sql):
            view = table.replace(".", "_seen_")
            seen = self._spark.table(table).where(condition(self._chosen))
            apart = F.concat_ws(" ", F.col(CHAPTER), F.col("cluster"))
            seen.withColumn("cluster", apart).createOrReplaceTempView(view)
            sql = re.sub(rf"\b{re.escape(table)}\b", view, sql)
        return sql
