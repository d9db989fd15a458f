"""The histories of ownership and of what was taken away, per member and partition."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild.frames import MEMBER_LIFE, count_if, over, so_far, with_times
from fencepost.rebuild.members import intersect


def ownership(steps: DataFrame) -> DataFrame:
    """One row per member record and partition it owns (assigned or pending revocation).

    Beside the columns of the step: partition_key, topic_id, partition, pending_revocation, assignment_epoch,
    recorded (whether the record has that epoch); ``owned_from_no``, ``owned_since`` and ``entered_epoch``
    (state_no, position and member epoch of the first record of this uninterrupted ownership; the epoch is
    null when the ownership may have begun before it).
    """
    rows = (
        steps.where("not tombstone")
        .withColumn("part", F.explode("owned"))
        .select(*[name for name in steps.columns if name != "owned"], "part.*")
    )
    each = over(*MEMBER_LIFE, "partition_key", by="row")
    rows = rows.withColumn("island", F.col("row") - F.row_number().over(each))
    given_up = F.array_contains("left", F.col("partition_key"))
    rows = rows.withColumn("times", count_if(given_up).over(so_far(each)))
    whole = Window.partitionBy(*MEMBER_LIFE, "partition_key", "island", "times")
    return (
        rows.withColumn("owned_from_no", F.min("state_no").over(whole))
        .withColumn("owned_since", F.min("last_offset").over(whole))
        .withColumn("seen_to_begin", F.col("start_known") | (F.min("row").over(whole) > 1))
        .withColumn("entered_epoch", F.min_by("member_epoch", "state_no").over(whole))
        .withColumn("entered_epoch", F.when(F.col("seen_to_begin"), F.col("entered_epoch")))
        .drop("island", "times", "seen_to_begin")
    )


def owned_partitions(owned: DataFrame, topics: DataFrame) -> DataFrame:
    """``silver.owned_partitions``: one row per member, partition and batch that changed the member.

    ``topics`` (cluster, topic, topic_id) gives the names; a topic it does not have stays without one. A
    static member that is away (member epoch -2) has no row until it is back.
    """
    rows = owned.where(
        "last_in_batch and member_epoch >= 0 and (to_position is null or from_position < to_position)"
    )
    names = topics.select("cluster", "topic_id", "topic").dropDuplicates(["cluster", "topic_id"])
    rows = rows.join(F.broadcast(names), on=["cluster", "topic_id"], how="left")
    return lake.align(with_times(rows), lake.OWNED_PARTITIONS)


def revocations(steps: DataFrame) -> DataFrame:
    """One row per partition that left a member while the member stayed.

    Columns: MEMBER_LIFE, coordinator_partition, partition_key, ``partition_revocation_epoch`` (the member
    epoch held when it left), the interval until it next leaves this member or the member is gone:
    ``from_no``, ``to_no`` by state_no, ``from_position``, ``to_position``, ``from_ms``, ``to_ms`` at batch
    boundaries.
    """
    last = F.last(F.struct("to_no", "to_position", "to_ms")).over(
        over(*MEMBER_LIFE, by="state_no").rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    )
    rows = steps.where("not tombstone").withColumn("last", last).where("size(left) > 0")
    rows = rows.withColumn("partition_key", F.explode("left"))
    again = F.lead(F.struct("state_no", "from_position", "from_ms")).over(
        over(*MEMBER_LIFE, "partition_key", by="state_no")
    )
    rows = rows.withColumn("again", again)
    return rows.select(
        *MEMBER_LIFE,
        "coordinator_partition",
        "partition_key",
        F.col("previous_epoch").alias("partition_revocation_epoch"),
        F.col("state_no").alias("from_no"),
        F.coalesce("again.state_no", "last.to_no").alias("to_no"),
        "from_position",
        F.coalesce("again.from_position", "last.to_position").alias("to_position"),
        "from_ms",
        F.coalesce("again.from_ms", "last.to_ms").alias("to_ms"),
    )


def revoked_partitions(revoked: DataFrame, steps: DataFrame) -> DataFrame:
    """``silver.revoked_partitions``: the revocations, cut where the member's own revocation epoch changes."""
    window = over(*MEMBER_LIFE, by="state_no")
    changes = steps.where("not tombstone and last_in_batch")
    changed = ~F.lag("revocation_epoch").over(window).eqNullSafe(F.col("revocation_epoch"))
    changes = changes.withColumn("changed", changed | (F.row_number().over(window) == 1)).where("changed")
    following = F.lead(F.struct("from_position", "from_ms")).over(window)
    members = changes.withColumn("following", following).select(
        *MEMBER_LIFE,
        "revocation_epoch",
        F.col("from_position").alias("g_from_position"),
        F.col("from_ms").alias("g_from_ms"),
        F.col("following.from_position").alias("g_to_position"),
        F.col("following.from_ms").alias("g_to_ms"),
    )
    return lake.align(with_times(intersect(revoked, members, MEMBER_LIFE)), lake.REVOKED_PARTITIONS)
