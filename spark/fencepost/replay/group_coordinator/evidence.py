"""The evidence of one group coordinator's log: rows of bronze, and the records that count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeVar

import numpy as np
import pyarrow as pa

from fencepost.replay.group_coordinator.records import GroupRecord, Record
from fencepost.replay.logs import Log, longs

_Record = TypeVar("_Record", bound=Record)

UnreadLines = Mapping[str, Sequence[int]]
"""Positions in files of request logs."""


@dataclass(slots=True)
class ShardRows:
    """What bronze has of one coordinator's log, by table; only the columns that are read (``spread``) count.

    ``batches``, ``records`` and ``cleaned`` of one partition of ``__consumer_offsets``, ``quarantine`` of its
    segments (others are ignored), ``requests`` of the groups that live there. ``partition`` is None for the
    groups of which it is not known where they live: only ``requests`` has rows then. ``unread_lines``: where
    lines of the cluster's request logs could not be read, by file. ``cut``: the offset below which the log is
    what compaction left.
    """

    cluster: str
    partition: int | None
    batches: pa.Table
    records: pa.Table
    requests: pa.Table
    quarantine: pa.Table
    cleaned: pa.Table
    unread_lines: UnreadLines = field(default_factory=dict)
    cut: int = 0


def placed(records: Iterable[_Record], log: Log) -> list[_Record]:
    """The records whose batch survived elections, in offset order, each once and in its stretch."""
    ordered = sorted(records, key=attrgetter("offset", "leader_epoch"))
    base_offsets = np.fromiter((record.base_offset for record in ordered), dtype=np.int64)
    leader_epochs = np.fromiter((record.leader_epoch for record in ordered), dtype=np.int64)
    places = log.find_all(base_offsets, leader_epochs).tolist()
    stretches = log.stretch.tolist()
    found: list[_Record] = []
    for record, at in zip(ordered, places, strict=True):
        if at >= 0 and not (found and found[-1].offset == record.offset):
            record.stretch, record.based = stretches[at], at < log.based
            found.append(record)
    return found


def placed_rows(rows: pa.Table, log: Log) -> pa.Table:
    """``placed`` of records that are rows: with the columns ``stretch`` and ``based``."""
    offset, leader_epoch = longs(rows["offset"]), longs(rows["leader_epoch"])
    order = np.lexsort((leader_epoch, offset))
    places = log.find_all(longs(rows["base_offset"])[order], leader_epoch[order])
    order, places = order[places >= 0], places[places >= 0]
    offset = offset[order]
    first = np.flatnonzero(np.concatenate([[True], offset[1:] != offset[:-1]])[: len(order)])
    order, places = order[first], places[first]
    found = rows.take(pa.array(order)).append_column("stretch", pa.array(log.stretch[places], pa.int64()))
    return found.append_column("based", pa.array(places < log.based, pa.bool_()))


def without_compacted(records: Sequence[GroupRecord], log: Log) -> list[GroupRecord]:
    """The records, and of those that compaction left, as one batch, the last of each key that has a value."""
    if log.base is None:
        return list(records)
    newest = {_key(record): record.offset for record in records if record.based}
    found = []
    for record in records:
        if record.based:
            if record.tombstone or newest[_key(record)] != record.offset:
                continue
            record.last_offset = log.base.to
            if log.base.ms is not None:
                record.timestamp_ms = log.base.ms
        found.append(record)
    return found


def _key(record: GroupRecord) -> tuple[str, int, str | None]:
    return (record.group_id, record.type, record.member_id)
