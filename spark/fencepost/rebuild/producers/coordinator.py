"""What the coordinators of transactions believed: the history of each transactional id."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.formats.decode import arrow_type
from fencepost.rebuild.frames import TRANSACTIONS_TOPIC, as_time, named, so_far, with_times
from fencepost.rebuild.producers.logs import LOG, PIECE
from fencepost.rebuild.producers.requests import END, INIT
from fencepost.rebuild.records import internal_records
from fencepost.rebuild.stretches import COMPACTED, in_stretches

STATUSES = {
    0: "Empty", 1: "Ongoing", 2: "PrepareCommit", 3: "PrepareAbort", 4: "CompleteCommit", 5: "CompleteAbort",
    6: "Dead", 7: "PrepareEpochFence",
}  # fmt: skip
"""org.apache.kafka.coordinator.transaction.TransactionState"""

NONE = -1
ADMIN = r"^adminclient-\d+$"
"""The client id of an Admin that was given none. Admin.fenceProducers sends what a new instance sends:
nothing else tells the two apart.
"""

ID = (*LOG, "transactional_id")
SPAN = (*PIECE, "transactional_id")
"""One transactional id inside one stretch: within it no record is missing."""

FIELDS = {
    "transactional_id": pa.string(),
    "producer_id": pa.int64(),
    "previous_producer_id": pa.int64(),
    "next_producer_id": pa.int64(),
    "producer_epoch": pa.int32(),
    "transaction_timeout_ms": pa.int32(),
    "transaction_status": pa.int32(),
    "transaction_partitions": arrow_type("TransactionLog").field("transaction_partitions").type,
    "transaction_start_timestamp_ms": pa.int64(),
    "client_transaction_version": pa.int32(),
}


def transaction_records(records: DataFrame) -> DataFrame:
    """The records of ``__transaction_state`` in ``bronze.records``, decoded: PLACE and FIELDS."""
    return internal_records(records, TRANSACTIONS_TOPIC, FIELDS, (0,))


def events(records: DataFrame, batches: DataFrame, stretches: DataFrame) -> DataFrame:
    """Every record of every transactional id in log order: PIECE, and the columns of
    ``silver.transactional_ids`` that it says itself.

    Adds ``record_offset``, ``timestamp_ms``, ``leader_epoch``, ``tombstone``, ``started_ms``;
    ``stretch_from`` and ``stretch_to``; ``state_no`` (the record's number within the id, from 1); ``based``
    (compaction left it); ``was``, the state before it as a struct, null when there was none or nothing tells;
    and ``first_known``: there was none.
    """
    fields = {f"v_{name}": name for name in FIELDS}
    read = records.drop("producer_id", "producer_epoch").withColumnsRenamed(fields)
    logs = batches.where(F.col("topic") == TRANSACTIONS_TOPIC).select(*LOG).distinct()
    read = read.join(F.broadcast(logs), on=["cluster", "partition"], how="inner")
    placed = _based(in_stretches(read, batches, LOG))
    pieces = stretches.select(*PIECE, "stretch_from", "stretch_to", "last_ms")
    listed = F.flatten(F.transform("transaction_partitions", _names))
    rows = placed.join(F.broadcast(pieces), on=list(PIECE), how="inner").withColumns(
        {
            "status": named(STATUSES, F.col("transaction_status")),
            "previous_producer_id": F.coalesce("previous_producer_id", F.lit(NONE)),
            "next_producer_id": F.coalesce("next_producer_id", F.lit(NONE)),
            "coordinator_epoch": F.col("leader_epoch"),
            "transaction_version": F.coalesce("client_transaction_version", F.lit(0)),
            "transaction_partitions": F.array_sort(F.coalesce(listed, F.array().cast("array<string>"))),
            "started_ms": F.nullif("transaction_start_timestamp_ms", F.lit(-1)),
        }
    )
    one = Window.partitionBy(*SPAN).orderBy("record_offset")
    was = F.lag(F.struct("status", "producer_id", "producer_epoch", "tombstone")).over(one)
    rows = rows.withColumn("was", was)
    first = F.col("was").isNull() & (
        (F.col("stretch") == 0) | ((F.col("stretch") == COMPACTED) & ~F.col("based"))
    )
    gone = F.coalesce("was.tombstone", F.lit(False))
    return rows.withColumns(
        {
            "state_no": F.row_number().over(Window.partitionBy(*ID).orderBy("record_offset")).cast("bigint"),
            "first_known": first | gone,
            "was": F.when(~gone, F.col("was")),
        }
    ).drop("transaction_status", "transaction_start_timestamp_ms", "client_transaction_version")


def _based(placed: DataFrame) -> DataFrame:
    """Of what compaction left, the last record of each id, as if written right before the checkpoint."""
    one = Window.partitionBy(*ID, "base_to")
    newest = F.max("record_offset").over(one) == F.col("record_offset")
    return (
        placed.withColumn("left_over", newest & ~F.col("tombstone"))
        .where(~F.col("based") | F.col("left_over"))
        .withColumn("record_offset", F.coalesce("base_to", "record_offset"))
        .withColumn("timestamp_ms", F.coalesce("base_ms", "timestamp_ms"))
        .drop("left_over", "base_to", "base_ms")
    )


def _names(listed: Column) -> Column:
    return F.transform(
        listed["partition_ids"], lambda partition: F.concat_ws(":", listed["topic"], partition)
    )


def granted(asked: DataFrame, events: DataFrame, tolerance_ms: int) -> DataFrame:
    """InitProducerId requests that were granted, each with the record it wrote: ID, ``state_no``,
    ``request_id``, ``sure``, and the record's ``record_offset``, ``leader_epoch``, ``stretch``.

    A record fits when it holds what was answered and was written between arrival and answer. Requests that
    compete for as many records take them in order.
    """
    inits = asked.where((F.col("api_key") == INIT) & (F.col("error") == "NONE")).select(
        "cluster", "transactional_id", "request_id", "broker_id", "requested_ms", "responded_ms",
        F.col("returned_producer_id").alias("producer_id"),
        F.col("returned_producer_epoch").alias("producer_epoch"),
    )  # fmt: skip
    key = ["cluster", "transactional_id", "producer_id", "producer_epoch"]
    written = events.where("status = 'Empty' and not based").select(
        *ID,
        "state_no",
        "record_offset",
        "leader_epoch",
        "stretch",
        "timestamp_ms",
        "producer_id",
        "producer_epoch",
    )
    pairs = inits.join(written, on=key, how="inner").where(_during(tolerance_ms))
    one = Window.partitionBy(*key)
    pairs = (
        pairs.withColumns(
            {
                "of_request": F.count("*").over(Window.partitionBy("request_id")),
                "of_record": F.count("*").over(Window.partitionBy(*ID, "state_no")),
                "low": F.min("record_offset").over(Window.partitionBy("request_id")),
            }
        )
        .withColumns(
            {
                "request_no": F.dense_rank().over(one.orderBy("low", "responded_ms", "request_id")),
                "record_no": F.dense_rank().over(one.orderBy("record_offset")),
            }
        )
        .withColumns({"requests": F.max("request_no").over(one), "records": F.max("record_no").over(one)})
    )
    alone = (F.col("of_request") == 1) & (F.col("of_record") == 1)
    in_order = (F.col("requests") == F.col("records")) & (F.col("request_no") == F.col("record_no"))
    pairs = pairs.withColumn("sure", alone | in_order)
    settled = F.max("sure").over(Window.partitionBy("request_id"))
    return (
        pairs.withColumn("settled", settled)
        .where("sure or not settled")
        .select(
            *ID, "state_no", "request_id", "broker_id", "sure", "record_offset", "leader_epoch", "stretch"
        )
    )


def with_causes(events: DataFrame, asked: DataFrame, pairs: DataFrame, tolerance_ms: int) -> DataFrame:
    """Adds to ``events``: ``act`` (who wrote the record, in the words of ``cause``), the request that did
    (``by``, a struct), ``cause``, and what KIP-360 would keep: ``last_set`` (the epoch, and the coordinator's
    epoch when it was set) and ``previous_id``.

    Only requests tell a new instance from a client's own bump, and an EndTxn from a fence, where both leave
    the same record; where neither they nor the record tell, all of these are null.
    """
    by = F.struct(
        "request_id", "client_id", "connection", "producer_id", "producer_epoch", "api_key",
        "responded_ms", "broker_id", "correlation_id",
    )  # fmt: skip
    asked = asked.where(F.col("api_key").isin(INIT, END)).withColumn("by", by)
    inits = pairs.where("sure").join(asked.select("request_id", "by"), on="request_id")
    inits = inits.select(*ID, "state_no", F.col("by").alias("init"))
    rows = events.join(inits, on=[*ID, "state_no"], how="left")
    rows = rows.join(_preparing(events, asked, tolerance_ms), on=[*ID, "state_no"], how="left")
    provided = F.col("init.producer_id") >= 0
    same = unchanged()
    initialised = (
        F.when(same, "retry")
        .when(F.col("init.client_id").rlike(ADMIN), "operator")
        .when(provided, "client_bump")
        .when(~provided | F.col("first_known"), "new_instance")
    )
    lasted = F.col("timestamp_ms") - F.col("started_ms")
    fenced = (
        F.when(F.col("fence.client_id").rlike(ADMIN), "operator")
        .when(F.col("fence.producer_id") >= 0, "client_bump")
        .otherwise("new_instance")
    )
    prepared = (
        F.when((F.col("status") == "PrepareCommit") | F.col("ended").isNotNull(), "end_txn")
        .when(F.col("fence").isNotNull(), fenced)
        # before transaction version 2 only a fence moves the epoch here
        .when(same & (F.col("transaction_version") < 2), "end_txn")
        .when(lasted >= F.col("transaction_timeout_ms"), "timeout")
    )
    act = F.when(F.col("status") == "Empty", initialised).when(
        F.col("status").startswith("Prepare"), prepared
    )
    rows = rows.withColumn("act", act)
    one = Window.partitionBy(*SPAN).orderBy("record_offset")
    complete = F.col("status").startswith("Complete")
    rows = rows.withColumn("act", F.when(complete, F.lag("act").over(one)).otherwise(F.col("act")))
    bumped = ~same | F.col("was").isNull()
    cause = F.when(bumped | (F.col("act") == "retry"), F.col("act"))
    made = F.coalesce("ended", "fence")
    took = (
        F.when(F.col("status") == "Empty", F.col("init"))
        .when(complete, F.lag(made).over(one))
        .otherwise(made)
    )
    rows = rows.withColumns(
        {"cause": F.when(F.col("was").isNotNull() | F.col("first_known"), cause), "by": took}
    )
    return _with_last(rows, one).drop("init", "fence", "ended")


def fencing(rows: DataFrame) -> DataFrame:
    """The InitProducerId requests that made a Prepare record (``rows``: with_causes), as granted gives those
    that were granted.

    They are answered CONCURRENT_TRANSACTIONS once the record is written.
    """
    made = rows.where(F.col("status").startswith("Prepare") & (F.col("by.api_key") == INIT))
    return made.select(
        *ID, "state_no", "by.request_id", "by.broker_id", F.lit(True).alias("sure"), "record_offset",
        "leader_epoch", "stretch",
    )  # fmt: skip


def unchanged() -> Column:
    """The record (with ``was``) has the producer id and epoch of the one before."""
    same_id = F.col("was.producer_id") == F.col("producer_id")
    return F.coalesce(same_id & (F.col("was.producer_epoch") == F.col("producer_epoch")), F.lit(False))


def _preparing(events: DataFrame, asked: DataFrame, tolerance_ms: int) -> DataFrame:
    """What made each Prepare record: ID, ``state_no``, ``ended`` (the EndTxn), ``fence`` (an InitProducerId
    that found the transaction open). The first that was answered, where several were.
    """
    prepared = events.where("status like 'Prepare%' and not based").select(
        *ID,
        "state_no",
        "timestamp_ms",
        F.col("producer_id").alias("its_id"),
        "was",
        F.when(F.col("status") == "PrepareCommit", "COMMIT").otherwise("ABORT").alias("its_result"),
    )
    sent = asked.drop("topic", "partition")
    ends = (F.col("api_key") == END) & (F.col("error") == "NONE") & (F.col("result") == F.col("its_result"))
    ends &= (F.col("producer_id") == F.col("its_id")) & (
        F.col("was").isNull() | (F.col("producer_epoch") == F.col("was.producer_epoch"))
    )
    fences = (F.col("api_key") == INIT) & (F.col("error") == "CONCURRENT_TRANSACTIONS")
    fences &= F.col("its_result") == "ABORT"
    found = prepared.join(sent, on=["cluster", "transactional_id"], how="inner").where(
        _during(tolerance_ms) & (ends | fences)
    )
    order = F.struct("by.responded_ms", "by")
    return found.groupBy(*ID, "state_no").agg(
        F.min(F.when(ends, order)).getField("by").alias("ended"),
        F.min(F.when(fences, order)).getField("by").alias("fence"),
    )


def _with_last(rows: DataFrame, one: WindowSpec) -> DataFrame:
    """Adds ``last_set`` and ``previous_id``: TransactionMetadata's lastProducerEpoch and prevProducerId, had
    they been kept.
    """
    moved = ~unchanged()
    own = F.struct(
        F.when(F.col("act").isin("end_txn", "client_bump"), F.col("was.producer_epoch"))
        .when(F.col("act").isNotNull(), F.lit(NONE))
        .alias("epoch"),
        "leader_epoch",
    )
    created = F.struct(F.lit(NONE).alias("epoch"), F.col("leader_epoch"))
    bumps = moved & F.col("was").isNotNull() & ~F.col("status").startswith("Complete")
    set_here = F.when(F.col("first_known"), created).when(bumps, own)
    rotated = F.col("was.producer_id") != F.col("producer_id")
    before_it = F.when(F.col("first_known"), F.lit(NONE)).when(rotated, F.col("was.producer_id"))
    return rows.withColumns(
        {
            "last_set": F.last(set_here, True).over(so_far(one)),
            "previous_id": F.last(before_it, True).over(so_far(one)),
        }
    )


def _during(tolerance_ms: int) -> Column:
    return F.col("timestamp_ms").between(
        F.col("requested_ms") - tolerance_ms, F.col("responded_ms") + tolerance_ms
    )


def transactional_ids(rows: DataFrame) -> DataFrame:
    """``silver.transactional_ids`` from events with_causes.

    An id whose past is hidden has a row of nulls from where its stretch begins.
    """
    one = Window.partitionBy(*SPAN).orderBy("record_offset")
    following = F.lead(F.struct("record_offset", "timestamp_ms")).over(one)
    rows = rows.withColumns(
        {
            "from_position": F.col("record_offset"),
            "from_ms": F.col("timestamp_ms"),
            "to_position": F.coalesce(following["record_offset"], F.col("stretch_to")),
            "to_ms": F.coalesce(
                following["timestamp_ms"], F.when(F.col("stretch_to").isNotNull(), F.col("last_ms"))
            ),
            "last_producer_epoch": F.col("last_set.epoch"),
            "started_at": as_time(F.col("started_ms")),
            "caused_by_request_id": F.when(F.col("cause").isNotNull(), F.col("by.request_id")),
            "caused_by_client_id": F.when(F.col("cause").isNotNull(), F.col("by.client_id")),
            "caused_by_connection": F.when(F.col("cause").isNotNull(), F.col("by.connection")),
        }
    )
    hidden = rows.where("was is null and not first_known and not based").select(
        *ID,
        F.col("stretch_from").alias("from_position"),
        F.col("record_offset").alias("to_position"),
        F.lit(None).cast("bigint").alias("from_ms"),
        F.col("timestamp_ms").alias("to_ms"),
    )
    rows = rows.where("not tombstone").unionByName(hidden, allowMissingColumns=True)
    rows = rows.where("to_position is null or from_position < to_position")
    return lake.align(with_times(rows), lake.TRANSACTIONAL_IDS)
