"""From row-level results to episodes and counts.

A row-level result says what one definition says of one witness in one stretch of one scope. An episode is a
maximal stretch with one verdict: per witness and failed conjunct where it is violated or unknown, per scope
(without the violated and unknown stretches) where it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

_SCOPE = ["module", "invariant", "kind", "severity", "cluster", "scope"]
_WITNESS = [*_SCOPE, "witness", "verdict", "failed_conjunct"]
_OPEN = 2**63 - 1  # stands for "still true" while intervals are compared


def union_all(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of all frames, matched by column name."""
    return reduce(DataFrame.unionByName, frames)


def episodes(rows: DataFrame) -> DataFrame:
    """Row-level results -> one row per episode, with the columns of ``verdicts.episodes`` but ``run_id``."""
    named = rows.withColumn(
        "verdict",
        F.when(F.col("verdict"), "holds").when(~F.col("verdict"), "violated").otherwise("unknown"),
    ).withColumn("end", _end())
    bad = _merged(named.where("verdict <> 'holds'"), _WITNESS)
    good = _without(named.where("verdict = 'holds' AND exercised"), _merged(bad, _SCOPE))
    both = bad.unionByName(good, allowMissingColumns=True)
    return both.select(
        F.left(F.sha2(F.to_json(F.struct(*_WITNESS, "from_position", "from_time")), 256), F.lit(16)).alias(
            "verdict_id"
        ),
        *_SCOPE,
        "witness",
        "from_position",
        F.when(F.col("end") < _OPEN, F.col("end")).alias("to_position"),
        "from_time",
        "to_time",
        "verdict",
        "failed_conjunct",
        "values",
        "evidence",
    )


def coverage(rows: DataFrame, catalogue: DataFrame) -> DataFrame:
    """Counts per definition and cluster, with the columns of ``verdicts.coverage`` but ``run_id``.

    ``catalogue`` (module, invariant, kind, severity, cluster) has a row for each definition and cluster that
    must be reported. A definition that nothing exercised is ``not_exercised``: it never counts as holding.
    """
    key = ["module", "invariant", "cluster"]
    exercised = F.coalesce(F.col("exercised"), F.lit(False))
    counts = rows.groupBy(*key).agg(
        F.countDistinct("scope").alias("scopes"),
        F.count_if(F.col("witness").isNotNull() | F.col("verdict").isNotNull()).alias("checked"),
        F.count_if(exercised).alias("exercised"),
        F.count_if(F.col("verdict") & exercised).alias("holds"),
        F.count_if(~F.col("verdict")).alias("violated"),
        F.count_if(F.col("verdict").isNull()).alias("unknown"),
    )
    filled = catalogue.join(counts, key, "left").fillna(0)
    status = (
        F.when(F.col("violated") > 0, "violated")
        .when(F.col("unknown") > 0, "unknown")
        .when(F.col("exercised") > 0, "holds")
        .otherwise("not_exercised")
    )
    return filled.withColumn("status", status)


def _end() -> Column:
    """The exclusive end of a row; a row about one moment ends just after it."""
    end = F.coalesce(F.col("to_position"), F.lit(_OPEN))
    return F.greatest(end, F.col("from_position") + 1)


def _merged(rows: DataFrame, by: list[str]) -> DataFrame:
    """Rows that touch or overlap, made one; values and evidence are those of the first."""
    order = Window.partitionBy(*by).orderBy("from_position", "end")
    before = F.max("end").over(order.rowsBetween(Window.unboundedPreceding, -1))
    starts = F.when(before >= F.col("from_position"), 0).otherwise(1)
    island = F.sum("starts").over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    return (
        rows.withColumn("starts", starts)
        .withColumn("island", island)
        .groupBy(*by, "island")
        .agg(
            F.min("from_position").alias("from_position"),
            F.max("end").alias("end"),
            F.min("from_time").alias("from_time"),
            F.max_by("to_time", "end").alias("to_time"),
            F.min_by("values", "from_position").alias("values"),
            F.min_by("evidence", "from_position").alias("evidence"),
        )
        .drop("island")
    )


def _without(rows: DataFrame, bad: DataFrame) -> DataFrame:
    """The stretches in which ``rows`` hold, per scope, outside the stretches of ``bad``."""
    order = Window.partitionBy(*_SCOPE).orderBy("from_position")
    # The stretch before each bad one, and one after the last: where a holds episode may lie.
    room = bad.select(
        *_SCOPE,
        F.coalesce(F.lag("end").over(order), F.lit(-1)).alias("room_from"),
        F.col("from_position").alias("room_to"),
    ).unionByName(
        rows.select(*_SCOPE)
        .distinct()
        .join(bad.groupBy(*_SCOPE).agg(F.max("end").alias("last")), _SCOPE, "left")
        .select(*_SCOPE, F.coalesce("last", F.lit(-1)).alias("room_from"), F.lit(_OPEN).alias("room_to"))
    )
    inside = (F.col("from_position") < F.col("room_to")) & (F.col("end") > F.col("room_from"))
    return (
        rows.join(room, _SCOPE, "inner")
        .where(inside)
        .groupBy(*_SCOPE, "room_from", "room_to")
        .agg(
            F.min(F.greatest("from_position", "room_from")).alias("from_position"),
            F.max(F.least("end", "room_to")).alias("end"),
            F.min("from_time").alias("from_time"),
            F.max("to_time").alias("to_time"),
        )
        .drop("room_from", "room_to")
        .withColumn("verdict", F.lit("holds"))
        .withColumn("witness", F.lit(None).cast("string"))
        .withColumn("failed_conjunct", F.lit(None).cast("string"))
    )
