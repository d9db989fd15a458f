"""Classic groups: members and what they were assigned, from the group's own records.

A classic group is written whole, once per generation (GroupMetadata, type 2). Its members' steps are the
differences from one record to the next, in the columns that records of other groups' members have.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fencepost.rebuild.frames import GROUP_RECORD, SPAN, over
from fencepost.rebuild.keys import topic_key
from fencepost.rebuild.lives import CLASSIC_METADATA

_PLACE = (*SPAN, "state_no")


def classic_steps(events: DataFrame, topics: DataFrame) -> DataFrame:
    """One row per record of a classic group and member in it, or no longer in it (``tombstone``).

    The columns of ``events``, with the generation as ``member_epoch``, the assignment as ``owned`` and no
    assignment epoch recorded. ``topics`` gives the ids of the topics that assignments name.
    """
    records = events.where((F.col("record_type") == CLASSIC_METADATA) & ~F.col("tombstone"))
    ids = F.transform("classic_members", lambda member: member["member_id"])
    was = F.coalesce(F.lag(ids).over(over(*SPAN, by="state_no")), F.array().cast("array<string>"))
    records = records.withColumn("was", was)
    present = F.transform(
        "classic_members", lambda member: F.struct(*[member[name] for name in _MEMBER], F.lit(False))
    ).cast(_STEP)
    gone = F.transform(
        F.array_except("was", ids),
        lambda member_id: F.struct(member_id, *[F.lit(None)] * 3, F.lit(True)),
    ).cast(_STEP)
    rows = records.withColumn("step_of", F.explode(F.concat(present, gone)))
    rows = rows.withColumns(
        {
            "member_id": F.col("step_of.member_id"),
            "client_id": F.col("step_of.client_id"),
            "instance_id": F.col("step_of.instance_id"),
            "tombstone": F.col("step_of.gone"),
            "speaks_classic": F.lit(True),
            "member_epoch": F.when(~F.col("step_of.gone"), F.col("epoch")),
            "state": F.lit(0),
        }
    )
    owned = _owned(rows, topics)
    rows = rows.drop("owned", "step_of", "was").join(owned, on=[*_PLACE, "member_id"], how="left")
    nothing = F.array().cast(GROUP_RECORD["owned"])
    return rows.withColumn("owned", F.when(~F.col("tombstone"), F.coalesce("owned", nothing))).select(
        events.columns
    )


_MEMBER = ("member_id", "instance_id", "client_id", "topics")
_STEP = (
    "array<struct<member_id:string,instance_id:string,client_id:string,"
    "topics:array<struct<topic:string,partitions:array<int>>>,gone:boolean>>"
)


def _owned(rows: DataFrame, topics: DataFrame) -> DataFrame:
    """What each member was assigned, as ``owned`` of GROUP_RECORD: (SPAN, state_no, member_id, owned)."""
    named = rows.select(*_PLACE, "member_id", "epoch", "timestamp_ms", F.explode("step_of.topics").alias("t"))
    named = named.select("*", F.col("t.topic").alias("topic"), F.explode("t.partitions").alias("partition"))
    named = with_topic_ids(named, topics, "timestamp_ms")
    entry = F.struct(
        topic_key(F.col("topic_id"), F.col("topic"), F.col("partition")).alias("partition_key"),
        "topic_id",
        F.lit(None).cast("string").alias("subtopology_id"),
        "partition",
        F.lit(False).alias("pending_revocation"),
        F.col("epoch").alias("assignment_epoch"),
        F.lit(False).alias("recorded"),
    )
    return named.groupBy(*_PLACE, "member_id").agg(
        F.array_sort(F.collect_set(entry)).cast(GROUP_RECORD["owned"]).alias("owned")
    )


def with_topic_ids(rows: DataFrame, topics: DataFrame, at_ms: str) -> DataFrame:
    """Adds ``topic_id``: what the name in ``topic`` meant at ``at_ms``; null where that is not known."""
    meant = topics.select(
        F.col("cluster").alias("n_cluster"),
        F.col("topic").alias("n_topic"),
        "topic_id",
        "valid_from_ms",
        "valid_to_ms",
    )
    then = (F.col("valid_from_ms").isNull() | (F.col("valid_from_ms") <= F.col(at_ms))) & (
        F.col("valid_to_ms").isNull() | (F.col(at_ms) < F.col("valid_to_ms"))
    )
    same = (F.col("cluster") == F.col("n_cluster")) & (F.col("topic") == F.col("n_topic"))
    joined = rows.join(F.broadcast(meant), on=same & then, how="left")
    return joined.drop("n_cluster", "n_topic", "valid_from_ms", "valid_to_ms")
