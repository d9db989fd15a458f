"""Stored offsets as OffsetMetadataManager replays them: what is stored, and what became of transactions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fencepost.replay.group_coordinator.records import Marker, OffsetCommitRecord
from fencepost.replay.logs import Stretch

COMMITTED, ABORTED, PENDING, SKIPPED, REPLACED = "committed", "aborted", "pending", "skipped", "replaced"

Key = tuple[str, str, int]
"""What an offset is stored for: group, topic, partition."""


class _Stored(NamedTuple):
    """The stored offset (None once it is deleted), and where and when it was stored."""

    committed_offset: int | None
    stretch: int
    leader_epoch: int
    at: int
    ms: int


@dataclass(slots=True)
class _Partition:
    """What is stored for one key; ``newest`` is the newest commit record that was ever applied, or tried to
    be: its offset, and where it was. ``forgotten_at``: a tombstone forgets the offset, and with it that
    anything newer was ever stored.
    """

    stored: _Stored | None = None
    newest: tuple[int, int] | None = None
    forgotten_at: int | None = None


@dataclass(slots=True)
class OffsetMetadataManager:
    """The offsets of one coordinator's log. Its commit records and markers are replayed in offset order.

    ``stretches`` of the log; ``remembered``: the keys whose past ``stored_during`` can tell.
    """

    stretches: Mapping[int, Stretch]
    remembered: Collection[Key] = ()
    _partitions: dict[Key, _Partition] = field(default_factory=dict)
    _open: dict[int, list[OffsetCommitRecord]] = field(default_factory=dict)
    _past: dict[Key, list[_Stored]] = field(default_factory=dict)
    # (stretch, producer id) -> markers in log order, and the newest timestamp up to each: clocks may go back
    _markers: dict[tuple[int, int], tuple[list[Marker], list[int]]] = field(default_factory=dict)

    def replay(self, record: OffsetCommitRecord | Marker) -> None:
        """Take the next record. Fills in what became of a commit: at once, or when its transaction ends.

        ``offset_before`` is what was stored right before; nothing is said across a hole in the log.
        """
        if isinstance(record, Marker):
            self._end_transaction(record)
            return
        partition = self._partitions.get(_key(record))
        stored = None if partition is None else partition.stored
        if stored is not None and stored.stretch == record.stretch:
            record.offset_before = stored.committed_offset
        if not record.is_transactional:
            record.outcome = COMMITTED
            self._apply(record, record.offset, record.timestamp_ms)
        elif record.based:
            # the cleaner waits for transactions to end, and takes what was aborted
            record.transaction_outcome = record.outcome = COMMITTED
            self._apply(record, record.offset, record.timestamp_ms)
        else:
            self._open.setdefault(record.producer_id, []).append(record)

    def finish(self) -> None:
        """The log is at its end: a transaction is pending, unless a hole may hide its marker."""
        for records in self._open.values():
            for record in records:
                if self.stretches[record.stretch].to_offset is None:
                    record.transaction_outcome = record.outcome = PENDING
        self._open.clear()
        for past in self._past.values():
            past.sort(key=lambda stored: (stored.ms, stored.at))

    def stored_during(
        self, key: Key, start_ms: int, end_ms: int, stretch: int, leader_epoch: int
    ) -> int | None:
        """What was stored from one time to another, if it did not change; within one leader's term only."""
        past = self._past.get(key, [])
        first = bisect_right(past, start_ms, key=_ms)
        last = bisect_right(past, end_ms, key=_ms)
        if first != last or not first:
            return None
        stored = past[first - 1]
        here = stored.stretch == stretch and stored.leader_epoch == leader_epoch
        return stored.committed_offset if here else None

    def marker_after(self, stretch: int, producer_id: int, ms: int) -> Marker | None:
        """The first marker of the producer in a stretch that was written at a time or later."""
        markers, newest_ms = self._markers.get((stretch, producer_id), ((), ()))
        at = bisect_left(newest_ms, ms)
        return markers[at] if at < len(markers) else None

    def _end_transaction(self, marker: Marker) -> None:
        markers, newest_ms = self._markers.setdefault((marker.stretch, marker.producer_id), ([], []))
        markers.append(marker)
        newest_ms.append(max(marker.timestamp_ms, newest_ms[-1] if newest_ms else marker.timestamp_ms))
        last: dict[Key, OffsetCommitRecord] = {}
        for record in self._open.pop(marker.producer_id, ()):
            # a hole between them may hold another marker
            if record.stretch == marker.stretch:
                record.transaction_outcome = record.outcome = marker.outcome
                record.ended_offset, record.ended_ms = marker.offset, marker.timestamp_ms
                if marker.outcome == COMMITTED:
                    record.outcome = REPLACED
                    last[_key(record)] = record
        for record in last.values():
            record.outcome = COMMITTED
            self._apply(record, marker.offset, marker.timestamp_ms)

    def _apply(self, record: OffsetCommitRecord, at: int, ms: int) -> None:
        """Store the offset, unless a newer one is stored when the transaction commits
        (OffsetMetadataManager.replayEndTransactionMarker).
        """
        key = _key(record)
        partition = self._partitions.get(key)
        if partition is None:
            partition = self._partitions[key] = _Partition()
        newest, forgotten_at = partition.newest, partition.forgotten_at
        newer = newest is not None and newest[0] > record.offset
        if newest is not None and forgotten_at is not None and newest[1] <= forgotten_at:
            newer = False
        if record.tombstone:
            partition.forgotten_at = at
        elif newest is None or newest[0] < record.offset:
            partition.newest = (record.offset, at)
        if newer and record.is_transactional:
            record.outcome = SKIPPED
            return
        offset = None if record.tombstone else record.committed_offset
        partition.stored = _Stored(offset, record.stretch, record.leader_epoch, at, ms)
        if key in self.remembered:
            self._past.setdefault(key, []).append(partition.stored)


def _key(record: OffsetCommitRecord) -> Key:
    return (record.group_id, record.topic, record.partition)


def _ms(stored: _Stored) -> int:
    return stored.ms
