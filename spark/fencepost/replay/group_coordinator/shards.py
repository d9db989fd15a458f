"""Finds the coordinator's log that each row of bronze is about; replays are distributed by it.

The log is a partition of ``__consumer_offsets``; if that was deleted and created again, of one incarnation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.coordinator_logs import ONLY, UNKNOWN, CoordinatorLogs, Incarnation
from fencepost.replay.entities import distinct
from fencepost.replay.group_coordinator.records import COMMIT_TYPES, GROUP_TYPES
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.placement import UNTOLD, Placement, Places
from fencepost.replay.requests import requested_ms
from fencepost.replay.unreadable import segment_logs

_GROUP_ID = r'"groupId"\s*:\s*"(?P<group>(?:[^"\\]|\\.)*)"'

PLACED_BY = (
    "cluster", "topic", "topic_id", "partition", "timestamp_ms", "is_control", "record_type",
    "value_version", "decode_status", "key",
)  # fmt: skip
"""The columns of records that show in which partition a group is."""


def seen_places(records: pa.Table) -> Places:
    """The partitions in which rows of ``bronze.records`` (PLACED_BY) have groups. Tombstones do not count: a
    coordinator that lost a group to another partition still writes them.
    """
    types = pa.array(sorted({*GROUP_TYPES, *COMMIT_TYPES}), pa.int32())
    is_of_group = pc.and_(pc.equal(records["topic"], OFFSETS_TOPIC), pc.is_in(records["record_type"], types))
    is_of_group = pc.and_(is_of_group, pc.equal(records["decode_status"], "known"))
    is_of_group = pc.and_(is_of_group, pc.is_valid(records["value_version"]))
    rows = records.filter(pc.and_(is_of_group, pc.invert(records["is_control"])))
    rows = rows.group_by(["cluster", "topic_id", "partition", "key"]).aggregate([("timestamp_ms", "max")])
    places: Places = {}
    names = ("cluster", "topic_id", "partition", "key", "timestamp_ms_max")
    for cluster, topic_id, partition, key, ms in zip(
        *(rows[name].to_pylist() for name in names), strict=True
    ):
        place = (cluster, topic_id, _group_of(key), partition)
        places[place] = max(places.get(place, ms), ms)
    return places


def _group_of(key: bytes) -> str:
    """Every key begins with the record's type and the group's id (int16 type, int16 length, text)."""
    return key[4 : 4 + int.from_bytes(key[2:4], "big")].decode("utf-8", "replace")


def shards_of_log(rows: pa.Table, placement: Placement | None = None) -> pa.Array:
    """The shard of each row of ``bronze.batches``, ``bronze.records``, ``bronze.cleaned``; null for other
    logs, and for a checkpoint of which it is not known to which incarnation it belongs.
    """
    names = pc.binary_join_element_wise(rows["cluster"], pc.cast(rows["partition"], pa.string()), "/")
    if placement is not None and placement.logs:
        names = _shards_of_incarnations(rows, placement.logs)
    return pc.if_else(pc.equal(rows["topic"], OFFSETS_TOPIC), names, pa.scalar(None, pa.string()))


def _shards_of_incarnations(rows: pa.Table, logs: Mapping[str, CoordinatorLogs]) -> pa.Array:
    are_checkpoints = "cleaned_to" in rows.column_names

    def shard(cluster: str, topic_id: str | None, partition: int) -> str | None:
        if cluster not in logs:
            return shard_name(cluster, partition)
        if topic_id is None and are_checkpoints:
            return None
        return shard_name(cluster, partition, logs[cluster].of(topic_id).topic_id)

    places, number = distinct([rows[name] for name in ("cluster", "topic_id", "partition")])
    return pa.array([shard(*place) for place in places], pa.string()).take(number)


def shards_of_quarantine(
    rows: pa.Table, placement: Placement | None = None, incarnation: int = 0
) -> pa.Array:
    """The shard of each row of ``bronze.quarantine`` about a segment; null for other rows.

    A row does not say of which incarnation its segment is: if there are several it counts for all of them,
    and this returns the shard of one.
    """
    logs = {} if placement is None else placement.logs

    def shard(cluster: str, log: tuple[str, int, int] | None) -> str | None:
        if log is None or log[0] != OFFSETS_TOPIC:
            return None
        topic_ids = [each.topic_id for each in logs[cluster].incarnations] if cluster in logs else [None]
        return shard_name(cluster, log[1], topic_ids[incarnation]) if incarnation < len(topic_ids) else None

    pairs = zip(rows["cluster"].to_pylist(), segment_logs(rows), strict=True)
    return pa.array([shard(*pair) for pair in pairs], pa.string())


def shards_of_requests(rows: pa.Table, placement: Placement) -> pa.Array:
    """The shard of each row of ``bronze.requests`` of an API that group coordinators answer: that of the
    group which the request names; null if it names none.
    """
    groups = pc.struct_field(pc.extract_regex(rows["request"], _GROUP_ID), "group")
    timed = placement.timed
    named, number = distinct([rows["cluster"], groups])
    unescaped = [None if group is None else _unescaped(group) for _, group in named]
    shards = [
        None if group is None or cluster in timed else shard_name(cluster, *placement.home_of(cluster, group))
        for (cluster, _), group in zip(named, unescaped, strict=True)
    ]
    found = pa.array(shards, pa.string()).take(number)
    if not timed:
        return found
    times = (rows["broker_id"], requested_ms(rows), rows["logged_at_ms"])
    of_rows = zip(found.to_pylist(), number.to_pylist(), *(each.to_pylist() for each in times), strict=True)
    return pa.array(
        [
            shard_name(named[at][0], *placement.home_of(named[at][0], group, *time))
            if named[at][0] in timed and (group := unescaped[at]) is not None
            else shard
            for shard, at, *time in of_rows
        ],
        pa.string(),
    )


def shard_name(cluster: str, partition: int | None, topic_id: str | None = None) -> str:
    """``cluster/partition``, with ``@topic id`` if the topic has several incarnations. The partition is ``?``
    for groups whose partition is not known; so is the topic id if it is not known which incarnation decided a
    request.
    """
    log = f"{cluster}/{UNTOLD if partition is None else partition}"
    return log if topic_id is None else f"{log}@{topic_id}"


def _unescaped(text: str) -> str:
    return str(json.loads(f'"{text}"')) if "\\" in text else text


def shard_of_name(name: str) -> tuple[str, int | None, str | None]:
    """The cluster, the partition and the topic id of a shard_name."""
    cluster, _, log = name.rpartition("/")
    partition, _, topic_id = log.partition("@")
    return cluster, None if partition == UNTOLD else int(partition), topic_id or None


def incarnation_of(name: str, logs: Mapping[str, CoordinatorLogs]) -> Incarnation:
    """The incarnation of the log of a shard_name; ``logs``: cluster -> all of them."""
    cluster, partition, topic_id = shard_of_name(name)
    if partition is None:
        return UNKNOWN if topic_id == UNTOLD else ONLY
    return logs[cluster].of(topic_id) if cluster in logs else ONLY


def shards_of_lines(rows: pa.Table, placement: Placement) -> pa.Array:
    """The log of the group of each line of a log in text, with the columns cluster, group_id, broker_id and
    logged_at_ms; null without a group or a time.
    """
    columns = (rows[name].to_pylist() for name in ("cluster", "group_id", "broker_id", "logged_at_ms"))
    return pa.array(
        [
            None
            if group is None or ms is None
            else shard_name(cluster, *placement.home_of(cluster, group, broker_id, ms, ms))
            for cluster, group, broker_id, ms in zip(*columns, strict=True)
        ],
        pa.string(),
    )
