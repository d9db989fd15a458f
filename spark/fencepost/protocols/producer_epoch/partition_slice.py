"""A slice of a partition's log, replayed: its producers and transactions."""

from __future__ import annotations

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.log_state import NOBODY, Carried
from fencepost.protocols.producer_epoch.partition_log import PartitionLog
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
from fencepost.protocols.producer_epoch.stretches import Stretches


class PartitionSlice:
    """Some rows of a partition's log, with the state of every producer after each of them."""

    def __init__(
        self, log: PartitionLog, rows: Piece, stretches: Stretches, carried: Carried, *, is_last: bool
    ) -> None:
        """Append ``rows`` to the state that is ``carried`` over from the slice before."""
        self.log = log
        self.stretches = stretches
        if carried.producers:
            rows = {name: np.concatenate([carried.rows[name], column]) for name, column in rows.items()}
        self._carried_counts = AppendedCounts(len(carried.rows["row"]), len(carried.transactions.first_row))
        self.columns, self.kind = rows, rows["kind"]
        producers, numbers = np.unique(rows["producer_id"], return_inverse=True)
        appends = Appends(
            numbers.astype(np.int64),
            *(np.ascontiguousarray(rows[name], dtype=np.int64) for name in Appends._fields[1:]),
        )
        producer_entries, output = entries(len(producers)), (states(len(numbers)), transactions(len(numbers)))
        _restore(carried, appends.producer, producer_entries, *output)
        count = append_all(appends, producer_entries, stretches.complete, output, self._carried_counts)
        self.states = output[0]
        self.transactions = Transactions(*(column[:count] for column in output[1]))
        self.following = np.full(len(numbers), NONE, dtype=np.int64)
        later = np.flatnonzero(self.states.previous != NONE)
        self.following[self.states.previous[later]] = later
        self.is_new = np.arange(len(numbers)) >= self._carried_counts.rows
        # carried rows of open transactions are not the newest of their producers: they are only looked up
        self.is_newest = self.is_new.copy()
        self.is_newest[: carried.producers] = True
        self.pending = np.zeros(len(numbers), dtype=np.bool_)
        self.open = np.zeros(count, dtype=np.bool_)
        self.carried = NOBODY if is_last else self._carry_on(appends, producer_entries)

    def _carry_on(self, appends: Appends, producer_entries: Entries) -> Carried:
        """What the next slice needs: the newest state of each producer, and its open transaction."""
        stretch = int(appends.stretch[-1])
        live = np.flatnonzero(producer_entries.stretch == stretch)
        newest, transactions = producer_entries.newest[live], self.transactions
        self.pending[newest] = True
        in_stretch = self.columns["stretch"][transactions.first_row] == stretch
        self.open = (transactions.end_row == NONE) & in_stretch
        first = transactions.first_row[self.open]
        at = np.concatenate([newest, first])
        open_transactions = Transactions(*(column[self.open] for column in transactions))
        open_transactions.first_row[:] = np.arange(len(newest), len(at))
        numbers = np.cumsum(self.open) - 1
        carried = Entries(*(column[live] for column in producer_entries))
        carried.newest[:] = np.arange(len(live))
        has_transaction = carried.transaction != NONE
        carried.transaction[has_transaction] = numbers[carried.transaction[has_transaction]]
        return Carried(
            {name: column[at] for name, column in self.columns.items()},
            States(*(column[at] for column in self.states)),
            carried,
            open_transactions,
        )

    def in_transactions(self) -> Longs:
        """The producers that have transactions here."""
        inside = (self.columns["transactional"] == 1) | (self.kind == MARKER)
        return np.unique(self.columns["producer_id"][inside])

    def first_epochs(self) -> Piece:
        """When each producer first wrote with each epoch, as columns of account.EPOCH.

        For the epoch that it had when the slice began, the time of its last batch before the slice.
        """
        at = np.flatnonzero((self.is_new | self.is_newest) & (self.kind != SNAPSHOT))
        ids, epochs, ms = (self.columns[name][at] for name in ("producer_id", "epoch", "timestamp_ms"))
        return first_of_each(ids, epochs, ms)

    def epochs_of_batches(self, offsets: Longs) -> tuple[Longs, Longs]:
        """The producer ids and epochs of the batches at these offsets, UNKNOWN where there is no batch."""
        is_batch = self.is_new & (self.kind != SNAPSHOT)
        base_offsets = self.columns["base_offset"][is_batch]
        if not len(base_offsets):
            return np.full_like(offsets, UNKNOWN), np.full_like(offsets, UNKNOWN)
        at = np.minimum(np.searchsorted(base_offsets, offsets), len(base_offsets) - 1)
        is_base_offset = base_offsets[at] == offsets
        ids, epochs = (self.columns[name][is_batch][at] for name in ("producer_id", "epoch"))
        return np.where(is_base_offset, ids, UNKNOWN), np.where(is_base_offset, epochs, UNKNOWN)


def first_of_each(ids: Longs, epochs: Longs, ms: Longs) -> Piece:
    """The first time of each producer id and epoch, as columns of account.EPOCH."""
    order = np.lexsort((ms, epochs, ids))
    ids, epochs, ms = ids[order], epochs[order], ms[order]
    first = np.ones(len(ids), dtype=np.bool_)
    first[1:] = (ids[1:] != ids[:-1]) | (epochs[1:] != epochs[:-1])
    return {"producer_id": ids[first], "producer_epoch": epochs[first], "first_ms": ms[first]}


def _restore(
    carried: Carried,
    producer: Longs,
    producer_entries: Entries,
    states_of_rows: States,
    transactions: Transactions,
) -> None:
    rows, count = len(carried.rows["row"]), len(carried.transactions.first_row)
    for column, values in zip(states_of_rows, carried.states, strict=True):
        column[:rows] = values
    # the slice before has the intervals of the rows before these
    states_of_rows.previous[:rows] = NONE
    for column, values in zip(producer_entries, carried.entries, strict=True):
        column[producer[: carried.producers]] = values
    for column, values in zip(transactions, carried.transactions, strict=True):
        column[:count] = values
