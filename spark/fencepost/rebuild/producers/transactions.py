"""Transactions, by their coordinators and by the partitions they write to, and where the two meet.

Both count: the transactions that the coordinator completed with a partition in them, and the markers that the
partition holds. No clock is needed for that; only whether a log is known past a moment is asked by time.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild.frames import TRANSACTIONS_TOPIC, as_time, count_if, so_far
from fencepost.rebuild.producers.coordinator import SPAN
from fencepost.rebuild.producers.logs import LOG
from fencepost.rebuild.stretches import COMPACTED

_BY_PRODUCER = ("cluster", "producer_id")
_MEETING = ("cluster", "name", "producer_id", "epoch")
"""Where a coordinator's transaction and a partition's meet: ``name`` is 'topic:partition'."""


def transactions(rows: DataFrame, known_until: DataFrame) -> DataFrame:
    """One row per transaction in the coordinators' logs, from coordinator.with_causes: the columns of
    ``silver.transactions``.

    Adds PIECE, ``due_type`` (of its markers), ``prepared_epoch`` and ``prepared_by_epoch`` (the producer's
    and the coordinator's epoch of the Prepare record). ``known_until`` (LOG, ``last_time``): how far each
    coordinator's log is known. A transaction that a hole hides the beginning or the end of has null there,
    and no outcome.
    """
    one = Window.partitionBy(*SPAN).orderBy("record_offset")
    ongoing = F.col("status") == "Ongoing"
    begins = ongoing & ~(F.coalesce(F.col("was.status") == "Ongoing", F.lit(False)))
    rows = rows.withColumn("number", count_if(begins).over(so_far(one)))
    prepared, completed = F.col("status").startswith("Prepare"), F.col("status").startswith("Complete")
    found = (
        rows.where((F.col("number") > 0) & (ongoing | prepared | completed))
        .groupBy(*SPAN, "number", "stretch_to")
        .agg(
            F.min_by(
                F.struct(
                    "record_offset", "producer_id", "producer_epoch", "started_ms", "timestamp_ms"
                ),
                F.when(ongoing, F.col("record_offset")),
            ).alias("start"),
            F.max_by(
                F.struct("transaction_partitions", "transaction_timeout_ms"),
                F.when(ongoing | prepared, F.col("record_offset")),
            ).alias("last"),
            F.min_by(
                F.struct(
                    "record_offset", "timestamp_ms", "status", "act", "producer_epoch", "leader_epoch"
                ),
                F.when(prepared, F.col("record_offset")),
            ).alias("prepare"),
            F.min_by(
                F.struct("record_offset", "timestamp_ms"), F.when(completed, F.col("record_offset"))
            ).alias("complete"),
            F.max("transaction_version").alias("transaction_version"),
        )
    )  # fmt: skip
    found = found.join(F.broadcast(known_until), on=list(LOG), how="left")
    committed = F.col("prepare.status") == "PrepareCommit"
    ended = F.when(F.col("complete").isNotNull(), F.when(committed, "committed").otherwise("aborted"))
    open_ = F.when(F.col("stretch_to").isNull(), F.lit("open"))
    outcome = F.coalesce(ended, open_)
    started = F.coalesce("start.started_ms", "start.timestamp_ms")
    past = F.unix_millis("last_time") - started > F.col("last.transaction_timeout_ms")
    return found.select(
        *SPAN,
        F.col("start.producer_id").alias("producer_id"),
        F.col("start.producer_epoch").alias("producer_epoch"),
        F.col("start.record_offset").alias("started_position"),
        F.col("prepare.record_offset").alias("prepared_position"),
        F.col("complete.record_offset").alias("completed_position"),
        as_time(started).alias("started_at"),
        as_time(F.col("prepare.timestamp_ms")).alias("prepared_at"),
        as_time(F.col("complete.timestamp_ms")).alias("completed_at"),
        outcome.alias("outcome"),
        F.when(F.col("prepare.status") == "PrepareAbort", F.col("prepare.act")).alias("abort_cause"),
        F.when(F.col("prepare").isNotNull(), F.when(committed, "COMMIT").otherwise("ABORT")).alias(
            "due_type"
        ),
        "transaction_version",
        F.col("last.transaction_timeout_ms").alias("transaction_timeout_ms"),
        F.col("last.transaction_partitions").alias("transaction_partitions"),
        F.when(outcome == "open", past).when(outcome.isNotNull(), F.lit(False)).alias("late"),
        F.col("last_time").alias("known_until"),
        F.col("prepare.producer_epoch").alias("prepared_epoch"),
        F.col("prepare.leader_epoch").alias("prepared_by_epoch"),
    )


def silver_transactions(found: DataFrame) -> DataFrame:
    """``silver.transactions``."""
    return lake.align(found, lake.TRANSACTIONS)


def listings(found: DataFrame) -> DataFrame:
    """Transactions by what their coordinator lists: the columns of transactions, with ``name``."""
    return found.withColumn("name", F.explode("transaction_partitions"))


def name_of() -> Column:
    """How a coordinator names a partition."""
    return F.concat_ws(":", "topic", "partition")


def transaction_markers(found: DataFrame, appended: DataFrame, ends: DataFrame) -> DataFrame:
    """``silver.transaction_markers``: what is due by the coordinator's transactions, and what was found.

    ``appended`` (partitions.appends), ``ends`` (wholeness). A marker belongs to a transaction by the producer
    id and epoch of the Prepare record. Where an epoch has several transactions (before transaction version 2)
    they meet in order, if there are as many markers as completed transactions. What is missing is only known
    to be, when the partition's log has no hole and holds the marker of a transaction that the coordinator
    prepared after this one was completed: no clock is asked.
    """
    due = listings(found.where("prepared_position is not null")).withColumn("epoch", F.col("prepared_epoch"))
    there = appended.where("marker").withColumns({"name": name_of(), "epoch": F.col("producer_epoch")})
    own = Window.partitionBy(*_MEETING)
    due = due.withColumns(
        {
            "of_epoch": F.count("*").over(own),
            "completed": F.col("completed_position").isNotNull(),
            "number": F.row_number().over(own.orderBy("prepared_position")),
        }
    )
    counted = there.groupBy(*_MEETING).agg(
        F.array_sort(
            F.collect_list(F.struct("base_offset", "max_timestamp_ms", "type", "marker_coordinator_epoch"))
        ).alias("seen")
    )
    rows = due.join(counted, on=list(_MEETING), how="left").join(ends, on=["cluster", "name"], how="left")
    size = F.coalesce(F.array_size("seen"), F.lit(0))
    alone = F.col("of_epoch") == 1
    aligned = (F.col("of_epoch") == size) & F.col("whole")
    nothing = F.array().cast(counted.schema["seen"].dataType)
    mine = F.when(alone, F.coalesce("seen", nothing)).when(
        aligned, F.array(F.element_at("seen", F.col("number")))
    )
    right = F.filter(mine, lambda each: each["type"] == F.col("due_type"))
    rows = rows.withColumn("right", right)
    there_since = F.when(F.array_size("right") > 0, F.col("prepared_position"))
    rows = rows.withColumn("newest", F.max(there_since).over(Window.partitionBy(*LOG, "name")))
    right = F.col("right")
    past = F.col("whole") & (F.col("newest") > F.col("completed_position"))
    certain = (F.array_size(right) > 0) | past
    first = F.get(right, F.lit(0))
    rows = rows.withColumns(
        {
            "producer_epoch": F.col("prepared_epoch"),
            "transaction_partition": F.col("name"),
            "marker_id": F.sha2(F.concat_ws("|", *SPAN, "prepared_position", "name"), 256),
            "found": F.when(certain, F.array_size(right)),
            "wrong": F.when(certain | (F.array_size(mine) > 0), F.array_size(mine) - F.array_size(right)),
            "coordinator_epoch": F.col("prepared_by_epoch"),
            "marker_coordinator_epoch": first["marker_coordinator_epoch"],
            "marker_position": first["base_offset"],
            "marker_at": as_time(first["max_timestamp_ms"]),
            "from_position": F.col("prepared_position"),
            "to_position": F.col("prepared_position") + 1,
            "from_time": F.col("prepared_at"),
            "to_time": F.col("prepared_at"),
        }
    )
    return lake.align(rows, lake.TRANSACTION_MARKERS)


def wholeness(found: DataFrame) -> DataFrame:
    """How much of each partition is known, by name: cluster, ``name``, ``whole`` (one incarnation, from its
    beginning on without a hole).
    """
    logs = found.groupBy(*LOG).agg(
        ((F.count("*") == 1) & (F.max("stretch") == 0) & F.max("stretch_to").isNull()).alias("whole")
    )
    rows = logs.withColumn("name", name_of())
    return rows.groupBy("cluster", "name").agg(((F.count("*") == 1) & F.min("whole")).alias("whole"))


def coordinators(
    events: DataFrame, batches: DataFrame, found: DataFrame, files: DataFrame, counts: DataFrame
) -> DataFrame:
    """How much of what coordinators know of each producer id is known: cluster, ``producer_id``,
    ``transactional_id``, ``whole`` (its log has no hole, from its beginning or from where it was compacted
    on), ``whole_ms`` (when that was; null for the beginning) and ``known_ms`` (how far).

    The row without a producer id is for all others: any coordinator might know them, so every partition of
    ``__transaction_state`` (``counts``: topics.partition_counts) must have been captured (``files``:
    ``bronze.files``).
    """
    own = batches.where(F.col("topic") == TRANSACTIONS_TOPIC)
    logs = own.groupBy(*LOG).agg(
        F.max("max_timestamp_ms").alias("known_ms"), F.max("base_ms").alias("whole_ms")
    )
    whole = (F.count("*") == 1) & F.max("stretch").isin(0, COMPACTED) & F.max("stretch_to").isNull()
    logs = logs.join(found.groupBy(*LOG).agg(whole.alias("whole")), on=list(LOG), how="inner")
    ids = events.where("producer_id is not null").select(*LOG, "transactional_id", "producer_id").distinct()
    told = ids.join(logs, on=list(LOG), how="inner").select(
        *_BY_PRODUCER, "transactional_id", "whole", "whole_ms", "known_ms"
    )
    name = rf"{TRANSACTIONS_TOPIC}-(\d+)/\d{{20}}\.log"
    captured = (
        files.where(F.col("file").rlike(name))
        .groupBy("cluster")
        .agg(F.count_distinct(F.regexp_extract("file", name, 1)).alias("captured"))
    )
    others = (
        logs.groupBy("cluster")
        .agg(
            F.min("whole").alias("all_whole"),
            F.max("whole_ms").alias("whole_ms"),
            F.min("known_ms").alias("known_ms"),
        )
        .join(counts, on="cluster", how="left")
        .join(captured, on="cluster", how="left")
        .select(
            "cluster",
            F.lit(None).cast("bigint").alias("producer_id"),
            F.lit(None).cast("string").alias("transactional_id"),
            (F.col("all_whole") & F.coalesce(F.col("captured") == F.col("partitions"), F.lit(False))).alias(
                "whole"
            ),
            "whole_ms",
            "known_ms",
        )
    )
    return told.unionByName(others)


def listed(
    held: DataFrame, found: DataFrame, known: DataFrame, written: DataFrame, tolerance_ms: int
) -> DataFrame:
    """``silver.partition_transactions``: what partitions hold, and whether the coordinator lists it.

    ``held``: partitions.indexed; ``found``: transactions; ``known``: coordinators; ``written`` (cluster,
    topic, partition, base_offset, answered_ms): when batches were appended, by the brokers' clocks.

    Under one producer id and epoch a partition has as many closed transactions as the coordinator completed
    with it, at most: one more was never part of any. An open one is listed while the coordinator has one
    with the partition that it has not completed.
    """
    mine = held.withColumns({"name": name_of(), "epoch": F.col("producer_epoch")})
    by_coordinator = F.coalesce(F.col("marker_coordinator_epoch") >= 0, F.lit(False))
    told = known.where("producer_id is not null")
    of_all = ("whole", "whole_ms", "known_ms")
    others = known.where("producer_id is null").select(
        "cluster", *[F.col(name).alias(f"others_{name}") for name in of_all]
    )
    rows = mine.join(told, on=list(_BY_PRODUCER), how="left")
    rows = rows.join(F.broadcast(others), on="cluster", how="left")
    named = F.col("transactional_id").isNotNull()
    rows = rows.withColumns(
        {name: F.when(named, F.col(name)).otherwise(F.col(f"others_{name}")) for name in of_all}
    )
    # of what ended before, a compacted log tells nothing, so it is not counted here either
    counts = F.coalesce(F.col("ended_ms") > F.col("whole_ms"), F.lit(True))
    closed = count_if(~F.coalesce("open", F.lit(True)) & by_coordinator & counts)
    rows = rows.withColumn("closed", closed.over(Window.partitionBy(*_MEETING)))
    theirs = (
        listings(found)
        .withColumn("epoch", F.col("producer_epoch"))
        .groupBy(*_MEETING)
        .agg(
            F.count("*").alias("listings"),
            count_if(F.col("completed_position").isNull()).alias("unfinished"),
        )
    )
    rows = rows.join(theirs, on=list(_MEETING), how="left")
    rows = rows.join(written, on=["cluster", "topic", "partition", "first_offset"], how="left")
    began = F.coalesce("answered_ms", "first_ms")
    since = F.coalesce(began - tolerance_ms > F.col("whole_ms"), F.col("whole_ms").isNull())
    past = F.col("whole") & since & (F.col("known_ms") > began + tolerance_ms)
    listings_, unfinished = (F.coalesce(name, F.lit(0)) for name in ("listings", "unfinished"))
    free = listings_ - F.col("closed")
    open_ = F.when(unfinished > 0, F.lit(True)).when((free <= 0) & past, F.lit(False))
    unlisted = past & (listings_ == 0)
    ended = F.when(
        by_coordinator, F.when((free >= 0) & since, F.lit(True)).when(unlisted, F.lit(False))
    ).otherwise(F.when((free > 0) & since, F.lit(True)).when((free <= 0) & past, F.lit(False)))
    rows = rows.withColumns(
        {
            "listed": F.when(F.col("open"), open_).when(~F.col("open"), ended),
            "from_position": F.col("first_offset"),
            "to_position": F.col("ended_position"),
            "from_time": as_time(F.coalesce("answered_ms", "first_ms")),
            "to_time": as_time(F.col("ended_ms")),
        }
    )
    return lake.align(rows, lake.PARTITION_TRANSACTIONS)


def written(asked: DataFrame) -> DataFrame:
    """When batches were appended, by the answers to Produce: cluster, topic, partition, ``first_offset``,
    ``answered_ms``.
    """
    rows = asked.where("base_offset >= 0")
    key = ("cluster", "topic", "partition", F.col("base_offset").alias("first_offset"))
    return rows.groupBy(*key).agg(F.min("responded_ms").alias("answered_ms"))
