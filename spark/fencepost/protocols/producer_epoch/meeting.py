"""The last step: where the logs of partitions and of coordinators meet, by producer id and by partition.

Both count: the transactions that the coordinator completed with a partition in them, and the markers that the
partition holds. No clock is needed for that; only whether the coordinator's log is known past a batch may be
asked by time, and then by one broker's clock. Over columns: every transaction of every partition passes here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Account, Replayed, rows_of
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, longs, nullable, table_of
from fencepost.protocols.producer_epoch.counts import Counts, counted, counts_at_cut, name_of
from fencepost.protocols.producer_epoch.facts import Facts, known_producers
from fencepost.protocols.producer_epoch.in_flight import producer_fencings
from fencepost.protocols.producer_epoch.markers_due import (
    Due,
    newest_of,
    partitions_whole,
    transaction_markers,
)
from fencepost.protocols.producer_epoch.moments import Moments
from fencepost.protocols.producer_epoch.tables import (
    CARRIED_COUNTS,
    PARTITION_TRANSACTIONS,
    PRODUCER_FENCINGS,
    TRANSACTION_MARKERS,
)


def newest_markers(told: Account, known: Facts) -> pa.Table:
    """NEWEST of some producer ids: all that a task of the last step must know of the others' transactions.

    ``told``: rows of the accounts, as ``meet`` takes them. Tables of several tasks are concatenated.
    """
    due = _Meeting(told, known).due
    markers = nullable(due.completing(), pa.int64())
    there = due.rows.append_column("marker_position", markers).filter(pa.array(due.right > 0))
    return newest_of([there])


def meet(told: Account, known: Facts, newest: pa.Table, tolerance_ms: int) -> Replayed:
    """silver.partition_transactions, silver.transaction_markers and silver.producer_fencings; and
    tables.CARRIED_COUNTS.

    ``told``: every row of the accounts about some (cluster, producer id), those without a producer id being
    one of them. Rows of the kinds LOG and COORDINATOR are left out. ``newest``: what newest_markers gave for
    all producer ids.
    """
    meeting, newest = _Meeting(told, known), newest_of([newest])
    return Replayed(
        {
            CARRIED_COUNTS.name: counts_at_cut(told, meeting.counted, meeting.known),
            PARTITION_TRANSACTIONS.name: _partition_transactions(meeting, known, newest, tolerance_ms),
            TRANSACTION_MARKERS.name: transaction_markers(meeting.due, newest),
            PRODUCER_FENCINGS.name: producer_fencings(told, meeting.held, known),
        }
    )


class _Meeting:
    """Rows of partitions and of coordinators, with a number for what they meet by: cluster, partition's name,
    producer id and epoch.
    """

    def __init__(self, told: Account, known: Facts) -> None:
        self.held = _with_name(rows_of(told, account.HELD))
        self.markers = _with_name(rows_of(told, account.MARKER))
        self.listed = rows_of(told, account.LISTED)
        prepared = self.listed.filter(pc.is_valid(self.listed["prepared_position"]))
        self.told = rows_of(told, account.TOLD)
        self.known = known_producers(told)
        self.counted = counted(told, self.known)
        sides = [self.held, self.markers, self.listed, self.told, prepared, self.counted, self.counted]
        epochs = [*["producer_epoch"] * 4, "prepared_epoch", "producer_epoch", "prepared_epoch"]
        self.held_at, marked_at, self.listed_at, self.told_at, due_at, *counted_at = _numbers(sides, epochs)
        self.before = Counts(self.counted, self.known, *counted_at)
        self.due = Due((prepared, due_at), (self.markers, marked_at), known, self.before)


def _with_name(rows: pa.Table) -> pa.Table:
    return rows.append_column("name", name_of(rows))


def _numbers(sides: Sequence[pa.Table], epochs: Sequence[str]) -> list[Longs]:
    columns = []
    for key in ("cluster", "name"):
        texts = pa.chunked_array([chunk for side in sides for chunk in side[key].chunks], pa.string())
        columns.append(longs(texts.combine_chunks().dictionary_encode().indices))
    columns.append(np.concatenate([longs(side["producer_id"]) for side in sides]))
    columns.append(np.concatenate([longs(side[epoch]) for side, epoch in zip(sides, epochs, strict=True)]))
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, places = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * (len(values) + 1) + places, return_inverse=True)
    return np.split(codes, np.cumsum([side.num_rows for side in sides])[:-1])


def _partition_transactions(meeting: _Meeting, known: Facts, newest: pa.Table, tolerance_ms: int) -> pa.Table:
    """``silver.partition_transactions``: what partitions hold, and whether the coordinator lists it.

    Under one producer id and epoch a partition has as many closed transactions as the coordinator completed
    with it, at most: one more was never part of any. One that was closed at another epoch than all of those
    were prepared at was closed by the marker of another transaction. An open one is listed while the
    coordinator has one with the partition that it has not completed. What compaction took of the
    coordinator's log answers may tell, and what was before a chapter, the chapters before.
    """
    rows, at = meeting.held, meeting.held_at
    told = Moments(rows, meeting.known, known, newest, tolerance_ms)
    open_ = longs(rows["open"])
    by_coordinator = longs(rows["marker_coordinator_epoch"]) >= 0
    # of what ended before, a compacted log tells nothing, so it is not counted here either
    counts = told.ends_since
    before = meeting.before
    codes = max((int(each.max()) + 1 for each in (at, meeting.listed_at, before.at) if len(each)), default=0)
    of_another = by_coordinator & _closed_by_another(meeting, codes, at, longs(rows["marker_epoch"]))
    own = (open_ == 0) & by_coordinator & ~of_another
    own_before = ~_closed_by_another(meeting, codes, before.at, before.prepared)
    ended_before, listed_before = (
        np.bincount(before.at, each, codes).astype(np.int64)[at]
        for each in (own_before * before.ended_whole, before.listed_whole)
    )
    closed, ever_closed = (
        np.bincount(at[each], minlength=codes)[at] + ended_before for each in (own & counts, own)
    )
    listings = np.bincount(meeting.listed_at, minlength=codes)[at] + listed_before
    completed, cut = longs(meeting.listed["completed_position"]), longs(meeting.listed["cut"])
    # what a hole follows may have been completed in it
    is_open = (completed == UNKNOWN) & (cut == 0)
    unfinished = np.bincount(meeting.listed_at[is_open], minlength=codes)[at]
    since, past = told.begins_since, told.known_past
    free = listings - closed
    while_open = np.where(unfinished > 0, 1, np.where((free <= 0) & past, 0, UNKNOWN))
    # where there are as many as were ever closed, what compaction took does not matter
    enough = ((free >= 0) & since) | (listings >= ever_closed)
    ended = np.where(enough, 1, np.where(past & (listings == 0), 0, UNKNOWN))
    # one that a hole hides may be what the coordinator lists
    none_hidden = partitions_whole(rows, known)
    by_operator = np.where((free > 0) & since & none_hidden, 1, np.where((free <= 0) & past, 0, UNKNOWN))
    ended = np.where(of_another, np.where(past, 0, UNKNOWN), ended)
    ended = np.where((ended == UNKNOWN) & _told_by_answers(meeting, (open_ == 0) & by_coordinator), 1, ended)
    once = np.where(by_coordinator, ended, by_operator)
    listed = np.where(open_ == 1, while_open, np.where(open_ == 0, once, UNKNOWN))
    time = pa.timestamp("us", tz="UTC")
    given = {
        **{name: rows[name] for name in rows.schema.names},
        "transactional_id": told.transactional_id,
        "listed": nullable(listed, pa.bool_()),
        "from_position": rows["first_offset"],
        "to_position": rows["ended_position"],
        "from_time": nullable(told.began_ms, time),
        "to_time": nullable(told.ended_ms, time),
    }
    return table_of(PARTITION_TRANSACTIONS.arrow_schema, given)


def _told_by_answers(meeting: _Meeting, closed: Flags) -> Flags:
    """Which transactions of partitions were closed at an epoch at which answers tell of as many that the
    coordinator had.
    """
    at_epoch, told_epoch = longs(meeting.held["marker_epoch"]), longs(meeting.told["prepared_epoch"])
    span = 1 + max(0, *(int(each.max(initial=0)) for each in (at_epoch, told_epoch)))
    closed = closed & (at_epoch != UNKNOWN)
    held, told = meeting.held_at * span + at_epoch, meeting.told_at * span + told_epoch
    places, numbers = np.unique(np.concatenate([held, told]), return_inverse=True)
    ends, answered = np.split(numbers, [len(held)])
    count = np.zeros(len(places), dtype=np.int64)
    np.add.at(count, answered, longs(meeting.told["transactions"]))
    enough = count >= np.bincount(ends[closed], minlength=len(places))
    return np.asarray(closed & (count[ends] > 0) & enough[ends])


def _closed_by_another(meeting: _Meeting, codes: int, at: Longs, closed: Longs) -> Flags:
    """Which transactions of partitions have a marker at an epoch at which the coordinator prepared none."""
    before = meeting.before
    was_listed = before.listed_whole > 0
    prepared = np.concatenate([longs(meeting.listed["prepared_epoch"]), before.prepared[was_listed]])
    listed_at = np.concatenate([meeting.listed_at, before.at[was_listed]])
    hidden = np.bincount(listed_at[prepared == UNKNOWN], minlength=codes)[at]
    span = 1 + max(0, *(int(each.max(initial=0)) for each in (prepared, closed)))
    own = np.isin(at * span + closed, listed_at * span + prepared)
    return np.asarray((closed != UNKNOWN) & (hidden == 0) & ~own)
