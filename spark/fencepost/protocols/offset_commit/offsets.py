"""Replays stored offsets as OffsetMetadataManager does: what is stored, and how transactions ended."""

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
"""The key of a stored offset: group, topic, partition."""


class _Stored(NamedTuple):
    """The stored offset (None for a deletion), and where (``at``) and when (``ms``) it was stored."""

    committed_offset: int | None
    stretch: int
    leader_epoch: int
    at: int
    ms: int


class _Record(NamedTuple):
    """One commit record, with its number; ``key`` is the number of its Key."""

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
    """The offset stored for one key.

    ``newest``: the commit record with the highest offset of which it was ever tried to apply it, as its
    offset and the offset at which that was done (that of its transaction's marker). ``forgotten_at``: the
    offset of the newest tombstone; after it the coordinator no longer knows that something newer was stored.
    """

    stored: _Stored | None = None
    newest: tuple[int, int] | None = None
    forgotten_at: int | None = None


class OffsetMetadataManager:
    """The offsets of one coordinator's log, and the outcome of each of its commit records.

    A commit outside of a transaction is stored at once. So for keys that no transaction ever wrote, the
    offset stored before a commit is that of the commit before: this is computed for all of them together.
    Other keys are replayed record by record, with the ``markers`` of transactions.
    """

    def __init__(
        self,
        records: CommitRecords,
        markers: Sequence[Marker],
        stretches: Mapping[int, Stretch],
        remembered: Collection[Key] = (),
    ) -> None:
        """``stretches`` of the log; ``remembered``: the keys for which ``stored_during`` can be called."""
        self._records, self._stretches = records, stretches
        # the last place is for commits without a record, whose number is -1
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
        is_replayed = np.isin(keys, keys[records.numbers_with("is_transactional")])
        self._store(keys, ~is_replayed)
        self._replay(_rows(records, keys, np.flatnonzero(is_replayed)), markers)
        for past in self._past.values():
            past.sort(key=lambda stored: (stored.ms, stored.at))

    def columns(self, numbers: Longs) -> dict[str, pa.Array]:
        """The outcomes of these records (-1: no record) as columns of COMMITS.

        ``offset_before`` is the offset stored right before the record; null across a hole in the log.
        """

        def values(column: Longs) -> pa.Array:
            selected = column[numbers]
            return pa.array(selected, mask=selected == UNKNOWN)

        def names(column: Longs) -> pa.Array:
            selected = column[numbers]
            return _OUTCOMES.take(pa.array(selected, mask=selected < 0))

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
        """The offset that was stored from one time to another; None if it changed, or if it was not stored in
        this stretch by this leader.
        """
        past = self._past_of.get(key, [])
        first = bisect_right(past, start_ms, key=_ms)
        last = bisect_right(past, end_ms, key=_ms)
        if first != last or not first:
            return None
        stored = past[first - 1]
        in_term = stored.stretch == stretch and stored.leader_epoch == leader_epoch
        return stored.committed_offset if in_term else None

    def marker_after(self, stretch: int, producer_id: int, ms: int) -> Marker | None:
        """The producer's first marker in a stretch that was written at ``ms`` or later."""
        markers, newest_ms = self._markers.get((stretch, producer_id), ((), ()))
        at = bisect_left(newest_ms, ms)
        return markers[at] if at < len(markers) else None

    def _keys(self, remembered: Sequence[Key]) -> tuple[Longs, list[int]]:
        """Numbers for the keys of all records, and for the remembered keys."""
        records = self._records
        groups, topics, partitions = zip(*remembered, strict=True) if remembered else ((), (), ())
        keys = numbered_rows(
            *(
                np.concatenate([texts.values, texts.numbers_of(others)])
                for texts, others in ((records.texts("group_id"), groups), (records.texts("topic"), topics))
            ),
            np.concatenate([records["partition"], np.array(partitions, dtype=np.int64)]),
        )
        return keys[: len(records)], keys[len(records) :].tolist()

    def _store(self, keys: Longs, which: NDArray[np.bool_]) -> None:
        """Note the outcomes of the records (``which``) whose keys no transaction wrote."""
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
                self._replay_commit(record)
        # a transaction is pending at the end of the log, unless a hole may hide its marker
        for record in (each for records in self._open.values() for each in records):
            if self._stretches[record.stretch].to_offset is None:
                self._transaction_outcome[record.number] = self._outcome[record.number] = _NUMBER[PENDING]
        self._open.clear()

    def _replay_commit(self, record: _Record) -> None:
        partition = self._partitions.get(record.key)
        stored = None if partition is None else partition.stored
        if stored is not None and stored.stretch == record.stretch and stored.committed_offset is not None:
            self._offset_before[record.number] = stored.committed_offset
        if record.is_transactional and not record.based:
            self._open.setdefault(record.producer_id, []).append(record)
            return
        if record.is_transactional:
            # the cleaner waits until a transaction has ended, and removes aborted records
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
    """These records as objects."""
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
