"""The lives of a group: from its first record to the tombstone of its metadata, and again."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from fencepost.rebuild.frames import (
    GROUP,
    GROUP_RECORD,
    LIFE,
    MEMBER,
    SPAN,
    before,
    count_if,
    named,
    over,
    schema_of,
    so_far,
)
from fencepost.rebuild.stretches import in_stretches

CLASSIC_METADATA, CONSUMER_METADATA, STREAMS_ASSIGNMENT, STREAMS_TOPOLOGY = 2, 3, 22, 23
EPOCH_TYPES = {CLASSIC_METADATA: "classic", CONSUMER_METADATA: "consumer", 11: "share", 17: "streams"}
TARGET_TYPES = {6: "consumer", 12: "share", 20: "streams"}
MEMBER_TYPES = {5: "consumer", 10: "share", 19: "streams"}
ASSIGNMENT_TYPES = {8: "consumer", 14: "share", STREAMS_ASSIGNMENT: "streams"}
GROUP_TYPES = {
    **EPOCH_TYPES, **TARGET_TYPES, **MEMBER_TYPES, **ASSIGNMENT_TYPES, STREAMS_TOPOLOGY: "streams"
}  # fmt: skip
"""The record types that a life is made of, and the group type each belongs to."""


def events(records: DataFrame, batches: DataFrame, stretches: DataFrame) -> DataFrame:
    """Every record of every group (GROUP_RECORD) in log order, placed in its stretch and life.

    Adds ``stretch``; ``life`` (from 1; 0 for tombstones before any life was seen); ``group_type`` (after this
    record); ``state_no`` (the record's number within the group); ``ends`` (the life ends here); ``alive``
    (the group exists after this record); ``known`` (nothing is missing of the group's state after this
    record); ``based`` (compaction left it: what was before is not told); ``members`` (how many it has then,
    as far as this stretch shows); ``step`` (the record changes a member of a group that is not classic); and
    where all that this record says is over at the latest, because the life or the stretch is: ``end_no``
    (state_no), ``end_position`` (batch granularity), ``end_ms``; null when neither is over.

    A life ends with the tombstone of the group's metadata (types 2, 3, 11, 17), but goes on in a conversion
    between classic and consumer group: there the same batch has the other kind's metadata at no lower epoch.
    A life is known when the log was seen from offset 0 on, or from where compaction has been on, or from the
    end of the life before it on, without a hole, and every assignment in it could be read.
    """
    records = schema_of(records, GROUP_RECORD).where(F.col("record_type").isin(*GROUP_TYPES))
    placed = _based(in_stretches(records, batches))
    return _with_members(_with_ends(_with_lives(placed), stretches))


def _based(placed: DataFrame) -> DataFrame:
    """What compaction left of a log's beginning, as one batch: the last record of each key that has a value.

    ``placed``: as stretches.in_stretches.
    """
    key = Window.partitionBy(*GROUP, "coordinator_partition", "record_type", "member_id", "base_to")
    newest = F.max("record_offset").over(key) == F.col("record_offset")
    return (
        placed.withColumn("left_over", newest & ~F.col("tombstone"))
        .where(~F.col("based") | F.col("left_over"))
        .withColumn("last_offset", F.coalesce("base_to", "last_offset"))
        .withColumn("timestamp_ms", F.coalesce("base_ms", "timestamp_ms"))
        .drop("left_over", "base_to", "base_ms")
    )


def _with_lives(placed: DataFrame) -> DataFrame:
    log = Window.partitionBy(*GROUP).orderBy("coordinator_partition", "record_offset")
    one_log = over(*GROUP, "coordinator_partition")
    ends = F.col("tombstone") & F.col("record_type").isin(*EPOCH_TYPES)
    rows = (
        _with_conversions(placed, one_log)
        .withColumn("ends", ends & ~F.col("converts"))
        .withColumn("state_no", F.row_number().over(log).cast("bigint"))
        .withColumn("ended", F.coalesce(count_if(F.col("ends")).over(before(one_log)), F.lit(0)))
        .withColumn(
            "end_seen_in", F.last(F.when(F.col("ends"), F.col("stretch")), True).over(before(one_log))
        )
    )
    written = count_if(~F.col("tombstone")).over(so_far(over(*GROUP, "coordinator_partition", "ended")))
    begins = ~F.col("tombstone") & (F.col("written") == 1)
    seen = (F.col("stretch") <= 0) | F.coalesce(F.col("end_seen_in") == F.col("stretch"), F.lit(False))
    rows = (
        rows.withColumn("written", written)
        .withColumn("begins", begins)
        .withColumn("seen", seen)
        .withColumn("alive", (F.col("written") > 0) & ~F.col("ends"))
        .withColumn("life", count_if(F.col("begins")).over(so_far(log)).cast("int"))
    )
    begin = F.first(F.when(F.col("begins"), F.struct("stretch", "seen")), True).over(so_far(over(*LIFE)))
    rows = rows.withColumn("begin", begin)
    unread = F.exists("classic_members", lambda member: member["topics"].isNull())
    read = count_if(unread).over(so_far(over(*LIFE))) == 0
    known_alive = F.col("begin.seen") & (F.col("begin.stretch") == F.col("stretch")) & read
    return (
        rows.withColumn("known", F.when(F.col("alive"), known_alive).otherwise(F.col("ends") | F.col("seen")))
        .withColumn("group_type", F.last(_group_type(), True).over(so_far(over(*LIFE, by="state_no"))))
        .drop("ended", "end_seen_in", "written", "begins", "seen", "begin", "converts")
    )


def _with_conversions(placed: DataFrame, log: WindowSpec) -> DataFrame:
    """Adds ``converts``: the tombstone of a classic or consumer group whose own batch goes on with the other.

    The coordinator writes a conversion as one batch. A group that is deleted and created again within one
    batch begins at a lower epoch, unless it had none to speak of. Where that epoch was not seen it is taken
    for a conversion: nothing is known to begin there.
    """
    batch = Window.partitionBy(*GROUP, "coordinator_partition", "base_offset")
    epoch = F.when(F.col("record_type").isin(*EPOCH_TYPES), F.col("epoch"))
    written = {
        kind: F.max(F.when((F.col("record_type") == kind) & ~F.col("tombstone"), F.col("epoch"))).over(batch)
        for kind in (CLASSIC_METADATA, CONSUMER_METADATA)
    }
    other = F.when(F.col("record_type") == CLASSIC_METADATA, written[CONSUMER_METADATA]).when(
        F.col("record_type") == CONSUMER_METADATA, written[CLASSIC_METADATA]
    )
    was = F.last(epoch, True).over(before(log))
    no_lower = F.coalesce(other >= was, other.isNotNull())
    return placed.withColumn("converts", F.col("tombstone") & no_lower)


def _group_type() -> Column:
    return F.when(~F.col("tombstone"), named(GROUP_TYPES, F.col("record_type")))


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
        F.col("record_type").isin(*ASSIGNMENT_TYPES)
        | (F.col("record_type").isin(*MEMBER_TYPES) & F.col("tombstone"))
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
            F.when(
                F.col("group_type") == "classic", F.last(F.array_size("classic_members"), True).over(order)
            ).when(F.col("group_type").isNotNull(), F.sum("moved").over(order)),
        )
        .drop("moved")
    )
