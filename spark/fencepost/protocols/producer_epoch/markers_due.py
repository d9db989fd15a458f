"""The markers that are due by the coordinators' transactions: ``silver.transaction_markers``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Key, Longs, longs, nullable, table_of
from fencepost.protocols.producer_epoch.counts import Counts
from fencepost.protocols.producer_epoch.facts import Facts
from fencepost.protocols.producer_epoch.tables import TRANSACTION_MARKERS
from fencepost.replay.keys import digest_of

LOG = ("cluster", "topic", "partition", "partition_key")
_PLACE = (*LOG, "name")
NEWEST = pa.schema(
    [
        ("cluster", pa.string()), ("topic", pa.string()), ("partition", pa.int32()),
        ("partition_key", pa.string()), ("name", pa.string()), ("prepared_position", pa.int64()),
        ("marker_position", pa.int64()),
    ]
)  # fmt: skip
"""Of each coordinator's log, the newest transaction whose marker is in a partition (``name``), and the newest
marker there of a transaction that it completed: what the partition held before, the log goes on past.
"""


def newest_of(rows: Iterable[pa.Table]) -> pa.Table:
    found = pa.concat_tables([NEWEST.empty_table(), *(each.select(NEWEST.names) for each in rows)])
    newest = [(name, "max") for name in NEWEST.names[len(_PLACE) :]]
    found = found.group_by(list(_PLACE)).aggregate(newest)
    return found.rename_columns(NEWEST.names).cast(NEWEST)


_TYPES = ("ABORT", "COMMIT")


class Due:
    """The markers that are due by the coordinators' transactions, and those that were found.

    A marker belongs to a transaction by the producer id and epoch of the Prepare record. Where an epoch has
    several transactions (before transaction version 2) they meet in order, if there are as many markers as
    prepared transactions, and the partition's log is whole: none is missing between. Those that earlier
    chapters have counted (``before``) are among them.
    """

    def __init__(
        self,
        listed: tuple[pa.Table, Longs],
        marked: tuple[pa.Table, Longs],
        known: Facts,
        before: Counts,
    ) -> None:
        """``listed``, ``marked``: rows of the kinds LISTED, that are prepared, and MARKER, each with a number
        for what they meet by.
        """
        rows, at = listed
        markers, marked_at = marked
        order = np.lexsort((longs(rows["prepared_position"]), at))
        self.rows, at = rows.take(pa.array(order)), at[order]
        order = np.lexsort((longs(markers["timestamp_ms"]), longs(markers["offset"]), marked_at))
        self.markers, marked_at = markers.take(pa.array(order)), marked_at[order]
        first_due = np.searchsorted(at, at)
        self.of_epoch = np.searchsorted(at, at, side="right") - first_due
        self.number = np.arange(len(at)) - first_due
        self.first = np.searchsorted(marked_at, at)
        self.size = np.searchsorted(marked_at, at, side="right") - self.first
        self._types = _places(self.markers["type"])
        self.type = _places(self.rows["due_type"])
        prepared_before, marked_before = (
            _of(before.due_at, each, at) for each in (before.listed, before.markers)
        )
        self.alone = self.of_epoch + prepared_before == 1
        self.whole = partitions_whole(self.rows, known)
        self.number += prepared_before - marked_before
        as_many = self.of_epoch + prepared_before == self.size + marked_before
        # a marker may be before what is seen of the partition, though its transaction is not
        self.met = np.where(self.alone, marked_before == 0, self.whole & as_many & (self.number >= 0))
        # a transaction that a hole hides would have markers of this epoch too
        self.met &= longs(self.rows["counted"]) == 1
        # how many markers of the due type are before each, to count those of one epoch
        self._before = [np.concatenate([[0], np.cumsum(self._types == each)]) for each in range(len(_TYPES))]
        in_order = self.first + np.clip(self.number, 0, np.maximum(self.size - 1, 0))
        self._in_order = np.where(self.size > 0, in_order, UNKNOWN)
        right = np.where(self.alone, self._count(), self._is_due(self._in_order))
        self.right = np.where(self.met, right, 0)

    def _count(self) -> Longs:
        """How many markers of the due type each epoch has."""
        last = self.first + self.size
        aborts, commits = (before[last] - before[self.first] for before in self._before)
        count: Longs = np.where(self.type == 1, commits, aborts)
        return count

    def _is_due(self, markers: Longs) -> Flags:
        if not len(self._types):
            return np.zeros(len(markers), dtype=np.bool_)
        due: Flags = (markers != UNKNOWN) & (self._types[np.maximum(markers, 0)] == self.type)
        return due

    def completing(self) -> Longs:
        """Where each transaction that was completed has its marker in the partition, written by the one who
        prepared it; UNKNOWN where that is not sure.
        """
        at = self.first_right()
        written_by, offset = (longs(_taken(self.markers[n], at)) for n in ("coordinator_epoch", "offset"))
        sure = longs(self.rows["completed_position"]) != UNKNOWN
        return np.where(sure & (written_by == longs(self.rows["prepared_by_epoch"])), offset, UNKNOWN)

    def first_right(self) -> Longs:
        """The first marker of the due type; UNKNOWN where there is none."""
        alone = np.full(len(self.first), UNKNOWN)
        for each, before in enumerate(self._before):
            # as many markers of its type are before it as before the epoch's first
            places = np.flatnonzero(self._types == each)
            wanted = (self.type == each) & (self.right > 0)
            alone[wanted] = places[before[self.first[wanted]]]
        return np.where(self.right > 0, np.where(self.alone, alone, self._in_order), UNKNOWN)


def _of(counted_at: Longs, counts: Longs, at: Longs) -> Longs:
    """The sum of the counts at each of these numbers."""
    numbers, places = np.unique(counted_at, return_inverse=True)
    if not len(numbers):
        return np.zeros(len(at), dtype=np.int64)
    sums = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(sums, places, counts)
    found = np.minimum(np.searchsorted(numbers, at), len(numbers) - 1)
    return np.where(numbers[found] == at, sums[found], 0)


def _places(column: pa.ChunkedArray) -> Longs:
    return longs(pc.index_in(column, pa.array(_TYPES)))


def transaction_markers(due: Due, newest: pa.Table) -> pa.Table:
    """``silver.transaction_markers``.

    What is missing is only known to be, when the partition's log has no hole and holds the marker of a
    transaction that the coordinator prepared after this one was completed: no clock is asked.
    """
    rows, right, met = due.rows, due.right, due.met
    size = np.where(due.alone, due.size, 1)
    completed = longs(rows["completed_position"])
    past = due.whole & (completed != UNKNOWN) & (_newest(rows, newest) > completed)
    certain = (right > 0) | past
    marker = due.first_right()
    prepared = longs(rows["prepared_position"])
    prepared_at = nullable(longs(rows["prepared_ms"]), pa.timestamp("us", tz="UTC"))
    given = {
        **{name: rows[name] for name in (*LOG, "transactional_id", "producer_id", "due_type")},
        "marker_id": _marker_ids(rows),
        "producer_epoch": rows["prepared_epoch"],
        "transaction_partition": rows["name"],
        "completed": pc.is_valid(rows["completed_position"]),
        "found": nullable(np.where(met & certain, right, UNKNOWN), pa.int64()),
        "wrong": nullable(np.where(met & (certain | (size > 0)), size - right, UNKNOWN), pa.int64()),
        "coordinator_epoch": rows["prepared_by_epoch"],
        "marker_coordinator_epoch": _taken(due.markers["coordinator_epoch"], marker),
        "marker_position": _taken(due.markers["offset"], marker),
        "marker_at": nullable(
            longs(_taken(due.markers["timestamp_ms"], marker)), pa.timestamp("us", tz="UTC")
        ),
        "from_position": rows["prepared_position"],
        "to_position": pa.array(prepared + 1),
        "from_time": prepared_at,
        "to_time": prepared_at,
    }
    return table_of(TRANSACTION_MARKERS.arrow_schema, given)


def _marker_ids(rows: pa.Table) -> pa.Array:
    names = (*LOG, "transactional_id", "prepared_position", "name")
    columns = (rows[name].to_pylist() for name in names)
    return pa.array([digest_of(*values) for values in zip(*columns, strict=True)], pa.string())


def partitions_whole(rows: pa.Table, known: Facts) -> Flags:
    """Whether the log of each row's partition (``cluster``, ``name``) is known from its beginning on."""
    keys = zip(rows["cluster"].to_pylist(), rows["name"].to_pylist(), strict=True)
    return np.fromiter((known.whole.get(key, False) for key in keys), np.bool_, rows.num_rows)


def _newest(rows: pa.Table, newest: pa.Table) -> Longs:
    columns = (newest[name].to_pylist() for name in (*_PLACE, "prepared_position"))
    positions: dict[Key, int] = {tuple(key): position for *key, position in zip(*columns, strict=True)}
    keys = zip(*(rows[name].to_pylist() for name in _PLACE), strict=True)
    return np.fromiter((positions.get(key, UNKNOWN) for key in keys), np.int64, rows.num_rows)


def _taken(column: pa.ChunkedArray, at: Longs) -> pa.ChunkedArray:
    unknown = at == UNKNOWN
    return column.take(pa.array(np.where(unknown, 0, at), mask=unknown))
