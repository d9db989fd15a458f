"""What the modules of the rebuild share: keys, the shape of decoded group records, small column helpers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

OFFSETS_TOPIC = "__consumer_offsets"
METADATA_TOPIC = "__cluster_metadata"
TRANSACTIONS_TOPIC = "__transaction_state"

GROUP = ("cluster", "group_id")
LIFE = (*GROUP, "life")
SPAN = (*LIFE, "stretch")
"""One life of a group inside one stretch of its log: within it no record is missing."""

MEMBER = (*SPAN, "member_id")
MEMBER_LIFE = (*MEMBER, "member_life")

GROUP_RECORD = {
    "cluster": "string",
    "coordinator_partition": "int",
    "leader_epoch": "int",
    "base_offset": "bigint",
    "last_offset": "bigint",
    "record_offset": "bigint",
    "timestamp_ms": "bigint",
    "record_type": "int",
    "group_id": "string",
    "member_id": "string",  # null in records of the group itself
    "tombstone": "boolean",
    "epoch": "int",  # group epoch (3, 11, 17), generation (2), target assignment epoch (6, 12, 20)
    # type 2 only: the members of a classic group; topics is null where the assignment could not be read
    "classic_members": "array<struct<member_id:string,instance_id:string,client_id:string,"
    "topics:array<struct<topic:string,partitions:array<int>>>>>",
    "topology": "array<struct<subtopology_id:string,topics:array<string>>>",  # type 23 only
    "client_id": "string",  # types 5, 10 and 19 only, as instance_id and speaks_classic
    "instance_id": "string",
    "speaks_classic": "boolean",  # a member of a consumer group that still uses the classic protocol
    "member_epoch": "int",  # types 8, 14 and 22 only, as everything below
    "previous_member_epoch": "int",
    "state": "int",
    # partitions of a consumer group, active tasks of a streams group; share groups' partitions have no owner
    "owned": "array<struct<partition_key:string,topic_id:string,subtopology_id:string,partition:int,"
    "pending_revocation:boolean,assignment_epoch:int,recorded:boolean>>",
}
"""One record of ``__consumer_offsets`` that says something about a group, decoded."""


def schema_of(df: DataFrame, columns: dict[str, str]) -> DataFrame:
    """``df`` with exactly these columns and types; fails when one is missing."""
    return df.select([F.col(name).cast(kind).alias(name) for name, kind in columns.items()])


def same(left: DataFrame, right: DataFrame, keys: tuple[str, ...]) -> Column:
    """The condition that ``left`` and ``right`` agree on the keys."""
    return reduce(and_, [left[key] == right[key] for key in keys])


def over(*keys: str, by: str = "record_offset") -> WindowSpec:
    """A window over the keys, in the order of ``by``."""
    return Window.partitionBy(*keys).orderBy(by)


def before(window: WindowSpec) -> WindowSpec:
    """The rows of ``window`` before the current one."""
    return window.rowsBetween(Window.unboundedPreceding, -1)


def so_far(window: WindowSpec) -> WindowSpec:
    """The rows of ``window`` up to and with the current one."""
    return window.rowsBetween(Window.unboundedPreceding, Window.currentRow)


def count_if(condition: Column) -> Column:
    """How many rows meet the condition; an aggregate that is never null over a window of rows."""
    return F.sum(F.when(condition, 1).otherwise(0))


def named(names: Mapping[int, str], number: Column) -> Column:
    """What ``names`` calls the number; null where it has no name for it."""
    pairs = F.create_map(*[F.lit(part) for pair in names.items() for part in pair])
    return F.try_element_at(pairs, number)


def as_time(ms: Column) -> Column:
    """Milliseconds since the epoch as a timestamp."""
    return F.timestamp_millis(ms)


def with_times(rows: DataFrame) -> DataFrame:
    """``from_ms`` and ``to_ms`` as the timestamps ``from_time`` and ``to_time``."""
    return rows.withColumn("from_time", as_time(F.col("from_ms"))).withColumn(
        "to_time", as_time(F.col("to_ms"))
    )


def covers(low: Column, high: Column, at: Column) -> Column:
    """``at`` lies in ``[low, high)``, where a null ``high`` is open."""
    return (low <= at) & (high.isNull() | (at < high))
