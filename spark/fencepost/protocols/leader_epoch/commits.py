"""Offsets that groups committed, against the incarnation that lived, and the one they are of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.formats.large_values import as_written
from fencepost.replay.keys import OFFSETS_TOPIC, ZERO_ID
from fencepost.replay.logs import Batches, Log, by_log, damaged_batches, longs, unread_pieces

_OFFSET_COMMIT, _NAME = 1, "OffsetCommit"
_ABORT, _COMMIT = 0, 1
RECORD_TYPES = frozenset({_ABORT, _COMMIT, _OFFSET_COMMIT, None})
"""The rows of ``bronze.records`` that offsets are told by: commits, markers, and records of no known key."""
_LOG = ("cluster", "topic", "topic_id", "partition")

Key = tuple[str, str, int]
"""Group, topic, partition."""


@dataclass(slots=True)
class StoredOffset:
    """A committed offset; ``topic_id`` None for a commit by name. ``leader_epoch`` -1 for none.

    ``coordinator_epoch`` is the leader epoch of its batch. ``follows`` is the offset of the record before it
    that stored one for the same key, None where there is none or a hole may hide it. ``removed`` is the
    offset of its tombstone; ``current`` None where a hole may hide what came after.
    """

    cluster: str
    commit_partition: int
    record_offset: int
    coordinator_epoch: int
    ms: int
    group_id: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int
    topic_id: str | None
    is_transactional: bool
    broker_id: int
    file: str
    position: int
    follows: int | None = None
    removed: int | None = None
    current: bool | None = True

    @property
    def key(self) -> Key:
        """What it is the offset of."""
        return (self.group_id, self.topic, self.partition)


def stored_offsets(
    batches: pa.Table, records: pa.Table, quarantine: pa.Table, cleaned: pa.Table
) -> Iterator[StoredOffset]:
    """From rows of bronze of whole logs of ``__consumer_offsets``, without what no transaction committed."""
    of_batches, of_cleaned = by_log(batches, *_LOG), by_log(cleaned, "cluster", "topic", "partition")
    of_quarantine = {key: unread_pieces(rows) for key, rows in by_log(quarantine, "cluster").items()}
    for key, rows in sorted(by_log(records, *_LOG).items(), key=str):
        swept = of_cleaned.get((key[0], key[1], key[3]))
        unread = of_quarantine.get((key[0],), [])
        log = Log(
            Batches.of(of_batches.get(key, batches.slice(0, 0))),
            damaged=damaged_batches(rows, {_OFFSET_COMMIT}),
            cleaned_to=swept["cleaned_to"].to_pylist() if swept else (),
            unread=[each for each in unread if (each.topic, each.partition) == (OFFSETS_TOPIC, key[3])],
        )
        yield from _of_log(log, rows)


def _of_log(log: Log, records: pa.Table) -> Iterator[StoredOffset]:
    places = log.find_all(longs(records["base_offset"]), longs(records["leader_epoch"]))
    survived = records.filter(pa.array(places >= 0)).sort_by("record_offset")
    ends = _ends(survived)
    newest: dict[Key, StoredOffset] = {}
    found: list[StoredOffset] = []
    for stored, tombstone, producer_id in _decoded(survived):
        if stored.is_transactional and not ends.committed(producer_id, stored.record_offset):
            continue
        before = newest.pop(stored.key, None)
        if before is not None:
            stored.follows = before.record_offset if _in_one(log, before, stored) else None
            before.current = False
            before.removed = stored.record_offset if tombstone else None
        if not tombstone:
            newest[stored.key] = stored
            found.append(stored)
    last = log.stretches[-1] if log.stretches else None
    for stored in newest.values():
        # a later record of the same key may be in what is missing
        if last is None or last.to_offset is not None or stored.record_offset < last.from_offset:
            stored.current = None
    yield from found


def _in_one(log: Log, before: StoredOffset, after: StoredOffset) -> bool:
    """Whether every record between two is known."""
    return any(
        each.from_offset <= before.record_offset
        and (each.to_offset is None or after.record_offset < each.to_offset)
        for each in log.stretches
    )


@dataclass(frozen=True)
class _Ends:
    """The markers of one log: by producer id their offsets, and whether each committed."""

    of: Mapping[int, list[tuple[int, bool]]]

    def committed(self, producer_id: int, offset: int) -> bool:
        return next((done for at, done in self.of.get(producer_id, ()) if at > offset), False)


def _ends(records: pa.Table) -> _Ends:
    types = pa.array([_ABORT, _COMMIT], pa.int32())
    ends = records.filter(pc.and_(records["is_control"], pc.is_in(records["record_type"], types)))
    found: dict[int, list[tuple[int, bool]]] = {}
    columns = (ends[name].to_pylist() for name in ("producer_id", "record_offset", "record_type"))
    for producer_id, offset, kind in zip(*columns, strict=True):
        found.setdefault(producer_id, []).append((offset, kind == _COMMIT))
    return _Ends(found)


def _decoded(records: pa.Table) -> Iterator[tuple[StoredOffset, bool, int]]:
    """Each commit, whether it is a tombstone, and its producer id; in the order of the rows."""
    is_commit = pc.equal(records["record_type"], pa.scalar(_OFFSET_COMMIT, pa.int32()))
    known = pc.equal(records["decode_status"], "known")
    for rows in as_written(
        records.filter(pc.and_(pc.and_(is_commit, known), pc.invert(records["is_control"])))
    ):
        yield from _commits(rows)


def _commits(rows: pa.Table) -> Iterator[tuple[StoredOffset, bool, int]]:
    keys, values = (decode(_NAME, part, rows[part]).values for part in ("key", "value"))
    topic_ids = values.field("topic_id").to_pylist()
    columns = [rows[name].to_pylist() for name in _READ]
    tombstones = pc.is_null(rows["value"]).to_pylist()
    fields = [keys.field(name).to_pylist() for name in ("group", "topic", "partition")]
    fields += [values.field(name).to_pylist() for name in ("offset", "leader_epoch")]
    for number, values in enumerate(zip(*columns, strict=True)):
        cluster, partition, at, epoch, ms, transactional, producer_id, broker, file, byte = values
        group, topic, of, offset, leader_epoch = (column[number] for column in fields)
        if None in (group, topic, of):
            continue
        topic_id = topic_ids[number]
        stored = StoredOffset(
            cluster, partition, at, epoch, ms, group, topic, of,
            -1 if offset is None else offset, -1 if leader_epoch is None else leader_epoch,
            None if topic_id == ZERO_ID else topic_id, bool(transactional), broker, file, byte,
        )  # fmt: skip
        yield stored, tombstones[number], producer_id


_READ = (
    "cluster", "partition", "record_offset", "leader_epoch", "timestamp_ms", "is_transactional",
    "producer_id", "broker_id", "file", "position",
)  # fmt: skip
