"""The table ``bronze.quarantine``: one row for every piece of evidence that cannot be read as it is now."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.capture.plan import Fault, Plan
from fencepost.lake import QUARANTINE

# found while looking for files; every run looks again
_OF_LISTING = ("missing", "unreadable")
_ORIGIN = ("cluster", "broker_id", "kind", "file")


def update(
    spark: SparkSession,
    plan: Plan,
    faults: DataFrame | None,
    clusters: Sequence[str],
    *,
    run_id: str,
    now: datetime,
) -> int:
    """Replace what this run looked at again, in one commit; gives back how many rows there are now.

    Rows of a file that was read from ``start`` on are replaced from there; rows of a renamed file follow it.
    """
    table = spark.table(QUARANTINE.name)
    of_listing = F.col("cluster").isin(list(clusters)) & F.col("reason").isin(*_OF_LISTING)
    before = table.count()
    looked_again = plan.sources or plan.known or (before and not table.where(of_listing).isEmpty())
    if not plan.faults and not (before and looked_again) and faults is None:
        return before
    listed = spark.createDataFrame(
        [dataclasses.astuple(fault) for fault in plan.faults],
        _ddl(*(f.name for f in dataclasses.fields(Fault))),
    )
    found = listed.unionByName(faults.select(listed.columns)) if faults else listed
    found = found.withColumns({"run_id": F.lit(run_id), "captured_at": F.lit(now)})
    kept = _kept(spark, plan, table.where(~of_listing))
    lake.replace(spark, QUARANTINE, kept.unionByName(found).dropDuplicates(list(QUARANTINE.key)))
    return spark.table(QUARANTINE.name).count()


def _kept(spark: SparkSession, plan: Plan, old: DataFrame) -> DataFrame:
    """The rows of ``old`` that still stand: their file was not read again, or only behind them."""
    change = spark.createDataFrame(_changes(plan), f"{_ddl(*_ORIGIN)}, read_from bigint, now_at string")
    stands = F.col("read_from").isNull() | (F.col("position") < F.col("read_from"))
    # a client's log has no broker
    same = reduce(and_, [old[name].eqNullSafe(change[name]) for name in _ORIGIN])
    joined = (
        old.join(F.broadcast(change), same, "left").where(stands).drop(*(change[name] for name in _ORIGIN))
    )
    return joined.withColumn("file", F.coalesce("now_at", "file")).select(list(QUARANTINE.columns))


def _changes(plan: Plan) -> list[tuple[str, int | None, str, str, int | None, str]]:
    """One row per path whose rows are touched: origin, read again from where (null: not at all), path now."""
    looked_at = [
        *((source, source.start) for source in plan.sources),
        *((known, None) for known, _ in plan.known),
    ]
    changes: dict[tuple[str, int | None, str, str], tuple[int | None, str]] = {}
    # a path may be read anew while what was there before goes on elsewhere: its rows follow the rename
    for source, start in sorted(looked_at, key=lambda each: each[0].moved_from is not None):
        before = source.moved_from or source.file
        changes[source.cluster, source.broker_id, source.kind, before] = (start, source.file)
    return [(*origin, *change) for origin, change in changes.items()]


def _ddl(*names: str) -> str:
    return ", ".join(f"{name} {QUARANTINE.columns[name]}" for name in names)
