"""Which offsets of a log are known: stretches without a hole."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fencepost.rebuild.frames import before, count_if, over, so_far

COORDINATOR = ("cluster", "coordinator_partition")
"""What tells one coordinator's log from another: a partition of ``__consumer_offsets``, or of
``__transaction_state``.
"""

STRETCHES = {
    "stretch": "int",
    "stretch_from": "bigint",
    "stretch_to": "bigint",  # the first offset after it that is missing; null when the log just ends
    "last_offset": "bigint",
    "last_ms": "bigint",  # newest timestamp of its last batch
}
"""One row per stretch, beside the columns that name its log. Number 0 is the one that begins with the log
itself, at offset 0; COMPACTED begins where the log cleaner has been, with the state that it left.
"""

COMPACTED = -1


def of_coordinators(rows: DataFrame, topic: str) -> DataFrame:
    """The rows of a coordinator's internal topic, with ``coordinator_partition`` in place of both."""
    return rows.where(F.col("topic") == topic).withColumnRenamed("partition", "coordinator_partition")


def whole_batches(
    batches: DataFrame, undecodable: DataFrame, log: tuple[str, ...] = COORDINATOR
) -> DataFrame:
    """Adds ``whole``: the batch kept all its records, and none is ``undecodable`` (log, base_offset,
    leader_epoch).
    """
    bad = undecodable.select(*log, "base_offset", "leader_epoch", F.lit(True).alias("bad")).distinct()
    batches = batches.join(bad, on=[*log, "base_offset", "leader_epoch"], how="left")
    span = F.col("last_offset") - F.col("base_offset") + 1
    return batches.withColumn("whole", (F.col("record_count") == span) & F.col("bad").isNull()).drop("bad")


def batches_in_stretches(
    batches: DataFrame, cleaned: DataFrame, log: tuple[str, ...] = COORDINATOR
) -> DataFrame:
    """Rows of ``bronze.batches`` that survived elections, each with its ``stretch``.

    ``log`` are the columns that name a log in all frames. Where two leader epochs hold the same offsets the
    higher one won the election, and everything the lower one wrote from there on was truncated. A hole is an
    offset that no batch holds, or a batch that is not ``whole``: what such a batch keeps is a stretch of its
    own.

    A log that is whole from an offset on up to which it was compacted (``bronze.cleaned``) is one stretch,
    COMPACTED. Together the batches below tell the state at that offset, and nothing about how it came about:
    they have ``base_to`` (the offset before it) and ``base_ms`` (their newest timestamp), others null.
    """
    batches = without_superseded(batches, log).dropDuplicates([*log, "base_offset"])
    in_order = over(*log, by="base_offset")
    expected = F.coalesce(F.max("last_offset").over(before(in_order)) + 1, F.lit(0))
    gap = (F.col("base_offset") > expected) | ~F.col("whole") | ~F.lag("whole", 1, True).over(in_order)
    batches = (
        batches.withColumn("gap", gap)
        .withColumn("stretch", count_if(F.col("gap")).over(so_far(in_order)).cast("int"))
        .drop("whole")
    )
    return _compacted(batches, cleaned, log).drop("gap")


def _compacted(batches: DataFrame, cleaned: DataFrame, log: tuple[str, ...]) -> DataFrame:
    """One stretch where the log has gaps, but none above a checkpoint of the cleaner: the lowest such."""
    above = F.col("base_offset") >= F.col("cleaned_to")
    first = F.min(F.when(above, F.col("base_offset")))
    # a gap right before the checkpoint is one that compaction made
    hole = F.col("gap") & (F.col("base_offset") > F.col("cleaned_to"))
    judged = batches.join(cleaned.select(*log, "cleaned_to").distinct(), on=list(log), how="inner")
    judged = judged.groupBy(*log, "cleaned_to").agg(
        F.max("gap").alias("gaps"),
        F.max(hole).alias("holes"),
        F.coalesce(first == F.col("cleaned_to"), F.max("last_offset") < F.col("cleaned_to")).alias("there"),
        F.max(F.when(~above, F.col("max_timestamp_ms"))).alias("base_ms"),
    )
    bases = (
        judged.where("gaps and there and not holes")
        .groupBy(*log)
        .agg(F.min(F.struct("cleaned_to", "base_ms")).alias("base"))
    )
    batches = batches.join(F.broadcast(bases), on=list(log), how="left")
    based = F.col("base").isNotNull()
    below = based & (F.col("base_offset") < F.col("base.cleaned_to"))
    return batches.withColumns(
        {
            "stretch": F.when(based, F.lit(COMPACTED)).otherwise(F.col("stretch")),
            "base_to": F.when(below, F.col("base.cleaned_to") - 1),
            "base_ms": F.when(below, F.col("base.base_ms")),
        }
    ).drop("base")


def in_stretches(records: DataFrame, batches: DataFrame, log: tuple[str, ...] = COORDINATOR) -> DataFrame:
    """The records whose batch survived elections, once each, with the batch's ``stretch`` and base.

    ``based``: compaction left the record; what was before is not told. ``batches``: batches_in_stretches.
    """
    batch = (*log, "base_offset", "leader_epoch")
    of_batch = batches.select(*batch, "stretch", "base_to", "base_ms").withColumn(
        "based", F.col("base_to").isNotNull()
    )
    rows = records.join(of_batch, on=list(batch), how="inner")
    return rows.dropDuplicates([*log, "record_offset"])


def without_superseded(rows: DataFrame, log: tuple[str, ...]) -> DataFrame:
    """The rows (batches or records with ``base_offset``) that no later leader epoch wrote over."""
    begun = rows.groupBy(*log, "leader_epoch").agg(F.min("base_offset").alias("began"))
    later = over(*log, by="leader_epoch").rowsBetween(1, 2**31 - 1)
    ends = begun.select(*log, "leader_epoch", F.min("began").over(later).alias("superseded_at"))
    kept = rows.join(F.broadcast(ends), on=[*log, "leader_epoch"], how="inner")
    alive = F.col("superseded_at").isNull() | (F.col("base_offset") < F.col("superseded_at"))
    return kept.where(alive).drop("superseded_at")


def stretches(batches: DataFrame, unread: DataFrame, log: tuple[str, ...] = COORDINATOR) -> DataFrame:
    """One row per stretch, as STRETCHES, from batches that know theirs and from ``unread_pieces``.

    The last stretch of a log is open, unless what follows it in its file (or a later file) could not be read.
    """
    found = batches.groupBy(*log, "stretch").agg(
        F.min("base_offset").alias("stretch_from"),
        F.max("last_offset").alias("last_offset"),
        F.max_by("max_timestamp_ms", "base_offset").alias("last_ms"),
        F.max_by("file", "base_offset").alias("file"),
        F.max_by("position", "base_offset").alias("position"),
    )
    following = F.lead("stretch_from").over(over(*log, by="stretch"))
    found = found.withColumn("open", following.isNull())
    torn = _torn(found.where("open"), unread, log)
    found = found.join(torn, on=list(log), how="left")
    closed = ~F.col("open") | F.col("torn").isNotNull()
    return found.select(
        *log,
        "stretch",
        "stretch_from",
        F.when(closed, F.col("last_offset") + 1).alias("stretch_to"),
        "last_offset",
        "last_ms",
    )


def unread_pieces(quarantine: DataFrame) -> DataFrame:
    """The pieces of segments in ``bronze.quarantine``: cluster, topic, partition, ``segment_from``,
    ``fault_file``, ``fault_position``.
    """
    name = r"([^/]+)-(\d+)(?:\.[0-9a-f]{32}-\w+)?/(\d{20})\.log[^/]*$"
    return quarantine.where((F.col("kind") == "segment") & F.col("file").rlike(name)).select(
        "cluster",
        F.regexp_extract("file", name, 1).alias("topic"),
        F.regexp_extract("file", name, 2).cast("int").alias("partition"),
        F.regexp_extract("file", name, 3).cast("bigint").alias("segment_from"),
        F.col("file").alias("fault_file"),
        F.col("position").alias("fault_position"),
    )


def _torn(tails: DataFrame, faults: DataFrame, log: tuple[str, ...]) -> DataFrame:
    """The logs that go on after their last readable batch: (log, ``torn``)."""
    here = (F.col("fault_file") == F.col("file")) & (F.col("fault_position") > F.col("position"))
    later = F.col("segment_from") > F.col("last_offset")
    keys = [name for name in log if name in faults.columns]
    joined = tails.join(faults.drop(*(set(log) - set(keys))), on=keys, how="inner").where(here | later)
    return joined.select(*log, F.lit(True).alias("torn")).distinct()
