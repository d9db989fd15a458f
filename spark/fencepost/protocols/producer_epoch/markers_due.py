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
"""By coordinator's log and partition (``name``): the newest transaction of the log whose marker is in the
partition (``prepared_position``), and the newest marker there of a transaction that the coordinator completed
(``marker_position``). The coordinator's log is known past everything that lies before that marker.
"""


def newest_of(rows: Iterable[pa.Table]) -> pa.Table:
    """NEWEST of several tables of NEWEST."""
    rows_of_all = pa.concat_tables([NEWEST.empty_table(), *(each.select(NEWEST.names) for each in rows)])
    newest = [(name, "max") for name in NEWEST.names[len(_PLACE) :]]
    rows_of_all = rows_of_all.group_by(list(_PLACE)).aggregate(newest)
    return rows_of_all.rename_columns(NEWEST.names).cast(NEWEST)


_TYPES = ("ABORT", "COMMIT")


class Due:
    """The markers that are due by the coordinators' transactions, and the markers that partitions have.

    A marker belongs to the transaction whose Prepare record has its producer id and epoch. If an epoch has
    several transactions (before transaction version 2), transactions and markers are matched in order,
    provided that there are as many markers as prepared transactions and that no part of the partition's log
    is missing. Those that earlier chapters counted (``before``) are included.

    For each row of ``rows``: ``is_only``: its epoch has no other transaction; ``matched``: its marker can be
    identified, or is known to be missing; ``marker_count``: the number of markers of its epoch;
    ``first_marker``: the place of the first of them in ``markers``; ``due_count``: how many of its markers
    have the due type.
    """

    def __init__(
        self,
        listed: tuple[pa.Table, Longs],
        marked: tuple[pa.Table, Longs],
        facts: Facts,
        before: Counts,
    ) -> None:
        """``listed``: prepared rows of the kind LISTED_PARTITION, ``marked``: rows of the kind MARKER; each
        with the numbers of the keys by which they are compared.
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
        self.first_marker = np.searchsorted(marked_at, at)
        self.marker_count = np.searchsorted(marked_at, at, side="right") - self.first_marker
        self._types = _places(self.markers["type"])
        self.type = _places(self.rows["due_type"])
        prepared_before, marked_before = (
            _sums_at(before.due_at, each, at) for each in (before.listed, before.markers)
        )
        self.is_only = self.of_epoch + prepared_before == 1
        self.whole = partitions_whole(self.rows, facts)
        self.number += prepared_before - marked_before
        as_many = self.of_epoch + prepared_before == self.marker_count + marked_before
        # its marker may lie before this chapter's part of the partition's log
        self.matched = np.where(self.is_only, marked_before == 0, self.whole & as_many & (self.number >= 0))
        # a transaction that a hole hides may have markers of this epoch too
        self.matched &= longs(self.rows["counted"]) == 1
        # by type, how many markers of that type come before each place
        self._before = [np.concatenate([[0], np.cumsum(self._types == each)]) for each in range(len(_TYPES))]
        in_order = self.first_marker + np.clip(self.number, 0, np.maximum(self.marker_count - 1, 0))
        self._in_order = np.where(self.marker_count > 0, in_order, UNKNOWN)
        due_count = np.where(self.is_only, self._count(), self._is_due(self._in_order))
        self.due_count = np.where(self.matched, due_count, 0)

    def _count(self) -> Longs:
        """How many markers of the due type each epoch has."""
        last = self.first_marker + self.marker_count
        aborts, commits = (before[last] - before[self.first_marker] for before in self._before)
        count: Longs = np.where(self.type == 1, commits, aborts)
        return count

    def _is_due(self, markers: Longs) -> Flags:
        if not len(self._types):
            return np.zeros(len(markers), dtype=np.bool_)
        due: Flags = (markers != UNKNOWN) & (self._types[np.maximum(markers, 0)] == self.type)
        return due

    def completing(self) -> Longs:
        """The offset of the marker of each completed transaction, if the coordinator that prepared it wrote
        the marker; else UNKNOWN.
        """
        at = self.first_due_marker()
        written_by, offset = (
            longs(_take_or_null(self.markers[n], at)) for n in ("coordinator_epoch", "offset")
        )
        sure = (longs(self.rows["completed_position"]) != UNKNOWN) & (written_by != UNKNOWN)
        return np.where(sure & (written_by == longs(self.rows["prepared_by_epoch"])), offset, UNKNOWN)

    def first_due_marker(self) -> Longs:
        """The place of each transaction's first marker of the due type; UNKNOWN if it has none."""
        is_only = np.full(len(self.first_marker), UNKNOWN)
        for each, before in enumerate(self._before):
            # it is the next of its type after all markers before the epoch's first
            places = np.flatnonzero(self._types == each)
            with_marker = (self.type == each) & (self.due_count > 0)
            is_only[with_marker] = places[before[self.first_marker[with_marker]]]
        return np.where(self.due_count > 0, np.where(self.is_only, is_only, self._in_order), UNKNOWN)


def _sums_at(counted_at: Longs, counts: Longs, at: Longs) -> Longs:
    """The sum of the counts at each of these numbers."""
    numbers, places = np.unique(counted_at, return_inverse=True)
    if not len(numbers):
        return np.zeros(len(at), dtype=np.int64)
    sums = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(sums, places, counts)
    place = np.minimum(np.searchsorted(numbers, at), len(numbers) - 1)
    return np.where(numbers[place] == at, sums[place], 0)


def _places(column: pa.ChunkedArray) -> Longs:
    return longs(pc.index_in(column, pa.array(_TYPES)))


def transaction_markers(due: Due, newest: pa.Table) -> pa.Table:
    """``silver.transaction_markers``.

    A marker is known to be missing only if the partition's log has no hole and has the marker of a
    transaction that the coordinator prepared after it had completed this one. No clock is needed for that.
    """
    rows, due_count, matched = due.rows, due.due_count, due.matched
    marker_count = np.where(due.is_only, due.marker_count, 1)
    completed = longs(rows["completed_position"])
    is_past_completion = due.whole & (completed != UNKNOWN) & (_newest_prepared(rows, newest) > completed)
    is_certain = (due_count > 0) | is_past_completion
    marker = due.first_due_marker()
    prepared = longs(rows["prepared_position"])
    prepared_at = nullable(longs(rows["prepared_ms"]), pa.timestamp("us", tz="UTC"))
    columns = {
        **{name: rows[name] for name in (*LOG, "transactional_id", "producer_id", "due_type")},
        "marker_id": _marker_ids(rows),
        "producer_epoch": rows["prepared_epoch"],
        "transaction_partition": rows["name"],
        "completed": pc.is_valid(rows["completed_position"]),
        "found": nullable(np.where(matched & is_certain, due_count, UNKNOWN), pa.int64()),
        "wrong": nullable(
            np.where(matched & (is_certain | (marker_count > 0)), marker_count - due_count, UNKNOWN),
            pa.int64(),
        ),
        "coordinator_epoch": rows["prepared_by_epoch"],
        "marker_coordinator_epoch": _take_or_null(due.markers["coordinator_epoch"], marker),
        "marker_position": _take_or_null(due.markers["offset"], marker),
        "marker_at": nullable(
            longs(_take_or_null(due.markers["timestamp_ms"], marker)), pa.timestamp("us", tz="UTC")
        ),
        "from_position": rows["prepared_position"],
        "to_position": pa.array(prepared + 1),
        "from_time": prepared_at,
        "to_time": prepared_at,
    }
    return table_of(TRANSACTION_MARKERS.arrow_schema, columns)


def _marker_ids(rows: pa.Table) -> pa.Array:
    names = (*LOG, "transactional_id", "prepared_position", "name")
    columns = (rows[name].to_pylist() for name in names)
    return pa.array([digest_of(*values) for values in zip(*columns, strict=True)], pa.string())


def partitions_whole(rows: pa.Table, facts: Facts) -> Flags:
    """Whether the log of each row's partition (``cluster``, ``name``) is known from its beginning on."""
    keys = zip(rows["cluster"].to_pylist(), rows["name"].to_pylist(), strict=True)
    return np.fromiter((facts.whole.get(key, False) for key in keys), np.bool_, rows.num_rows)


def _newest_prepared(rows: pa.Table, newest: pa.Table) -> Longs:
    columns = (newest[name].to_pylist() for name in (*_PLACE, "prepared_position"))
    positions: dict[Key, int] = {tuple(key): position for *key, position in zip(*columns, strict=True)}
    keys = zip(*(rows[name].to_pylist() for name in _PLACE), strict=True)
    return np.fromiter((positions.get(key, UNKNOWN) for key in keys), np.int64, rows.num_rows)


def _take_or_null(column: pa.ChunkedArray, at: Longs) -> pa.ChunkedArray:
    unknown = at == UNKNOWN
    return column.take(pa.array(np.where(unknown, 0, at), mask=unknown))
