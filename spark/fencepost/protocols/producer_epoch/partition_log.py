"""One partition that producers write to, replayed: what its log tells of producers and transactions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, Piece
from fencepost.protocols.producer_epoch.coverage import LogKey
from fencepost.protocols.producer_epoch.producer_state import (
    DATA,
    MARKER,
    NO_CAUSE,
    NONE,
    SNAPSHOT,
    Appends,
    States,
    append_all,
    entries,
)
from fencepost.replay.keys import OFFSETS_TOPIC, digests_of
from fencepost.replay.logs import Batches, Log, UnreadPiece

EXPIRATION_MS = 86_400_000
"""Kafka's default of producer.id.expiration.ms: a leader forgets a producer that is silent for so long."""

MARKER_TYPES = ("ABORT", "COMMIT")
"""Types of control records that end a transaction: org.apache.kafka.common.record.ControlRecordType."""

_SEQUENCES = 2**31
_SEGMENT = re.compile(r"(\d{20})\.log[^/]*$")


BATCH = (
    "base_offset", "last_offset", "leader_epoch", "record_count", "max_timestamp_ms", "file", "position",
    "producer_id", "producer_epoch", "base_sequence", "is_transactional", "is_control", "broker_id",
)  # fmt: skip
"""What is read of ``bronze.batches``; ``file`` is a place among the names of files."""

ENTRY = (
    "snapshot_offset", "producer_id", "producer_epoch", "last_sequence", "last_offset", "offset_delta",
    "timestamp_ms", "coordinator_epoch", "current_txn_first_offset", "file",
)  # fmt: skip
"""What is read of ``bronze.producer_snapshots``; ``file`` is a place among the names of files."""


@dataclass(frozen=True)
class PartitionEvidence:
    """All that is known of one partition's log, in columns of integers.

    ``batches``: BATCH, with ``files``, which their places in ``file`` name. ``markers``: ``base_offset``,
    ``leader_epoch``, ``record_type`` and ``coordinator_epoch`` of control records. ``snapshots``: ENTRY, once
    for all replicas, with ``snapshot_files``. ``aborted``: ``broker_id``, ``segment_offset``,
    ``producer_id``, ``first_offset`` of ``.txnindex`` files. ``unread``: pieces of its segments that could
    not be read. ``answers``: ``base_offset`` and ``responded_ms`` of answers to Produce.
    """

    key: LogKey
    batches: Piece
    files: tuple[str, ...]
    markers: Piece
    snapshots: Piece
    snapshot_files: tuple[str, ...]
    aborted: Piece
    unread: Sequence[UnreadPiece]
    answers: Piece

    def headers(self) -> Batches:
        """The headers of batches, as Log reads them."""
        columns = {field: self.batches[field] for field in BATCH[:7]}
        return Batches(**columns, files=self.files)


class PartitionLog:
    """The log of one partition, with the state of every producer after each of its batches and markers."""

    def __init__(self, evidence: PartitionEvidence) -> None:
        """Replay the log."""
        self.key = evidence.key
        self.evidence = evidence
        self.log = Log(evidence.headers(), unread=evidence.unread, whole_as_headers=True)
        stretches = self.log.stretches
        self._from = np.array([each.from_offset for each in stretches], dtype=np.int64)
        self._to = np.array(
            [UNKNOWN if each.to_offset is None else each.to_offset for each in stretches], dtype=np.int64
        )
        self._last_ms = np.array([each.last_ms for each in stretches], dtype=np.int64)
        self._complete = np.array([each.number == 0 for each in stretches], dtype=np.int64)
        self._read()
        self._replay()

    @property
    def has_producers(self) -> bool:
        """Whether any batch that is there is a producer's."""
        return bool((self.kind != SNAPSHOT).any())

    def _read(self) -> None:
        """What is appended: batches and markers, and entries of snapshots where stretches begin."""
        log, batches = self.log, self.evidence.batches
        all_ids = batches["producer_id"][log.rows]
        mine = np.flatnonzero(all_ids >= 0)
        rows = log.rows[mine]
        self._rows = rows
        sequences = batches["base_sequence"][rows]
        base_offset, last_offset = log.base_offset[mine], log.last_offset[mine]
        types, coordinators = self._markers(mine)
        # the group coordinator appends offset commits all at sequence 0: UnifiedLog checks only clients'
        numbered = self.key[1] != OFFSETS_TOPIC
        last = (
            np.fmod(sequences + last_offset - base_offset, _SEQUENCES)
            if numbered
            else np.full_like(sequences, NONE)
        )
        stretch = log.stretch[mine] - (log.stretch[0] if len(log.stretch) else 0)
        columns = {
            "producer_id": all_ids[mine],
            "stretch": stretch,
            "kind": np.where(batches["is_control"][rows] == 1, MARKER, DATA),
            "transactional": (batches["is_transactional"][rows] == 1).astype(np.int64),
            "epoch": batches["producer_epoch"][rows],
            "first_sequence": sequences,
            "last_sequence": last,
            "base_offset": base_offset,
            "last_offset": last_offset,
            "opens": base_offset,
            "coordinator_epoch": coordinators,
            "records": batches["record_count"][rows],
            "timestamp_ms": log.max_timestamp_ms[mine],
            "newest_offset": base_offset,
            "marker_type": types,
            "row": rows,
        }
        starts = self._starts()
        if starts is not None:
            columns = {name: np.concatenate([starts[name], column]) for name, column in columns.items()}
            order = np.argsort(columns["stretch"], kind="stable")
            columns = {name: column[order] for name, column in columns.items()}
        self.columns: dict[str, Longs] = columns
        self.kind = columns["kind"]

    def _markers(self, mine: Longs) -> tuple[Longs, Longs]:
        """The type (place in MARKER_TYPES) and the coordinator's epoch of each batch that is a marker.

        A control batch whose record could not be read ends a transaction all the same, nobody knows how.
        """
        types = np.full(len(self.log), UNKNOWN, dtype=np.int64)
        coordinators = np.full(len(self.log), UNKNOWN, dtype=np.int64)
        markers = self.evidence.markers
        at = self.log.find_all(markers["base_offset"], markers["leader_epoch"])
        there = at >= 0
        types[at[there]] = markers["record_type"][there]
        coordinators[at[there]] = markers["coordinator_epoch"][there]
        return types[mine], coordinators[mine]

    def _starts(self) -> dict[str, Longs] | None:
        """The entries of the snapshots that stretches begin with, as rows before their first batch."""
        offsets = self.evidence.snapshots["snapshot_offset"]
        if not len(offsets) or not len(self._from):
            return None
        at = np.minimum(np.searchsorted(self._from, offsets), len(self._from) - 1)
        begins = (self._from[at] == offsets) & (self._complete[at] == 0)
        if not begins.any():
            return None
        self._complete[at[begins]] = 1
        begins &= self.evidence.snapshots["producer_id"] != UNKNOWN
        stored = {name: column[begins] for name, column in self.evidence.snapshots.items()}
        stretch = at[begins]
        before = self._from[stretch] - 1
        opened = stored["current_txn_first_offset"]
        return {
            "producer_id": stored["producer_id"],
            "stretch": stretch,
            "kind": np.full(len(stretch), SNAPSHOT),
            "transactional": (opened >= 0).astype(np.int64),
            "epoch": stored["producer_epoch"],
            "first_sequence": stored["last_sequence"] - stored["offset_delta"],
            "last_sequence": stored["last_sequence"]
            if self.key[1] != OFFSETS_TOPIC
            else np.full_like(stretch, NONE),
            "base_offset": before,
            "last_offset": before,
            "opens": opened,
            "coordinator_epoch": stored["coordinator_epoch"],
            "records": np.full(len(stretch), UNKNOWN),
            "timestamp_ms": stored["timestamp_ms"],
            "newest_offset": stored["last_offset"],
            "marker_type": np.full(len(stretch), UNKNOWN),
            "row": np.full(len(stretch), NONE),
        }

    def _replay(self) -> None:
        columns = self.columns
        producers, numbers = np.unique(columns["producer_id"], return_inverse=True)
        appends = Appends(
            numbers.astype(np.int64),
            *(np.ascontiguousarray(columns[name], dtype=np.int64) for name in Appends._fields[1:]),
        )
        states, self.transactions = append_all(appends, entries(len(producers)), self._complete)
        self.states: States = states
        self.following = np.full(len(states.previous), NONE, dtype=np.int64)
        later = np.flatnonzero(states.previous != NONE)
        self.following[states.previous[later]] = later

    def producer_states(self) -> Piece:
        """``silver.producer_states``; ``cause`` is a place in CAUSES.

        A producer whose past is hidden has a row of nulls from where its stretch begins. A leader may have
        forgotten one that was silent for EXPIRATION_MS: what it knew before its next batch is null too.
        """
        columns, following = self.columns, self.following
        stretch, ms = columns["stretch"], columns["timestamp_ms"]
        begins, ends = np.maximum(columns["last_offset"], self._from[stretch]), self._to[stretch]
        until = np.where(following == NONE, ends, columns["last_offset"][following])
        last_ms = np.where(ends == UNKNOWN, UNKNOWN, self._last_ms[stretch])
        until_ms = np.where(following == NONE, last_ms, ms[following])
        silent = (following != NONE) & (ms[following] - ms >= EXPIRATION_MS)
        # the state is true for its own position; it needs a second one to be forgotten in
        fits = (until != UNKNOWN) & (until > begins + 1)
        forgotten = np.flatnonzero(silent & fits)
        hidden = np.flatnonzero((self.states.previous == NONE) & (self._complete[stretch] == 0))
        told = np.where(silent & fits, begins + 1, until)
        unknown = np.full(len(hidden), UNKNOWN)
        at = np.concatenate([np.arange(len(ms)), forgotten, hidden])
        intervals = {
            "from_position": np.concatenate([begins, begins[forgotten] + 1, self._from[stretch[hidden]]]),
            "to_position": np.concatenate([told, until[forgotten], columns["last_offset"][hidden]]),
            "from_time": np.concatenate([ms, ms[forgotten], unknown]),
            "to_time": np.concatenate([until_ms, until_ms[forgotten], ms[hidden]]),
        }
        known = np.arange(len(at)) < len(ms)
        known[: len(ms)] &= ~silent | fits
        kept = (intervals["to_position"] == UNKNOWN) | (intervals["from_position"] < intervals["to_position"])
        intervals = {name: column[kept] for name, column in intervals.items()}
        return self._states_at(at[kept], known[kept], intervals)

    def _states_at(self, at: Longs, known: Flags, intervals: Piece) -> Piece:
        def state(column: Longs) -> Longs:
            return np.where(known, column[at], UNKNOWN)

        columns, states = self.columns, self.states
        return {
            "producer_id": columns["producer_id"][at],
            "producer_epoch": state(columns["epoch"]),
            "first_sequence": state(states.first_sequence),
            "last_sequence": state(states.last_sequence),
            "last_offset": state(columns["newest_offset"]),
            "coordinator_epoch": state(states.coordinator_epoch),
            "current_txn_first_offset": state(states.current_txn_first_offset),
            "marker": np.where(known, self.kind[at] == MARKER, UNKNOWN),
            "transactional": state(columns["transactional"]),
            "cause": np.where(known, states.cause[at], NO_CAUSE),
            **intervals,
        }

    def held(self) -> Mapping[str, Any]:
        """The transactions that the partition holds: account.HELD.

        When a batch was first answered for tells when it was written by the broker's clock; its own timestamp
        is the producer's.
        """
        found, columns = self.transactions, self.columns
        first, end = found.first_row, found.end_row
        ended = end != NONE
        ids = columns["producer_id"][first]
        types = np.where(ended, columns["marker_type"][end], UNKNOWN)
        last = self._to[columns["stretch"][first]] == UNKNOWN
        cluster, _, _, partition_key = self.key

        def of_marker(column: Longs) -> Longs:
            return np.where(ended, column[end], UNKNOWN)

        return {
            "producer_id": ids,
            "partition_transaction_id": pa.array(
                digests_of((cluster, partition_key), ids.tolist(), found.first_offset.tolist()), pa.string()
            ),
            "producer_epoch": columns["epoch"][first],
            "first_offset": found.first_offset,
            "last_offset": found.last_offset,
            "batches": found.batches,
            "records": found.records,
            "open": np.where(ended, 0, np.where(last, 1, UNKNOWN)),
            "aborted": np.where(types == UNKNOWN, UNKNOWN, types == 0),
            "indexed": self._indexed(types == 0),
            "marker_epoch": of_marker(columns["epoch"]),
            "marker_coordinator_epoch": of_marker(columns["coordinator_epoch"]),
            "ended_position": of_marker(columns["base_offset"]),
            "first_ms": columns["timestamp_ms"][first],
            "ended_ms": of_marker(columns["timestamp_ms"]),
            "answered_ms": _first_answered(self.evidence.answers, found.first_offset),
        }

    def _indexed(self, aborted: Flags) -> Longs:
        """Whether each aborted transaction is in the index of aborted transactions of its marker's segment.

        Not known where that index was not captured from the broker whose segment holds the marker. The last
        marker of the log may have been read before its entry was written.
        """
        index, found, columns = self.evidence.aborted, self.transactions, self.columns
        said = np.full(len(found.first_row), UNKNOWN, dtype=np.int64)
        at = np.flatnonzero(aborted)
        if not len(at):
            return said
        entered = set(zip(index["producer_id"].tolist(), index["first_offset"].tolist(), strict=True))
        captured = set(zip(index["broker_id"].tolist(), index["segment_offset"].tolist(), strict=True))
        ends = found.end_row[at]
        rows = columns["row"][ends]
        known = found.first_known[at] & (columns["base_offset"][ends] < int(self.log.last_offset.max()))
        for number, producer_id, first_offset, file, broker_id, settled in zip(
            at.tolist(),
            columns["producer_id"][found.first_row[at]].tolist(),
            found.first_offset[at].tolist(),
            self.evidence.batches["file"][rows].tolist(),
            self.evidence.batches["broker_id"][rows].tolist(),
            known.tolist(),
            strict=True,
        ):
            if (producer_id, first_offset) in entered:
                said[number] = 1
            elif settled and (broker_id, _segment_of(self.evidence.files[file])) in captured:
                said[number] = 0
        return said

    def markers(self) -> Piece:
        """Every marker: account.MARKER; ``type`` is a place in MARKER_TYPES."""
        columns, at = self.columns, np.flatnonzero(self.kind == MARKER)
        return {
            "producer_id": columns["producer_id"][at],
            "producer_epoch": columns["epoch"][at],
            "offset": columns["base_offset"][at],
            "timestamp_ms": columns["timestamp_ms"][at],
            "type": columns["marker_type"][at],
            "coordinator_epoch": columns["coordinator_epoch"][at],
        }

    def idempotent_epochs(self) -> Piece:
        """When each epoch of a producer without transactions was first written with: account.EPOCH."""
        columns = self.columns
        in_transactions = columns["producer_id"][(columns["transactional"] == 1) | (self.kind == MARKER)]
        at = np.flatnonzero(~np.isin(columns["producer_id"], in_transactions) & (self.kind != SNAPSHOT))
        ids, epochs, ms = (columns[name][at] for name in ("producer_id", "epoch", "timestamp_ms"))
        order = np.lexsort((ms, epochs, ids))
        ids, epochs, ms = ids[order], epochs[order], ms[order]
        first = np.ones(len(ids), dtype=np.bool_)
        first[1:] = (ids[1:] != ids[:-1]) | (epochs[1:] != epochs[:-1])
        return {"producer_id": ids[first], "producer_epoch": epochs[first], "first_ms": ms[first]}

    def wrote(self, offsets: Longs) -> tuple[Longs, Longs]:
        """The producer ids and epochs of the batches at these offsets, UNKNOWN where there is none."""
        there = self.kind != SNAPSHOT
        known = self.columns["base_offset"][there]
        if not len(known):
            return np.full_like(offsets, UNKNOWN), np.full_like(offsets, UNKNOWN)
        at = np.minimum(np.searchsorted(known, offsets), len(known) - 1)
        found = known[at] == offsets
        ids, epochs = (self.columns[name][there][at] for name in ("producer_id", "epoch"))
        return np.where(found, ids, UNKNOWN), np.where(found, epochs, UNKNOWN)


def _segment_of(file: str) -> int | None:
    """The base offset of the segment in a file's name."""
    found = _SEGMENT.search(file)
    return int(found[1]) if found else None


def _first_answered(answers: Piece, offsets: Longs) -> Longs:
    asked, ms = answers["base_offset"], answers["responded_ms"]
    if not len(asked):
        return np.full(len(offsets), UNKNOWN)
    order = np.lexsort((ms, asked))
    asked, ms = asked[order], ms[order]
    at = np.minimum(np.searchsorted(asked, offsets), len(asked) - 1)
    return np.where(asked[at] == offsets, ms[at], UNKNOWN)
