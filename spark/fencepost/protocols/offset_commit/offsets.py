"""Stored offsets as OffsetMetadataManager replays them: what is stored, and what became of transactions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fencepost.protocols.offset_commit.attributes import Numbers
from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.replay.entities import numbered_rows
from fencepost.replay.group_coordinator.records import Marker
from fencepost.replay.logs import UNKNOWN, Longs, Stretch

COMMITTED, ABORTED, PENDING, SKIPPED, REPLACED = OUTCOMES = (
    "committed", "aborted", "pending", "skipped", "replaced",
)  # fmt: skip
_OUTCOMES = pa.array(OUTCOMES)
_NUMBER = {name: number for number, name in enumerate(OUTCOMES)}

Key = tuple[str, str, int]
"""What an offset is stored for: group, topic, partition."""


class _Stored(NamedTuple):
    """The stored offset (None once it is deleted), and where and when it was stored."""

    committed_offset: int | None
    stretch: int
    leader_epoch: int
    at: int
    ms: int


class _Record(NamedTuple):
    """A commit record by its number; ``key`` is the number of its Key."""

    number: int
    key: int
    offset: int
    stretch: int
    leader_epoch: int
    timestamp_ms: int
    producer_id: int
    is_transactional: bool
    based: bool
    tombstone: bool
    committed_offset: int | None


@dataclass(slots=True)
class _Partition:
    """What is stored for one key; ``newest`` is the newest commit record that was ever applied, or tried to
    be: its offset, and where it was. ``forgotten_at``: a tombstone forgets the offset, and with it that
    anything newer was ever stored.
    """

    stored: _Stored | None = None
    newest: tuple[int, int] | None = None
    forgotten_at: int | None = None


class OffsetMetadataManager:
    """The offsets of one coordinator's log: what became of its commit records.

    A commit that no transaction wrote is stored at once. So where no transaction ever wrote a key, what was
    stored before each commit is the one before it: that is told for all of them together. Other keys are
    replayed, with the ``markers`` of transactions.
    """

    def __init__(
        self,
        records: CommitRecords,
        markers: Sequence[Marker],
        stretches: Mapping[int, Stretch],
        remembered: Collection[Key] = (),
    ) -> None:
        """``stretches`` of the log; ``remembered``: the keys whose past ``stored_during`` can tell."""
        self._records, self._stretches = records, stretches
        # behind the last record is what is said of none: its number is -1
        size = len(records) + 1
        self._outcome, self._transaction_outcome = (np.full(size, -1) for _ in range(2))
        self._ended_offset, self._ended_ms, self._offset_before = (np.full(size, UNKNOWN) for _ in range(3))
        self._partitions: dict[int, _Partition] = {}
        self._open: dict[int, list[_Record]] = {}
        # (stretch, producer id) -> markers in log order, and the newest timestamp up to each: clocks go back
        self._markers: dict[tuple[int, int], tuple[list[Marker], list[int]]] = {}
        remembered = list(remembered)
        keys, numbers = self._keys(remembered)
        self._past: dict[int, list[_Stored]] = {number: [] for number in numbers}
        self._past_of = {key: self._past[number] for key, number in zip(remembered, numbers, strict=True)}
        is_replayed = np.isin(keys, keys[records.is_so("is_transactional")])
        self._store(keys, ~is_replayed)
        self._replay(_rows(records, keys, np.flatnonzero(is_replayed)), markers)
        for past in self._past.values():
            past.sort(key=lambda stored: (stored.ms, stored.at))

    def columns(self, numbers: Longs) -> dict[str, pa.Array]:
        """What became of the commits that wrote these records, -1 being none: columns of COMMITS.

        ``offset_before`` is what was stored right before; nothing is said across a hole in the log.
        """

        def values(column: Longs) -> pa.Array:
            found = column[numbers]
            return pa.array(found, mask=found == UNKNOWN)

        def names(column: Longs) -> pa.Array:
            found = column[numbers]
            return _OUTCOMES.take(pa.array(found, mask=found < 0))

        return {
            "record_offset": values(np.append(self._records["offset"], UNKNOWN)),
            "transaction_outcome": names(self._transaction_outcome),
            "transaction_ended_position": values(self._ended_offset),
            "transaction_ended_at": values(self._ended_ms),
            "outcome": names(self._outcome),
            "offset_before": values(self._offset_before),
        }

    def stored_during(
        self, key: Key, start_ms: int, end_ms: int, stretch: int, leader_epoch: int
    ) -> int | None:
        """What was stored from one time to another, if it did not change; within one leader's term only."""
        past = self._past_of.get(key, [])
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

    def _keys(self, remembered: Sequence[Key]) -> tuple[Longs, list[int]]:
        """A number for the key of each record, and of each key that is remembered."""
        records = self._records
        groups, topics, partitions = zip(*remembered, strict=True) if remembered else ((), (), ())
        found = numbered_rows(
            *(
                np.concatenate([texts.values, texts.numbers_of(others)])
                for texts, others in ((records.texts("group_id"), groups), (records.texts("topic"), topics))
            ),
            np.concatenate([records["partition"], np.array(partitions, dtype=np.int64)]),
        )
        return found[: len(records)], found[len(records) :].tolist()

    def _store(self, keys: Longs, which: NDArray[np.bool_]) -> None:
        """What became of the records of keys that no transaction wrote."""
        records, numbers = self._records, np.array(list(self._past), dtype=np.int64)
        order = np.argsort(keys, kind="stable")
        order = order[which[order]]
        before, after = order[:-1], order[1:]
        stretch = records["stretch"]
        follows = (keys[before] == keys[after]) & (stretch[before] == stretch[after])
        stored = np.where(records["tombstone"] != 0, UNKNOWN, records["committed_offset"])
        self._offset_before[after[follows]] = stored[before[follows]]
        self._outcome[order] = _NUMBER[COMMITTED]
        for record in _rows(records, keys, order[np.isin(keys[order], numbers)]):
            self._past[record.key].append(_stored(record, record.offset, record.timestamp_ms))

    def _replay(self, records: Sequence[_Record], markers: Sequence[Marker]) -> None:
        both: list[_Record | Marker] = [*records, *markers]
        for record in sorted(both, key=attrgetter("offset")):
            if isinstance(record, Marker):
                self._end_transaction(record)
            else:
                self._take(record)
        # a transaction is pending at the end of the log, unless a hole may hide its marker
        for record in (each for records in self._open.values() for each in records):
            if self._stretches[record.stretch].to_offset is None:
                self._transaction_outcome[record.number] = self._outcome[record.number] = _NUMBER[PENDING]
        self._open.clear()

    def _take(self, record: _Record) -> None:
        partition = self._partitions.get(record.key)
        stored = None if partition is None else partition.stored
        if stored is not None and stored.stretch == record.stretch and stored.committed_offset is not None:
            self._offset_before[record.number] = stored.committed_offset
        if record.is_transactional and not record.based:
            self._open.setdefault(record.producer_id, []).append(record)
            return
        if record.is_transactional:
            # the cleaner waits for transactions to end, and takes what was aborted
            self._transaction_outcome[record.number] = _NUMBER[COMMITTED]
        self._outcome[record.number] = _NUMBER[COMMITTED]
        self._apply(record, record.offset, record.timestamp_ms)

    def _end_transaction(self, marker: Marker) -> None:
        markers, newest_ms = self._markers.setdefault((marker.stretch, marker.producer_id), ([], []))
        markers.append(marker)
        newest_ms.append(max(marker.timestamp_ms, newest_ms[-1] if newest_ms else marker.timestamp_ms))
        last: dict[int, _Record] = {}
        for record in self._open.pop(marker.producer_id, ()):
            # a hole between them may hold another marker
            if record.stretch == marker.stretch:
                number, outcome = record.number, _NUMBER[marker.outcome]
                self._transaction_outcome[number] = self._outcome[number] = outcome
                self._ended_offset[number], self._ended_ms[number] = marker.offset, marker.timestamp_ms
                if marker.outcome == COMMITTED:
                    self._outcome[number] = _NUMBER[REPLACED]
                    last[record.key] = record
        for record in last.values():
            self._outcome[record.number] = _NUMBER[COMMITTED]
            self._apply(record, marker.offset, marker.timestamp_ms)

    def _apply(self, record: _Record, at: int, ms: int) -> None:
        """Store the offset, unless a newer one is stored when the transaction commits
        (OffsetMetadataManager.replayEndTransactionMarker).
        """
        partition = self._partitions.get(record.key)
        if partition is None:
            partition = self._partitions[record.key] = _Partition()
        newest, forgotten_at = partition.newest, partition.forgotten_at
        newer = newest is not None and newest[0] > record.offset
        if newest is not None and forgotten_at is not None and newest[1] <= forgotten_at:
            newer = False
        if record.tombstone:
            partition.forgotten_at = at
        elif newest is None or newest[0] < record.offset:
            partition.newest = (record.offset, at)
        if newer and record.is_transactional:
            self._outcome[record.number] = _NUMBER[SKIPPED]
            return
        partition.stored = _stored(record, at, ms)
        if record.key in self._past:
            self._past[record.key].append(partition.stored)


def _rows(records: CommitRecords, keys: Longs, numbers: Longs) -> list[_Record]:
    """These records, one by one."""
    flags = (records[name][numbers] != 0 for name in ("is_transactional", "based", "tombstone"))
    columns = (
        numbers,
        keys[numbers],
        *(records[name][numbers] for name in _Record._fields[2:7]),
        *flags,
    )
    committed = Numbers.as_objects(records["committed_offset"][numbers])
    return list(map(_Record, *(column.tolist() for column in columns), committed))


def _stored(record: _Record, at: int, ms: int) -> _Stored:
    offset = None if record.tombstone else record.committed_offset
    return _Stored(offset, record.stretch, record.leader_epoch, at, ms)


def _ms(stored: _Stored) -> int:
    return stored.ms
