"""Where in the group's history each commit request was decided."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fencepost.rebuild.frames import GROUP, before
from fencepost.rebuild.requests import ELSEWHERE

_KEY = (*GROUP, "partition", "committed_offset", "committed_leader_epoch", "producer_id", "producer_epoch")

PAIR = (
    "cluster", "group_id", "request_id", "commit_id", "broker_id", "coordinator_partition", "leader_epoch",
    "record_offset", "stretch", "sure",
)  # fmt: skip

CANDIDATES = {
    "cluster": "string",
    "group_id": "string",
    "request_id": "string",
    "candidate": "int",
    "state_no": "bigint",  # the last record of the group that had been written; 0 for none
    "stretch": "int",  # the stretch of the log in which the request was decided
    "leader_epoch": "int",  # and the leader epoch
}
"""One row per request and state it may have met, numbered from 0."""


def coordinators(
    commits: DataFrame, events: DataFrame, stored: DataFrame, partitions: DataFrame
) -> DataFrame:
    """``commits`` with ``coordinator_partition``: where the group's records are, else where Kafka would put
    them.

    ``partitions`` (cluster, partitions) is how many ``__consumer_offsets`` has; null without it and without
    records.
    """
    seen = (
        events.select(*GROUP, "coordinator_partition", "timestamp_ms")
        .unionByName(stored.select(*GROUP, "coordinator_partition", "timestamp_ms"))
        .groupBy(*GROUP)
        .agg(F.max_by("coordinator_partition", "timestamp_ms").alias("seen_in"))
    )
    groups = commits.select(*GROUP).distinct().join(partitions, on="cluster", how="left")
    placed = groups.join(seen, on=list(GROUP), how="left")
    return commits.join(
        placed.select(
            *GROUP,
            F.coalesce("seen_in", group_partition(F.col("group_id"), F.col("partitions"))).alias(
                "coordinator_partition"
            ),
        ),
        on=list(GROUP),
        how="left",
    )


def group_partition(group_id: Column, partitions: Column) -> Column:
    """The partition of ``__consumer_offsets`` that Kafka keeps a group in: Java's String.hashCode, made
    positive.
    """
    digits = F.hex(F.encode(group_id, "UTF-16BE"))
    units = F.when(F.length(digits) > 0, F.sequence(F.lit(0), F.length(digits) - 4, F.lit(4)))

    def step(code: Column, at: Column) -> Column:
        unit = F.conv(F.substring(digits, at + 1, F.lit(4)), 16, 10).cast("bigint")
        return (code * 31 + unit).bitwiseAND(F.lit(0xFFFFFFFF))

    code = F.coalesce(F.aggregate(units, F.lit(0).cast("bigint"), step), F.lit(0))
    signed = F.when(code >= 2**31, code - 2**32).otherwise(code)
    # Kafka's Utils.abs: the one int without a positive twin counts as 0
    positive = F.when(signed == -(2**31), 0).otherwise(F.abs(signed))
    return (positive % partitions).cast("int")


def record_pairs(commits: DataFrame, stored: DataFrame, tolerance_ms: int) -> DataFrame:
    """Accepted commits with the records they may have written: the columns of PAIR.

    A record fits when it is the same group's, topic's, partition's, offset, leader epoch (and producer's id
    and epoch) and was written between arrival and answer. ``sure`` when the commit and the record fit nobody
    else. Identical commits that compete take identical records in order, if there are as many of each; if
    records are missing nothing is said; if requests are missing every pair is given.
    """
    asked = commits.where("accepted").withColumns(
        {name: F.coalesce(name, F.lit(-1)) for name in ("producer_id", "producer_epoch")}
    )
    found = stored.withColumnsRenamed({"topic": "r_topic", "topic_id": "r_topic_id"}).withColumns(
        {
            name: F.when(F.col("is_transactional"), F.col(name)).otherwise(-1)
            for name in ("producer_id", "producer_epoch")
        }
    )
    columns = [
        *_KEY,
        "r_topic",
        "r_topic_id",
        "coordinator_partition",
        "record_offset",
        "timestamp_ms",
        "stretch",
        "leader_epoch",
    ]
    from_ms, to_ms = F.col("requested_ms") - tolerance_ms, F.col("responded_ms") + tolerance_ms
    # idle consumers commit one offset again and again: by the minute, or each would meet all of them
    minutes = F.explode(F.sequence(_minute(from_ms), _minute(to_ms)))
    asked = asked.drop("coordinator_partition").withColumn("minute", minutes)
    found = found.select(*columns, _minute(F.col("timestamp_ms")).alias("minute"))
    pairs = asked.join(found, on=[*_KEY, "minute"], how="inner").drop("minute")
    same_topic = F.coalesce(F.col("topic") == F.col("r_topic"), F.col("topic_id") == F.col("r_topic_id"))
    in_time = F.col("timestamp_ms").between(from_ms, to_ms)
    return _choose(pairs.where(same_topic & in_time))


def _minute(ms: Column) -> Column:
    return F.floor(ms / 60_000)


def _choose(pairs: DataFrame) -> DataFrame:
    key = Window.partitionBy(*_KEY, "r_topic")
    record = ("cluster", "coordinator_partition", "record_offset")
    # ordered by where the log allows it first: no broker's clock can be wrong about that
    pairs = (
        pairs.withColumn("low", F.min("record_offset").over(Window.partitionBy("commit_id")))
        .withColumn("of_commit", F.count("*").over(Window.partitionBy("commit_id")))
        .withColumn("of_record", F.count("*").over(Window.partitionBy(*record)))
        .withColumn(
            "commit_no",
            F.dense_rank().over(key.orderBy("low", "responded_ms", "file", "position", "commit_id")),
        )
        .withColumn("record_no", F.dense_rank().over(key.orderBy("record_offset")))
        .withColumn("commits", F.max("commit_no").over(key))
        .withColumn("records", F.max("record_no").over(key))
    )
    alone = (F.col("of_commit") == 1) & (F.col("of_record") == 1)
    in_order = (F.col("commits") == F.col("records")) & (F.col("commit_no") == F.col("record_no"))
    pairs = pairs.withColumn("sure", alone | in_order)
    settled = F.max("sure").over(Window.partitionBy("commit_id"))
    keep = F.col("sure") | (~F.col("settled") & (F.col("commits") < F.col("records")))
    return pairs.withColumn("settled", settled).where(keep).select(*PAIR)


def accepted_candidates(pairs: DataFrame, events: DataFrame) -> DataFrame:
    """CANDIDATES of requests with an accepted commit: the state before the request's own records.

    All records of one request are appended together, so one commit whose record is sure places the request.
    """
    sure = (
        pairs.where("sure")
        .groupBy("cluster", "group_id", "request_id")
        .agg(F.min(F.struct("record_offset", "stretch", "leader_epoch")).alias("at"))
    )
    doubtful = pairs.join(sure.select("request_id"), on="request_id", how="left_anti")
    one = doubtful.groupBy("request_id").agg(F.min("commit_id").alias("commit_id"))
    doubtful = doubtful.join(one, on=["request_id", "commit_id"], how="left_semi")
    places = sure.select("cluster", "group_id", "request_id", "at.*").unionByName(
        doubtful.select("cluster", "group_id", "request_id", "record_offset", "stretch", "leader_epoch")
    )
    log = Window.partitionBy(*GROUP).orderBy("record_offset")
    known = events.select(*GROUP, "record_offset", "state_no")
    rows = places.unionByName(known, allowMissingColumns=True).withColumn(
        "state_no", F.coalesce(F.max("state_no").over(before(log)), F.lit(0)).cast("bigint")
    )
    rows = rows.where("request_id is not null")
    number = F.row_number().over(Window.partitionBy("request_id").orderBy("record_offset")) - 1
    return rows.withColumn("candidate", number).select(*CANDIDATES)


def terms(batches: DataFrame, leaders: DataFrame) -> DataFrame:
    """The coordinators' logs cut where a stretch or a leader epoch begins: in each piece one clock wrote.

    Columns: cluster, coordinator_partition, stretch, leader_epoch, ``led_by`` (broker id; null when not
    known), ``begins`` (offset), ``first_ms`` and ``last_ms`` (newest timestamps of its first and last batch).
    ``leaders``: as ``topics.leaders`` gives them.
    """
    pieces = (
        batches.where("base_to is null")
        .groupBy("cluster", "coordinator_partition", "stretch", "leader_epoch")
        .agg(
            F.min("base_offset").alias("begins"),
            F.min_by("max_timestamp_ms", "base_offset").alias("first_ms"),
            F.max_by("max_timestamp_ms", "base_offset").alias("last_ms"),
        )
    )
    return pieces.join(leaders, on=["cluster", "coordinator_partition", "leader_epoch"], how="left")


def refused_candidates(
    commits: DataFrame, events: DataFrame, pieces: DataFrame, stretches: DataFrame, tolerance_ms: int
) -> DataFrame:
    """CANDIDATES of requests without an accepted commit: every state of the group from arrival to answer.

    Times are only compared where one broker's clock wrote both: in the terms of the broker that answered.
    None for a request that was decided where the coordinator's log has a hole, or is not there, and for one
    that a broker answered which was not the group's coordinator.
    """
    # without an answer nothing tells whether it was accepted; another broker's answer tells of no state
    accepted = F.max(F.coalesce(F.col("accepted") | F.col("broker_error").isin(*ELSEWHERE), F.lit(True)))
    asked = (
        commits.groupBy("cluster", "group_id", "request_id", "broker_id", "coordinator_partition")
        .agg(
            accepted.alias("accepted"),
            F.min("requested_ms").alias("requested_ms"),
            F.max("responded_ms").alias("responded_ms"),
        )
        .where("not accepted")
        .select(
            *GROUP,
            "request_id",
            "broker_id",
            "coordinator_partition",
            (F.col("requested_ms") - tolerance_ms).alias("start_ms"),
            (F.col("responded_ms") + tolerance_ms).alias("end_ms"),
        )
    )
    asked = _in_terms(asked, pieces, stretches)
    states = events.where("step or ends or classic_members is not null").select(
        *GROUP,
        "stretch",
        "leader_epoch",
        F.col("state_no").alias("at_no"),
        F.col("timestamp_ms").alias("at_ms"),
    )
    return _numbered(_state_before(asked, events), states)


def _in_terms(asked: DataFrame, pieces: DataFrame, stretches: DataFrame) -> DataFrame:
    """Each request with every term of its broker in which it may have been decided.

    A term is out when the broker's next one had begun before the request, or the one before went on after it.
    Nothing is given when a hole beside a term may hold another term, or records, that the request met.
    """
    newest = stretches.groupBy("cluster", "coordinator_partition").agg(
        F.max("stretch").alias("last_stretch"), F.max_by("stretch_to", "stretch").isNotNull().alias("torn")
    )
    around = pieces.join(newest, on=["cluster", "coordinator_partition"], how="inner")
    rows = asked.join(F.broadcast(around), on=["cluster", "coordinator_partition"], how="inner")
    rows = rows.where(F.coalesce(F.col("led_by") == F.col("broker_id"), F.lit(True)))
    own = Window.partitionBy("request_id").orderBy("begins")
    after = F.coalesce(F.lead("stretch").over(own), F.col("last_stretch") + F.col("torn").cast("int"))
    rows = rows.withColumns(
        {
            "after_hole": F.coalesce(F.lag("stretch").over(own), F.lit(0)) != F.col("stretch"),
            "before_hole": after != F.col("stretch"),
            "followed": F.min("first_ms").over(own.rowsBetween(1, Window.unboundedFollowing)),
            "preceded": F.max("last_ms").over(before(own)),
        }
    )
    out = (F.col("followed") < F.col("start_ms")) | (F.col("preceded") > F.col("end_ms"))
    rows = rows.where(~F.coalesce(out, F.lit(False)))
    hidden = (F.col("after_hole") & (F.col("first_ms") >= F.col("start_ms"))) | (
        F.col("before_hole") & (F.col("last_ms") <= F.col("end_ms"))
    )
    rows = rows.withColumn("hidden", F.max(hidden).over(Window.partitionBy("request_id")))
    return rows.where("not hidden").select([*asked.columns, "stretch", "leader_epoch", "begins"])


def _state_before(asked: DataFrame, events: DataFrame) -> DataFrame:
    """Adds ``low_no``: the newest record of the group from before the window, or from before the term; 0 for
    none.
    """
    term = Window.partitionBy(*GROUP, "stretch", "leader_epoch").orderBy("start_ms", "order")
    log = Window.partitionBy(*GROUP).orderBy("begins", "order")
    known = events.select(
        *GROUP, "stretch", "leader_epoch", F.col("timestamp_ms").alias("start_ms"), "state_no",
        F.col("record_offset").alias("begins"), F.lit(1).alias("order"),
    )  # fmt: skip
    rows = asked.withColumn("order", F.lit(0)).unionByName(known, allowMissingColumns=True)
    newest = F.coalesce(F.max("state_no").over(before(term)), F.max("state_no").over(before(log)), F.lit(0))
    rows = rows.withColumn("low_no", newest)
    return rows.where("request_id is not null").drop("order", "state_no")


def _numbered(asked: DataFrame, states: DataFrame) -> DataFrame:
    term = ("stretch", "leader_epoch")
    inside = asked.join(states, on=[*GROUP, *term], how="inner").where(
        F.col("at_ms").between(F.col("start_ms"), F.col("end_ms"))
    )
    first = inside.groupBy("request_id", *term).agg((F.min("at_no") - 1).alias("first_no"))
    start = asked.join(first, on=["request_id", *term], how="left").withColumn(
        "state_no", F.coalesce("first_no", "low_no").cast("bigint")
    )
    columns = ("cluster", "group_id", "request_id", "stretch", "leader_epoch")
    rows = start.select(*columns, "state_no").unionByName(
        inside.select(*columns, F.col("at_no").alias("state_no"))
    )
    number = F.row_number().over(Window.partitionBy("request_id").orderBy("state_no")) - 1
    return rows.distinct().withColumn("candidate", number).select(*CANDIDATES)
