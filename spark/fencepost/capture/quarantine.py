"""The table ``bronze.quarantine``: one row for every piece of evidence that cannot be read as it is now."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.capture.plan import Fault, Plan
from fencepost.lake import QUARANTINE

# found while looking for files; every run looks again
_OF_LISTING = ("missing", "unreadable")
_ORIGIN = ("cluster", "broker_id", "kind", "file")


def update(
    spark: SparkSession, plan: Plan, faults: DataFrame, clusters: Sequence[str], *, run_id: str, now: datetime
) -> int:
    """Replace what this run looked at again, in one commit; gives back how many rows there are now.

    Rows of a file that was read from ``start`` on are replaced from there; rows of a renamed file follow it.
    """
    table = spark.table(QUARANTINE.name)
    of_listing = F.col("cluster").isin(list(clusters)) & F.col("reason").isin(*_OF_LISTING)
    if not (plan.sources or plan.known or plan.faults) and table.where(of_listing).isEmpty():
        return table.count()
    listed = spark.createDataFrame(
        [dataclasses.astuple(fault) for fault in plan.faults],
        _ddl(*(f.name for f in dataclasses.fields(Fault))),
    )
    found = listed.unionByName(faults.select(listed.columns))
    found = found.withColumns({"run_id": F.lit(run_id), "captured_at": F.lit(now)})
    rows = (
        _kept(spark, plan, table.where(~of_listing)).unionByName(found).dropDuplicates(list(QUARANTINE.key))
    )
    lake.replace(spark, QUARANTINE, rows)
    return spark.table(QUARANTINE.name).count()


def _kept(spark: SparkSession, plan: Plan, old: DataFrame) -> DataFrame:
    """The rows of ``old`` that still stand: their file was not read again, or only behind them."""
    again = [
        (
            source.cluster,
            source.broker_id,
            source.kind,
            source.moved_from or source.file,
            source.start,
            source.file,
        )
        for source in plan.sources
    ]
    moved = [
        (source.cluster, source.broker_id, source.kind, source.moved_from, None, source.file)
        for source, _ in plan.known
        if source.moved_from
    ]
    # a path may be read anew while what was there before goes on elsewhere: its rows follow the rename
    renamed = {row[:4] for row in (*again, *moved) if row[3] != row[5]}
    changes = [row for row in (*again, *moved) if row[:4] not in renamed or row[3] != row[5]]
    change = spark.createDataFrame(
        changes, f"{_ddl(*_ORIGIN)}, read_from bigint, now_at string"
    ).dropDuplicates(list(_ORIGIN))
    stands = F.col("read_from").isNull() | (F.col("position") < F.col("read_from"))
    moved_to = F.coalesce("now_at", "file")
    return (
        old.join(F.broadcast(change), list(_ORIGIN), "left")
        .where(stands)
        .withColumn("file", moved_to)
        .select(list(QUARANTINE.columns))
    )


def _ddl(*names: str) -> str:
    return ", ".join(f"{name} {QUARANTINE.columns[name]}" for name in names)
