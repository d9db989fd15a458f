"""Snapshots of producer state, beside what the log says the leader knew: ``silver.producer_snapshots``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.partition_log import PartitionEvidence, PartitionLog
from fencepost.protocols.producer_epoch.partition_slice import EXPIRATION_MS
from fencepost.replay.columns import Columns
from fencepost.replay.keys import OFFSETS_TOPIC, digest_of

_SHUTDOWN_MS = 60_000
"""How much later than anything else a broker that shuts down may take a snapshot."""


class Stored(NamedTuple):
    """What a snapshot or the replayed log says of a producer; None where it is not known."""

    producer_epoch: int | None
    last_sequence: int | None
    current_txn_first_offset: int | None


class Snapshots:
    """The snapshots of one log, and what its slices say of the producers in them."""

    def __init__(self, replayed: PartitionLog, alive_ms: int | None) -> None:
        """``alive_ms``: when the cluster's brokers wrote anything for the last time; None when not known."""
        self._evidence = replayed.evidence
        self._log = replayed.log
        self._files, self._stored = _stored(replayed.evidence)
        self._taken = np.array(sorted({at for _, at in self._files}), dtype=np.int64)
        self._earliest, self._latest = _moments(replayed, self._taken, alive_ms)
        self._told: dict[tuple[int, int], tuple[Stored, bool | None, int]] = {}
        self._longest_silent = _longest_silent(replayed.evidence)

    def compare(self, states: Piece) -> None:
        """Take the states of a slice (rows of ``silver.producer_states``)."""
        if len(self._taken) and len(self._log):
            self._told.update(self._told_by(states))

    def add_to(self, rows: Columns) -> None:
        """Add ``silver.producer_snapshots``.

        A producer is due when the log below the snapshot ends with a state of it that cannot have expired by
        then, and is not due when it must have. What is there has not expired, whatever the clocks say. A
        broker may be told to forget sooner or later than by default (producer.id.expiration.ms): who is
        absent is due only where another is there that was silent for as long, and has expired only where none
        is.
        """
        numbered = self._evidence.key[1] != OFFSETS_TOPIC
        told: dict[int, list[int]] = {}
        for at, producer_id in self._told:
            told.setdefault(at, []).append(producer_id)
        for (broker_id, at), file in sorted(self._files.items()):
            stored = self._stored.get((broker_id, at), {})
            for producer_id in sorted(stored.keys() | set(told.get(at, ()))):
                there = stored.get(producer_id)
                state, fresh, since_ms = self._told.get((at, producer_id), (None, None, UNKNOWN))
                known = state is not None and state.producer_epoch is not None
                silent = self._longest_silent.get((broker_id, at))
                outlived = silent is not None and silent <= since_ms
                if there is not None:
                    fresh = True
                elif fresh is not None and fresh != outlived:
                    fresh = None
                rows.add(
                    *self._evidence.key,
                    digest_of(*self._evidence.key, broker_id, at, producer_id),
                    broker_id,
                    at,
                    producer_id,
                    fresh if known else None,
                    there is not None,
                    _agree(state, there, numbered) if known and state and there else None,
                    file,
                    at,
                    at + 1,
                    None,
                    None,
                )

    def _told_by(self, states: Piece) -> Mapping[tuple[int, int], tuple[Stored, bool | None, int]]:
        """What a slice says of each producer right below each snapshot, if it was still there, since when.

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
        since = states["from_time"][at].tolist()
        columns: list[list[Any]] = [
            taken[snapshot].tolist(),
            states["producer_id"][at].tolist(),
            [self._is_fresh(*each) for each in zip(snapshot, since, strict=True)],
            since,
            *(states[name][at].tolist() for name in Stored._fields),
        ]
        return {
            (offset, producer_id): (Stored(*map(_or_none, fields)), fresh, since_ms)
            for offset, producer_id, fresh, since_ms, *fields in zip(*columns, strict=True)
        }

    def _is_fresh(self, snapshot: int, since_ms: int) -> bool | None:
        """Whether a state had not expired when the snapshot was taken, some time between two moments."""
        earliest, latest = int(self._earliest[snapshot]), int(self._latest[snapshot])
        if since_ms == UNKNOWN:
            return None
        if latest != UNKNOWN and latest + _SHUTDOWN_MS - since_ms < EXPIRATION_MS:
            return True
        return False if earliest != UNKNOWN and earliest - since_ms >= EXPIRATION_MS else None


def _agree(log: Stored, stored: Stored, numbered: bool) -> bool | None:
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


def _stored(evidence: PartitionEvidence) -> tuple[dict[_File, str], dict[_File, dict[int, Stored]]]:
    """The file of each replica's snapshot, and its entries by producer."""
    files: dict[_File, str] = {}
    stored: dict[_File, dict[int, Stored]] = {}
    names = ("broker_id", "snapshot_offset", "file", "producer_id", *Stored._fields)
    columns = (evidence.snapshots[name].tolist() for name in names)
    # the same file may lie in two places for a while: the first one stands
    for broker_id, at, number, producer_id, *fields in sorted(zip(*columns, strict=True)):
        place = (broker_id, at)
        files.setdefault(place, evidence.snapshot_files[number])
        if producer_id != UNKNOWN:
            stored.setdefault(place, {}).setdefault(producer_id, Stored(*map(_or_none, fields)))
    return files, stored


def _longest_silent(evidence: PartitionEvidence) -> dict[_File, int]:
    """The oldest timestamp in each snapshot, of producers that may expire: none with an open transaction."""
    found: dict[_File, int] = {}
    names = ("broker_id", "snapshot_offset", "producer_id", "timestamp_ms", "current_txn_first_offset")
    columns = (evidence.snapshots[name].tolist() for name in names)
    for broker_id, at, producer_id, ms, opened in zip(*columns, strict=True):
        if producer_id != UNKNOWN and opened < 0:
            found[broker_id, at] = min(ms, found.get((broker_id, at), ms))
    return found


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
