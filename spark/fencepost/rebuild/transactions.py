"""What became of stored offset commits: transactions that ended or hang, and what was stored before each."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fencepost.rebuild.frames import GROUP, OFFSETS_TOPIC, before, named
from fencepost.rebuild.stretches import in_stretches

MARKERS = {0: "aborted", 1: "committed"}
"""Types of control records that end a transaction (org.apache.kafka.common.record.ControlRecordType)."""

_LOG = ("cluster", "coordinator_partition")
_STORED = (*GROUP, "topic", "partition")


def markers(records: DataFrame, batches: DataFrame) -> DataFrame:
    """The markers in the coordinators' logs, each in its stretch.

    Columns: cluster, coordinator_partition, stretch, producer_id, marker (as MARKERS), record_offset,
    timestamp_ms.
    """
    ends = (F.col("topic") == OFFSETS_TOPIC) & F.col("is_control") & F.col("record_type").isin(*MARKERS)
    rows = records.where(ends).select(
        "cluster",
        F.col("partition").alias("coordinator_partition"),
        "leader_epoch",
        "base_offset",
        "producer_id",
        named(MARKERS, F.col("record_type")).alias("marker"),
        "record_offset",
        "timestamp_ms",
    )
    return in_stretches(rows, batches).drop("leader_epoch", "base_offset", "base_to", "base_ms", "based")


def outcomes(stored: DataFrame, markers: DataFrame, stretches: DataFrame) -> DataFrame:
    """``stored`` (commit records and their tombstones) with what became of each.

    Adds ``transaction_outcome`` (pending, committed, aborted; null outside a transaction, and where a hole
    may hide the marker), ``ended_offset`` and ``ended_ms`` (of the marker), ``outcome`` (committed, pending,
    aborted; ``replaced`` by a later commit of its transaction; ``skipped`` because a newer offset was stored
    when the transaction committed: OffsetMetadataManager.replayEndTransactionMarker), and ``applied_at`` (the
    position at which it became the group's offset; null when it never did).
    """
    producer = Window.partitionBy(*_LOG, "producer_id").orderBy("record_offset")
    ends = markers.withColumn("end", F.struct("marker", "record_offset", "timestamp_ms", "stretch")).drop(
        "marker", "timestamp_ms"
    )
    inside = stored.where("is_transactional").unionByName(
        ends.withColumn("is_transactional", F.lit(True)), allowMissingColumns=True
    )
    following = F.first("end", True).over(producer.rowsBetween(1, Window.unboundedFollowing))
    inside = inside.withColumn("following", following).where("end is null").drop("end")
    rows = stored.where("not is_transactional").unionByName(inside, allowMissingColumns=True)
    closed = stretches.where("stretch_to is not null").select(*_LOG, "stretch", F.lit(True).alias("closed"))
    rows = rows.join(F.broadcast(closed), on=[*_LOG, "stretch"], how="left")
    seen = F.col("following.stretch") == F.col("stretch")
    # the cleaner waits for transactions to end, and takes what was aborted
    ended = (
        F.when(F.col("based"), "committed")
        .when(seen, F.col("following.marker"))
        .when(F.col("following").isNull() & F.col("closed").isNull(), "pending")
    )
    rows = rows.withColumn("transaction_outcome", F.when(F.col("is_transactional"), ended)).withColumns(
        {
            "ended_offset": F.when(seen, F.col("following.record_offset")),
            "ended_ms": F.when(seen, F.col("following.timestamp_ms")),
        }
    )
    return _applied(rows.drop("following", "closed"))


def _applied(rows: DataFrame) -> DataFrame:
    transaction = Window.partitionBy(*_STORED, "producer_id", "ended_offset").orderBy("record_offset")
    last = F.lead("record_offset").over(transaction).isNull()
    committed = F.col("transaction_outcome") == "committed"
    rows = rows.withColumn("last", last).withColumn(
        "applied_at",
        F.when(~F.col("is_transactional"), F.col("record_offset")).when(
            committed & F.col("last"), F.coalesce("ended_offset", "record_offset")
        ),
    )
    stored = Window.partitionBy(*_STORED, "coordinator_partition").orderBy("applied_at", "record_offset")
    # a tombstone forgets the offset, and with it that anything newer was ever stored
    forgotten = F.max(F.when(F.col("tombstone"), F.col("applied_at"))).over(before(stored))
    newest = F.max(
        F.when(~F.col("tombstone") & F.col("applied_at").isNotNull(), F.struct("record_offset", "applied_at"))
    ).over(before(stored))
    newer = (newest["record_offset"] > F.col("record_offset")) & (
        F.coalesce(newest["applied_at"] > forgotten, F.lit(True))
    )
    skipped = F.col("is_transactional") & F.col("applied_at").isNotNull() & F.coalesce(newer, F.lit(False))
    return (
        rows.withColumn("skipped", skipped)
        .withColumn(
            "outcome",
            F.when(~F.col("is_transactional"), "committed")
            .when(F.col("skipped"), "skipped")
            .when(committed & ~F.col("last"), "replaced")
            .otherwise(F.col("transaction_outcome")),
        )
        .withColumn("applied_at", F.when(~F.col("skipped"), F.col("applied_at")))
        .drop("skipped", "last")
    )


def of_commits(
    commits: DataFrame, became: DataFrame, markers: DataFrame, candidates: DataFrame, tolerance_ms: int
) -> tuple[DataFrame, DataFrame]:
    """Two frames about ``commits`` (outcome.offset_commits): how the transactions of refused ones ended, as
    ``transactions_of``, and what was stored before each: (commit_id, ``offset_before``).
    """
    terms = candidates.groupBy("request_id").agg(_only("stretch"), _only("leader_epoch"))
    refused = commits.where("record_offset is null and broker_error <> 'NONE'").join(terms, on="request_id")
    accepted = commits.where("record_offset is not null").withColumn("stretch", F.col("record_stretch"))
    before_these = _stored_before_records(accepted, became).unionByName(
        _stored_before_refusals(refused, became, tolerance_ms)
    )
    return transactions_of(refused.where("is_transactional"), markers, tolerance_ms), before_these


def _only(name: str) -> Column:
    """The one value that all rows have; null when they differ."""
    return F.when(F.min(name) == F.max(name), F.min(name)).alias(name)


def _stored_before_records(asked: DataFrame, became: DataFrame) -> DataFrame:
    """What was stored right before the record of each commit. Nothing is said across a hole in the log."""
    key = Window.partitionBy(*_STORED, "coordinator_partition").orderBy("at", "order")
    rows = asked.select(
        "commit_id", *_STORED, "coordinator_partition", "stretch", F.col("record_offset").alias("at"),
        F.lit(0).alias("order"),
    )  # fmt: skip
    written = _written(became).withColumns({"at": F.col("applied_at"), "order": F.lit(1)})
    rows = rows.unionByName(written.drop("applied_at", "applied_ms"), allowMissingColumns=True)
    rows = rows.withColumn("was", F.last("was", True).over(before(key))).where("commit_id is not null")
    here = F.col("was.stretch") == F.col("stretch")
    return rows.select("commit_id", F.when(here, F.col("was.offset")).alias("offset_before"))


def _stored_before_refusals(asked: DataFrame, became: DataFrame, tolerance_ms: int) -> DataFrame:
    """What was stored when a commit was refused, if it did not change from its arrival to its answer.

    By time, so only within one leader's term.
    """
    key = Window.partitionBy(*_STORED, "coordinator_partition").orderBy("at", "order")
    moments = F.explode(
        F.array(F.col("requested_ms") - tolerance_ms, F.col("responded_ms") + tolerance_ms)
    ).alias("at")
    rows = asked.select(
        "commit_id", *_STORED, "coordinator_partition", "stretch", "leader_epoch", moments,
        F.lit(1).alias("order"),
    )  # fmt: skip
    written = _written(became).withColumns({"at": F.col("applied_ms"), "order": F.lit(0)})
    rows = rows.unionByName(written.drop("applied_at", "applied_ms"), allowMissingColumns=True)
    rows = rows.withColumn("was", F.last("was", True).over(before(key))).where("commit_id is not null")
    here = (F.col("was.stretch") == F.col("stretch")) & (F.col("was.leader_epoch") == F.col("leader_epoch"))
    rows = rows.withColumn("was", F.when(here, F.col("was")))
    same = F.count_distinct("was.at") == 1
    always = F.count("was") == 2
    return rows.groupBy("commit_id").agg(F.when(same & always, F.first("was.offset")).alias("offset_before"))


def _written(became: DataFrame) -> DataFrame:
    """Every change of a stored offset: its key, where and when, and ``was``, what was stored from then on."""
    return became.where("applied_at is not null").select(
        *_STORED,
        "coordinator_partition",
        "applied_at",
        F.coalesce("ended_ms", "timestamp_ms").alias("applied_ms"),
        F.struct(
            F.when(~F.col("tombstone"), F.col("committed_offset")).alias("offset"),
            F.col("stretch"),
            F.col("leader_epoch"),
            F.col("applied_at").alias("at"),
        ).alias("was"),
    )


def transactions_of(refused: DataFrame, markers: DataFrame, tolerance_ms: int) -> DataFrame:
    """How the transactions of refused commits ended: (commit_id, outcome, position, time of the marker).

    ``refused``: commit_id, cluster, coordinator_partition, stretch, producer_id, responded_ms. The
    coordinator's partition is part of a transaction before its commit is looked at, so the transaction's
    marker is written there although the commit is not. Nothing is said when no marker follows, or one
    behind a hole in the log.
    """
    asked = refused.select("commit_id", *_LOG, "stretch", "producer_id", "responded_ms")
    later = asked.join(markers, on=[*_LOG, "stretch", "producer_id"], how="inner").where(
        F.col("timestamp_ms") >= F.col("responded_ms") - tolerance_ms
    )
    first = F.min(F.struct("record_offset", "marker", "timestamp_ms"))
    return (
        later.groupBy("commit_id")
        .agg(first.alias("end"))
        .select(
            "commit_id",
            F.col("end.marker").alias("refused_outcome"),
            F.col("end.record_offset").alias("refused_ended"),
            F.col("end.timestamp_ms").alias("refused_ended_ms"),
        )
    )
