"""What the metadata log says: the incarnations of topics, and the versions of brokers."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fencepost.formats.decode import arrow_type
from fencepost.rebuild.frames import METADATA_TOPIC, OFFSETS_TOPIC, count_if, over, so_far
from fencepost.rebuild.records import internal_records
from fencepost.settings import Settings

_TOPIC, _REMOVED, _PARTITION, _CHANGE, _BROKER = 2, 9, 3, 5, 0
_SAME_LEADER = -2
FIELDS = {
    "name": pa.string(),
    "topic_id": pa.string(),
    "partition_id": pa.int32(),
    "broker_id": pa.int32(),
    "leader": pa.int32(),
    "leader_epoch": pa.int32(),
    "features": arrow_type("RegisterBrokerRecord").field("features").type,
}


class Since(NamedTuple):
    """A release of Kafka, and the first metadata.version that only it and later ones support."""

    release: tuple[int, int]
    metadata_version: int


RELAXED_SINCE = {"consumer": Since((4, 3), 30), "streams": Since((4, 2), 28)}
"""The first release whose groups decide commits by assignment epochs: KIP-1251, and apache/kafka#20760."""

RELEASES = "cluster string, broker_id int, major int, minor int"
"""What the configuration says of brokers' releases."""


def metadata(records: DataFrame) -> DataFrame:
    """The records of ``bronze.records`` about topics, their partitions and brokers, decoded."""
    return internal_records(records, METADATA_TOPIC, FIELDS, (_TOPIC, _REMOVED, _PARTITION, _CHANGE, _BROKER))


def topics(metadata: DataFrame, commit_records: DataFrame) -> DataFrame:
    """Every incarnation of every topic: cluster, topic, topic_id, valid_from_ms, valid_to_ms.

    The interval says which incarnation the name meant: the first one's is open to the past, because its
    creation may only be in a snapshot. Where the metadata log was not captured, stored commits that carry a
    topic id (brokers from 4.1) name it.
    """
    created = created_topics(metadata)
    seen = commit_records.where("topic_id is not null").select("cluster", "topic", "topic_id", "timestamp_ms")
    seen = seen.join(created, on=["cluster", "topic_id"], how="left_anti").select(created.columns)
    found = created.unionByName(seen).groupBy("cluster", "topic", "topic_id")
    rows = found.agg(F.min("timestamp_ms").alias("created_ms"))
    name = over("cluster", "topic", by="created_ms")
    first = F.row_number().over(name) == 1
    return rows.select(
        "cluster",
        "topic",
        "topic_id",
        F.when(~first, F.col("created_ms")).alias("valid_from_ms"),
        F.lead("created_ms").over(name).alias("valid_to_ms"),
    )


def created_topics(metadata: DataFrame) -> DataFrame:
    """The topics whose creation the metadata log has: cluster, topic, topic_id, timestamp_ms."""
    return metadata.where(F.col("record_type") == _TOPIC).select(
        "cluster", F.col("v_name").alias("topic"), F.col("v_topic_id").alias("topic_id"), "timestamp_ms"
    )


def partition_counts(metadata: DataFrame, topic: str = OFFSETS_TOPIC) -> DataFrame:
    """How many partitions a coordinators' topic has: (cluster, partitions)."""
    named = metadata.where((F.col("record_type") == _TOPIC) & (F.col("v_name") == topic))
    parts = metadata.where(F.col("record_type") == _PARTITION)
    joined = parts.join(named.select("cluster", "v_topic_id"), on=["cluster", "v_topic_id"], how="left_semi")
    return joined.groupBy("cluster").agg(F.countDistinct("v_partition_id").cast("int").alias("partitions"))


def leaders(metadata: DataFrame, pairs: DataFrame, topic: str = OFFSETS_TOPIC) -> DataFrame:
    """Who led the logs of coordinators: cluster, coordinator_partition, leader_epoch, ``led_by``.

    Whoever answered a request whose record (``pairs``) is in it; else what the metadata log says, by
    PartitionRegistration.merge: a change raises the leader epoch when it names a leader.
    """
    named = metadata.where((F.col("record_type") == _TOPIC) & (F.col("v_name") == topic))
    rows = metadata.where(F.col("record_type").isin(_PARTITION, _CHANGE)).join(
        named.select("cluster", "v_topic_id").distinct(), on=["cluster", "v_topic_id"], how="left_semi"
    )
    log = over("cluster", "v_topic_id", "v_partition_id")
    names = (F.col("record_type") == _CHANGE) & (F.col("v_leader") != _SAME_LEADER)
    created = F.when(F.col("record_type") == _PARTITION, F.col("v_leader_epoch"))
    raised = F.first(created, True).over(so_far(log)) + count_if(names).over(so_far(log))
    rows = rows.withColumn("leader_epoch", raised).where(names | (F.col("record_type") == _PARTITION))
    elected = rows.where("leader_epoch is not null and v_leader >= 0").select(
        "cluster",
        F.col("v_partition_id").alias("coordinator_partition"),
        F.col("leader_epoch").cast("int").alias("leader_epoch"),
        F.col("v_leader").alias("elected"),
    )
    key = ["cluster", "coordinator_partition", "leader_epoch"]
    answered = (
        pairs.where("sure")
        .groupBy(*key)
        .agg(F.when(F.min("broker_id") == F.max("broker_id"), F.min("broker_id")).alias("answered"))
    )
    joined = elected.dropDuplicates(key).join(answered, on=key, how="full")
    return joined.select(*key, F.coalesce("answered", "elected").alias("led_by"))


def releases(spark: SparkSession, settings: Settings) -> DataFrame:
    """RELEASES, from the configuration."""
    rows = [
        (cluster.name, broker.id, major, minor)
        for cluster in settings.clusters
        for broker in cluster.brokers
        if broker.release is not None
        for major, minor in [broker.release]
    ]
    return spark.createDataFrame(rows, RELEASES)


def broker_rules(metadata: DataFrame, releases: DataFrame) -> DataFrame:
    """Which fencing rule each broker implements, and when: cluster, broker_id, ``consumer_rule``,
    ``streams_rule``, from_ms, to_ms.

    A broker registers at every start with the range of metadata.version it supports, which tells its
    release: ``assignment_epoch`` as RELAXED_SINCE says, ``strict`` before.
    A release in the configuration (RELEASES) takes the place of its registrations.
    """
    version = F.filter("v_features", lambda feature: feature["name"] == "metadata.version")
    highest = F.get(version, F.lit(0))["max_supported_version"]
    started = over("cluster", "broker_id", by="record_offset")
    registered = (
        metadata.where(F.col("record_type") == _BROKER)
        .withColumnRenamed("v_broker_id", "broker_id")
        .join(releases, on=["cluster", "broker_id"], how="left_anti")
        .select(
            "cluster",
            "broker_id",
            *[
                _rule(highest.isNotNull(), highest >= since.metadata_version).alias(f"{group_type}_rule")
                for group_type, since in RELAXED_SINCE.items()
            ],
            F.col("timestamp_ms").alias("from_ms"),
            F.lead("timestamp_ms").over(started).alias("to_ms"),
        )
    )
    release = F.struct("major", "minor")
    told = releases.select(
        "cluster",
        "broker_id",
        *[
            _rule(F.lit(True), release >= F.struct(*map(F.lit, since.release))).alias(f"{group_type}_rule")
            for group_type, since in RELAXED_SINCE.items()
        ],
        F.lit(None).cast("bigint").alias("from_ms"),
        F.lit(None).cast("bigint").alias("to_ms"),
    )
    return registered.unionByName(told)


def _rule(known: Column, relaxed: Column) -> Column:
    return F.when(known, F.when(relaxed, "assignment_epoch").otherwise("strict"))
