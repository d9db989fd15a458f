"""The evidence of one group coordinator's log: its rows of bronze, and its records placed in the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeVar

import numpy as np
import pyarrow as pa

from fencepost.replay.coordinator_logs import ONLY, Incarnation
from fencepost.replay.group_coordinator.records import GroupRecord, Record
from fencepost.replay.line_times import LineTimes
from fencepost.replay.log_ends import NO_END, LogEnd
from fencepost.replay.logs import Log, longs
from fencepost.replay.unread_lines import UnreadLines

_Record = TypeVar("_Record", bound=Record)


@dataclass(slots=True)
class ShardRows:
    """Bronze's rows about one coordinator's log, by table, with the columns that ``spread`` reads.

    ``batches``, ``records`` and ``cleaned`` are of one partition of ``__consumer_offsets``, ``quarantine``
    of its segments (other rows are ignored), ``requests`` of the groups that it has. ``partition`` is None
    for groups whose partition is not known: then only ``requests`` has rows. ``unread_lines``: lines of the
    cluster's request logs that could not be read. ``cut``: the offset below which the log is compacted.
    ``line_times``: what times of lines are worth. ``incarnation``: the one of
    ``__consumer_offsets`` whose log it is. ``moved``: the cluster's groups of which several partitions have
    records or may. ``end``: the first offset that was never written, None if it is not known.
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
    line_times: LineTimes = field(default_factory=LineTimes)
    incarnation: Incarnation = ONLY
    moved: frozenset[str] = frozenset()
    end: LogEnd = NO_END


def placed(records: Iterable[_Record], log: Log) -> list[_Record]:
    """The records whose batch survived elections, in offset order, each once, with ``stretch`` and ``based``
    set.
    """
    ordered = sorted(records, key=attrgetter("offset", "leader_epoch"))
    base_offsets = np.fromiter((record.base_offset for record in ordered), dtype=np.int64)
    leader_epochs = np.fromiter((record.leader_epoch for record in ordered), dtype=np.int64)
    places = log.find_all(base_offsets, leader_epochs).tolist()
    stretches = log.stretch.tolist()
    survivors: list[_Record] = []
    for record, at in zip(ordered, places, strict=True):
        if at >= 0 and not (survivors and survivors[-1].offset == record.offset):
            record.stretch, record.based = stretches[at], at < log.based
            survivors.append(record)
    return survivors


def placed_rows(rows: pa.Table, log: Log) -> pa.Table:
    """``placed`` for records that are rows: adds the columns ``stretch`` and ``based``."""
    offset, leader_epoch = longs(rows["offset"]), longs(rows["leader_epoch"])
    order = np.lexsort((leader_epoch, offset))
    places = log.find_all(longs(rows["base_offset"])[order], leader_epoch[order])
    order, places = order[places >= 0], places[places >= 0]
    offset = offset[order]
    first = np.flatnonzero(np.concatenate([[True], offset[1:] != offset[:-1]])[: len(order)])
    order, places = order[first], places[first]
    survivors = rows.take(pa.array(order)).append_column("stretch", pa.array(log.stretch[places], pa.int64()))
    return survivors.append_column("based", pa.array(places < log.based, pa.bool_()))


def without_compacted(records: Sequence[GroupRecord], log: Log) -> list[GroupRecord]:
    """The records after compaction of the log's compacted beginning: there only the last record of each key
    stays, if it has a value, and all of them count as one batch.
    """
    if log.base is None:
        return list(records)
    newest = {_key(record): record.offset for record in records if record.based}
    kept = []
    for record in records:
        if record.based:
            if record.tombstone or newest[_key(record)] != record.offset:
                continue
            record.last_offset = log.base.to
            if log.base.ms is not None:
                record.timestamp_ms = log.base.ms
        kept.append(record)
    return kept


def _key(record: GroupRecord) -> tuple[str, int, str | None]:
    return (record.group_id, record.type, record.member_id)
