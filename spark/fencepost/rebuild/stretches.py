"""Which offsets of the coordinators' logs are known: stretches without a hole."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fencepost.rebuild.frames import OFFSETS_TOPIC, before, count_if, over, same, so_far

_PARTITION = ("cluster", "coordinator_partition")
_BATCH = (*_PARTITION, "base_offset", "leader_epoch")

STRETCHES = {
    "cluster": "string",
    "coordinator_partition": "int",
    "stretch": "int",
    "stretch_from": "bigint",
    "stretch_to": "bigint",  # the first offset after it that is missing; null when the log just ends
    "last_ms": "bigint",  # newest timestamp of its last batch
}
"""One row per stretch. Number 0 is the one that begins with the log itself, at offset 0; COMPACTED begins
where the log cleaner has been, with the state that it left.
"""

COMPACTED = -1


def batches_in_stretches(batches: DataFrame, undecodable: DataFrame, cleaned: DataFrame) -> DataFrame:
    """``bronze.batches`` of ``__consumer_offsets`` that survived elections, each with its ``stretch``.

    Where two leader epochs hold the same offsets the higher one won the election, and everything the lower
    one wrote from there on was truncated. A hole is an offset that no batch holds, a batch that lost records
    to compaction, or one of the ``undecodable`` (cluster, coordinator_partition, base_offset, leader_epoch):
    what such a batch keeps is a stretch of its own.

    A log that is whole from an offset on up to which it was compacted (``bronze.cleaned``) is one stretch,
    COMPACTED. Together the batches below tell the state at that offset, and nothing about how it came about:
    they have ``base_to`` (the offset before it) and ``base_ms`` (their newest timestamp), others null.
    """
    batches = batches.where(F.col("topic") == OFFSETS_TOPIC).select(
        "cluster",
        F.col("partition").alias("coordinator_partition"),
        "leader_epoch",
        "base_offset",
        "last_offset",
        "record_count",
        "max_timestamp_ms",
        "file",
        "position",
    )
    batches = without_superseded(batches).dropDuplicates([*_PARTITION, "base_offset"])
    batches = batches.join(
        undecodable.select(*_BATCH, F.lit(True).alias("bad")).distinct(), on=list(_BATCH), how="left"
    )
    log = over(*_PARTITION, by="base_offset")
    expected = F.coalesce(F.max("last_offset").over(before(log)) + 1, F.lit(0))
    span = F.col("last_offset") - F.col("base_offset") + 1
    batches = batches.withColumn("whole", (F.col("record_count") == span) & F.col("bad").isNull())
    gap = (F.col("base_offset") > expected) | ~F.col("whole") | ~F.lag("whole", 1, True).over(log)
    batches = (
        batches.withColumn("gap", gap)
        .withColumn("stretch", count_if(F.col("gap")).over(so_far(log)).cast("int"))
        .drop("bad", "whole", "record_count")
    )
    return _compacted(batches, cleaned).drop("gap")


def _compacted(batches: DataFrame, cleaned: DataFrame) -> DataFrame:
    """One stretch where the log has gaps, but none above a checkpoint of the cleaner: the lowest such."""
    checkpoints = cleaned.where(F.col("topic") == OFFSETS_TOPIC).select(
        "cluster", F.col("partition").alias("coordinator_partition"), "cleaned_to"
    )
    above = F.col("base_offset") >= F.col("cleaned_to")
    first = F.min(F.when(above, F.col("base_offset")))
    # a gap right before the checkpoint is one that compaction made
    hole = F.col("gap") & (F.col("base_offset") > F.col("cleaned_to"))
    judged = batches.join(checkpoints.distinct(), on=list(_PARTITION), how="inner")
    judged = judged.groupBy(*_PARTITION, "cleaned_to").agg(
        F.max("gap").alias("gaps"),
        F.max(hole).alias("holes"),
        F.coalesce(first == F.col("cleaned_to"), F.max("last_offset") < F.col("cleaned_to")).alias("there"),
        F.max(F.when(~above, F.col("max_timestamp_ms"))).alias("base_ms"),
    )
    bases = (
        judged.where("gaps and there and not holes")
        .groupBy(*_PARTITION)
        .agg(F.min(F.struct("cleaned_to", "base_ms")).alias("base"))
    )
    batches = batches.join(F.broadcast(bases), on=list(_PARTITION), how="left")
    based = F.col("base").isNotNull()
    below = based & (F.col("base_offset") < F.col("base.cleaned_to"))
    return batches.withColumns(
        {
            "stretch": F.when(based, F.lit(COMPACTED)).otherwise(F.col("stretch")),
            "base_to": F.when(below, F.col("base.cleaned_to") - 1),
            "base_ms": F.when(below, F.col("base.base_ms")),
        }
    ).drop("base")


def in_stretches(records: DataFrame, batches: DataFrame) -> DataFrame:
    """The records whose batch survived elections, once each, with the batch's ``stretch`` and base.

    ``based``: compaction left the record; what was before is not told. ``batches``: batches_in_stretches.
    """
    of_batch = batches.select(*_BATCH, "stretch", "base_to", "base_ms").withColumn(
        "based", F.col("base_to").isNotNull()
    )
    rows = records.join(of_batch, on=list(_BATCH), how="inner")
    return rows.dropDuplicates([*_PARTITION, "record_offset"])


def without_superseded(rows: DataFrame) -> DataFrame:
    """The rows (batches or records with ``base_offset``) that no later leader epoch wrote over."""
    begun = rows.groupBy(*_PARTITION, "leader_epoch").agg(F.min("base_offset").alias("began"))
    later = over(*_PARTITION, by="leader_epoch").rowsBetween(1, 2**31 - 1)
    ends = begun.select(*_PARTITION, "leader_epoch", F.min("began").over(later).alias("superseded_at"))
    kept = rows.join(F.broadcast(ends), on=[*_PARTITION, "leader_epoch"], how="inner")
    alive = F.col("superseded_at").isNull() | (F.col("base_offset") < F.col("superseded_at"))
    return kept.where(alive).drop("superseded_at")


def stretches(batches: DataFrame, quarantine: DataFrame) -> DataFrame:
    """One row per stretch, as STRETCHES, from batches that know theirs and from ``bronze.quarantine``.

    The last stretch of a log is open, unless what follows it in its file (or a later file) could not be read.
    """
    found = batches.groupBy(*_PARTITION, "stretch").agg(
        F.min("base_offset").alias("stretch_from"),
        F.max("last_offset").alias("last_offset"),
        F.max_by("max_timestamp_ms", "base_offset").alias("last_ms"),
        F.max_by("file", "base_offset").alias("file"),
        F.max_by("position", "base_offset").alias("position"),
    )
    following = F.lead("stretch_from").over(over(*_PARTITION, by="stretch"))
    found = found.withColumn("open", following.isNull())
    torn = _torn(found.where("open"), quarantine)
    found = found.join(torn, on=list(_PARTITION), how="left")
    closed = ~F.col("open") | F.col("torn").isNotNull()
    return found.select(
        *_PARTITION,
        "stretch",
        "stretch_from",
        F.when(closed, F.col("last_offset") + 1).alias("stretch_to"),
        "last_ms",
    )


def _torn(tails: DataFrame, quarantine: DataFrame) -> DataFrame:
    """The coordinator partitions whose log goes on after its last readable batch: (keys, ``torn``)."""
    name = rf"{OFFSETS_TOPIC}-(\d+)[^/]*/(\d+)\.log$"
    faults = quarantine.where((F.col("kind") == "segment") & F.col("file").rlike(name)).select(
        "cluster",
        F.regexp_extract("file", name, 1).cast("int").alias("coordinator_partition"),
        F.regexp_extract("file", name, 2).cast("bigint").alias("segment_from"),
        F.col("file").alias("fault_file"),
        F.col("position").alias("fault_position"),
    )
    here = (F.col("fault_file") == F.col("file")) & (F.col("fault_position") > F.col("position"))
    later = F.col("segment_from") > F.col("last_offset")
    joined = tails.join(faults, on=same(tails, faults, _PARTITION) & (here | later), how="left_semi")
    return joined.select(*_PARTITION, F.lit(True).alias("torn"))
