"""Finds the coordinator's log that each row of bronze is about; replays are distributed by it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.group_coordinator.records import COMMIT_TYPES, GROUP_TYPES
from fencepost.replay.keys import OFFSETS_TOPIC, coordinator_partition
from fencepost.replay.unreadable import segment_logs

_GROUP_ID = r'"groupId"\s*:\s*"(?P<group>(?:[^"\\]|\\.)*)"'

PLACED_BY = (
    "cluster", "topic", "partition", "timestamp_ms", "is_control", "record_type", "decode_status", "key",
)  # fmt: skip
"""The columns of records that show in which partition a group is."""

Places = dict[tuple[str, str], tuple[int, int]]
"""(cluster, group id) -> (newest timestamp, partition) of records with the group."""


@dataclass(frozen=True)
class Placement:
    """The partition of ``__consumer_offsets`` of each group in all clusters.

    ``seen``: (cluster, group id) -> the partition that has records of the group, only if Kafka would choose
    another one. ``partitions``: cluster -> how many partitions ``__consumer_offsets`` has, if known.
    """

    partitions: Mapping[str, int] = field(default_factory=dict)
    seen: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, partitions: Mapping[str, int], places: Iterable[Places]) -> Placement:
        """The placement from ``seen_places`` of several parts of the evidence."""
        newest: Places = {}
        for each in places:
            for group, place in each.items():
                newest[group] = max(newest.get(group, place), place)
        # every task gets this: places that Kafka would choose anyway are left out
        seen = {
            (cluster, group_id): partition
            for (cluster, group_id), (_, partition) in newest.items()
            if cluster not in partitions or coordinator_partition(group_id, partitions[cluster]) != partition
        }
        return cls(dict(partitions), seen)

    def partition_of(self, cluster: str, group_id: str) -> int | None:
        """The partition of ``__consumer_offsets`` that has a group; None if it is not known."""
        seen = self.seen.get((cluster, group_id))
        if seen is not None:
            return seen
        partitions = self.partitions.get(cluster)
        return None if partitions is None else coordinator_partition(group_id, partitions)


def seen_places(records: pa.Table) -> Places:
    """The partitions in which rows of ``bronze.records`` (PLACED_BY) have groups."""
    types = pa.array(sorted({*GROUP_TYPES, *COMMIT_TYPES}), pa.int32())
    is_of_group = pc.and_(pc.equal(records["topic"], OFFSETS_TOPIC), pc.is_in(records["record_type"], types))
    is_of_group = pc.and_(is_of_group, pc.equal(records["decode_status"], "known"))
    rows = records.filter(pc.and_(is_of_group, pc.invert(records["is_control"])))
    rows = rows.group_by(["cluster", "partition", "key"]).aggregate([("timestamp_ms", "max")])
    places: Places = {}
    for cluster, partition, key, ms in zip(
        rows["cluster"].to_pylist(),
        rows["partition"].to_pylist(),
        rows["key"].to_pylist(),
        rows["timestamp_ms_max"].to_pylist(),
        strict=True,
    ):
        group = (cluster, _group_of(key))
        places[group] = max(places.get(group, (ms, partition)), (ms, partition))
    return places


def _group_of(key: bytes) -> str:
    """Every key begins with the record's type and the group's id (int16 type, int16 length, text)."""
    return key[4 : 4 + int.from_bytes(key[2:4], "big")].decode("utf-8", "replace")


def shards_of_log(rows: pa.Table) -> pa.Array:
    """The shard of each row of ``bronze.batches``, ``bronze.records``, ``bronze.cleaned``; null for other
    logs.
    """
    names = pc.binary_join_element_wise(rows["cluster"], pc.cast(rows["partition"], pa.string()), "/")
    return pc.if_else(pc.equal(rows["topic"], OFFSETS_TOPIC), names, pa.scalar(None, pa.string()))


def shards_of_quarantine(rows: pa.Table) -> pa.Array:
    """The shard of each row of ``bronze.quarantine`` about a segment; null for other rows."""
    logs = segment_logs(rows)
    return pa.array(
        [
            shard_name(cluster, log[1]) if log is not None and log[0] == OFFSETS_TOPIC else None
            for cluster, log in zip(rows["cluster"].to_pylist(), logs, strict=True)
        ],
        pa.string(),
    )


def shards_of_requests(rows: pa.Table, placement: Placement) -> pa.Array:
    """The shard of each row of ``bronze.requests`` of an API that group coordinators answer: that of the
    group which the request names; null if it names none.
    """
    groups = pc.struct_field(pc.extract_regex(rows["request"], _GROUP_ID), "group")
    named = pa.table({"cluster": rows["cluster"], "group": groups})
    shards = {
        (cluster, group): shard_name(cluster, placement.partition_of(cluster, _unescaped(group)))
        for cluster, group in zip(
            *named.group_by(["cluster", "group"]).aggregate([]).to_pydict().values(), strict=True
        )
        if group is not None
    }
    pairs = zip(rows["cluster"].to_pylist(), groups.to_pylist(), strict=True)
    return pa.array([shards.get(pair) for pair in pairs], pa.string())


def shard_name(cluster: str, partition: int | None) -> str:
    """``cluster/partition``; ``cluster/?`` for groups whose partition is not known."""
    return f"{cluster}/{'?' if partition is None else partition}"


def _unescaped(text: str) -> str:
    return str(json.loads(f'"{text}"')) if "\\" in text else text


def shard_of_name(name: str) -> tuple[str, int | None]:
    """The cluster and the partition of a shard_name."""
    cluster, _, partition = name.rpartition("/")
    return cluster, None if partition == "?" else int(partition)
