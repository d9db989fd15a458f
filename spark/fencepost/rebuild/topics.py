"""What the metadata log says: the incarnations of topics, and the versions of brokers."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fencepost.formats.decode import arrow_type
from fencepost.rebuild.frames import OFFSETS_TOPIC, over
from fencepost.rebuild.records import metadata_records

_TOPIC, _REMOVED, _PARTITION, _BROKER = 2, 9, 3, 0
FIELDS = {
    "name": pa.string(),
    "topic_id": pa.string(),
    "partition_id": pa.int32(),
    "broker_id": pa.int32(),
    "features": arrow_type("RegisterBrokerRecord").field("features").type,
}
# 4.3-IV0: the first release whose consumer groups decide by assignment epochs (KIP-1251)
RELAXED_METADATA_VERSION = 30


def metadata(records: DataFrame) -> DataFrame:
    """The records of ``bronze.records`` about topics, their partitions and brokers, decoded."""
    return metadata_records(records, FIELDS, (_TOPIC, _REMOVED, _PARTITION, _BROKER))


def topics(metadata: DataFrame, commit_records: DataFrame) -> DataFrame:
    """Every incarnation of every topic: cluster, topic, topic_id, valid_from_ms, valid_to_ms.

    The interval says which incarnation the name meant: the first one's is open to the past, because its
    creation may only be in a snapshot. Where the metadata log was not captured, stored commits that carry a
    topic id (brokers from 4.1) name it.
    """
    created = metadata.where(F.col("record_type") == _TOPIC).select(
        "cluster", F.col("v_name").alias("topic"), F.col("v_topic_id").alias("topic_id"), "timestamp_ms"
    )
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


def offsets_partitions(metadata: DataFrame) -> DataFrame:
    """How many partitions ``__consumer_offsets`` has: (cluster, partitions)."""
    named = metadata.where((F.col("record_type") == _TOPIC) & (F.col("v_name") == OFFSETS_TOPIC))
    parts = metadata.where(F.col("record_type") == _PARTITION)
    joined = parts.join(named.select("cluster", "v_topic_id"), on=["cluster", "v_topic_id"], how="left_semi")
    return joined.groupBy("cluster").agg(F.countDistinct("v_partition_id").cast("int").alias("partitions"))


def broker_rules(metadata: DataFrame) -> DataFrame:
    """Which fencing rule each broker implements, and when: cluster, broker_id, rule, from_ms, to_ms.

    A broker registers at every start with the range of metadata.version it supports, which tells its release:
    ``assignment_epoch`` from 4.3 on, ``strict`` before.
    """
    version = F.filter("v_features", lambda feature: feature["name"] == "metadata.version")
    highest = F.get(version, F.lit(0))["max_supported_version"]
    started = over("cluster", "broker_id", by="record_offset")
    return (
        metadata.where(F.col("record_type") == _BROKER)
        .withColumnRenamed("v_broker_id", "broker_id")
        .withColumn("highest", highest)
        .select(
            "cluster",
            "broker_id",
            F.when(F.col("highest") >= RELAXED_METADATA_VERSION, "assignment_epoch")
            .when(F.col("highest").isNotNull(), "strict")
            .alias("rule"),
            F.col("timestamp_ms").alias("from_ms"),
            F.lead("timestamp_ms").over(started).alias("to_ms"),
        )
    )
