"""Requests of producers, and of coordinators and brokers on their behalf."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild.frames import as_time
from fencepost.rebuild.keys import ZERO_ID
from fencepost.rebuild.requests import error_name, parsed

PRODUCE, INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, COMMIT = 0, 22, 24, 25, 26, 27, 28
APIS = (PRODUCE, INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, COMMIT)

STALE_END = "INVALID_TXN_STATE"
"""What EndTxn answers from transaction version 2 on, when the epoch's transaction was ended by another."""

FENCED = ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING")
"""The errors that mean: this producer epoch, or producer id, is no longer current."""

BROKERS_OWN = "AddPartitionsManager-client-"
"""What the client id of a broker begins with that asks a coordinator for a producer."""

_PARTITIONS = "array<struct<name:string, topicId:string, partitions:array<int>>>"
_REQUEST = f"""transactionalId string, producerId bigint, producerEpoch int,
groupId string, committed boolean,
v3AndBelowTransactionalId string, v3AndBelowProducerId bigint, v3AndBelowProducerEpoch int,
v3AndBelowTopics {_PARTITIONS},
transactions array<struct<transactionalId:string, producerId:bigint, producerEpoch:int, verifyOnly:boolean,
    topics:{_PARTITIONS}>>,
markers array<struct<producerId:bigint, producerEpoch:int, transactionResult:boolean, coordinatorEpoch:int,
    topics:array<struct<name:string, partitionIndexes:array<int>>>>>,
topicData array<struct<name:string, topicId:string, partitionData:array<struct<index:int>>>>,
topics array<struct<name:string, topicId:string, partitions:array<struct<partitionIndex:int>>>>"""
_RESULTS = """array<struct<name:string, resultsByPartition:array<
    struct<partitionIndex:int, partitionErrorCode:int>>>>"""
_RESPONSE = f"""errorCode int, producerId bigint, producerEpoch int,
resultsByTopicV3AndBelow {_RESULTS},
resultsByTransaction array<struct<transactionalId:string, topicResults:{_RESULTS}>>,
markers array<struct<producerId:bigint, topics:array<
    struct<name:string, partitions:array<struct<partitionIndex:int, errorCode:int>>>>>>,
responses array<struct<name:string, topicId:string, partitionResponses:array<
    struct<index:int, errorCode:int, baseOffset:bigint>>>>,
topics array<struct<name:string, topicId:string, partitions:array<
    struct<partitionIndex:int, errorCode:int>>>>"""
_SENT = {
    "transactional_id": "string", "producer_id": "bigint", "producer_epoch": "int", "verify_only": "boolean",
    "result": "string", "coordinator_epoch": "int", "topic": "string", "topic_id": "string",
    "partition": "int", "error_code": "int", "base_offset": "bigint", "returned_producer_id": "bigint",
    "returned_producer_epoch": "int",
}  # fmt: skip


def requests(lines: DataFrame, names: DataFrame) -> DataFrame:
    """Rows of ``bronze.requests`` as ``silver.producer_requests``, one per thing named and answered.

    Adds ``requested_ms`` and ``responded_ms``.
    ``names`` (topics.topics) gives the name of a topic that a request calls by its id.
    """
    lines = parsed(lines.where(F.col("api_key").isin(*APIS)), _REQUEST, _RESPONSE).drop("request", "response")
    readers = (_simple, _added, _offsets_added, _markers, _produced, _stored)
    rows = _with_names(reduce(DataFrame.unionByName, [read(lines) for read in readers]), names)
    return rows.withColumns(
        {
            "error": error_name(F.col("error_code")),
            "requested_at": as_time(F.col("requested_ms")),
            "responded_at": as_time(F.col("responded_ms")),
        }
    ).drop("error_code")


def producer_requests(asked: DataFrame) -> DataFrame:
    """``silver.producer_requests``."""
    return lake.align(asked, lake.PRODUCER_REQUESTS)


def _rows(lines: DataFrame, **given: Column) -> DataFrame:
    kept = [name for name in lines.columns if name not in ("sent", "answer", "one", "two", "three")]
    columns = [given.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in _SENT.items()]
    return lines.select(*kept, *columns)


def _simple(lines: DataFrame) -> DataFrame:
    """InitProducerId and EndTxn: one thing named, one answer."""
    of_init = F.col("api_key") == INIT
    ended = F.when(F.col("sent.committed"), "COMMIT").otherwise("ABORT")
    return _rows(
        lines.where(F.col("api_key").isin(INIT, END)),
        transactional_id=F.col("sent.transactionalId"),
        producer_id=F.coalesce("sent.producerId", F.lit(-1)),
        producer_epoch=F.coalesce("sent.producerEpoch", F.lit(-1)),
        result=F.when(~of_init, ended),
        error_code=F.col("answer.errorCode"),
        returned_producer_id=F.col("answer.producerId"),
        returned_producer_epoch=F.col("answer.producerEpoch"),
    )


def _offsets_added(lines: DataFrame) -> DataFrame:
    return _rows(
        lines.where(F.col("api_key") == ADD_OFFSETS),
        transactional_id=F.col("sent.transactionalId"),
        producer_id=F.col("sent.producerId"),
        producer_epoch=F.col("sent.producerEpoch"),
        error_code=F.col("answer.errorCode"),
    )


def _added(lines: DataFrame) -> DataFrame:
    """AddPartitionsToTxn: by one producer up to version 3, by a broker for several from version 4 on."""
    lines = lines.where(F.col("api_key") == ADD_PARTITIONS)
    one = F.struct(
        F.col("sent.v3AndBelowTransactionalId").alias("transactionalId"),
        F.col("sent.v3AndBelowProducerId").alias("producerId"),
        F.col("sent.v3AndBelowProducerEpoch").alias("producerEpoch"),
        F.lit(False).alias("verifyOnly"),
        F.col("sent.v3AndBelowTopics").alias("topics"),
    )
    older = F.col("sent.v3AndBelowTransactionalId").isNotNull() & (F.col("api_version") <= 3)
    lines = lines.withColumn(
        "one", F.explode(F.when(older, F.array(one)).otherwise(F.col("sent.transactions")))
    )
    answered = F.filter(
        "answer.resultsByTransaction", lambda a: a["transactionalId"] == F.col("one.transactionalId")
    )
    results = F.when(older, F.col("answer.resultsByTopicV3AndBelow")).otherwise(
        F.get(answered, F.lit(0))["topicResults"]
    )
    lines = lines.withColumn("three", results)
    lines = lines.withColumn("two", F.explode_outer("one.topics"))
    lines = lines.withColumn("at", F.explode_outer("two.partitions"))
    code = _answer_of(F.col("three"), F.col("two"), "resultsByPartition", "partitionIndex")
    return _rows(
        lines,
        transactional_id=F.col("one.transactionalId"),
        producer_id=F.col("one.producerId"),
        producer_epoch=F.col("one.producerEpoch"),
        verify_only=F.coalesce("one.verifyOnly", F.lit(False)),
        topic=F.col("two.name"),
        partition=F.col("at"),
        error_code=F.coalesce(code["partitionErrorCode"], F.nullif("answer.errorCode", F.lit(0))),
    ).drop("at")


def _markers(lines: DataFrame) -> DataFrame:
    lines = lines.where(F.col("api_key") == MARKERS)
    lines = lines.withColumn("one", F.explode("sent.markers"))
    lines = lines.withColumn("two", F.explode("one.topics"))
    lines = lines.withColumn("at", F.explode("two.partitionIndexes"))
    answered = F.get(
        F.filter("answer.markers", lambda a: a["producerId"] == F.col("one.producerId")), F.lit(0)
    )
    code = _answer_of(answered["topics"], F.col("two"), "partitions", "partitionIndex")
    return _rows(
        lines,
        producer_id=F.col("one.producerId"),
        producer_epoch=F.col("one.producerEpoch"),
        result=F.when(F.col("one.transactionResult"), "COMMIT").otherwise("ABORT"),
        coordinator_epoch=F.col("one.coordinatorEpoch"),
        topic=F.col("two.name"),
        partition=F.col("at"),
        error_code=code["errorCode"],
    ).drop("at")


def _produced(lines: DataFrame) -> DataFrame:
    """Produce: the batches themselves are not logged, so neither is their producer."""
    lines = lines.where(F.col("api_key") == PRODUCE)
    lines = lines.withColumn("two", F.explode("sent.topicData"))
    lines = lines.withColumn("at", F.explode("two.partitionData.index"))
    code = _answer_of(F.col("answer.responses"), F.col("two"), "partitionResponses", "index", ids=True)
    return _rows(
        lines,
        transactional_id=F.col("sent.transactionalId"),
        topic=F.col("two.name"),
        topic_id=F.nullif("two.topicId", F.lit(ZERO_ID)),
        partition=F.col("at"),
        error_code=code["errorCode"],
        base_offset=F.when(code["errorCode"] == 0, code["baseOffset"]),
    ).drop("at")


def _stored(lines: DataFrame) -> DataFrame:
    """TxnOffsetCommit: the first error stands for the request."""
    lines = lines.where(F.col("api_key") == COMMIT)
    codes = F.flatten(F.transform("answer.topics", lambda topic: topic["partitions"]["errorCode"]))
    first = F.get(F.filter(codes, lambda code: code != 0), F.lit(0))
    return _rows(
        lines,
        transactional_id=F.col("sent.transactionalId"),
        producer_id=F.col("sent.producerId"),
        producer_epoch=F.col("sent.producerEpoch"),
        error_code=F.when(codes.isNotNull(), F.coalesce(first, F.lit(0))),
    )


def _answer_of(topics: Column, topic: Column, partitions: str, index: str, *, ids: bool = False) -> Column:
    """What is answered for the partition in column ``at`` of ``topic``; null without an answer."""

    def same(answered: Column) -> Column:
        named = answered["name"].eqNullSafe(topic["name"])
        return named & answered["topicId"].eqNullSafe(topic["topicId"]) if ids else named

    of_topic = F.flatten(F.transform(F.filter(topics, same), lambda answered: answered[partitions]))
    return F.get(F.filter(of_topic, lambda answered: answered[index] == F.col("at")), F.lit(0))


def _with_names(rows: DataFrame, names: DataFrame) -> DataFrame:
    """The names of topics that a request calls by their ids (Produce from version 13 on)."""
    by_id = names.groupBy("cluster", "topic_id").agg(F.min("topic").alias("its_name"))
    rows = rows.join(F.broadcast(by_id), on=["cluster", "topic_id"], how="left")
    return rows.withColumn("topic", F.coalesce("topic", "its_name")).drop("its_name", "topic_id")
