"""Snapshots of producer state, beside what the log says the leader knew when it took them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild.frames import OFFSETS_TOPIC, as_time
from fencepost.rebuild.producers.logs import LOG
from fencepost.rebuild.producers.partitions import EXPIRATION_MS


def producer_snapshots(entries: DataFrame, states: DataFrame, batches: DataFrame) -> DataFrame:
    """``silver.producer_snapshots``. ``entries``: partitions.snapshots; ``states``:
    ``silver.producer_states``; ``batches``: logs.batches_of_logs.

    A producer is due when the log below the snapshot ends with a state of it that cannot have expired before
    anything that was captured.
    """
    taken = entries.groupBy(*LOG, "snapshot_offset").agg(F.min("file").alias("file"))
    ends = batches.groupBy(*LOG).agg(
        F.max("max_timestamp_ms").alias("newest_ms"), F.max("last_offset").alias("last_known")
    )
    below = (F.col("from_position") < F.col("snapshot_offset")) & (
        F.col("to_position").isNull() | (F.col("to_position") >= F.col("snapshot_offset"))
    )
    rebuilt = taken.drop("file").join(states, on=list(LOG), how="inner").where(below)
    # a snapshot from beyond what was read of the log tells more than the log does
    rebuilt = rebuilt.join(ends, on=list(LOG), how="left").where("snapshot_offset <= last_known + 1")
    rebuilt = rebuilt.select(
        *LOG,
        "snapshot_offset",
        "producer_id",
        F.struct(
            "producer_epoch",
            "last_sequence",
            "current_txn_first_offset",
            (F.col("newest_ms") - F.unix_millis("from_time") < EXPIRATION_MS).alias("fresh"),
        ).alias("log"),
    )
    stored = entries.where("producer_id is not null").select(
        *LOG,
        "snapshot_offset",
        "producer_id",
        F.struct("producer_epoch", "last_sequence", "current_txn_first_offset").alias("stored"),
    )
    rows = rebuilt.join(stored, on=[*LOG, "snapshot_offset", "producer_id"], how="full")
    rows = rows.join(taken, on=[*LOG, "snapshot_offset"], how="left")
    known = F.col("log.producer_epoch").isNotNull()
    unnumbered = F.col("topic") == OFFSETS_TOPIC
    agrees = (
        (F.col("log.producer_epoch") == F.col("stored.producer_epoch"))
        & ((F.col("log.last_sequence") == F.col("stored.last_sequence")) | unnumbered)
        & (F.col("log.current_txn_first_offset") == F.col("stored.current_txn_first_offset"))
    )
    at = as_time(F.lit(None).cast("bigint"))
    rows = rows.withColumns(
        {
            "snapshot_id": F.sha2(F.concat_ws("|", *LOG, "snapshot_offset", "producer_id"), 256),
            "due": F.when(known, F.col("log.fresh")),
            "present": F.col("stored").isNotNull(),
            "agrees": F.when(known & F.col("stored").isNotNull(), agrees),
            "from_position": F.col("snapshot_offset"),
            "to_position": F.col("snapshot_offset") + 1,
            "from_time": at,
            "to_time": at,
        }
    )
    return lake.align(rows, lake.PRODUCER_SNAPSHOTS)
