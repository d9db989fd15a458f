"""The records of ``__share_group_state``: what share coordinators stored of each share partition
(ShareSnapshotValue, ShareUpdateValue).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.replay.keys import SHARE_STATE_TOPIC
from fencepost.replay.logs import Batches, Log, by_log
from fencepost.replay.unreadable import damaged_batches, unread_by_log

SNAPSHOT, UPDATE = 0, 1
_NAMES = {SNAPSHOT: "ShareSnapshot", UPDATE: "ShareUpdate"}

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4
"""Delivery states that are stored (RecordState)."""

RECORD_COLUMNS = (
    "cluster", "topic", "topic_id", "partition", "base_offset", "leader_epoch", "record_offset",
    "timestamp_ms", "is_control", "record_type", "decode_status", "key", "value", "file", "position",
)  # fmt: skip
BATCH_COLUMNS = (
    "cluster", "topic", "topic_id", "partition", "base_offset", "last_offset", "leader_epoch", "record_count",
    "max_timestamp_ms", "file", "position",
)  # fmt: skip

LogKey = tuple[str, str | None, int]
"""Cluster, topic id and partition of a log of ``__share_group_state``."""

SharePartitionKey = tuple[str, str, int]
"""Group, topic id and partition."""


class StateBatch(NamedTuple):
    """A range of offsets, its delivery state, and how often it had been delivered."""

    first_offset: int
    last_offset: int
    state: int
    delivery_count: int


class StateRecord(NamedTuple):
    """One record: at ``offset`` of its ``log``. ``state_epoch`` is None in an update."""

    log: LogKey
    offset: int
    is_snapshot: bool
    state_epoch: int | None
    leader_epoch: int
    start_offset: int
    batches: tuple[StateBatch, ...]
    timestamp_ms: int
    file: str
    position: int


class StateLogs(NamedTuple):
    """``survivors``: by log the base offset and leader epoch of each batch that no election removed;
    ``begun``: by log the times, in ms, at which it goes on after a record is missing.
    """

    survivors: Mapping[LogKey, frozenset[tuple[int, int]]]
    begun: Mapping[LogKey, tuple[int, ...]]


def state_logs(batches: pa.Table, records: pa.Table, quarantine: pa.Table) -> StateLogs:
    """From rows of bronze about ``__share_group_state`` (BATCH_COLUMNS; RECORD_COLUMNS but key and value)."""
    names = ("cluster", "topic_id", "partition")
    unread, of_records = unread_by_log(quarantine), by_log(records, *names)
    survivors, begun = {}, {}
    for key, rows in by_log(batches, *names).items():
        own = of_records.get(key, records.slice(0, 0))
        log = Log(
            Batches.of(rows),
            damaged=damaged_batches(own) | _without_records(rows, own),
            unread=unread.get((key[0], SHARE_STATE_TOPIC, key[2]), ()),
        )
        survivors[key] = frozenset(zip(log.base_offset.tolist(), log.leader_epoch.tolist(), strict=True))
        begun[key] = tuple(each.first_ms for each in log.stretches if each.number or each.from_offset)
    return StateLogs(survivors, begun)


def _without_records(batches: pa.Table, records: pa.Table) -> set[tuple[int, int]]:
    """The batches of which not all records were captured: an earlier release read their headers only."""
    found = Counter(zip(records["base_offset"].to_pylist(), records["leader_epoch"].to_pylist(), strict=True))
    columns = (batches[name].to_pylist() for name in ("base_offset", "leader_epoch", "record_count"))
    return {(base, epoch) for base, epoch, count in zip(*columns, strict=True) if found[base, epoch] < count}


def group_ids(records: pa.Table) -> pa.Array:
    """The group of each record; null of those without a key that can be read."""
    keys = [decode(name, "key", records["key"]).values.field("group_id") for name in _NAMES.values()]
    return pc.coalesce(*keys)


def state_records(records: pa.Table, logs: StateLogs) -> dict[SharePartitionKey, list[StateRecord]]:
    """The records of one cluster (RECORD_COLUMNS), by share partition, in the order of their log."""
    found: dict[SharePartitionKey, dict[tuple[LogKey, int], StateRecord]] = defaultdict(dict)
    is_known = pc.and_(pc.equal(records["decode_status"], "known"), pc.is_valid(records["value"]))
    known = records.filter(pc.and_(is_known, pc.invert(records["is_control"])))
    for kind, name in _NAMES.items():
        rows = known.filter(pc.equal(known["record_type"], kind))
        keys = decode(name, "key", rows["key"]).values.to_pylist()
        values = decode(name, "value", rows["value"]).values.to_pylist()
        columns = ("cluster", "topic_id", "partition", "base_offset", "leader_epoch", "record_offset",
                   "timestamp_ms", "file", "position")  # fmt: skip
        places = zip(*(rows[column].to_pylist() for column in columns), strict=True)
        for place, key, value in zip(places, keys, values, strict=True):
            cluster, topic_id, partition, base_offset, epoch, offset, *rest = place
            log: LogKey = (cluster, topic_id, partition)
            if (base_offset, epoch) in logs.survivors.get(log, ()):
                of = found[key["group_id"], key["topic_id"], key["partition"]]
                of[log, offset] = StateRecord(log, offset, *_read(value, is_snapshot=kind == SNAPSHOT), *rest)
    return {key: _in_order(of.values()) for key, of in found.items()}


def _read(value: Mapping[str, Any], *, is_snapshot: bool) -> tuple[Any, ...]:
    """The fields of a StateRecord that its value has."""
    batches = tuple(
        StateBatch(each["first_offset"], each["last_offset"], each["delivery_state"], each["delivery_count"])
        for each in value["state_batches"]
    )
    state_epoch = value["state_epoch"] if is_snapshot else None
    return is_snapshot, state_epoch, value["leader_epoch"], value["start_offset"], batches


def _in_order(records: Iterable[StateRecord]) -> list[StateRecord]:
    """In the order of their log; if the topic was created again, one log after the other."""
    records = list(records)
    begins: dict[LogKey, int] = {}
    for each in records:
        begins[each.log] = min(begins.get(each.log, each.timestamp_ms), each.timestamp_ms)
    return sorted(records, key=lambda each: (begins[each.log], each.log[1] or "", each.log[2], each.offset))
