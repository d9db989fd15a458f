"""What the partitions believed: the state of each producer that writes to one, batch by batch.

After org.apache.kafka.storage.internals.log.ProducerAppendInfo and ProducerStateEntry.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild.frames import OFFSETS_TOPIC, before, count_if, named, so_far, with_times
from fencepost.rebuild.producers.logs import LOG, PIECE, PRODUCER, keyed

MARKERS = {0: "ABORT", 1: "COMMIT"}
"""Types of control records that end a transaction: org.apache.kafka.common.record.ControlRecordType."""

NONE = -1
EXPIRATION_MS = 86_400_000
"""Kafka's default of producer.id.expiration.ms: a leader forgets a producer that is silent for so long."""

_SEQUENCES = 2**31
_STATE = (
    "producer_epoch", "first_sequence", "last_sequence", "last_offset", "coordinator_epoch",
    "current_txn_first_offset", "marker", "transactional", "cause",
)  # fmt: skip


def markers(records: DataFrame) -> DataFrame:
    """The end markers among the control records: cluster, topic, topic_id, partition, base_offset,
    leader_epoch, ``type`` (as MARKERS), ``marker_coordinator_epoch`` (EndTransactionMarker).
    """
    ends = F.col("is_control") & F.col("record_type").isin(*MARKERS) & (F.length("value") >= 6)
    # int16 version, int32 coordinator epoch
    unsigned = F.conv(F.hex(F.substring("value", 3, 4)), 16, 10).cast("bigint")
    signed = F.when(unsigned >= 2**31, unsigned - 2**32).otherwise(unsigned)
    return records.where(ends).select(
        *("cluster", "topic", "topic_id", "partition", "base_offset", "leader_epoch"),
        named(MARKERS, F.col("record_type")).alias("type"),
        signed.cast("int").alias("marker_coordinator_epoch"),
    )


def snapshots(entries: DataFrame) -> DataFrame:
    """``bronze.producer_snapshots`` with their log's ``partition_key``, once for all replicas."""
    return keyed(entries).dropDuplicates([*LOG, "snapshot_offset", "producer_id"])


def appends(batches: DataFrame, ends: DataFrame, entries: DataFrame, found: DataFrame) -> DataFrame:
    """Every batch and marker of every producer in log order (PRODUCER), with the state after it.

    ``batches``: logs.of_producers; ``ends``: markers; ``entries``: snapshots; ``found``: stretches_of_logs.
    Adds ``type`` (of a marker), ``marker_no`` (markers of the producer before it in this stretch),
    ``first_known`` (nothing of the producer came before this stretch that is not told), the columns of
    ``silver.producer_states``, and ``stretch_from`` and ``stretch_to``. A stretch that begins where a
    snapshot was taken begins with the snapshot's states, as rows with ``snapshot`` true.
    """
    place = ["cluster", "topic", "topic_id", "partition", "base_offset", "leader_epoch"]
    joined = [F.col(f"b.{name}").eqNullSafe(F.col(f"m.{name}")) for name in place]
    rows = (
        batches.alias("b")
        .join(ends.alias("m"), on=joined, how="left")
        .select("b.*", "m.type", "m.marker_coordinator_epoch")
    )
    pieces = found.select(*PIECE, "stretch_from", "stretch_to", "last_ms")
    rows = rows.join(F.broadcast(pieces), on=list(PIECE), how="inner")
    # a control batch whose record could not be read ends a transaction all the same, nobody knows how
    rows = rows.withColumn("marker", F.col("is_control")).withColumn("snapshot", F.lit(False))
    starts = _starts(entries, pieces)
    told = starts.select(*PIECE).distinct().withColumn("told", F.lit(True))
    rows = rows.unionByName(starts.where("producer_id is not null"), allowMissingColumns=True)
    rows = rows.join(F.broadcast(told), on=list(PIECE), how="left")
    return _with_states(rows)


def _starts(entries: DataFrame, pieces: DataFrame) -> DataFrame:
    """The entries of the snapshots that stretches begin with, as rows of appends before their first batch."""
    entries = entries.withColumnRenamed("snapshot_offset", "stretch_from")
    rows = entries.join(F.broadcast(pieces.where("stretch <> 0")), on=[*LOG, "stretch_from"], how="inner")
    return rows.select(
        *PIECE,
        "stretch_from",
        "stretch_to",
        "last_ms",
        "producer_id",
        "producer_epoch",
        F.lit(True).alias("snapshot"),
        F.lit(False).alias("marker"),
        F.lit(False).alias("is_control"),
        (F.col("current_txn_first_offset") >= 0).alias("is_transactional"),
        (F.col("stretch_from") - 1).alias("base_offset"),
        (F.col("stretch_from") - 1).alias("last_offset"),
        F.col("timestamp_ms").alias("max_timestamp_ms"),
        F.col("last_offset").alias("stored_last_offset"),
        F.col("last_sequence").alias("stored_last_sequence"),
        (F.col("last_sequence") - F.col("offset_delta")).alias("stored_first_sequence"),
        F.col("current_txn_first_offset").alias("stored_txn"),
        F.col("coordinator_epoch").alias("marker_coordinator_epoch"),
    )


def _with_states(rows: DataFrame) -> DataFrame:
    one = Window.partitionBy(*PRODUCER).orderBy("base_offset")
    epoch = Window.partitionBy(*PRODUCER, "producer_epoch").orderBy("base_offset")
    data = ~F.col("marker")
    last = (F.col("base_sequence").cast("bigint") + F.col("last_offset") - F.col("base_offset")) % _SEQUENCES
    # the group coordinator appends offset commits all at sequence 0: UnifiedLog checks only clients'
    numbered = F.col("topic") != OFFSETS_TOPIC
    sequences = F.when(
        data,
        F.struct(
            F.coalesce("stored_first_sequence", "base_sequence").cast("int").alias("first"),
            F.when(numbered, F.coalesce("stored_last_sequence", last)).cast("int").alias("last"),
        ),
    )
    known = (F.col("stretch") == 0) | F.coalesce("told", F.lit(False))
    rows = rows.withColumns(
        {
            "first_known": known,
            "marker_no": F.coalesce(count_if(F.col("marker")).over(before(one)), F.lit(0)),
            "sequences": F.last(sequences, True).over(so_far(epoch)),
            "idle_ms": F.col("max_timestamp_ms") - F.lag("max_timestamp_ms").over(one),
        }
    )
    within = Window.partitionBy(*PRODUCER, "marker_no").orderBy("base_offset")
    opens = F.when(data & F.col("is_transactional"), F.coalesce("stored_txn", "base_offset"))
    opened = F.first(opens, True).over(so_far(within))
    # an operator's marker (coordinator epoch -1) is not the coordinator's
    own = F.when(F.col("marker_coordinator_epoch") >= 0, F.col("marker_coordinator_epoch"))
    seen = F.last(own, True).over(so_far(one))
    # before the first marker of a stretch whose past is hidden, a transaction may be open from before it
    past = known | (F.col("marker_no") > 0) | F.col("marker")
    moved = F.lag("producer_epoch").over(one) != F.col("producer_epoch")
    mover = (
        F.when(F.col("marker"), "marker").when(F.col("is_transactional"), "coordinator").otherwise("local")
    )
    return rows.withColumns(
        {
            "first_sequence": F.coalesce("sequences.first", F.lit(NONE)),
            "last_sequence": F.coalesce("sequences.last", F.lit(NONE)),
            "transactional": F.col("is_transactional"),
            "coordinator_epoch": F.coalesce(seen, F.when(known, F.lit(NONE))),
            "current_txn_first_offset": F.when(F.col("marker"), F.lit(NONE)).when(
                past, F.coalesce(opened, F.lit(NONE))
            ),
            "cause": F.when(moved & ~F.col("snapshot"), mover),
        }
    ).drop("sequences", "told")


def producer_states(rows: DataFrame) -> DataFrame:
    """``silver.producer_states`` from appends.

    A producer whose past is hidden has a row of nulls from where its stretch begins. A leader may have
    forgotten one that was silent for EXPIRATION_MS: what it knew before its next batch is null too.
    """
    one = Window.partitionBy(*PRODUCER).orderBy("base_offset")
    following = F.lead(F.struct("last_offset", "max_timestamp_ms", "idle_ms")).over(one)
    first = F.row_number().over(one) == 1
    rows = rows.withColumns({"following": following, "first": first})
    until = F.coalesce("following.last_offset", "stretch_to")
    until_ms = F.coalesce(
        "following.max_timestamp_ms", F.when(F.col("stretch_to").isNotNull(), F.col("last_ms"))
    )
    rows = rows.withColumns(
        {
            "from_position": F.greatest("last_offset", "stretch_from"),
            "from_ms": F.col("max_timestamp_ms"),
            "to_position": until,
            "to_ms": until_ms,
            "newest": F.coalesce("stored_last_offset", "base_offset"),
        }
    )
    silent = F.coalesce(F.col("following.idle_ms") >= EXPIRATION_MS, F.lit(False))
    # the state is true for its own position; it needs a second one to be forgotten in
    fits = F.col("to_position") > F.col("from_position") + 1
    forgotten = rows.where(silent & fits).select(
        *LOG,
        "producer_id",
        (F.col("from_position") + 1).alias("from_position"),
        "to_position",
        "from_ms",
        "to_ms",
    )
    states = [
        F.when(~silent | fits, F.col("newest" if name == "last_offset" else name)).alias(name)
        for name in _STATE
    ]
    ends = F.when(silent & fits, F.col("from_position") + 1).otherwise(F.col("to_position"))
    told = rows.select(
        *LOG, "producer_id", *states, "from_position", ends.alias("to_position"), "from_ms", "to_ms"
    )
    hidden = rows.where("first and not first_known").select(
        *LOG,
        "producer_id",
        F.col("stretch_from").alias("from_position"),
        F.col("last_offset").alias("to_position"),
        F.lit(None).cast("bigint").alias("from_ms"),
        F.col("max_timestamp_ms").alias("to_ms"),
    )
    rows = told.unionByName(forgotten, allowMissingColumns=True).unionByName(hidden, allowMissingColumns=True)
    rows = rows.where("to_position is null or from_position < to_position")
    return lake.align(with_times(rows), lake.PRODUCER_STATES)


def partition_transactions(rows: DataFrame, found: DataFrame) -> DataFrame:
    """The transactions that partitions hold (from appends): the columns of ``silver.partition_transactions``
    that the partition's own log tells.

    Adds PIECE, ``first_known``, ``first_ms``, ``ended_ms``, ``marker_file``, ``marker_broker``.
    """
    inside = (
        (~F.col("marker"))
        & F.col("is_transactional")
        & (~F.col("snapshot") | (F.col("current_txn_first_offset") >= 0))
    )
    own = F.struct("producer_epoch", "max_timestamp_ms", "current_txn_first_offset", "base_offset")
    held = (
        rows.where(inside)
        .groupBy(*PRODUCER, "marker_no")
        .agg(
            F.min_by(own, "base_offset").alias("first"),
            F.max("last_offset").alias("last_offset"),
            F.count("*").alias("batches"),
            F.sum("record_count").alias("records"),
            F.min("first_known").alias("first_known"),
        )
    )
    ends = rows.where("marker").select(
        *PRODUCER,
        "marker_no",
        F.struct(
            "base_offset",
            "max_timestamp_ms",
            "type",
            "producer_epoch",
            "marker_coordinator_epoch",
            "file",
            "broker_id",
        ).alias("end"),
    )
    joined = held.join(ends, on=[*PRODUCER, "marker_no"], how="left")
    last = found.where("stretch_to is null").select(*PIECE, F.lit(True).alias("tail"))
    joined = joined.join(F.broadcast(last), on=list(PIECE), how="left")
    open_ = F.when(F.col("end").isNotNull(), F.lit(False)).when(F.col("tail"), F.lit(True))
    known = F.col("first_known") | (F.col("marker_no") > 0)
    offset = F.when(F.col("first.current_txn_first_offset") >= 0, F.col("first.current_txn_first_offset"))
    first = F.coalesce(offset, "first.base_offset")
    return joined.select(
        *PRODUCER,
        known.alias("first_known"),
        F.sha2(F.concat_ws("|", "cluster", "partition_key", "producer_id", first), 256).alias(
            "partition_transaction_id"
        ),
        F.col("first.producer_epoch").alias("producer_epoch"),
        first.alias("first_offset"),
        "last_offset",
        "batches",
        F.col("records").cast("bigint").alias("records"),
        open_.alias("open"),
        (F.col("end.type") == "ABORT").alias("aborted"),
        F.col("end.producer_epoch").alias("marker_epoch"),
        F.col("end.marker_coordinator_epoch").alias("marker_coordinator_epoch"),
        F.col("end.base_offset").alias("ended_position"),
        F.col("end.file").alias("marker_file"),
        F.col("end.broker_id").alias("marker_broker"),
        F.col("first.max_timestamp_ms").alias("first_ms"),
        F.col("end.max_timestamp_ms").alias("ended_ms"),
    )


def indexed(rows: DataFrame, aborted: DataFrame, newest: DataFrame) -> DataFrame:
    """Adds ``indexed`` to partition_transactions: an aborted one is in the index of aborted transactions.

    ``aborted``: ``bronze.aborted_transactions``; ``newest`` (LOG, ``last_known``): the end of each log, whose
    last marker may have been read before its entry was written. Null where the segment's index was not
    captured from the broker whose segment holds the marker.
    """
    aborted = keyed(aborted)
    entries = aborted.where("producer_id is not null").select(
        *LOG, "producer_id", "first_offset", F.lit(True).alias("entered")
    )
    captured = aborted.select(
        *LOG,
        F.col("broker_id").alias("marker_broker"),
        F.col("segment_offset").alias("marker_segment"),
        F.lit(True).alias("captured"),
    )
    segment = F.nullif(F.regexp_extract("marker_file", r"(\d{20})\.log[^/]*$", 1), F.lit("")).cast("bigint")
    rows = rows.withColumn("marker_segment", segment)
    rows = rows.join(entries.distinct(), on=[*LOG, "producer_id", "first_offset"], how="left")
    rows = rows.join(captured.distinct(), on=[*LOG, "marker_broker", "marker_segment"], how="left")
    rows = rows.join(F.broadcast(newest), on=list(LOG), how="left")
    settled = F.col("captured") & (F.col("ended_position") < F.col("last_known")) & F.col("first_known")
    found = F.when(F.col("entered"), F.lit(True)).when(settled, F.lit(False))
    return rows.withColumn("indexed", F.when(F.col("aborted"), found)).drop(
        "entered", "captured", "last_known", "marker_segment"
    )
