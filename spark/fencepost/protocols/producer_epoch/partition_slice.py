"""A piece of a partition's log, replayed: what it tells of producers and transactions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, Piece
from fencepost.protocols.producer_epoch.expiration import DEFAULT_MS
from fencepost.protocols.producer_epoch.log_before import Carried
from fencepost.protocols.producer_epoch.producer_state import (
    MARKER,
    NO_CAUSE,
    NONE,
    SNAPSHOT,
    Appends,
    Begun,
    Entries,
    States,
    Transactions,
    append_all,
    entries,
    states,
    transactions,
)
from fencepost.replay.keys import digests_of
from fencepost.replay.logs import Log

if TYPE_CHECKING:
    from fencepost.protocols.producer_epoch.partition_log import PartitionLog

MARKER_TYPES = ("ABORT", "COMMIT")
"""Types of control records that end a transaction: org.apache.kafka.common.record.ControlRecordType."""

_SEGMENT = re.compile(r"(\d{20})\.log[^/]*$")


@dataclass(frozen=True)
class Stretches:
    """The stretches of a log, as columns: see replay.logs.Stretch. ``ends`` is UNKNOWN where a log just ends.

    ``complete`` is 1 where a stretch begins with all that the leader knew.
    """

    begins: Longs
    ends: Longs
    last_ms: Longs
    complete: Longs

    @classmethod
    def of(cls, log: Log) -> Stretches:
        """Those of a log."""
        columns = (
            [each.from_offset for each in log.stretches],
            [UNKNOWN if each.to_offset is None else each.to_offset for each in log.stretches],
            [each.last_ms for each in log.stretches],
            [int(each.number == 0) for each in log.stretches],
        )
        return cls(*(np.array(column, dtype=np.int64) for column in columns))


class PartitionSlice:
    """Some rows of a partition's log, with the state of every producer after each of them."""

    def __init__(
        self, of: PartitionLog, rows: Piece, stretches: Stretches, carried: Carried | None, *, is_last: bool
    ) -> None:
        """Append ``rows``, going on from what is ``carried``."""
        self._of = of
        self._stretches = stretches
        self._begun = Begun(0, 0)
        if carried is not None:
            rows = {name: np.concatenate([carried.rows[name], column]) for name, column in rows.items()}
            self._begun = Begun(len(carried.rows["row"]), len(carried.transactions.first_row))
        self.columns, self.kind = rows, rows["kind"]
        producers, numbers = np.unique(rows["producer_id"], return_inverse=True)
        appends = Appends(
            numbers.astype(np.int64),
            *(np.ascontiguousarray(rows[name], dtype=np.int64) for name in Appends._fields[1:]),
        )
        entry, told = entries(len(producers)), (states(len(numbers)), transactions(len(numbers)))
        if carried is not None:
            _put_back(carried, appends.producer, entry, *told)
        count = append_all(appends, entry, stretches.complete, told, self._begun)
        self.states = told[0]
        self.transactions = Transactions(*(column[:count] for column in told[1]))
        self.following = np.full(len(numbers), NONE, dtype=np.int64)
        later = np.flatnonzero(self.states.previous != NONE)
        self.following[self.states.previous[later]] = later
        self._is_new = np.arange(len(numbers)) >= self._begun.rows
        # but for the first rows of transactions, which are only there to be looked up
        self._is_newest = self._is_new.copy()
        self._is_newest[: carried.producers if carried is not None else 0] = True
        self._pending = np.zeros(len(numbers), dtype=np.bool_)
        self._open = np.zeros(count, dtype=np.bool_)
        self.carried: Carried | None = None
        if not is_last:
            self.carried = self._carry_on(appends, entry)

    def _carry_on(self, appends: Appends, entry: Entries) -> Carried:
        """What is not settled here: the newest state of each producer, and its open transaction."""
        stretch = int(appends.stretch[-1])
        live = np.flatnonzero(entry.stretch == stretch)
        newest, found = entry.newest[live], self.transactions
        self._pending[newest] = True
        in_stretch = self.columns["stretch"][found.first_row] == stretch
        self._open = (found.end_row == NONE) & in_stretch
        first = found.first_row[self._open]
        at = np.concatenate([newest, first])
        kept = Transactions(*(column[self._open] for column in found))
        kept.first_row[:] = np.arange(len(newest), len(at))
        numbers = np.cumsum(self._open) - 1
        carried = Entries(*(column[live] for column in entry))
        carried.newest[:] = np.arange(len(live))
        has_one = carried.transaction != NONE
        carried.transaction[has_one] = numbers[carried.transaction[has_one]]
        return Carried(
            len(live),
            {name: column[at] for name, column in self.columns.items()},
            States(*(column[at] for column in self.states)),
            carried,
            kept,
        )

    def producer_states(self) -> Piece:
        """``silver.producer_states``; ``cause`` is a place in CAUSES.

        A producer whose past is hidden has a row of nulls from where its stretch begins. A leader may have
        forgotten one that was silent for long: what it knew before its next batch is null too.
        """
        columns, following, stretches = self.columns, self.following, self._stretches
        stretch, ms = columns["stretch"], columns["timestamp_ms"]
        begins, ends = np.maximum(columns["last_offset"], stretches.begins[stretch]), stretches.ends[stretch]
        until = np.where(following == NONE, ends, columns["last_offset"][following])
        last_ms = np.where(ends == UNKNOWN, UNKNOWN, stretches.last_ms[stretch])
        until_ms = np.where(following == NONE, last_ms, ms[following])
        silent = self._silent(ms)
        # the state is true for its own position; it needs a second one to be forgotten in
        fits = (until != UNKNOWN) & (until > begins + 1)
        settled = np.flatnonzero(self._is_newest & ~self._pending)
        forgotten = np.flatnonzero(silent & fits)
        unseen = (self.states.previous == NONE) & (stretches.complete[stretch] == 0)
        hidden = np.flatnonzero(unseen & self._is_new)
        told = np.where(silent & fits, begins + 1, until)
        unknown = np.full(len(hidden), UNKNOWN)
        at = np.concatenate([settled, forgotten, hidden])
        intervals = {
            "from_position": np.concatenate(
                [begins[settled], begins[forgotten] + 1, stretches.begins[stretch[hidden]]]
            ),
            "to_position": np.concatenate([told[settled], until[forgotten], columns["last_offset"][hidden]]),
            "from_time": np.concatenate([ms[settled], ms[forgotten], unknown]),
            "to_time": np.concatenate([until_ms[settled], until_ms[forgotten], ms[hidden]]),
        }
        known = np.arange(len(at)) < len(settled)
        known[: len(settled)] &= ~silent[settled] | fits[settled]
        ends = intervals["to_position"]
        kept = (ends == UNKNOWN) | (intervals["from_position"] < ends)
        intervals = {name: column[kept] for name, column in intervals.items()}
        return self._states_at(at[kept], known[kept], intervals)

    def _silent(self, ms: Longs) -> Flags:
        """After which rows a leader may have forgotten the producer: after a day, or later if it was told so.

        Not sooner: what is missing between two batches of one day is missing, whoever noticed it.
        """
        following, expiration = self.following, self._of.evidence.expiration
        silent: Flags = (following != NONE) & (ms[following] - ms >= DEFAULT_MS)
        for at in np.flatnonzero(silent).tolist():
            since, until = int(ms[at]), int(ms[following[at]])
            least = expiration.least(since, until)
            silent[at] = least is None or until - since >= least
        return silent

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
        columns = self.columns
        found = Transactions(*(column[~self._open] for column in self.transactions))
        first, end = found.first_row, found.end_row
        ended = end != NONE
        ids = columns["producer_id"][first]
        types = np.where(ended, columns["marker_type"][end], UNKNOWN)
        last = self._stretches.ends[columns["stretch"][first]] == UNKNOWN
        cluster, _, _, partition_key = self._of.key

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
            "indexed": self._indexed(found, types == 0),
            "marker_epoch": of_marker(columns["epoch"]),
            "marker_coordinator_epoch": of_marker(columns["coordinator_epoch"]),
            "ended_position": of_marker(columns["base_offset"]),
            "first_ms": columns["timestamp_ms"][first],
            "ended_ms": of_marker(columns["timestamp_ms"]),
            **self._of.answered.of(found.first_offset),
            "before_cut": ended & self._is_before_cut(columns["base_offset"][end]),
        }

    def _indexed(self, found: Transactions, aborted: Flags) -> Longs:
        """Whether each aborted transaction is in the index of aborted transactions of its marker's segment.

        Not known where that index was not captured from the broker whose segment holds the marker. The last
        marker of the log may have been read before its entry was written.
        """
        of, columns = self._of, self.columns
        said = np.full(len(found.first_row), UNKNOWN, dtype=np.int64)
        at = np.flatnonzero(aborted)
        if not len(at):
            return said
        ends = found.end_row[at]
        rows = columns["row"][ends]
        known = found.first_known[at] & (columns["base_offset"][ends] < of.last_offset)
        for number, producer_id, first_offset, file, broker_id, settled in zip(
            at.tolist(),
            columns["producer_id"][found.first_row[at]].tolist(),
            found.first_offset[at].tolist(),
            of.evidence.batches["file"][rows].tolist(),
            of.evidence.batches["broker_id"][rows].tolist(),
            known.tolist(),
            strict=True,
        ):
            if (producer_id, first_offset) in of.entered:
                said[number] = 1
            elif settled and (broker_id, _segment_of(of.evidence.files[file])) in of.captured:
                said[number] = 0
        return said

    def markers(self) -> Mapping[str, Any]:
        """Every marker: account.MARKER; ``type`` is a place in MARKER_TYPES."""
        columns, at = self.columns, np.flatnonzero(self._is_new & (self.kind == MARKER))
        return {
            "producer_id": columns["producer_id"][at],
            "producer_epoch": columns["epoch"][at],
            "offset": columns["base_offset"][at],
            "timestamp_ms": columns["timestamp_ms"][at],
            "type": columns["marker_type"][at],
            "coordinator_epoch": columns["coordinator_epoch"][at],
            "before_cut": self._is_before_cut(columns["base_offset"][at]),
        }

    def _is_before_cut(self, offsets: Longs) -> Flags:
        return offsets < (NONE if self._of.cut is None else self._of.cut)

    def in_transactions(self) -> Longs:
        """The producers that have transactions here."""
        inside = (self.columns["transactional"] == 1) | (self.kind == MARKER)
        return np.unique(self.columns["producer_id"][inside])

    def first_epochs(self) -> Piece:
        """When each producer first wrote with each epoch, as columns of account.EPOCH.

        Of the newest one before these rows: when it last did.
        """
        at = np.flatnonzero((self._is_new | self._is_newest) & (self.kind != SNAPSHOT))
        ids, epochs, ms = (self.columns[name][at] for name in ("producer_id", "epoch", "timestamp_ms"))
        return first_of_each(ids, epochs, ms)

    def wrote(self, offsets: Longs) -> tuple[Longs, Longs]:
        """The producer ids and epochs of the batches at these offsets, UNKNOWN where there is none."""
        there = self._is_new & (self.kind != SNAPSHOT)
        known = self.columns["base_offset"][there]
        if not len(known):
            return np.full_like(offsets, UNKNOWN), np.full_like(offsets, UNKNOWN)
        at = np.minimum(np.searchsorted(known, offsets), len(known) - 1)
        found = known[at] == offsets
        ids, epochs = (self.columns[name][there][at] for name in ("producer_id", "epoch"))
        return np.where(found, ids, UNKNOWN), np.where(found, epochs, UNKNOWN)


def first_of_each(ids: Longs, epochs: Longs, ms: Longs) -> Piece:
    """The first time of each producer id and epoch, as columns of account.EPOCH."""
    order = np.lexsort((ms, epochs, ids))
    ids, epochs, ms = ids[order], epochs[order], ms[order]
    first = np.ones(len(ids), dtype=np.bool_)
    first[1:] = (ids[1:] != ids[:-1]) | (epochs[1:] != epochs[:-1])
    return {"producer_id": ids[first], "producer_epoch": epochs[first], "first_ms": ms[first]}


def _put_back(carried: Carried, producer: Longs, entry: Entries, told: States, found: Transactions) -> None:
    rows, count = len(carried.rows["row"]), len(carried.transactions.first_row)
    for column, values in zip(told, carried.states, strict=True):
        column[:rows] = values
    # the row before it has been told of
    told.previous[:rows] = NONE
    for column, values in zip(entry, carried.entries, strict=True):
        column[producer[: carried.producers]] = values
    for column, values in zip(found, carried.transactions, strict=True):
        column[:count] = values


def _segment_of(file: str) -> int | None:
    """The base offset of the segment in a file's name."""
    found = _SEGMENT.search(file)
    return int(found[1]) if found else None
