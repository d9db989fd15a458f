"""The logs that know producers: the partitions they write to, and ``__transaction_state``."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild.frames import METADATA_TOPIC, TRANSACTIONS_TOPIC, as_time, over, with_times
from fencepost.rebuild.keys import topic_key
from fencepost.rebuild.stretches import batches_in_stretches, stretches, unread_pieces, whole_batches

LOG = ("cluster", "topic", "partition", "partition_key")
"""What tells one log from another. A topic that was deleted and made again has logs of its own."""

PIECE = (*LOG, "stretch")
"""A log without a hole."""

PRODUCER = (*PIECE, "producer_id")


def batches_of_logs(batches: DataFrame, undecodable: DataFrame, cleaned: DataFrame) -> DataFrame:
    """Rows of ``bronze.batches``, with their log's ``partition_key`` and ``stretch``.

    A header tells all that there is to know of a batch of a data topic: only the coordinators' own records
    must be readable, and must all be there.
    """
    coordinated = F.col("topic") == TRANSACTIONS_TOPIC
    rows = keyed(batches.where(F.col("topic") != METADATA_TOPIC))
    bad = undecodable.where(coordinated).join(
        rows.select(*LOG).distinct(), on=["cluster", "topic", "partition"], how="inner"
    )
    rows = whole_batches(rows, bad, LOG).withColumn("whole", F.col("whole") | ~coordinated)
    cleaned = cleaned.join(rows.select(*LOG).distinct(), on=["cluster", "topic", "partition"], how="inner")
    return batches_in_stretches(rows, cleaned.where(coordinated), LOG)


def stretches_of_logs(batches: DataFrame, quarantine: DataFrame) -> DataFrame:
    """STRETCHES of the logs of ``batches``: a compacted one begins where compaction ends."""
    found = stretches(batches, unread_pieces(quarantine), LOG)
    bases = batches.groupBy(*PIECE).agg(F.max("base_to").alias("base_to"))
    found = found.join(bases, on=list(PIECE), how="left")
    return found.withColumn("stretch_from", F.coalesce("base_to", "stretch_from")).drop("base_to")


def of_producers(batches: DataFrame) -> DataFrame:
    """The batches of producers in the partitions they write to: data, and the markers of transactions."""
    return batches.where((F.col("topic") != TRANSACTIONS_TOPIC) & (F.col("producer_id") >= 0))


def log_coverage(batches: DataFrame, found: DataFrame) -> DataFrame:
    """``silver.log_coverage``: the stretches of every log that knows a producer, and the holes between."""
    relevant = batches.where((F.col("topic") == TRANSACTIONS_TOPIC) | (F.col("producer_id") >= 0))
    rows = found.join(relevant.select(*LOG).distinct(), on=list(LOG), how="left_semi")
    rows = rows.withColumnRenamed("last_offset", "last_known")
    first_ms = batches.groupBy(*PIECE).agg(
        F.min_by("max_timestamp_ms", "base_offset").alias("first_ms"),
        F.max("max_timestamp_ms").alias("newest_ms"),
    )
    rows = rows.join(first_ms, on=list(PIECE), how="inner")
    pieces = rows.select(
        *LOG,
        F.lit(True).alias("covered"),
        F.col("stretch_from").alias("from_position"),
        F.col("stretch_to").alias("to_position"),
        F.col("first_ms").alias("from_ms"),
        F.when(F.col("stretch_to").isNotNull(), F.col("last_ms")).alias("to_ms"),
        (F.col("last_known") + 1).alias("last_position"),
        as_time(F.col("newest_ms")).alias("last_time"),
    )
    following = F.lead(F.struct("stretch_from", "first_ms")).over(over(*LOG, by="stretch"))
    holes = (
        rows.withColumn("following", following)
        .where("stretch_to is not null")
        .select(
            *LOG,
            F.lit(False).alias("covered"),
            F.col("stretch_to").alias("from_position"),
            F.col("following.stretch_from").alias("to_position"),
            F.col("last_ms").alias("from_ms"),
            F.col("following.first_ms").alias("to_ms"),
            F.coalesce("following.stretch_from", "stretch_to").alias("last_position"),
            as_time(F.coalesce("following.first_ms", "last_ms")).alias("last_time"),
        )
    )
    return lake.align(with_times(pieces.unionByName(holes)), lake.LOG_COVERAGE)


def keyed(rows: DataFrame) -> DataFrame:
    """Rows of bronze with their log's ``partition_key``."""
    key = topic_key(F.col("topic_id"), F.col("topic"), F.col("partition"))
    return rows.withColumn("partition_key", key)
