"""InitProducerId requests, and the states they met: where a transactional id's epoch was decided."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild import commits as places
from fencepost.rebuild.frames import TRANSACTIONS_TOPIC
from fencepost.rebuild.producers.coordinator import NONE
from fencepost.rebuild.producers.logs import LOG
from fencepost.rebuild.producers.requests import FENCED, INIT
from fencepost.rebuild.requests import ELSEWHERE
from fencepost.rebuild.stretches import COMPACTED

BUSY = "CONCURRENT_TRANSACTIONS"


def asked_to_initialise(asked: DataFrame, events: DataFrame, counts: DataFrame) -> DataFrame:
    """InitProducerId requests with a transactional id, each with the partition of its coordinator.

    A broker that was not the coordinator, or had not loaded its log yet, decided nothing: its answers are
    left out. A transactional id is to its coordinator what a group is to a group's: ``group_id`` holds it,
    so that rebuild.commits finds the states that the requests met.
    """
    decided = ~F.coalesce(F.col("error").isin(*ELSEWHERE), F.lit(False))
    inits = asked.where((F.col("api_key") == INIT) & F.col("transactional_id").isNotNull() & decided)
    inits = inits.drop("topic", "partition").withColumns(
        {
            "group_id": F.col("transactional_id"),
            "accepted": F.col("error") == "NONE",
            "broker_error": F.col("error"),
        }
    )
    known = as_of_groups(events)
    return places.coordinators(inits, known, known.limit(0), counts)


def as_of_groups(events: DataFrame) -> DataFrame:
    """The records of transactional ids as rebuild.commits reads those of groups."""
    return events.select(
        "cluster",
        F.col("transactional_id").alias("group_id"),
        F.col("partition").alias("coordinator_partition"),
        "stretch",
        "leader_epoch",
        "state_no",
        "timestamp_ms",
        "record_offset",
        F.lit(True).alias("step"),
        F.lit(False).alias("ends"),
        F.lit(None).cast("array<string>").alias("classic_members"),
    )


def candidates(
    inits: DataFrame,
    events: DataFrame,
    pairs: DataFrame,
    terms: DataFrame,
    *,
    stretches: DataFrame,
    tolerance_ms: int,
) -> DataFrame:
    """CANDIDATES of rebuild.commits for ``inits``.

    ``pairs``: the requests whose record is known (coordinator.granted and fencing); ``terms``:
    rebuild.commits.terms of ``__transaction_state``.
    """
    known = as_of_groups(events)
    named = pairs.withColumns({"group_id": F.col("transactional_id"), "commit_id": F.col("request_id")})
    refused = inits.join(pairs.select("request_id"), on="request_id", how="left_anti")
    met = places.refused_candidates(refused, known, terms, of_coordinator(stretches), tolerance_ms)
    return places.accepted_candidates(of_coordinator(named).select(*places.PAIR), known).unionByName(
        _in_order(met, refused, events)
    )


def _in_order(met: DataFrame, refused: DataFrame, events: DataFrame) -> DataFrame:
    """The candidates that the order of requests allows: a broker takes up the next request of a connection
    when the one before is answered. What wrote a record on the same connection before or after the refused
    request bounds what it met, whatever the clock says.
    """
    key = ["cluster", "broker_id", "connection", "transactional_id"]
    order = F.struct("responded_ms", "correlation_id")
    asked = refused.select(*key, "request_id", order.alias("order"))
    # what completes a transaction is written after the answer
    written = events.where("by is not null and status not like 'Complete%'").select(
        "cluster",
        "by.broker_id",
        "by.connection",
        "transactional_id",
        F.struct("by.responded_ms", "by.correlation_id").alias("its_order"),
        F.col("state_no").alias("its_no"),
    )
    beside = asked.join(written, on=key, how="inner")
    bounds = beside.groupBy("request_id").agg(
        F.max(F.when(F.col("its_order") < F.col("order"), F.col("its_no"))).alias("at_least"),
        F.min(F.when(F.col("its_order") > F.col("order"), F.col("its_no"))).alias("below"),
    )
    rows = met.join(bounds, on="request_id", how="left")
    low = F.coalesce(F.col("state_no") >= F.col("at_least"), F.lit(True))
    high = F.coalesce(F.col("state_no") < F.col("below"), F.lit(True))
    return rows.where(low & high).drop("at_least", "below")


def of_coordinator(rows: DataFrame) -> DataFrame:
    """Rows of ``__transaction_state`` with ``coordinator_partition``."""
    own = rows.where(F.col("topic") == TRANSACTIONS_TOPIC)
    return own.withColumn("coordinator_partition", F.col("partition"))


def states(inits: DataFrame, found: DataFrame, events: DataFrame, stretches: DataFrame) -> DataFrame:
    """``silver.init_producer_id_states``: each candidate (``found``) with the state of its transactional id.

    ``events``: coordinator.with_causes. Adds the request's own columns.
    """
    sent = inits.select(
        "request_id",
        "coordinator_partition",
        "error",
        "requested_at",
        "responded_at",
        F.col("producer_id").alias("provided_id"),
        F.col("producer_epoch").alias("provided_epoch"),
        "returned_producer_id",
        "returned_producer_epoch",
    )
    rows = found.withColumnsRenamed(
        {"group_id": "transactional_id", "stretch": "its_stretch", "leader_epoch": "term"}
    ).join(sent, on="request_id", how="inner")
    state = events.drop(*LOG[1:], "stretch_from", "stretch_to", "last_ms")
    rows = rows.join(state, on=["cluster", "transactional_id", "state_no"], how="left")
    logs = stretches.where(F.col("topic") == TRANSACTIONS_TOPIC).select(
        *LOG,
        F.col("partition").alias("coordinator_partition"),
        F.col("stretch").alias("its_stretch"),
        "stretch_from",
    )
    rows = rows.join(F.broadcast(logs), on=["cluster", "coordinator_partition", "its_stretch"], how="inner")
    # nothing of the id in this stretch so far: it does not exist, if the stretch shows all there is
    here = F.coalesce(F.col("stretch") == F.col("its_stretch"), F.lit(False))
    absent = (~here & F.col("its_stretch").isin(0, COMPACTED)) | (here & F.col("tombstone"))
    known = F.when(absent, F.lit(False)).when(here, F.lit(True))
    same_coordinator = F.col("last_set.leader_epoch") == F.col("term")
    in_memory = F.col("leader_epoch") == F.col("term")

    def when_known(value: Column, none: object = NONE) -> Column:
        return F.when(known, value).when(~known, F.lit(none))

    error = F.col("error")
    answered = error.isNotNull()
    rows = rows.withColumns(
        {
            "granted": F.when(answered, error == "NONE"),
            "fenced": F.when(answered, error.isin(*FENCED)),
            "busy": F.when(answered, error == BUSY),
            "returned_id": F.when(error == "NONE", F.col("returned_producer_id")).otherwise(NONE),
            "returned_epoch": F.when(error == "NONE", F.col("returned_producer_epoch")).otherwise(NONE),
            "known": known,
            "status": when_known(F.col("status"), "Empty"),
            "producer_id": when_known(F.col("producer_id")),
            "producer_epoch": when_known(F.col("producer_epoch")),
            "last_epoch": when_known(F.col("last_set.epoch")),
            "previous_id": when_known(F.col("previous_id")),
            # null when nothing tells what was set, and by which coordinator
            "last_epoch_held": when_known(
                F.when(same_coordinator, F.col("last_set.epoch")).when(~same_coordinator, NONE)
            ),
            "previous_id_held": when_known(
                F.when(
                    in_memory, F.coalesce("was.producer_id", F.when(F.col("first_known"), F.lit(NONE)))
                ).when(~in_memory, F.col("previous_producer_id"))
            ),
            "from_position": F.coalesce("record_offset", "stretch_from"),
            "to_position": F.coalesce("record_offset", "stretch_from") + 1,
            "from_time": F.col("requested_at"),
            "to_time": F.col("responded_at"),
        }
    )
    return lake.align(rows, lake.INIT_PRODUCER_ID_STATES)


def init_producer_ids(inits: DataFrame, pairs: DataFrame, met: DataFrame) -> DataFrame:
    """``silver.init_producer_ids``. ``met``: states."""
    own = pairs.where("sure").select("request_id", "record_offset")
    counted = met.groupBy("request_id").agg(
        F.count("*").cast("int").alias("candidates"), F.min(F.col("known").isNotNull()).alias("complete")
    )
    rows = inits.join(own, on="request_id", how="left").join(counted, on="request_id", how="left")
    rows = rows.withColumns(
        {
            "provided_id": F.col("producer_id"),
            "provided_epoch": F.col("producer_epoch"),
            "returned_id": F.col("returned_producer_id"),
            "returned_epoch": F.col("returned_producer_epoch"),
            "candidates": F.coalesce("candidates", F.lit(0)),
            "unknown_reason": _reason(),
        }
    )
    return lake.align(rows, lake.INIT_PRODUCER_IDS)


def _reason() -> Column:
    partition = F.coalesce(F.col("coordinator_partition").cast("string"), F.lit("?"))
    log = F.concat(F.lit(f"{TRANSACTIONS_TOPIC}-"), partition)
    return (
        F.when(F.col("error").isNull(), "the request log has no answer")
        .when(
            F.col("candidates").isNull() & F.col("accepted"),
            F.concat(F.lit("the record of this request is not in the captured log of "), log),
        )
        .when(
            F.col("candidates").isNull(),
            F.concat(F.lit("records of "), log, F.lit(" from around this request were not captured")),
        )
        .when(
            ~F.col("complete"),
            F.concat(F.lit("the id's history before this is not complete in the log of "), log),
        )
    )
