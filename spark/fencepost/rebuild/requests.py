"""Commit requests of the request log, one row per request and partition."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fencepost.formats.errors import error_names
from fencepost.rebuild.classic import with_topic_ids
from fencepost.rebuild.frames import as_time, named, same
from fencepost.rebuild.keys import ZERO_ID, topic_key

OFFSET_COMMIT, TXN_OFFSET_COMMIT = 8, 28
FENCING = (
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "STALE_MEMBER_EPOCH",
    "FENCED_MEMBER_EPOCH",
    "FENCED_INSTANCE_ID",
    "REBALANCE_IN_PROGRESS",
    "GROUP_ID_NOT_FOUND",
)
"""The errors that mean: the coordinator knows the group and refuses this member or epoch."""

ELSEWHERE = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
"""The errors of a broker that does not have the group's state, and looked at none."""

_REQUEST = """groupId string, memberId string, groupInstanceId string, transactionalId string,
generationIdOrMemberEpoch int, generationId int, producerId bigint, producerEpoch int,
topics array<struct<name:string, topicId:string,
    partitions:array<struct<partitionIndex:int, committedOffset:bigint, committedLeaderEpoch:int>>>>"""
_RESPONSE = """topics array<struct<name:string, topicId:string,
    partitions:array<struct<partitionIndex:int, errorCode:int>>>>"""


def commits(requests: DataFrame, topics: DataFrame) -> DataFrame:
    """One row per OffsetCommit or TxnOffsetCommit line of ``bronze.requests`` and partition.

    Columns: those of ``silver.offset_commits`` that the line and the names of topics give, ``accepted`` and
    ``fenced`` (null when the line has no answer), ``leader_epoch`` as committed, ``requested_ms`` and
    ``responded_ms``, ``has_instance``. A partition named twice in one request counts once, as its last
    mention.
    """
    lines = requests.where(F.col("api_key").isin(OFFSET_COMMIT, TXN_OFFSET_COMMIT))
    lines = parsed(lines, _REQUEST, _RESPONSE)
    asked = _asked(lines)
    answers = _answers(lines)
    key = ("request_id", "topic_ref", "partition")
    rows = asked.join(answers, on=same(asked, answers, key), how="left").drop(
        *[answers[name] for name in key]
    )
    return _decided(_named(rows, topics))


def parsed(lines: DataFrame, request: str, response: str) -> DataFrame:
    """Adds to rows of ``bronze.requests``: ``request_id``, ``requested_ms``, ``responded_ms``, and what was
    ``sent`` and the ``answer``, as structs of the given DDL.
    """
    return lines.withColumns(
        {
            "request_id": F.sha2(F.concat_ws("|", "cluster", "broker_id", "line_digest"), 256),
            "sent": F.from_json("request", request),
            "answer": F.from_json("response", response),
            "requested_ms": F.floor(F.col("logged_at_ms") - F.col("total_time_ms")).cast("bigint"),
            "responded_ms": F.col("logged_at_ms"),
        }
    )


def error_name(code: Column) -> Column:
    """Kafka's name of an error code; null without one."""
    return F.coalesce(named(error_names(), code), F.concat(F.lit("ERROR_"), code.cast("string")))


def _asked(lines: DataFrame) -> DataFrame:
    rows = lines.drop("request", "response", "answer").select(
        "*", F.posexplode("sent.topics").alias("at", "t")
    )
    rows = rows.select("*", F.posexplode("t.partitions").alias("partition_at", "p"))
    rows = rows.withColumn("topic_ref", _reference(F.col("t"))).withColumn(
        "partition", F.col("p.partitionIndex")
    )
    mentions = Window.partitionBy("request_id", "topic_ref", "partition")
    newest = F.row_number().over(mentions.orderBy(F.desc("at"), F.desc("partition_at")))
    return rows.withColumn("newest", newest).where("newest = 1").drop("newest", "at", "partition_at")


def _answers(lines: DataFrame) -> DataFrame:
    rows = lines.select("request_id", F.explode("answer.topics").alias("t"))
    rows = rows.select("request_id", "t", F.explode("t.partitions").alias("p"))
    return rows.groupBy(
        "request_id", _reference(F.col("t")).alias("topic_ref"), F.col("p.partitionIndex").alias("partition")
    ).agg(F.last("p.errorCode").alias("error_code"))


def _reference(topic: Column) -> Column:
    """How a request names a topic: by id from OffsetCommit v10 and TxnOffsetCommit v6 on, else by name."""
    topic_id = F.nullif(topic["topicId"], F.lit(ZERO_ID))
    return F.when(topic_id.isNotNull(), F.concat(F.lit("id:"), topic_id)).otherwise(
        F.concat(F.lit("name:"), topic["name"])
    )


def _named(rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Adds ``topic`` and ``topic_id``: the one asked for, and the other from the topic's incarnations."""
    rows = rows.withColumn("asked_name", F.col("t.name")).withColumn(
        "asked_id", F.nullif(F.col("t.topicId"), F.lit(ZERO_ID))
    )
    by_id = topics.select(
        F.col("cluster").alias("i_cluster"), F.col("topic_id").alias("i_id"), F.col("topic").alias("i_name")
    ).dropDuplicates(["i_cluster", "i_id"])
    rows = rows.join(
        F.broadcast(by_id),
        on=(F.col("cluster") == F.col("i_cluster")) & (F.col("asked_id") == F.col("i_id")),
        how="left",
    )
    rows = rows.withColumn("topic", F.col("asked_name"))
    rows = with_topic_ids(rows, topics, "logged_at_ms")
    return rows.withColumn("topic", F.coalesce("asked_name", "i_name")).withColumn(
        "topic_id", F.coalesce("asked_id", "topic_id")
    )


def _decided(rows: DataFrame) -> DataFrame:
    rows = rows.withColumn("broker_error", error_name(F.col("error_code")))
    transactional = F.col("api_key") == TXN_OFFSET_COMMIT
    epoch = F.coalesce("sent.generationIdOrMemberEpoch", "sent.generationId", F.lit(-1))
    return rows.select(
        "cluster",
        F.sha2(F.concat_ws("|", "request_id", "topic_ref", "partition"), 256).alias("commit_id"),
        "request_id",
        "broker_id",
        F.col("sent.groupId").alias("group_id"),
        F.coalesce("sent.memberId", F.lit("")).alias("member_id"),
        F.col("sent.groupInstanceId").alias("instance_id"),
        "client_id",
        "correlation_id",
        "api_key",
        "api_version",
        "topic",
        "topic_id",
        "partition",
        topic_key(F.col("topic_id"), F.col("topic"), F.col("partition")).alias("partition_key"),
        F.col("p.committedOffset").alias("committed_offset"),
        F.coalesce("p.committedLeaderEpoch", F.lit(-1)).alias("committed_leader_epoch"),
        epoch.alias("client_epoch"),
        transactional.alias("is_transactional"),
        F.when(transactional, F.col("sent.transactionalId")).alias("transactional_id"),
        F.when(transactional, F.col("sent.producerId")).alias("producer_id"),
        F.when(transactional, F.col("sent.producerEpoch")).alias("producer_epoch"),
        "requested_ms",
        "responded_ms",
        as_time(F.col("requested_ms")).alias("requested_at"),
        as_time(F.col("logged_at_ms")).alias("responded_at"),
        "broker_error",
        (F.col("broker_error") == "NONE").alias("accepted"),
        F.col("broker_error").isin(*FENCING).alias("fenced"),
        "file",
        "position",
    )
