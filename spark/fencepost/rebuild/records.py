"""Bronze records decoded into the columns that the rebuild reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from fencepost.formats.decode import arrow_type, decode
from fencepost.rebuild.frames import (
    GROUP_RECORD,
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    schema_of,
)
from fencepost.rebuild.keys import TASK, ZERO_ID, key_of
from fencepost.rebuild.lives import GROUP_TYPES, STREAMS_ASSIGNMENT

COMMIT_TYPES = (0, 1)
COMMIT_RECORD = {
    "cluster": "string",
    "coordinator_partition": "int",
    "leader_epoch": "int",
    "base_offset": "bigint",
    "last_offset": "bigint",
    "record_offset": "bigint",
    "timestamp_ms": "bigint",
    "producer_id": "bigint",
    "producer_epoch": "int",
    "is_transactional": "boolean",
    "group_id": "string",
    "topic": "string",
    "topic_id": "string",  # null where the broker wrote none
    "partition": "int",
    "committed_offset": "bigint",
    "committed_leader_epoch": "int",
    "tombstone": "boolean",  # the stored offset is deleted
}
"""One stored offset commit, or its deletion, decoded."""

PLACE = {
    "cluster": pa.string(),
    "partition": pa.int32(),
    "leader_epoch": pa.int32(),
    "base_offset": pa.int64(),
    "last_offset": pa.int64(),
    "record_offset": pa.int64(),
    "timestamp_ms": pa.int64(),
    "producer_id": pa.int64(),
    "producer_epoch": pa.int32(),
    "is_transactional": pa.bool_(),
    "record_type": pa.int32(),
}
_ASSIGNED = arrow_type("ConsumerGroupCurrentMemberAssignment").field("assigned_partitions").type
_TASKS = arrow_type("StreamsGroupCurrentMemberAssignment").field("active_tasks").type
_SUBTOPOLOGIES = arrow_type("StreamsGroupTopology").field("subtopologies").type
_CLASSIC_METADATA = arrow_type("ConsumerGroupMemberMetadata").field("classic_member_metadata").type
_CLASSIC_TOPICS = arrow_type("ConsumerProtocolAssignment").field("assigned_partitions").type
_CLASSIC_MEMBER = pa.struct(
    {
        "member_id": pa.string(),
        "group_instance_id": pa.string(),
        "client_id": pa.string(),
        "topics": _CLASSIC_TOPICS,
    }
)
GROUP_FIELDS = {
    "group_id": pa.string(),
    "group": pa.string(),
    "member_id": pa.string(),
    "epoch": pa.int32(),
    "generation": pa.int32(),
    "assignment_epoch": pa.int32(),
    "members": pa.list_(_CLASSIC_MEMBER),
    "subtopologies": _SUBTOPOLOGIES,
    "classic_member_metadata": _CLASSIC_METADATA,
    "client_id": pa.string(),
    "instance_id": pa.string(),
    "member_epoch": pa.int32(),
    "previous_member_epoch": pa.int32(),
    "state": pa.int8(),
    "assigned_partitions": _ASSIGNED,
    "partitions_pending_revocation": _ASSIGNED,
    "active_tasks": _TASKS,
    "active_tasks_pending_revocation": _TASKS,
}
# Members of a share group share what is assigned to them: nobody owns it.
_UNOWNED = {"ShareGroupCurrentMemberAssignment": "assigned_partitions"}
_COMMIT_FIELDS = {
    "group": pa.string(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "leader_epoch": pa.int32(),
    "topic_id": pa.string(),
}


def group_records(records: DataFrame) -> DataFrame:
    """The records of ``bronze.records`` that say something about a group, as GROUP_RECORD."""
    return group_columns(_decoded(_known(records, OFFSETS_TOPIC, GROUP_TYPES), GROUP_FIELDS))


def group_columns(rows: DataFrame) -> DataFrame:
    """Decoded group records (the place of the record, and GROUP_FIELDS prefixed ``v_``) as GROUP_RECORD.

    ``owned`` is what is assigned or pending revocation. A partition's assignment epoch is the record's where
    it has one for each partition, else the member epoch (0 when that is negative), as the coordinator reads
    it (Utils.assignmentFromTopicPartitions): records of brokers before 4.3 carry none.
    """
    partitions = _owned("v_assigned_partitions", "v_partitions_pending_revocation", _of_topic)
    tasks = _owned("v_active_tasks", "v_active_tasks_pending_revocation", _of_subtopology)
    nothing = F.array().cast(GROUP_RECORD["owned"])
    streams = F.col("record_type") == STREAMS_ASSIGNMENT
    owned = F.coalesce(F.when(streams, tasks).otherwise(partitions), nothing)
    rows = rows.select(
        F.col("partition").alias("coordinator_partition"),
        F.coalesce("v_group_id", "v_group").alias("group_id"),
        F.col("v_member_id").alias("member_id"),
        F.coalesce("v_epoch", "v_generation", "v_assignment_epoch").alias("epoch"),
        F.col("v_members").alias("classic_members"),
        F.transform("v_subtopologies", _source_topics).alias("topology"),
        F.col("v_classic_member_metadata").isNotNull().alias("speaks_classic"),
        *[
            F.col(f"v_{name}").alias(name)
            for name in ("client_id", "instance_id", "member_epoch", "previous_member_epoch", "state")
        ],
        F.when(F.col("v_member_epoch").isNotNull(), owned).alias("owned"),
        *[F.col(name) for name in (*PLACE, "tombstone") if name != "partition"],
    )
    return schema_of(rows, GROUP_RECORD)


def commit_records(records: DataFrame) -> DataFrame:
    """The offset commits of ``bronze.records``, their tombstones too, as COMMIT_RECORD."""
    rows = _decoded(_known(records, OFFSETS_TOPIC, COMMIT_TYPES), _COMMIT_FIELDS)
    rows = rows.select(
        F.col("partition").alias("coordinator_partition"),
        F.col("v_group").alias("group_id"),
        F.col("v_topic").alias("topic"),
        F.nullif("v_topic_id", F.lit(ZERO_ID)).alias("topic_id"),
        F.col("v_partition").alias("partition"),
        F.col("v_offset").alias("committed_offset"),
        F.coalesce("v_leader_epoch", F.lit(-1)).alias("committed_leader_epoch"),
        *[F.col(name) for name in (*PLACE, "tombstone") if name not in ("partition", "record_type")],
    )
    return schema_of(rows, COMMIT_RECORD)


def internal_records(
    records: DataFrame, topic: str, fields: dict[str, pa.DataType], types: Iterable[int]
) -> DataFrame:
    """Records of an internal topic of these types: ``PLACE``, ``tombstone`` and the ``fields`` of key and
    value, prefixed ``v_``.
    """
    return _decoded(_known(records, topic, types), fields)


def undecodable_batches(records: DataFrame) -> DataFrame:
    """The batches of coordinators' topics with a record that could not be read, or of no known key.

    (cluster, topic, partition, base_offset, leader_epoch). A type that nobody knows yet is not one of them:
    no key of a table here can be hidden in it. Of ``__consumer_offsets`` only records about groups count.
    """
    unreadable = F.col("decode_status").isin("malformed", "unknown_version")
    of_groups = F.col("record_type").isNull() | F.col("record_type").isin(*GROUP_TYPES)
    relevant = (F.col("topic") == TRANSACTIONS_TOPIC) | ((F.col("topic") == OFFSETS_TOPIC) & of_groups)
    place = ("cluster", "topic", "partition", "base_offset", "leader_epoch")
    return records.where(unreadable & relevant).select(*place).distinct()


def _known(records: DataFrame, topic: str, types: Iterable[int]) -> DataFrame:
    wanted = (F.col("topic") == topic) & F.col("record_type").isin(*types)
    return records.where(wanted & (F.col("decode_status") == "known") & ~F.col("is_control"))


Element = Callable[[Column, Column], tuple[Column, ...]]
"""The first columns of an owned thing, from what the record lists and the partition."""


def _owned(assigned: str, pending: str, element: Element) -> Column:
    """What is assigned and, behind it, what is pending revocation and not assigned again."""
    kept = _each(assigned, element, pending=False)
    given_up = F.filter(
        _each(pending, element, pending=True),
        lambda p: ~F.array_contains(F.transform(kept, lambda a: a["partition_key"]), p["partition_key"]),
    )
    # the nested filter costs what both lists' lengths multiply to, and the second list is nearly always empty
    return F.when(F.size(pending) == 0, kept).otherwise(F.concat(kept, given_up))


def _each(column: str, element: Element, *, pending: bool) -> Column:
    member_epoch = F.greatest(F.col("v_member_epoch"), F.lit(0))

    def one(given: Column) -> Column:
        epochs, partitions = given["assignment_epochs"], given["partitions"]
        complete = F.coalesce(F.size(epochs) == F.size(partitions), F.lit(False))
        return F.transform(
            partitions,
            lambda partition, at: F.struct(
                *element(given, partition),
                partition.alias("partition"),
                F.lit(pending).alias("pending_revocation"),
                F.when(complete, F.get(epochs, at)).otherwise(member_epoch).alias("assignment_epoch"),
                complete.alias("recorded"),
            ),
        )

    return F.flatten(F.transform(column, one))


def _of_topic(given: Column, partition: Column) -> tuple[Column, ...]:
    topic_id = given["topic_id"]
    return (
        key_of(topic_id, partition).alias("partition_key"),
        topic_id.alias("topic_id"),
        F.lit(None).cast("string").alias("subtopology_id"),
    )


def _of_subtopology(given: Column, partition: Column) -> tuple[Column, ...]:
    subtopology_id = given["subtopology_id"]
    return (
        key_of(F.concat(F.lit(TASK), subtopology_id), partition).alias("partition_key"),
        F.lit(None).cast("string").alias("topic_id"),
        subtopology_id.alias("subtopology_id"),
    )


def _source_topics(subtopology: Column) -> Column:
    """The topics whose offsets a subtopology's active tasks commit: StreamsTopology.sourceTopicMap."""
    repartition = F.transform(subtopology["repartition_source_topics"], lambda topic: topic["name"])
    return F.struct(
        subtopology["subtopology_id"].alias("subtopology_id"),
        F.concat(subtopology["source_topics"], repartition).alias("topics"),
    )


def _classic_members(members: pa.ListArray, protocol_type: pa.StringArray) -> pa.ListArray:
    """Members with the topics they were assigned; only consumers' protocol type assigns partitions."""
    each = members.flatten()
    consumers = pc.equal(protocol_type, "consumer").take(pc.list_parent_indices(members))
    assignment = each.field("assignment")
    assigned = pc.and_(consumers, pc.greater(pc.binary_length(assignment), 0))
    decoded = decode(
        "ConsumerProtocolAssignment",
        "value",
        pc.if_else(assigned, assignment, pa.scalar(None, assignment.type)),
    )
    nothing = pa.scalar([], _CLASSIC_TOPICS)
    topics = pc.if_else(assigned, decoded.values.field("assigned_partitions"), nothing)
    fields = [each.field(field.name) for field in _CLASSIC_MEMBER if field.name != "topics"]
    flat = pa.StructArray.from_arrays([*fields, topics], fields=list(_CLASSIC_MEMBER))
    return pa.ListArray.from_arrays(members.offsets, flat, mask=pc.is_null(members))


def _decoded(rows: DataFrame, fields: dict[str, pa.DataType]) -> DataFrame:
    """``PLACE``, ``tombstone`` and every field found in key or value, prefixed ``v_``."""
    schema = pa.schema(
        [*PLACE.items(), ("tombstone", pa.bool_()), *((f"v_{name}", kind) for name, kind in fields.items())]
    )
    chosen = rows.select(*PLACE, "record_name", "key", "value")
    return chosen.mapInArrow(partial(_decode_batches, schema, fields), from_arrow_schema(schema))


def _decode_batches(
    schema: pa.Schema, fields: dict[str, pa.DataType], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        names = batch.column("record_name")
        for name in pc.unique(names).to_pylist():
            yield _decode_one(schema, fields, batch.filter(pc.equal(names, name)), name)


def _decode_one(
    schema: pa.Schema, fields: dict[str, pa.DataType], batch: pa.RecordBatch, name: str
) -> pa.RecordBatch:
    found: dict[str, pa.Array] = {}
    for part in ("value", "key"):
        try:
            decoded = decode(name, part, batch.column(part))
        except KeyError:  # records of the metadata log have no key
            continue
        if decoded.codes.any():
            at = batch.column("record_offset")[int(decoded.codes.argmax())]
            raise ValueError(
                f"{name} at offset {at}: captured as readable, its {part} is not. Capture again."
            )
        values = decoded.values
        found.update(zip((field.name for field in values.type), values.flatten(), strict=True))
    if name in _UNOWNED:
        del found[_UNOWNED[name]]
    if name == "GroupMetadata":
        found["members"] = _classic_members(found["members"], found["protocol_type"])
    columns = [batch.column(place).cast(kind) for place, kind in PLACE.items()]
    columns.append(pc.is_null(batch.column("value")))
    columns += [_as(found.get(field), kind, len(batch)) for field, kind in fields.items()]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _as(column: pa.Array | None, kind: pa.DataType, rows: int) -> pa.Array:
    if column is None:
        return pa.nulls(rows, kind)
    return column.cast(kind)
