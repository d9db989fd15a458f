"""Snapshots of producer state, compared with the state that the replayed log gives:
``silver.producer_snapshots``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.expiration import DEFAULT_MS
from fencepost.protocols.producer_epoch.partition_log import PartitionEvidence, PartitionLog
from fencepost.reasons import (
    ALL_KNOWN,
    CLEANED_AWAY,
    CONFIGURATION_UNKNOWN,
    NOT_CAPTURED,
    NOT_LOGGED,
    Unknown,
)
from fencepost.replay.columns import Columns
from fencepost.replay.keys import OFFSETS_TOPIC, digest_of

_SHUTDOWN_MS = 60_000
"""How long after its last write a broker that shuts down may take a snapshot."""

_SHORTENED = Unknown(CLEANED_AWAY, "the beginning of the log was removed, with the producer's batches")
_HOLE = Unknown(NOT_CAPTURED, "the part of the log that has the producer's batches was not captured")
_UNDATED = Unknown(NOT_CAPTURED, "nothing tells until when the broker may have taken the snapshot")
_UNCONFIGURED = Unknown(CONFIGURATION_UNKNOWN, "the broker's producer.id.expiration.ms is not known")
_SILENT = Unknown(NOT_LOGGED, "the broker may have forgotten the producer, which it does without a record")


class SnapshotState(NamedTuple):
    """The state of a producer in a snapshot or in the replayed log; None where it is not known."""

    producer_epoch: int | None
    last_sequence: int | None
    current_txn_first_offset: int | None


class SliceState(NamedTuple):
    """The state of a producer in the replayed log right below a snapshot, since when it has had it, and the
    last offset of its last batch.

    ``snapshot``: the place of the snapshot among all offsets at which snapshots were taken.
    """

    state: SnapshotState
    snapshot: int
    since_ms: int
    last_offset: int


class Snapshots:
    """The snapshots of one log, and the states of the same producers in its slices."""

    def __init__(self, replayed: PartitionLog, alive_ms: int | None) -> None:
        """``alive_ms``: the last time at which the cluster's metadata log was written; None if not known."""
        self._evidence = replayed.evidence
        self._log = replayed.log
        self._files, self._stored = _stored(replayed.evidence)
        self._offsets = np.array(sorted({at for _, at in self._files}), dtype=np.int64)
        self._is_shortened = replayed.is_shortened
        self._earliest, self._latest = _moments(replayed, self._offsets, alive_ms)
        self._slice_states: dict[tuple[int, int], SliceState] = {}
        self._expirable = _expirable(replayed.evidence)

    def compare(self, states: Piece) -> None:
        """Add the states of a slice (rows of ``silver.producer_states``)."""
        if len(self._offsets) and len(self._log):
            self._slice_states.update(self._states_below(states))

    def add_to(self, rows: Columns) -> None:
        """Add ``silver.producer_snapshots``.

        A producer is due in a snapshot if the log below it has a state of the producer that cannot have
        expired by then, and not due if that state must have expired. A producer in the snapshot has not
        expired, whatever the clocks say. An absent producer is due only if the snapshot has another one that
        last wrote no later, by time and by offset: so the broker had the log from there on, and expires
        producers by time. An absent producer has expired only if the snapshot has no such other one, and if
        the broker is known to expire producers that soon (Expiration).
        """
        numbered = self._evidence.key[1] != OFFSETS_TOPIC
        producers_at: dict[int, list[int]] = {}
        for at, producer_id in self._slice_states:
            producers_at.setdefault(at, []).append(producer_id)
        for (broker_id, at), file in sorted(self._files.items()):
            stored = self._stored.get((broker_id, at), {})
            for producer_id in sorted(stored.keys() | set(producers_at.get(at, ()))):
                stored_state, slice_state = stored.get(producer_id), self._slice_states.get((at, producer_id))
                state = None if slice_state is None else slice_state.state
                is_known = state is not None and state.producer_epoch is not None
                place = (broker_id, at)
                is_due = True if stored_state is not None else self._is_due(place, slice_state)
                why = self._why_unknown(place, slice_state) if is_due is None or not is_known else ALL_KNOWN
                rows.add(
                    *self._evidence.key,
                    digest_of(*self._evidence.key, broker_id, at, producer_id),
                    broker_id,
                    at,
                    producer_id,
                    is_due if is_known else None,
                    stored_state is not None,
                    _agree(state, stored_state, numbered) if is_known and state and stored_state else None,
                    file,
                    *why,
                    at,
                    at + 1,
                    None,
                    None,
                )

    def _states_below(self, states: Piece) -> Mapping[tuple[int, int], SliceState]:
        """The state of each producer in a slice right below each snapshot, by offset and producer id.

        A snapshot beyond the end of the captured log is left out.
        """
        snapshot_offsets = self._offsets[
            self._offsets <= max(each.last_offset for each in self._log.stretches) + 1
        ]
        begins, ends = states["from_position"], states["to_position"]
        first = np.searchsorted(snapshot_offsets, begins, side="right")
        last_ms = np.where(
            ends == UNKNOWN, len(snapshot_offsets), np.searchsorted(snapshot_offsets, ends, side="right")
        )
        counts = np.maximum(last_ms - first, 0)
        at = np.repeat(np.arange(len(begins)), counts)
        within = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
        snapshot = np.repeat(first, counts) + within
        columns: list[list[Any]] = [
            snapshot_offsets[snapshot].tolist(),
            states["producer_id"][at].tolist(),
            snapshot.tolist(),
            *(states[name][at].tolist() for name in ("from_time", "from_position", *SnapshotState._fields)),
        ]
        return {
            (offset, producer_id): SliceState(
                SnapshotState(*map(_or_none, fields)), place, since_ms, last_offset
            )
            for offset, producer_id, place, since_ms, last_offset, *fields in zip(*columns, strict=True)
        }

    def _is_due(self, file: _File, slice_state: SliceState | None) -> bool | None:
        """Whether an absent producer should be in a snapshot; None if that is not known."""
        if slice_state is None or slice_state.since_ms == UNKNOWN:
            return None
        earliest, latest = int(self._earliest[slice_state.snapshot]), int(self._latest[slice_state.snapshot])
        since_ms, outlives_another = slice_state.since_ms, self._outlives_another(file, slice_state)
        if latest == UNKNOWN:
            return None
        expiration = self._evidence.expiration.of(file[0], since_ms, latest + _SHUTDOWN_MS)
        least, most = (DEFAULT_MS, None) if expiration is None else expiration
        if outlives_another:
            return True if latest + _SHUTDOWN_MS - since_ms < least else None
        expired = most is not None and earliest != UNKNOWN and earliest - since_ms >= most
        return False if expired else None

    def _why_unknown(self, file: _File, slice_state: SliceState | None) -> Unknown:
        """Why it is not known whether a producer is due in a snapshot."""
        if slice_state is None or slice_state.since_ms == UNKNOWN or slice_state.state.producer_epoch is None:
            return _SHORTENED if self._is_shortened else _HOLE
        latest = int(self._latest[slice_state.snapshot])
        if latest == UNKNOWN:
            return _UNDATED
        expiration = self._evidence.expiration.of(file[0], slice_state.since_ms, latest + _SHUTDOWN_MS)
        return _UNCONFIGURED if expiration is None else _SILENT

    def _outlives_another(self, file: _File, slice_state: SliceState) -> bool:
        offsets, oldest = self._expirable.get(file, ((), ()))
        at = bisect_right(offsets, slice_state.last_offset)
        return at > 0 and oldest[at - 1] <= slice_state.since_ms


def _agree(log: SnapshotState, stored: SnapshotState, numbered: bool) -> bool | None:
    """Whether two states are equal, as far as both are known; ``numbered``: batches have sequences, which
    those of the group coordinator do not have.
    """
    pairs = [
        (log.producer_epoch, stored.producer_epoch),
        (log.current_txn_first_offset, stored.current_txn_first_offset),
    ]
    if numbered:
        pairs.append((log.last_sequence, stored.last_sequence))
    if any(a is not None and b is not None and a != b for a, b in pairs):
        return False
    return None if any(a is None or b is None for a, b in pairs) else True


_File = tuple[int, int]
"""Broker and offset of a snapshot."""


def _stored(evidence: PartitionEvidence) -> tuple[dict[_File, str], dict[_File, dict[int, SnapshotState]]]:
    """The file of each replica's snapshot, and its entries by producer."""
    files: dict[_File, str] = {}
    stored: dict[_File, dict[int, SnapshotState]] = {}
    names = ("broker_id", "snapshot_offset", "file", "producer_id", *SnapshotState._fields)
    columns = (evidence.snapshots[name].tolist() for name in names)
    # while a replica is moved the same file is in two folders: the first one is taken
    for broker_id, at, number, producer_id, *fields in sorted(zip(*columns, strict=True)):
        place = (broker_id, at)
        files.setdefault(place, evidence.snapshot_files[number])
        if producer_id != UNKNOWN:
            stored.setdefault(place, {}).setdefault(producer_id, SnapshotState(*map(_or_none, fields)))
    return files, stored


def _expirable(evidence: PartitionEvidence) -> dict[_File, tuple[list[int], list[int]]]:
    """For each snapshot, its producers that may expire, which have no open transaction: the offsets of their
    last batches in order, and the oldest timestamp of those up to each offset.
    """
    of_file: dict[_File, list[tuple[int, int]]] = {}
    names = ("broker_id", "snapshot_offset", "producer_id", "last_offset", "timestamp_ms")
    columns = (evidence.snapshots[name].tolist() for name in (*names, "current_txn_first_offset"))
    for broker_id, at, producer_id, last_offset, ms, transaction_offset in zip(*columns, strict=True):
        if producer_id != UNKNOWN and last_offset >= 0 and transaction_offset < 0:
            of_file.setdefault((broker_id, at), []).append((last_offset, ms))
    return {
        file: ([offset for offset, _ in sorted(rows)], list(accumulate((ms for _, ms in sorted(rows)), min)))
        for file, rows in of_file.items()
    }


def _or_none(value: int) -> int | None:
    return None if value == UNKNOWN else value


def _moments(replayed: PartitionLog, snapshot_offsets: Longs, alive_ms: int | None) -> tuple[Longs, Longs]:
    """The earliest and the latest time, by brokers' clocks, at which each snapshot was taken; UNKNOWN if not
    known.

    It was taken when everything below its offset had been written, and nothing at or above it.
    """
    answers = replayed.evidence.answers
    offsets = np.concatenate([replayed.log.base_offset, answers["base_offset"]])
    times = np.concatenate([replayed.dated, answers["responded_ms"]])
    offsets, times = offsets[times != UNKNOWN], times[times != UNKNOWN]
    order = np.argsort(offsets, kind="stable")
    offsets, times = offsets[order], times[order]
    newest = np.concatenate([[UNKNOWN], np.maximum.accumulate(times)])
    last_ms = np.iinfo(np.int64).max if alive_ms is None else alive_ms
    oldest = np.minimum.accumulate(np.concatenate([times, [last_ms]])[::-1])[::-1]
    at = np.searchsorted(offsets, snapshot_offsets)
    latest = oldest[at]
    return newest[at], np.where(latest == np.iinfo(np.int64).max, UNKNOWN, latest)
