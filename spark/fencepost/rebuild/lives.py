"""The lives of a group: from its first record to the tombstone of its metadata, and again."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fencepost.rebuild.frames import (
    GROUP,
    GROUP_RECORD,
    LIFE,
    MEMBER,
    SPAN,
    before,
    count_if,
    over,
    schema_of,
    so_far,
)

CONSUMER_MEMBER, CURRENT_ASSIGNMENT, CLASSIC_METADATA = 5, 8, 2
EPOCH_TYPES = {CLASSIC_METADATA: "classic", 3: "consumer", 11: "share", 17: "streams"}
TARGET_TYPES = {6: "consumer", 12: "share", 20: "streams"}
GROUP_TYPES = {**EPOCH_TYPES, **TARGET_TYPES, CONSUMER_MEMBER: "consumer", CURRENT_ASSIGNMENT: "consumer"}
"""The record types that a life is made of, and the group type each belongs to."""


def events(records: DataFrame, batches: DataFrame, stretches: DataFrame) -> DataFrame:
    """Every record of every group (GROUP_RECORD) in log order, placed in its stretch and life.

    Adds ``stretch``; ``life`` (from 1; 0 for tombstones before any life was seen); ``group_type`` of the
    life; ``state_no`` (the record's number within the group); ``ends`` (the life ends here); ``alive`` (the
    group exists after this record); ``known`` (nothing is missing of the group's state after this record);
    ``members`` (how many it has then, as far as this stretch shows); and where all that this record says is
    over at the latest, because the life or the stretch is: ``end_no`` (state_no), ``end_position`` (batch
    granularity), ``end_ms``; null when neither is over.

    A life ends with the tombstone of the group's metadata (types 2, 3, 11, 17). A conversion between classic
    and consumer group begins a new life, because the coordinator writes that tombstone first. A life is known
    when the log was seen from offset 0 on, or from the end of the life before it on, without a hole.
    """
    records = schema_of(records, GROUP_RECORD).where(F.col("record_type").isin(*GROUP_TYPES))
    placed = records.join(
        batches.select("cluster", "coordinator_partition", "base_offset", "leader_epoch", "stretch"),
        on=["cluster", "coordinator_partition", "base_offset", "leader_epoch"],
        how="inner",
    ).dropDuplicates(["cluster", "coordinator_partition", "record_offset"])
    return _with_members(_with_ends(_with_lives(placed), stretches))


def _with_lives(placed: DataFrame) -> DataFrame:
    log = Window.partitionBy(*GROUP).orderBy("coordinator_partition", "record_offset")
    one_log = over(*GROUP, "coordinator_partition")
    ends = F.col("tombstone") & F.col("record_type").isin(*EPOCH_TYPES)
    rows = (
        placed.withColumn("ends", ends)
        .withColumn("state_no", F.row_number().over(log).cast("bigint"))
        .withColumn("ended", F.coalesce(count_if(F.col("ends")).over(before(one_log)), F.lit(0)))
        .withColumn(
            "end_seen_in", F.last(F.when(F.col("ends"), F.col("stretch")), True).over(before(one_log))
        )
    )
    written = count_if(~F.col("tombstone")).over(so_far(over(*GROUP, "coordinator_partition", "ended")))
    begins = ~F.col("tombstone") & (F.col("written") == 1)
    seen = (F.col("stretch") == 0) | F.coalesce(F.col("end_seen_in") == F.col("stretch"), F.lit(False))
    rows = (
        rows.withColumn("written", written)
        .withColumn("begins", begins)
        .withColumn("seen", seen)
        .withColumn("alive", (F.col("written") > 0) & ~F.col("ends"))
        .withColumn("life", count_if(F.col("begins")).over(so_far(log)).cast("int"))
    )
    begin = F.first(F.when(F.col("begins"), F.struct("stretch", "seen")), True).over(so_far(over(*LIFE)))
    rows = rows.withColumn("begin", begin)
    known_alive = F.col("begin.seen") & (F.col("begin.stretch") == F.col("stretch"))
    return (
        rows.withColumn("known", F.when(F.col("alive"), known_alive).otherwise(F.col("ends") | F.col("seen")))
        .withColumn("group_type", F.first(_group_type(), True).over(Window.partitionBy(*LIFE)))
        .drop("ended", "end_seen_in", "written", "begins", "seen", "begin")
    )


def _group_type() -> Column:
    names = F.create_map(*[F.lit(part) for pair in GROUP_TYPES.items() for part in pair])
    return F.when(~F.col("tombstone"), names[F.col("record_type")])


def _with_ends(rows: DataFrame, stretches: DataFrame) -> DataFrame:
    """Where what a record says is over: at the end of its life, or of its stretch if that comes first."""
    end = F.min(F.when(F.col("ends"), F.struct("state_no", "last_offset", "timestamp_ms")))
    rows = rows.withColumn("end", end.over(Window.partitionBy(*LIFE)))
    rows = rows.join(
        F.broadcast(stretches.select("cluster", "coordinator_partition", "stretch", "stretch_to", "last_ms")),
        on=["cluster", "coordinator_partition", "stretch"],
        how="left",
    )
    cut = F.col("stretch_to").isNotNull() & (
        F.col("end").isNull() | (F.col("end.last_offset") >= F.col("stretch_to"))
    )
    return (
        rows.withColumn("end_position", F.when(cut, F.col("stretch_to")).otherwise(F.col("end.last_offset")))
        .withColumn("end_ms", F.when(cut, F.col("last_ms")).otherwise(F.col("end.timestamp_ms")))
        .withColumn("end_no", F.col("end.state_no"))
        .withColumn("life_end_position", F.col("end.last_offset"))
        .withColumn("life_end_ms", F.col("end.timestamp_ms"))
        .drop("end", "stretch_to", "last_ms")
    )


def _with_members(rows: DataFrame) -> DataFrame:
    step = F.col("member_id").isNotNull() & (
        (F.col("record_type") == CURRENT_ASSIGNMENT)
        | ((F.col("record_type") == CONSUMER_MEMBER) & F.col("tombstone"))
    )
    rows = rows.withColumn("step", step)
    there = F.when(F.col("step"), (~F.col("tombstone")).cast("int"))
    was = F.coalesce(F.last(there, True).over(before(over(*MEMBER, by="state_no"))), F.lit(0))
    moved = F.when(F.col("step"), there - was).otherwise(0)
    order = so_far(over(*SPAN, by="state_no"))
    return (
        rows.withColumn("moved", moved)
        .withColumn(
            "members",
            F.when(F.col("group_type") == "consumer", F.sum("moved").over(order)).when(
                F.col("group_type") == "classic", F.last("member_count", True).over(order)
            ),
        )
        .drop("moved")
    )
