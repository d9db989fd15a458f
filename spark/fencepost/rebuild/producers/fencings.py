"""Who was fenced, by whom, and what was in flight: requests refused because a producer's epoch is over."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild.frames import as_time, count_if
from fencepost.rebuild.producers.coordinator import SPAN, unchanged
from fencepost.rebuild.producers.requests import (
    ADD_OFFSETS,
    ADD_PARTITIONS,
    BROKERS_OWN,
    COMMIT,
    END,
    FENCED,
    INIT,
    PRODUCE,
    STALE_END,
)
from fencepost.rebuild.producers.transactions import name_of

_REQUEST = ("cluster", "request_id")
_REFUSAL = (*_REQUEST, "transactional_id")
_TRANSACTIONAL = ("cluster", "transactional_id")


def refusals(asked: DataFrame, appended: DataFrame, tolerance_ms: int) -> DataFrame:
    """The refused requests of producers, one row per request and transactional id.

    The first error stands for the request. A Produce line has neither producer id nor epoch: they come from
    the line in which the broker asks the coordinator for it meanwhile (KIP-890). Without one, ``began`` is
    what its connection is known to have had before: granted, or written with (``appended``:
    partitions.appends). A broker's own line stands alone only where the producer's is missing. Among the rows
    are requests that were refused for another reason (STALE_END, an epoch that never was).
    """
    stale_end = (F.col("api_key") == END) & (F.col("error") == STALE_END)
    error = F.col("error").isin(*FENCED) | stale_end
    columns = (
        *_REFUSAL, "broker_id", "client_id", "connection", "api_key", "api_name",
        "producer_id", "producer_epoch", "topic", "partition", "error", "requested_ms", "responded_ms",
        "file", "position",
    )  # fmt: skip
    sent = asked.where(error & F.col("api_key").isin(PRODUCE, INIT, ADD_PARTITIONS, END, COMMIT, ADD_OFFSETS))
    sent = sent.select(*columns).dropDuplicates(list(_REFUSAL))
    own = ~F.coalesce(F.col("client_id").startswith(BROKERS_OWN), F.lit(False))
    sent, brokers = sent.where(own), sent.where(~own)
    asking = sent.where(F.col("producer_id").isNull())
    began = _granted(asking, asked).unionByName(_written(asking, asked, appended))
    began = began.groupBy(*_REQUEST).agg(F.max_by("had", "at_ms").alias("began"))
    rows = sent.join(_by_brokers(asking, brokers, tolerance_ms), on=list(_REQUEST), how="left")
    rows = rows.join(began, on=list(_REQUEST), how="left").withColumns(
        {
            "producer_id": F.coalesce("producer_id", "theirs.their_producer_id", "began.producer_id"),
            "victim_epoch": F.coalesce("producer_epoch", "theirs.their_producer_epoch"),
        }
    )
    rows = rows.drop("theirs", "producer_epoch")
    return rows.unionByName(_alone(sent, brokers, tolerance_ms), allowMissingColumns=True)


def _meanwhile(tolerance_ms: int) -> Column:
    """The broker's own request (its columns begin with ``their_``) was made while the producer waited."""
    return (F.col("their_requested_ms") >= F.col("requested_ms") - tolerance_ms) & (
        F.col("their_responded_ms") <= F.col("responded_ms") + tolerance_ms
    )


def _theirs(brokers: DataFrame) -> DataFrame:
    names = ("request_id", "producer_id", "producer_epoch", "requested_ms", "responded_ms")
    return brokers.select(*_TRANSACTIONAL, *[F.col(name).alias(f"their_{name}") for name in names])


def _by_brokers(asking: DataFrame, brokers: DataFrame, tolerance_ms: int) -> DataFrame:
    """What the brokers asked for the producers meanwhile, if it was one thing: (request, ``theirs``)."""
    theirs = asking.join(_theirs(brokers), on=list(_TRANSACTIONAL), how="inner").where(
        _meanwhile(tolerance_ms)
    )
    one = F.struct("their_producer_id", "their_producer_epoch")
    return theirs.groupBy(*_REQUEST).agg(F.when(F.count_distinct(one) == 1, F.first(one)).alias("theirs"))


def _granted(asking: DataFrame, asked: DataFrame) -> DataFrame:
    """What the connections had been granted before: (request, ``at_ms``, ``had``)."""
    given = asked.where((F.col("error") == "NONE") & (F.col("returned_producer_epoch") >= 0))
    had = F.struct(
        F.col("returned_producer_id").alias("producer_id"), F.col("returned_producer_epoch").alias("epoch")
    )
    return _before(asking, _of_connections(given).withColumn("had", had))


def _written(asking: DataFrame, asked: DataFrame, appended: DataFrame) -> DataFrame:
    """What the connections had written with before, by the headers of their batches."""
    given = asked.where("base_offset >= 0")
    had = F.struct("producer_id", F.col("producer_epoch").alias("epoch"))
    batches = appended.where("not snapshot").select(
        "cluster", "topic", "partition", "base_offset", had.alias("had")
    )
    place = ["cluster", "topic", "partition", "base_offset"]
    return _before(asking, _of_connections(given).join(batches, on=place, how="inner"))


def _of_connections(rows: DataFrame) -> DataFrame:
    return rows.withColumn("id_or_none", F.coalesce("transactional_id", F.lit("")))


def _before(asking: DataFrame, given: DataFrame) -> DataFrame:
    key = ["cluster", "broker_id", "connection", "id_or_none"]
    given = given.select(*key, F.col("responded_ms").alias("at_ms"), "had")
    rows = _of_connections(asking).join(given, on=key, how="inner").where("at_ms <= requested_ms")
    return rows.select(*_REQUEST, "at_ms", "had")


def _alone(own: DataFrame, brokers: DataFrame, tolerance_ms: int) -> DataFrame:
    """Brokers' own refused requests for producers whose refused request is not there."""
    answered = own.join(_theirs(brokers), on=list(_TRANSACTIONAL), how="inner").where(
        _meanwhile(tolerance_ms)
    )
    partners = answered.select("cluster", F.col("their_request_id").alias("request_id")).distinct()
    rows = brokers.join(partners, on=list(_REQUEST), how="left_anti")
    return rows.withColumn("victim_epoch", F.col("producer_epoch")).drop("producer_epoch")


def producer_fencings(transactional: DataFrame, idempotent: DataFrame) -> DataFrame:
    """``silver.producer_fencings``, from of_transactional and of_idempotent."""
    return lake.align(transactional.unionByName(idempotent, allowMissingColumns=True), lake.PRODUCER_FENCINGS)


def of_transactional(
    refused: DataFrame, events: DataFrame, found: DataFrame, held: DataFrame, ends: DataFrame
) -> DataFrame:
    """The requests of transactional producers that were refused because their epoch is over.

    ``refused``: refusals; ``events``: coordinator.with_causes; ``found``: transactions.transactions;
    ``held``: ``silver.partition_transactions``; ``ends``: transactions.wholeness. The fence is the first
    record that moved the id past the victim's epoch. The transaction that this record ended, or that was
    still open then, was in flight.
    """
    states = events.where("not tombstone").select(
        *_TRANSACTIONAL,
        "state_no",
        F.col("producer_id").alias("its_id"),
        F.col("producer_epoch").alias("its_epoch"),
        F.col("timestamp_ms").alias("its_ms"),
        F.col("record_offset").alias("its_position"),
        "cause",
        "act",
        (F.col("was").isNull() & ~F.col("first_known")).alias("hidden"),
        # a hole in the log follows: nothing tells how long the state lasted
        (
            F.lead("record_offset").over(Window.partitionBy(*SPAN).orderBy("record_offset")).isNull()
            & F.col("stretch_to").isNotNull()
        ).alias("lost"),
        (~unchanged()).alias("moved"),
        # what a producer moves itself, and goes on from; a client's bump may present a stale epoch
        (
            F.col("act").isin("end_txn", "retry")
            | ((F.col("act") == "client_bump") & (F.col("by.producer_epoch") == F.col("was.producer_epoch")))
        ).alias("own"),
        "by",
    )
    refused = refused.where("transactional_id is not null").withColumns(
        {name: F.nullif(name, F.lit(-1)) for name in ("producer_id", "victim_epoch")}
    )
    met = _with_starts(refused.join(states, on=list(_TRANSACTIONAL), how="inner"))
    presented = F.coalesce("victim_epoch", "began.epoch")
    mine = (F.col("its_id") == F.col("producer_id")) & (F.col("its_epoch") <= presented)
    last_mine = F.max(F.when(mine, F.col("state_no"))).over(Window.partitionBy(*_REFUSAL))
    met = _with_own_moves(met.withColumn("last_mine", last_mine))
    after = F.col("state_no") > F.col("last_own")
    fence = F.struct("state_no", "its_ms", "its_position", "cause", "by", "hidden")
    now = F.struct("its_id", "its_epoch", "lost")
    told = met.groupBy(*_REFUSAL).agg(
        F.min_by(fence, F.when(after, F.col("state_no"))).alias("fence"),
        F.max(F.col("hidden") & F.col("last_mine").isNull()).alias("past_hidden"),
        F.max_by(now, F.when(F.col("its_ms") < F.col("requested_ms"), F.col("state_no"))).alias("before"),
        F.max_by(now, F.when(F.col("its_ms") <= F.col("responded_ms"), F.col("state_no"))).alias("now"),
        F.max_by(now, F.when(F.col("state_no") == F.col("last_own"), F.col("state_no"))).alias("reached"),
    )
    rows = refused.join(told, on=list(_REFUSAL), how="left")
    reached = F.when(F.col("fence").isNotNull(), F.col("reached"))
    rows = rows.withColumns(
        {
            "producer_id": F.coalesce("producer_id", reached["its_id"]),
            "victim_epoch": F.coalesce("victim_epoch", reached["its_epoch"]),
        }
    )
    # what is told to be a fence, or cannot be told: no history of the id, or nothing says what was presented;
    # an EndTxn that is answered STALE_END may just be a retry
    ended_itself = F.coalesce(F.col("fence.cause") == "end_txn", F.lit(True))
    fenced = F.col("fence").isNotNull() & ((F.col("error") != STALE_END) | ~ended_itself)
    untold = (F.col("now").isNull() | F.col("victim_epoch").isNull() | F.col("past_hidden")) & F.col(
        "error"
    ).isin(*FENCED)
    rows = rows.where(fenced | untold)
    rows = rows.join(_in_flight(rows, found, held, ends), on=list(_REFUSAL), how="left")
    settled = F.col("now").eqNullSafe(F.col("before")) & ~F.col("now.lost")
    seen = ~F.col("fence.hidden")
    rows = rows.withColumns(
        {
            "occurred_at": as_time(F.col("responded_ms")),
            "current_producer_id": F.when(settled, F.col("now.its_id")),
            "current_epoch": F.when(settled, F.col("now.its_epoch")),
            "cause": F.col("fence.cause"),
            "caused_by_client_id": F.col("fence.by.client_id"),
            "caused_by_connection": F.col("fence.by.connection"),
            # behind a hole it is not known to be the first
            "fenced_position": F.when(seen, F.col("fence.its_position")),
            "fenced_at": F.when(seen, as_time(F.col("fence.its_ms"))),
        }
    )
    return rows.drop("fence", "before", "now", "reached", "began", "past_hidden")


def _with_starts(met: DataFrame) -> DataFrame:
    """Completes ``producer_id`` and ``began`` where the connection tells nothing, by the client id.

    Instances of one application often share it: it only tells where it was the name of one new instance of
    the id, and the requests behind all that happened to the id are known.
    """
    one = Window.partitionBy(*_REFUSAL)
    by_then = F.col("its_ms") <= F.col("requested_ms")
    begins = by_then & (F.col("cause") == "new_instance") & (F.col("by.client_id") == F.col("client_id"))
    untold = by_then & F.col("moved") & F.col("act").isNull()
    start = F.when(begins, F.struct(F.col("its_id").alias("producer_id"), F.col("its_epoch").alias("epoch")))
    alone = (count_if(begins).over(one) == 1) & (count_if(untold).over(one) == 0)
    rows = met.withColumn("start", F.when(alone, F.max(start).over(one)))
    began = F.when(F.col("victim_epoch").isNull(), F.coalesce("began", "start"))
    return rows.withColumns(
        {"began": began, "producer_id": F.coalesce("producer_id", began["producer_id"])}
    ).drop("start")


def _with_own_moves(met: DataFrame) -> DataFrame:
    """Adds ``last_own``: the last state that the producer itself can have gone on to.

    That is the last state of the epoch it presented. Where a request names none, it has followed its own
    moves from the epoch it is known to have had; null when nothing tells whose the next move was.
    """
    later = F.col("state_no") > F.col("last_mine")
    moved = later & F.col("moved")
    foreign = moved & ~F.coalesce("own", F.lit(False))
    one = Window.partitionBy(*_REFUSAL)
    first_foreign = F.min(F.when(foreign, F.struct("state_no", F.col("act").isNotNull().alias("told")))).over(
        one
    )
    rows = met.withColumn("first_foreign", first_foreign)
    followed = F.when(F.col("first_foreign.told"), F.col("first_foreign.state_no") - 1)
    last_own = F.when(F.col("victim_epoch").isNotNull(), F.col("last_mine")).otherwise(followed)
    return rows.withColumn("last_own", last_own).drop("first_foreign")


def of_idempotent(refused: DataFrame, appended: DataFrame) -> DataFrame:
    """The same of producers without a transactional id: only they themselves move their epoch.

    Their requests name neither producer nor epoch: the producer is the one that the connection was granted,
    the current epoch the newest in the partition (``appended``: partitions.appends) by then.
    """
    rows = refused.where("transactional_id is null").drop("victim_epoch", "began")
    there = appended.where("not snapshot").select(
        "cluster",
        "topic",
        "partition",
        "producer_id",
        F.col("producer_epoch").alias("its_epoch"),
        F.col("max_timestamp_ms").alias("its_ms"),
    )
    met = rows.join(there, on=["cluster", "topic", "partition", "producer_id"], how="inner")
    newest = F.max(F.when(F.col("its_ms") <= F.col("responded_ms"), F.col("its_epoch")))
    now = met.groupBy(*_REQUEST).agg(newest.alias("current_epoch"))
    rows = rows.join(now, on=list(_REQUEST), how="left")
    return rows.withColumns(
        {
            "occurred_at": as_time(F.col("responded_ms")),
            "current_producer_id": F.col("producer_id"),
            # the only epoch below 1
            "victim_epoch": F.when(F.col("current_epoch") == 1, F.lit(0)),
            "cause": F.when(F.col("current_epoch") > 0, "local"),
        }
    )


def _in_flight(rows: DataFrame, found: DataFrame, held: DataFrame, ends: DataFrame) -> DataFrame:
    """What the victim's transaction held when it was fenced: (request, id, ``in_flight`` as JSON)."""
    # a producer that ended its transaction itself had none open
    fenced = rows.where("fence is not null and not fence.hidden").select(
        *_REFUSAL,
        "producer_id",
        "victim_epoch",
        F.col("fence.its_position").alias("at"),
        F.col("fence.cause").alias("why"),
    )
    mine = found.select(
        *_TRANSACTIONAL,
        "producer_id",
        F.col("producer_epoch").alias("victim_epoch"),
        "started_position",
        "prepared_position",
        F.col("transaction_partitions").alias("names"),
        F.col("outcome").alias("became"),
    )
    open_then = (F.col("started_position") < F.col("at")) & (
        F.col("prepared_position").isNull() | (F.col("prepared_position") >= F.col("at"))
    )
    keys = [*_TRANSACTIONAL, "producer_id", "victim_epoch"]
    flying = fenced.join(mine, on=keys, how="inner").where(open_then & ~F.col("why").eqNullSafe("end_txn"))
    flying = flying.withColumn("name", F.explode_outer("names"))
    there = held.select(
        "cluster",
        "producer_id",
        F.col("producer_epoch").alias("victim_epoch"),
        name_of().alias("name"),
        F.struct("first_offset", "records").alias("held"),
        F.col("first_offset").alias("order"),
    )
    newest = there.groupBy("cluster", "producer_id", "victim_epoch", "name").agg(
        F.max_by("held", "order").alias("held")
    )
    flying = flying.join(newest, on=["cluster", "producer_id", "victim_epoch", "name"], how="left")
    flying = flying.join(ends.select("cluster", "name", "whole"), on=["cluster", "name"], how="left")
    # a partition may be part of a transaction before anything is written to it
    records = F.coalesce("held.records", F.when(F.col("whole"), F.lit(0)))
    topic = F.regexp_extract("name", r"^(.*):(\d+)$", 1)
    partition = F.regexp_extract("name", r"^(.*):(\d+)$", 2).cast("int")
    item = F.struct(
        topic.alias("topic"),
        partition.alias("partition"),
        F.col("held.first_offset").alias("first_offset"),
        records.alias("records"),
        F.col("became").alias("outcome"),
    )
    found_ = flying.groupBy(*_REFUSAL).agg(
        F.to_json(
            F.array_sort(F.collect_list(F.when(F.col("name").isNotNull(), item))),
            {"ignoreNullFields": "false"},
        ).alias("listed")
    )
    every = fenced.select(*_REFUSAL)
    return every.join(found_, on=list(_REFUSAL), how="left").select(
        *_REFUSAL, F.coalesce("listed", F.lit("[]")).alias("in_flight")
    )
