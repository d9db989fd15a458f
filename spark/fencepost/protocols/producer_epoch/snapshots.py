"""Snapshots of producer state, beside what the log says the leader knew: ``silver.producer_snapshots``."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.expiration import DEFAULT_MS
from fencepost.protocols.producer_epoch.partition_log import PartitionEvidence, PartitionLog
from fencepost.replay.columns import Columns
from fencepost.replay.keys import OFFSETS_TOPIC, digest_of

_SHUTDOWN_MS = 60_000
"""How much later than anything else a broker that shuts down may take a snapshot."""


class SnapshotState(NamedTuple):
    """What a snapshot or the replayed log says of a producer; None where it is not known."""

    producer_epoch: int | None
    last_sequence: int | None
    current_txn_first_offset: int | None


class SliceState(NamedTuple):
    """What a slice says of a producer right below a snapshot: since when, and which batch was the last.

    ``snapshot``: which one of those that were taken.
    """

    state: SnapshotState
    snapshot: int
    since_ms: int
    last_offset: int


class Snapshots:
    """The snapshots of one log, and what its slices say of the producers in them."""

    def __init__(self, replayed: PartitionLog, alive_ms: int | None) -> None:
        """``alive_ms``: when the cluster's brokers wrote anything for the last time; None when not known."""
        self._evidence = replayed.evidence
        self._log = replayed.log
        self._files, self._stored = _stored(replayed.evidence)
        self._taken = np.array(sorted({at for _, at in self._files}), dtype=np.int64)
        self._earliest, self._latest = _moments(replayed, self._taken, alive_ms)
        self._told: dict[tuple[int, int], SliceState] = {}
        self._silent = _silent(replayed.evidence)

    def compare(self, states: Piece) -> None:
        """Take the states of a slice (rows of ``silver.producer_states``)."""
        if len(self._taken) and len(self._log):
            self._told.update(self._told_by(states))

    def add_to(self, rows: Columns) -> None:
        """Add ``silver.producer_snapshots``.

        A producer is due when the log below the snapshot ends with a state of it that cannot have expired by
        then, and is not due when it must have. What is there has not expired, whatever the clocks say. Who
        is absent is due only where another is there that wrote no later, by its time and in the log: this
        broker had the log from there on, and forgets by time. It has expired only where none is, and where
        the broker is known to forget so soon (Expiration).
        """
        numbered = self._evidence.key[1] != OFFSETS_TOPIC
        known_at: dict[int, list[int]] = {}
        for at, producer_id in self._told:
            known_at.setdefault(at, []).append(producer_id)
        for (broker_id, at), file in sorted(self._files.items()):
            stored = self._stored.get((broker_id, at), {})
            for producer_id in sorted(stored.keys() | set(known_at.get(at, ()))):
                there, told = stored.get(producer_id), self._told.get((at, producer_id))
                state = None if told is None else told.state
                known = state is not None and state.producer_epoch is not None
                due = True if there is not None else self._is_due((broker_id, at), told)
                rows.add(
                    *self._evidence.key,
                    digest_of(*self._evidence.key, broker_id, at, producer_id),
                    broker_id,
                    at,
                    producer_id,
                    due if known else None,
                    there is not None,
                    _agree(state, there, numbered) if known and state and there else None,
                    file,
                    at,
                    at + 1,
                    None,
                    None,
                )

    def _told_by(self, states: Piece) -> Mapping[tuple[int, int], SliceState]:
        """What a slice says of each producer right below each snapshot.

        A snapshot from beyond what was read of the log tells more than the log does.
        """
        taken = self._taken[self._taken <= max(each.last_offset for each in self._log.stretches) + 1]
        begins, ends = states["from_position"], states["to_position"]
        first = np.searchsorted(taken, begins, side="right")
        last = np.where(ends == UNKNOWN, len(taken), np.searchsorted(taken, ends, side="right"))
        counts = np.maximum(last - first, 0)
        at = np.repeat(np.arange(len(begins)), counts)
        within = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
        snapshot = np.repeat(first, counts) + within
        columns: list[list[Any]] = [
            taken[snapshot].tolist(),
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

    def _is_due(self, file: _File, told: SliceState | None) -> bool | None:
        """Whether a producer that is absent should be in a snapshot, taken some time between two moments."""
        if told is None or told.since_ms == UNKNOWN:
            return None
        earliest, latest = int(self._earliest[told.snapshot]), int(self._latest[told.snapshot])
        since_ms, outlived = told.since_ms, self._is_outlived(file, told)
        if latest == UNKNOWN:
            return None
        expiration = self._evidence.expiration.of(file[0], since_ms, latest + _SHUTDOWN_MS)
        least, most = (DEFAULT_MS, None) if expiration is None else expiration
        if outlived:
            return True if latest + _SHUTDOWN_MS - since_ms < least else None
        expired = most is not None and earliest != UNKNOWN and earliest - since_ms >= most
        return False if expired else None

    def _is_outlived(self, file: _File, told: SliceState) -> bool:
        offsets, oldest = self._silent.get(file, ((), ()))
        at = bisect_right(offsets, told.last_offset)
        return at > 0 and oldest[at - 1] <= told.since_ms


def _agree(log: SnapshotState, stored: SnapshotState, numbered: bool) -> bool | None:
    """Whether both say the same, as far as both say anything; the group coordinator numbers no batch."""
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
    # the same file may lie in two places for a while: the first one stands
    for broker_id, at, number, producer_id, *fields in sorted(zip(*columns, strict=True)):
        place = (broker_id, at)
        files.setdefault(place, evidence.snapshot_files[number])
        if producer_id != UNKNOWN:
            stored.setdefault(place, {}).setdefault(producer_id, SnapshotState(*map(_or_none, fields)))
    return files, stored


def _silent(evidence: PartitionEvidence) -> dict[_File, tuple[list[int], list[int]]]:
    """Of the producers in each snapshot that may expire (none with an open transaction) the offsets of their
    last batches, in order, and the oldest timestamp of those up to each.
    """
    found: dict[_File, list[tuple[int, int]]] = {}
    names = ("broker_id", "snapshot_offset", "producer_id", "last_offset", "timestamp_ms")
    columns = (evidence.snapshots[name].tolist() for name in (*names, "current_txn_first_offset"))
    for broker_id, at, producer_id, last_offset, ms, opened in zip(*columns, strict=True):
        if producer_id != UNKNOWN and last_offset >= 0 and opened < 0:
            found.setdefault((broker_id, at), []).append((last_offset, ms))
    return {
        file: ([offset for offset, _ in sorted(rows)], list(accumulate((ms for _, ms in sorted(rows)), min)))
        for file, rows in found.items()
    }


def _or_none(value: int) -> int | None:
    return None if value == UNKNOWN else value


def _moments(replayed: PartitionLog, taken: Longs, alive_ms: int | None) -> tuple[Longs, Longs]:
    """Between which times, by brokers' clocks, each snapshot was taken; UNKNOWN where nothing tells.

    It was taken when everything below its offset had been written, and nothing else.
    """
    answers = replayed.evidence.answers
    offsets = np.concatenate([replayed.log.base_offset, answers["base_offset"]])
    times = np.concatenate([replayed.dated, answers["responded_ms"]])
    offsets, times = offsets[times != UNKNOWN], times[times != UNKNOWN]
    order = np.argsort(offsets, kind="stable")
    offsets, times = offsets[order], times[order]
    newest = np.concatenate([[UNKNOWN], np.maximum.accumulate(times)])
    last = np.iinfo(np.int64).max if alive_ms is None else alive_ms
    oldest = np.minimum.accumulate(np.concatenate([times, [last]])[::-1])[::-1]
    at = np.searchsorted(offsets, taken)
    latest = oldest[at]
    return newest[at], np.where(latest == np.iinfo(np.int64).max, UNKNOWN, latest)
