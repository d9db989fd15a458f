"""Committed offsets in ``__consumer_offsets``, each with the records before and after it of the same key."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fencepost.formats.decode import decode
from fencepost.formats.large_values import as_written
from fencepost.replay.arrow_slices import filtered
from fencepost.replay.compaction import checkpoints_of
from fencepost.replay.coordinator_logs import CoordinatorLogs, Incarnation
from fencepost.replay.entities import numbered_rows, numbered_values
from fencepost.replay.keys import OFFSETS_TOPIC, ZERO_ID
from fencepost.replay.logs import Batches, Log, Longs, by_log, is_rising, longs
from fencepost.replay.unreadable import damaged_batches, missing_end, unread_by_log
from fencepost.tables import Table

STORED = Table(
    "stored",
    "One row per committed offset that is stored. topic_id is null for a commit by name, leader_epoch -1 for "
    "none; coordinator_epoch is the leader epoch of its batch, term_end_ms the time of the last record of "
    "that epoch. follows is the offset of the record before it that stored one for the same key, null where "
    "there is none or a hole may hide it. removed is the offset of its tombstone; removed_ms is the time of "
    "that, null where a hole may hide another record before it; current is null where a hole may hide what "
    "came after, and false in a log that was deleted. log_topic_id is of __consumer_offsets; later_log is "
    "the same, but null for its first incarnation.",
    {
        "cluster": "string", "later_log": "string", "commit_partition": "int", "record_offset": "bigint",
        "log_topic_id": "string", "coordinator_epoch": "int", "term_end_ms": "bigint",
        "ms": "bigint", "group_id": "string", "topic": "string", "partition": "int", "offset": "bigint",
        "leader_epoch": "int", "topic_id": "string", "is_transactional": "boolean", "broker_id": "int",
        "file": "string", "position": "bigint", "follows": "bigint", "removed": "bigint",
        "removed_ms": "bigint",
        "current": "boolean",
    },
    ("cluster", "later_log", "commit_partition", "record_offset"),
)  # fmt: skip

_OFFSET_COMMIT, _NAME = 1, "OffsetCommit"
_ABORT, _COMMIT = 0, 1
RECORD_TYPES = frozenset({_ABORT, _COMMIT, _OFFSET_COMMIT, None})
"""The types of ``bronze.records`` that are read: commits, transaction markers, and records of no
known key.
"""
_LOG = ("cluster", "topic", "topic_id", "partition")
_KEY = ("group_id", "topic", "partition")
RECORD_COLUMNS = (
    *_LOG, "leader_epoch", "base_offset", "record_offset", "timestamp_ms", "producer_id", "is_transactional",
    "is_control", "record_type", "decode_status", "key", "value", "value_size", "broker_id", "file",
    "position",
)  # fmt: skip
"""The columns of ``bronze.records`` that are read."""
_OF_RECORD = {
    "cluster": "cluster", "log_topic_id": "topic_id", "commit_partition": "partition",
    "record_offset": "record_offset",
    "coordinator_epoch": "leader_epoch", "ms": "timestamp_ms", "broker_id": "broker_id", "file": "file",
    "position": "position",
}  # fmt: skip
"""By columns of STORED, the columns of ``bronze.records`` that they are copies of."""
Flags = NDArray[np.bool_]


def stored_offsets(
    batches: pa.Table,
    records: pa.Table,
    quarantine: pa.Table,
    cleaned: pa.Table,
    coordinators: Mapping[str, CoordinatorLogs],
) -> pa.Table:
    """Rows of STORED, from rows of bronze about whole partitions of ``__consumer_offsets``. Offsets of
    transactions that were not committed are left out.

    ``coordinators``: cluster -> the incarnations of the topic.
    """
    of_batches = by_log(batches, *_LOG)
    unread_pieces = unread_by_log(quarantine)
    parts = [STORED.arrow_schema.empty_table()]
    for key, rows in sorted(by_log(records, *_LOG).items(), key=str):
        cluster, _, topic_id, partition = key
        incarnation = coordinators.get(cluster, CoordinatorLogs()).of(topic_id)
        unread = list(unread_pieces.get((cluster, OFFSETS_TOPIC, partition), ()))
        if incarnation.misses_end_of(partition):
            unread.append(missing_end(OFFSETS_TOPIC, partition))
        log = Log(
            Batches.of(of_batches.get(key, batches.slice(0, 0))),
            damaged=damaged_batches(rows, {_OFFSET_COMMIT}),
            cleaned_to=checkpoints_of(cleaned, (cluster, OFFSETS_TOPIC, topic_id, partition)),
            unread=unread,
        )
        parts.append(_of_log(log, rows, incarnation))
    return pa.concat_tables(parts)


def _of_log(log: Log, records: pa.Table, incarnation: Incarnation) -> pa.Table:
    places = log.find_all(longs(records["base_offset"]), longs(records["leader_epoch"]))
    survived = filtered(records, places >= 0)
    if not is_rising(longs(survived["record_offset"])):
        survived = survived.sort_by("record_offset")
    written = _decoded(survived)
    rows = filtered(written, _committed(survived, written))
    if not rows.num_rows:
        return STORED.arrow_schema.empty_table()
    offsets, is_tombstone = longs(rows["record_offset"]), _flags(rows["tombstone"])
    before, after = _neighbours(rows)
    follows = (before >= 0) & ~is_tombstone[before] & _in_one(log, offsets[before], offsets)
    removed = (after >= 0) & is_tombstone[after]
    in_sight = removed & _in_one(log, offsets, offsets[after])
    last = log.stretches[-1] if log.stretches else None
    # a hole may hide a later record of the same key
    hidden = (after < 0) & (last is None or last.to_offset is not None or offsets < last.from_offset)
    is_current = pa.array(after < 0, mask=hidden)
    if incarnation.is_gone:
        is_current = pa.repeat(False, rows.num_rows)
    computed = {
        "later_log": pa.repeat(pa.scalar(incarnation.named_in_ids, pa.string()), rows.num_rows),
        "follows": pa.array(offsets[before], mask=~follows),
        "removed": pa.array(offsets[after], mask=~removed),
        "removed_ms": pa.array(longs(rows["ms"])[after], mask=~in_sight),
        "current": is_current,
        "term_end_ms": _term_ends(survived, rows["coordinator_epoch"]),
    }
    columns = [computed[name] if name in computed else rows[name] for name in STORED.columns]
    stored = filtered(pa.table(columns, names=list(STORED.columns)), ~is_tombstone)
    return stored.cast(STORED.arrow_schema)


def _term_ends(records: pa.Table, leader_epochs: pa.ChunkedArray) -> pa.Array:
    """For each leader epoch the time of its last record."""
    ends = records.group_by("leader_epoch").aggregate([("timestamp_ms", "max")])
    return ends["timestamp_ms_max"].combine_chunks().take(pc.index_in(leader_epochs, ends["leader_epoch"]))


def _neighbours(rows: pa.Table) -> tuple[Longs, Longs]:
    """For each row, the indexes of the rows before and after it with the same key; -1 where there is none."""
    codes = numbered_rows(*(numbered_values(rows[name])[0] for name in _KEY))
    order = np.argsort(codes, kind="stable")
    same = codes[order[1:]] == codes[order[:-1]]
    before, after = (np.full(rows.num_rows, -1, dtype=np.int64) for _ in range(2))
    before[order[1:]] = np.where(same, order[:-1], -1)
    after[order[:-1]] = np.where(same, order[1:], -1)
    return before, after


def _in_one(log: Log, before: Longs, after: Longs) -> Flags:
    """Whether every record between the offsets ``before`` and ``after`` is known."""
    open_end = np.iinfo(np.int64).max
    begins = np.array([each.from_offset for each in log.stretches], dtype=np.int64)
    ends = [open_end if each.to_offset is None else each.to_offset for each in log.stretches]
    furthest = np.maximum.accumulate(np.array([-1, *ends], dtype=np.int64))
    is_known: Flags = after < furthest[np.searchsorted(begins, before, side="right")]
    return is_known


def _committed(survived: pa.Table, written: pa.Table) -> Flags:
    """Whether each row's transaction was committed; true for rows without one."""
    is_committed = ~_flags(written["is_transactional"])
    transactional = np.flatnonzero(~is_committed)
    if not len(transactional):
        return is_committed
    types = pa.array([_ABORT, _COMMIT], pa.int32())
    ends = survived.filter(pc.and_(survived["is_control"], pc.is_in(survived["record_type"], types)))
    markers: dict[int, tuple[list[int], list[bool]]] = {}
    columns = (ends[name].to_pylist() for name in ("producer_id", "record_offset", "record_type"))
    for producer_id, offset, kind in zip(*columns, strict=True):
        offsets, kinds = markers.setdefault(producer_id, ([], []))
        offsets.append(offset)
        kinds.append(kind == _COMMIT)
    rows = written.select(["producer_id", "record_offset"]).take(pa.array(transactional))
    for row, producer_id, offset in zip(
        transactional, *(rows[name].to_pylist() for name in rows.column_names), strict=True
    ):
        offsets, kinds = markers.get(producer_id, ([], []))
        at = bisect_right(offsets, offset)
        is_committed[row] = at < len(kinds) and kinds[at]
    return is_committed


def _decoded(records: pa.Table) -> pa.Table:
    """Commits and their tombstones, in the order of the rows: columns of STORED, ``tombstone`` and
    ``producer_id``.
    """
    is_commit = pc.equal(records["record_type"], pa.scalar(_OFFSET_COMMIT, pa.int32()))
    known = pc.equal(records["decode_status"], "known")
    written = filtered(records, pc.and_(pc.and_(is_commit, known), pc.invert(records["is_control"])))
    return pa.concat_tables(_commits(rows) for rows in as_written(written))


def _commits(rows: pa.Table) -> pa.Table:
    keys, values = (decode(_NAME, part, rows[part]).values for part in ("key", "value"))
    topic_id = values.field("topic_id")
    columns = pa.table(
        {
            **{name: rows[of] for name, of in _OF_RECORD.items()},
            "group_id": keys.field("group"),
            "topic": keys.field("topic"),
            "partition": keys.field("partition"),
            "offset": pc.fill_null(values.field("offset"), -1),
            "leader_epoch": pc.fill_null(values.field("leader_epoch"), -1),
            "topic_id": pc.if_else(pc.equal(topic_id, ZERO_ID), pa.scalar(None, topic_id.type), topic_id),
            "is_transactional": pc.fill_null(rows["is_transactional"], False),
            "tombstone": pc.is_null(rows["value"]),
            "producer_id": rows["producer_id"],
        }
    )
    named = (pc.is_valid(columns[name]) for name in _KEY)
    return filtered(columns, pc.and_(pc.and_(next(named), next(named)), next(named)))


def _flags(column: pa.ChunkedArray) -> Flags:
    return np.asarray(column.to_numpy(), dtype=np.bool_)
