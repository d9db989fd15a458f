"""A piece of a partition's log, replayed: what it tells of producers and transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.handed_down_logs import Carried
from fencepost.protocols.producer_epoch.producer_state import (
    MARKER,
    NONE,
    SNAPSHOT,
    AppendedCounts,
    Appends,
    Entries,
    States,
    Transactions,
    append_all,
    entries,
    states,
    transactions,
)
from fencepost.replay.logs import Log

if TYPE_CHECKING:
    from fencepost.protocols.producer_epoch.partition_log import PartitionLog


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
        self.log = of
        self.stretches = stretches
        self._begun = AppendedCounts(0, 0)
        if carried is not None:
            rows = {name: np.concatenate([carried.rows[name], column]) for name, column in rows.items()}
            self._begun = AppendedCounts(len(carried.rows["row"]), len(carried.transactions.first_row))
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
        self.is_new = np.arange(len(numbers)) >= self._begun.rows
        # but for the first rows of transactions, which are only there to be looked up
        self.is_newest = self.is_new.copy()
        self.is_newest[: carried.producers if carried is not None else 0] = True
        self.pending = np.zeros(len(numbers), dtype=np.bool_)
        self.open = np.zeros(count, dtype=np.bool_)
        self.carried: Carried | None = None
        if not is_last:
            self.carried = self._carry_on(appends, entry)

    def _carry_on(self, appends: Appends, entry: Entries) -> Carried:
        """What is not settled here: the newest state of each producer, and its open transaction."""
        stretch = int(appends.stretch[-1])
        live = np.flatnonzero(entry.stretch == stretch)
        newest, found = entry.newest[live], self.transactions
        self.pending[newest] = True
        in_stretch = self.columns["stretch"][found.first_row] == stretch
        self.open = (found.end_row == NONE) & in_stretch
        first = found.first_row[self.open]
        at = np.concatenate([newest, first])
        kept = Transactions(*(column[self.open] for column in found))
        kept.first_row[:] = np.arange(len(newest), len(at))
        numbers = np.cumsum(self.open) - 1
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

    def in_transactions(self) -> Longs:
        """The producers that have transactions here."""
        inside = (self.columns["transactional"] == 1) | (self.kind == MARKER)
        return np.unique(self.columns["producer_id"][inside])

    def first_epochs(self) -> Piece:
        """When each producer first wrote with each epoch, as columns of account.EPOCH.

        Of the newest one before these rows: when it last did.
        """
        at = np.flatnonzero((self.is_new | self.is_newest) & (self.kind != SNAPSHOT))
        ids, epochs, ms = (self.columns[name][at] for name in ("producer_id", "epoch", "timestamp_ms"))
        return first_of_each(ids, epochs, ms)

    def wrote(self, offsets: Longs) -> tuple[Longs, Longs]:
        """The producer ids and epochs of the batches at these offsets, UNKNOWN where there is none."""
        there = self.is_new & (self.kind != SNAPSHOT)
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
