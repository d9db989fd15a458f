"""One partition that producers write to, replayed: what its log itself tells of producers and transactions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, flag, flags, longs, milliseconds, rows_of
from fencepost.protocols.producer_epoch.coverage import LogKey
from fencepost.protocols.producer_epoch.producer_state import (
    CAUSES,
    DATA,
    MARKER,
    NONE,
    SNAPSHOT,
    Appends,
    States,
    Transactions,
    append_all,
    entries,
)
from fencepost.replay.columns import arrow_schema
from fencepost.replay.keys import OFFSETS_TOPIC, digest_of
from fencepost.replay.logs import Batches, Log, UnreadPiece
from fencepost.tables import PRODUCER_STATES

EXPIRATION_MS = 86_400_000
"""Kafka's default of producer.id.expiration.ms: a leader forgets a producer that is silent for so long."""

MARKER_TYPES = ("ABORT", "COMMIT")
"""Types of control records that end a transaction: org.apache.kafka.common.record.ControlRecordType."""

_SEQUENCES = 2**31
_SEGMENT = re.compile(r"(\d{20})\.log[^/]*$")
_STATE = ("producer_epoch", "first_sequence", "last_sequence", "coordinator_epoch", "current_txn_first_offset")


@dataclass(frozen=True)
class PartitionEvidence:
    """All that bronze holds of one partition's log, as rows of its tables.

    ``records``: the control records; ``snapshots``: entries, once for all replicas; ``aborted``: entries of
    ``.txnindex`` files; ``unread``: pieces of its segments that could not be read.
    """

    key: LogKey
    batches: pa.Table
    records: pa.Table
    snapshots: pa.Table
    aborted: pa.Table
    unread: Sequence[UnreadPiece] = ()


class PartitionLog:
    """The log of one partition, with the state of every producer after each of its batches and markers."""

    def __init__(self, evidence: PartitionEvidence) -> None:
        """Replay the log."""
        self.key = evidence.key
        self.evidence = evidence
        self.log = Log(Batches.of(evidence.batches), unread=evidence.unread, whole_as_headers=True)
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
        """Columns of what is appended: batches and markers, and entries of snapshots where stretches begin."""
        log, batches = self.log, self.evidence.batches
        all_ids = longs(batches["producer_id"])[log.rows]
        mine = np.flatnonzero(all_ids >= 0)
        rows = log.rows[mine]
        self._rows = rows
        epochs, sequences = longs(batches["producer_epoch"])[rows], longs(batches["base_sequence"])[rows]
        marked = flags(batches["is_control"])[rows]
        base_offset, last_offset = log.base_offset[mine], log.last_offset[mine]
        types, coordinators = self._markers(mine)
        # the group coordinator appends offset commits all at sequence 0: UnifiedLog checks only clients'
        numbered = self.key[1] != OFFSETS_TOPIC
        last = np.fmod(sequences + last_offset - base_offset, _SEQUENCES) if numbered else np.full_like(
            sequences, NONE
        )
        stretch = log.stretch[mine] - (log.stretch[0] if len(log.stretch) else 0)
        columns = {
            "producer_id": all_ids[mine],
            "stretch": stretch,
            "kind": np.where(marked, MARKER, DATA),
            "transactional": flags(batches["is_transactional"])[rows].astype(np.int64),
            "epoch": epochs,
            "first_sequence": sequences,
            "last_sequence": last,
            "base_offset": base_offset,
            "last_offset": last_offset,
            "opens": base_offset,
            "coordinator_epoch": coordinators,
            "records": longs(batches["record_count"])[rows],
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
        records = self.evidence.records
        ends = pc.and_(
            pc.is_in(records["record_type"], pa.array([0, 1], pa.int32())),
            pc.greater_equal(pc.binary_length(records["value"]), 6),
        )
        records = records.filter(pc.and_(records["is_control"], ends))
        if records.num_rows:
            at = self.log.find_all(longs(records["base_offset"]), longs(records["leader_epoch"]))
            there = at >= 0
            types[at[there]] = longs(records["record_type"])[there]
            # EndTransactionMarker: int16 version, int32 coordinator epoch
            values = pc.binary_slice(records["value"], 2, 6).to_pylist()
            epochs = np.frombuffer(b"".join(values), dtype=">i4").astype(np.int64)
            coordinators[at[there]] = epochs[there]
        return types[mine], coordinators[mine]

    def _starts(self) -> dict[str, Longs] | None:
        """The entries of the snapshots that stretches begin with, as rows before their first batch."""
        entries_ = self.evidence.snapshots
        if not entries_.num_rows:
            return None
        offsets = longs(entries_["snapshot_offset"])
        at = np.minimum(np.searchsorted(self._from, offsets), max(len(self._from) - 1, 0))
        begins = (self._from[at] == offsets) if len(self._from) else np.zeros(len(offsets), dtype=np.bool_)
        begins &= (self._complete[at] == 0) if len(self._from) else begins
        if not begins.any():
            return None
        self._complete[at[begins]] = 1
        taken = entries_.filter(pa.array(begins))
        ids = longs(taken["producer_id"])
        stored = {name: longs(taken[name])[ids != UNKNOWN] for name in _ENTRY}
        stretch = at[begins][ids != UNKNOWN]
        before = self._from[stretch] - 1
        opened = stored["current_txn_first_offset"]
        return {
            "producer_id": ids[ids != UNKNOWN],
            "stretch": stretch,
            "kind": np.full(len(stretch), SNAPSHOT),
            "transactional": (opened >= 0).astype(np.int64),
            "epoch": stored["producer_epoch"],
            "first_sequence": stored["last_sequence"] - stored["offset_delta"],
            "last_sequence": stored["last_sequence"] if self.key[1] != OFFSETS_TOPIC else np.full_like(
                stretch, NONE
            ),
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

    def producer_states(self) -> pa.Table:
        """``silver.producer_states``.

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
        kept = (intervals["to_position"] == UNKNOWN) | (
            intervals["from_position"] < intervals["to_position"]
        )
        intervals = {name: column[kept] for name, column in intervals.items()}
        return self._states_at(at[kept], known[kept], intervals)

    def _states_at(self, at: Longs, known: Flags, intervals: Mapping[str, Longs]) -> pa.Table:
        def state(column: Longs) -> Longs:
            return np.where(known, column[at], UNKNOWN)

        columns, states = self.columns, self.states
        causes = pa.array(CAUSES, pa.string()).take(pa.array(np.where(known, states.cause[at], 0)))
        given: dict[str, Any] = {
            **dict(zip(_LOG, self.key, strict=True)),
            "producer_id": columns["producer_id"][at],
            "producer_epoch": state(columns["epoch"]),
            "first_sequence": state(states.first_sequence),
            "last_sequence": state(states.last_sequence),
            "last_offset": state(columns["newest_offset"]),
            "coordinator_epoch": state(states.coordinator_epoch),
            "current_txn_first_offset": state(states.current_txn_first_offset),
            "marker": flag(self.kind[at] == MARKER, known),
            "transactional": flag(columns["transactional"][at] == 1, known),
            "cause": causes,
            **intervals,
        }
        return rows_of(arrow_schema(PRODUCER_STATES), len(at), given)

    def held(self, answers: pa.Table) -> pa.Table:
        """The transactions that the partition holds: account.HELD.

        ``answers``: rows of ``silver.producer_requests`` for batches of this partition. When a batch was first
        answered for tells when it was written by the broker's clock; its own timestamp is the producer's.
        """
        found: Transactions = self.transactions
        columns, first = self.columns, self.transactions.first_row
        end = found.end_row
        ended = end != NONE
        open_ = flag(~ended, ended | (self._to[columns["stretch"][first]] == UNKNOWN))
        offsets = found.first_offset.tolist()
        ids = columns["producer_id"][first]
        types = np.where(ended, columns["marker_type"][end], UNKNOWN)
        cluster, _, _, partition_key = self.key

        def of_marker(column: Longs) -> Longs:
            return np.where(ended, column[end], UNKNOWN)

        given: dict[str, Any] = {
            **dict(zip(_LOG, self.key, strict=True)),
            "producer_id": ids,
            "partition_transaction_id": [
                digest_of(cluster, partition_key, producer_id, offset)
                for producer_id, offset in zip(ids.tolist(), offsets, strict=True)
            ],
            "producer_epoch": columns["epoch"][first],
            "first_offset": found.first_offset,
            "last_offset": found.last_offset,
            "batches": found.batches,
            "records": found.records,
            "open": open_,
            "aborted": flag(types == 0, types != UNKNOWN),
            "indexed": self._indexed(types == 0),
            "marker_epoch": of_marker(columns["epoch"]),
            "marker_coordinator_epoch": of_marker(columns["coordinator_epoch"]),
            "ended_position": of_marker(columns["base_offset"]),
            "first_ms": columns["timestamp_ms"][first],
            "ended_ms": of_marker(columns["timestamp_ms"]),
            "answered_ms": _first_answered(answers, found.first_offset),
        }
        return rows_of(account.schema_of(account.HELD), len(offsets), given)

    def _indexed(self, aborted: Flags) -> pa.Array:
        """Whether each aborted transaction is in the index of aborted transactions of its marker's segment.

        Null where that index was not captured from the broker whose segment holds the marker. The last marker
        of the log may have been read before its entry was written.
        """
        index, found = self.evidence.aborted, self.transactions
        entered = set(
            zip(index["producer_id"].to_pylist(), index["first_offset"].to_pylist(), strict=True)
        )
        captured = set(
            zip(index["broker_id"].to_pylist(), index["segment_offset"].to_pylist(), strict=True)
        )
        last_known = max((each.last_offset for each in self.log.stretches), default=NONE)
        said: list[bool | None] = [None] * len(found.first_row)
        at = np.flatnonzero(aborted)
        rows = pa.array(self.columns["row"][found.end_row[at]])
        markers = (self.evidence.batches[name].take(rows).to_pylist() for name in ("file", "broker_id"))
        for number, file, broker_id in zip(at.tolist(), *markers, strict=True):
            producer_id = int(self.columns["producer_id"][found.first_row[number]])
            segment = _SEGMENT.search(file or "")
            if (producer_id, int(found.first_offset[number])) in entered:
                said[number] = True
            elif (
                found.first_known[number]
                and self.columns["base_offset"][found.end_row[number]] < last_known
                and segment is not None
                and (broker_id, int(segment[1])) in captured
            ):
                said[number] = False
        return pa.array(said, pa.bool_())

    def markers(self) -> pa.Table:
        """Every marker: account.MARKER."""
        columns, at = self.columns, np.flatnonzero(self.kind == MARKER)
        types = columns["marker_type"][at]
        names = pa.array(MARKER_TYPES).take(pa.array(np.where(types == UNKNOWN, 0, types), mask=types == UNKNOWN))
        given: dict[str, Any] = {
            **dict(zip(_LOG, self.key, strict=True)),
            "producer_id": columns["producer_id"][at],
            "producer_epoch": columns["epoch"][at],
            "offset": columns["base_offset"][at],
            "timestamp_ms": columns["timestamp_ms"][at],
            "type": names,
            "coordinator_epoch": columns["coordinator_epoch"][at],
        }
        return rows_of(account.schema_of(account.MARKER), len(at), given)

    def idempotent_epochs(self) -> pa.Table:
        """When each epoch of a producer without transactions was first written with: account.EPOCH."""
        columns = self.columns
        in_transactions = columns["producer_id"][(columns["transactional"] == 1) | (self.kind == MARKER)]
        idempotent = ~np.isin(columns["producer_id"], in_transactions) & (self.kind != SNAPSHOT)
        rows = pa.table(
            {
                "producer_id": columns["producer_id"][idempotent],
                "producer_epoch": columns["epoch"][idempotent],
                "first_ms": columns["timestamp_ms"][idempotent],
            }
        )
        first = rows.group_by(["producer_id", "producer_epoch"]).aggregate([("first_ms", "min")])
        given = {
            **dict(zip(_LOG, self.key, strict=True)),
            "producer_id": first["producer_id"],
            "producer_epoch": first["producer_epoch"],
            "first_ms": first["first_ms_min"],
        }
        return rows_of(account.schema_of(account.EPOCH), first.num_rows, given)

    def wrote(self, answers: pa.Table) -> pa.Table:
        """What connections wrote with: account.WROTE.

        ``answers``: rows of ``silver.producer_requests`` for batches of this partition.
        """
        columns = self.columns
        there = self.kind != SNAPSHOT
        offsets = columns["base_offset"][there]
        wanted = longs(answers["base_offset"])
        at = np.minimum(np.searchsorted(offsets, wanted), max(len(offsets) - 1, 0))
        found = (offsets[at] == wanted) if len(offsets) else np.zeros(len(wanted), dtype=np.bool_)
        rows, at = answers.filter(pa.array(found)), at[found]
        given = {
            "cluster": self.key[0],
            "producer_id": columns["producer_id"][there][at],
            "producer_epoch": columns["epoch"][there][at],
            "broker_id": rows["broker_id"],
            "connection": rows["connection"],
            "transactional_id": rows["transactional_id"],
            "at_ms": milliseconds(rows["responded_at"]),
        }
        return rows_of(account.schema_of(account.WROTE), rows.num_rows, given)


def _first_answered(answers: pa.Table, offsets: Longs) -> Longs:
    asked, ms = longs(answers["base_offset"]), milliseconds(answers["responded_at"])
    order = np.lexsort((ms, asked))
    asked, ms = asked[order], ms[order]
    if not len(asked):
        return np.full(len(offsets), UNKNOWN)
    at = np.minimum(np.searchsorted(asked, offsets), len(asked) - 1)
    return np.where(asked[at] == offsets, ms[at], UNKNOWN)


_LOG = ("cluster", "topic", "partition", "partition_key")
_ENTRY = (
    "producer_epoch", "last_sequence", "last_offset", "offset_delta", "timestamp_ms", "coordinator_epoch",
    "current_txn_first_offset",
)  # fmt: skip
