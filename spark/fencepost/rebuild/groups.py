"""The histories of groups: their epochs, and how much of their extent is known."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild.frames import GROUP, LIFE, SPAN, over, so_far, with_times
from fencepost.rebuild.lives import CLASSIC_METADATA, EPOCH_TYPES, TARGET_TYPES


def group_epochs(events: DataFrame) -> DataFrame:
    """The epochs of every group at batch boundaries, one row per change; null where not (yet) known again.

    Columns: cluster, group_id, life, stretch, coordinator_partition, group_type, known, group_epoch,
    target_assignment_epoch, from_position, to_position, from_ms, to_ms. The state after a batch is true from
    the batch's last offset on. A classic group's epoch is its generation, its target assignment's too.
    """
    rows = events.where("alive")
    order = so_far(over(*SPAN, by="state_no"))
    epoch = F.when(F.col("record_type").isin(*EPOCH_TYPES), F.col("epoch"))
    target = F.when(F.col("record_type").isin(*TARGET_TYPES, CLASSIC_METADATA), F.col("epoch"))
    rows = rows.withColumn("group_epoch", F.last(epoch, True).over(order)).withColumn(
        "target_assignment_epoch", F.last(target, True).over(order)
    )
    per_batch = Window.partitionBy(*SPAN, "last_offset")
    rows = rows.withColumn("newest", F.max("state_no").over(per_batch)).where("state_no = newest")
    state = F.struct("group_type", "group_epoch", "target_assignment_epoch")
    rows = rows.withColumn("was", F.lag(state).over(over(*SPAN, by="state_no")))
    rows = rows.where(F.col("was").isNull() | ~F.col("was").eqNullSafe(state))
    return _intervals(rows, over(*SPAN, by="state_no")).select(
        *SPAN,
        "coordinator_partition",
        "group_type",
        "known",
        "group_epoch",
        "target_assignment_epoch",
        "from_position",
        "to_position",
        "from_ms",
        "to_ms",
    )


def consumer_groups(epochs: DataFrame, simple: DataFrame) -> DataFrame:
    """``silver.consumer_groups``: where a group's epoch is known, and the simple groups at generation 0."""
    rows = epochs.where("group_epoch is not null").unionByName(
        simple.select(
            *LIFE,
            F.lit(0).alias("stretch"),
            "coordinator_partition",
            F.lit("simple").alias("group_type"),
            "known",
            F.lit(0).alias("group_epoch"),
            F.lit(0).alias("target_assignment_epoch"),
            "from_position",
            F.lit(None).cast("bigint").alias("to_position"),
            "from_ms",
            F.lit(None).cast("bigint").alias("to_ms"),
        )
    )
    return lake.align(with_times(rows), lake.GROUPS)


def simple_groups(commit_records: DataFrame, events: DataFrame) -> DataFrame:
    """Groups of which only commits were ever seen: (LIFE, coordinator_partition, known, from_position,
    from_ms).

    Their consumers assign partitions themselves; the coordinator keeps them as an empty classic group.
    """
    first = F.min(
        F.struct("record_offset", "last_offset", "timestamp_ms", "coordinator_partition", "stretch")
    )
    rows = commit_records.groupBy(*GROUP).agg(first.alias("first"))
    rows = rows.join(events.select(*GROUP).distinct(), on=list(GROUP), how="left_anti")
    return rows.select(
        *GROUP,
        F.lit(1).alias("life"),
        F.col("first.coordinator_partition").alias("coordinator_partition"),
        (F.col("first.stretch") <= 0).alias("known"),
        F.col("first.last_offset").alias("from_position"),
        F.col("first.timestamp_ms").alias("from_ms"),
    )


def coverage(events: DataFrame, simple: DataFrame) -> DataFrame:
    """``silver.coverage``: each life cut into the piece that is completely known and the piece that is not.

    A hole anywhere in the coordinator's log may hide a member, so a life is known up to its first hole and
    not after it. Its extent begins with its first record that was seen.
    """
    first = F.first(
        F.struct("known", "last_offset", "timestamp_ms", "coordinator_partition", "end_position", "end_ms")
    ).over(over(*LIFE, by="state_no"))
    lives = (
        events.where("life > 0")
        .withColumn("first", first)
        .groupBy(*LIFE)
        .agg(
            F.first("first").alias("first"),
            F.first("life_end_position").alias("life_end"),
            F.first("life_end_ms").alias("life_end_ms"),
        )
    )
    at, known = F.col("first"), F.col("first.known")
    end = F.struct(F.col("life_end").alias("position"), F.col("life_end_ms").alias("ms"))
    begin = F.struct(at["last_offset"].alias("position"), at["timestamp_ms"].alias("ms"))
    cut = F.struct(at["end_position"].alias("position"), at["end_ms"].alias("ms"))
    whole = ~known | cut["position"].eqNullSafe(end["position"])
    pieces = F.when(whole, F.array(_piece(known, begin, end))).otherwise(
        F.array(_piece(F.lit(True), begin, cut), _piece(F.lit(False), cut, end))
    )
    rows = lives.select(
        *LIFE, at["coordinator_partition"].alias("coordinator_partition"), F.explode(pieces).alias("piece")
    ).select(*LIFE, "coordinator_partition", "piece.*")
    alone = simple.select(
        *LIFE,
        "coordinator_partition",
        F.col("known").alias("covered"),
        "from_position",
        "from_ms",
        F.lit(None).cast("bigint").alias("to_position"),
        F.lit(None).cast("bigint").alias("to_ms"),
    )
    rows = rows.unionByName(alone).where("to_position is null or from_position < to_position")
    return lake.align(with_times(rows), lake.COVERAGE)


def _piece(covered: Column, start: Column, end: Column) -> Column:
    return F.struct(
        covered.alias("covered"),
        start["position"].alias("from_position"),
        start["ms"].alias("from_ms"),
        end["position"].alias("to_position"),
        end["ms"].alias("to_ms"),
    )


def _intervals(rows: DataFrame, window: WindowSpec) -> DataFrame:
    following = F.lead(F.struct("last_offset", "timestamp_ms")).over(window)
    rows = rows.withColumn("following", following)
    return (
        rows.withColumn("from_position", F.col("last_offset"))
        .withColumn("from_ms", F.col("timestamp_ms"))
        .withColumn("to_position", F.coalesce("following.last_offset", "end_position"))
        .withColumn("to_ms", F.coalesce("following.timestamp_ms", "end_ms"))
        .where("to_position is null or from_position < to_position")
    )
