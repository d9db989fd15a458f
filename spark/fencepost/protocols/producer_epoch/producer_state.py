"""The state of each producer at a partition's leader, batch by batch.

After org.apache.kafka.storage.internals.log.ProducerStateManager: a map of producer ids to entries
(ProducerStateEntry), which each batch and marker is appended to (ProducerAppendInfo). Compiled, over columns:
a partition may hold millions of batches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fencepost.formats.jit import inlined, kernel
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs

NONE = -1
"""Kafka's value for: no epoch, no sequence, no offset, no producer id."""

DATA, MARKER, SNAPSHOT = 0, 1, 2
"""What a row of Appends is: a batch of records, the marker of a transaction, an entry of a snapshot."""

MARKER_TYPES = ("ABORT", "COMMIT")
"""Types of control records that end a transaction: org.apache.kafka.common.record.ControlRecordType."""

NO_CAUSE, BY_MARKER, BY_COORDINATOR, BY_ITSELF = 0, 1, 2, 3
CAUSES = (None, "marker", "coordinator", "local")
"""Who moved the epoch: names for NO_CAUSE and the others."""


class Appends(NamedTuple):
    """What is appended, as columns in the order of the log.

    ``producer`` and ``stretch`` are numbers from 0; ``transactional`` is 0 or 1. ``first_sequence`` and
    ``last_sequence`` are those of DATA and SNAPSHOT. ``opens`` is where a transaction begins, if the row
    begins one. ``coordinator_epoch`` is a marker's or a snapshot's, UNKNOWN where it could not be read,
    negative where no coordinator wrote it.
    """

    producer: Longs
    stretch: Longs
    kind: Longs
    transactional: Longs
    epoch: Longs
    first_sequence: Longs
    last_sequence: Longs
    base_offset: Longs
    last_offset: Longs
    opens: Longs
    coordinator_epoch: Longs
    records: Longs


class Entries(NamedTuple):
    """A ProducerStateEntry for each producer, by its number.

    ``stretch`` is the one in which the entry was made, ``newest`` the last row of the producer there, NONE
    without one; ``markers`` counts its ended transactions; ``transaction`` is the place of its open
    transaction in Transactions, NONE without one.
    """

    stretch: Longs
    newest: Longs
    epoch: Longs
    first_sequence: Longs
    last_sequence: Longs
    coordinator_epoch: Longs
    current_txn_first_offset: Longs
    markers: Longs
    transaction: Longs


class States(NamedTuple):
    """The entry of a producer after each row, and ``previous``: the producer's row before it, NONE without
    one. ``first_known``: whether all rows of the producer since its last ended transaction are known.
    """

    previous: Longs
    first_sequence: Longs
    last_sequence: Longs
    coordinator_epoch: Longs
    current_txn_first_offset: Longs
    cause: Longs
    first_known: Longs


class Transactions(NamedTuple):
    """The transactions in the partition. ``first_row`` and ``end_row`` (that of the marker, NONE without
    one) are places in Appends; ``records`` is UNKNOWN while only a snapshot shows the transaction;
    ``first_known``: whether it is known to have no earlier batch.
    """

    first_row: Longs
    end_row: Longs
    first_offset: Longs
    last_offset: Longs
    batches: Longs
    records: Longs
    first_known: Longs


class AppendedCounts(NamedTuple):
    """How many rows of Appends and of Transactions are carried over: they were appended before."""

    rows: int
    transactions: int


def entries(producers: int) -> Entries:
    """Entries of producers that have none yet."""
    return Entries(*(np.full(producers, NONE, dtype=np.int64) for _ in Entries._fields))


def states(rows: int) -> States:
    """Room for the states after so many rows."""
    return States(*(np.full(rows, NONE, dtype=np.int64) for _ in States._fields))


def transactions(rows: int) -> Transactions:
    """Room for as many transactions as rows can begin."""
    return Transactions(*(np.empty(rows, dtype=np.int64) for _ in Transactions._fields))


@kernel
def append_all(
    appends: Appends,
    entry: Entries,
    complete: Longs,
    output: tuple[States, Transactions],
    carried_counts: AppendedCounts,
) -> int:
    """Append the rows behind those of ``carried_counts``; returns how many transactions there are then.

    ``entry`` is the state before these rows, and is changed to the state after them; ``output`` is filled.
    ``complete`` is 1 for each stretch that begins with the whole state of the leader: with the beginning of
    the log, or with a snapshot.
    """
    states, transactions = output
    count = carried_counts.transactions
    for row in range(carried_counts.rows, len(appends.producer)):
        producer = appends.producer[row]
        if entry.stretch[producer] != appends.stretch[row]:
            _forget(entry, producer, appends.stretch[row], complete[appends.stretch[row]])
        states.previous[row] = entry.newest[producer]
        states.first_known[row] = 1 if entry.markers[producer] else 0
        states.cause[row] = _update_epoch(appends, entry, row, producer)
        if appends.coordinator_epoch[row] >= 0:
            entry.coordinator_epoch[producer] = appends.coordinator_epoch[row]
        if appends.kind[row] == MARKER:
            _append_end_txn_marker(entry, row, producer, transactions)
        else:
            count = _append_data_batch(appends, entry, row, transactions, count)
        entry.newest[producer] = row
        states.first_sequence[row] = entry.first_sequence[producer]
        states.last_sequence[row] = entry.last_sequence[producer]
        states.coordinator_epoch[row] = entry.coordinator_epoch[producer]
        states.current_txn_first_offset[row] = entry.current_txn_first_offset[producer]
    return count


@inlined
def _forget(entry: Entries, producer: int, stretch: int, complete: int) -> None:
    """Forget a producer at a hole before this row: its state is UNKNOWN, unless the stretch is
    ``complete``.
    """
    unknown_or_none = NONE if complete else UNKNOWN
    entry.stretch[producer] = stretch
    entry.newest[producer] = NONE
    # the epoch that the next row has may have batches in the hole
    entry.first_sequence[producer] = unknown_or_none
    entry.last_sequence[producer] = unknown_or_none
    entry.coordinator_epoch[producer] = unknown_or_none
    # a transaction may be open from before the hole
    entry.current_txn_first_offset[producer] = unknown_or_none
    entry.markers[producer] = complete
    entry.transaction[producer] = NONE


@inlined
def _update_epoch(appends: Appends, entry: Entries, row: int, producer: int) -> int:
    """ProducerStateEntry.maybeUpdateProducerEpoch: a new epoch has no batches yet; returns who moved it."""
    if entry.newest[producer] == NONE or entry.epoch[producer] == appends.epoch[row]:
        entry.epoch[producer] = appends.epoch[row]
        return NO_CAUSE
    entry.epoch[producer] = appends.epoch[row]
    entry.first_sequence[producer] = NONE
    entry.last_sequence[producer] = NONE
    if appends.kind[row] == MARKER:
        return BY_MARKER
    return BY_COORDINATOR if appends.transactional[row] else BY_ITSELF


@inlined
def _append_end_txn_marker(entry: Entries, row: int, producer: int, transactions: Transactions) -> None:
    """ProducerAppendInfo.appendEndTxnMarker."""
    if entry.transaction[producer] != NONE:
        transactions.end_row[entry.transaction[producer]] = row
    entry.transaction[producer] = NONE
    entry.current_txn_first_offset[producer] = NONE
    entry.markers[producer] += 1


@inlined
def _append_data_batch(
    appends: Appends, entry: Entries, row: int, transactions: Transactions, count: int
) -> int:
    """ProducerAppendInfo.appendDataBatch; returns how many transactions there are then."""
    producer = appends.producer[row]
    entry.first_sequence[producer] = appends.first_sequence[row]
    entry.last_sequence[producer] = appends.last_sequence[row]
    if not appends.transactional[row]:
        return count
    if entry.current_txn_first_offset[producer] == NONE:
        entry.current_txn_first_offset[producer] = appends.opens[row]
    at = entry.transaction[producer]
    if at == NONE:
        at = count
        count += 1
        entry.transaction[producer] = at
        transactions.first_row[at] = row
        transactions.end_row[at] = NONE
        first = entry.current_txn_first_offset[producer]
        transactions.first_offset[at] = first if first != UNKNOWN else appends.base_offset[row]
        transactions.last_offset[at] = appends.last_offset[row]
        transactions.batches[at] = 0
        transactions.records[at] = UNKNOWN
        transactions.first_known[at] = 1 if entry.markers[producer] else 0
    transactions.last_offset[at] = max(transactions.last_offset[at], appends.last_offset[row])
    transactions.batches[at] += 1
    if appends.kind[row] == DATA:
        records = transactions.records[at] if transactions.records[at] != UNKNOWN else 0
        transactions.records[at] = records + appends.records[row]
    return count
