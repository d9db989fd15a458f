"""The markers that are due by the coordinators' transactions: ``silver.transaction_markers``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.arrow import (
    UNKNOWN,
    Flags,
    Key,
    Longs,
    longs,
    nullable,
    table_of,
    taken,
)
from fencepost.protocols.producer_epoch.counts import Counts, sums_at
from fencepost.protocols.producer_epoch.facts import ANY_EPOCH, NO_COVERAGE, Facts
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.tables import TRANSACTION_MARKERS
from fencepost.protocols.producer_epoch.wrong_markers import wrong_markers
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
    several transactions (before transaction version 2), transactions and the coordinators' markers are
    matched in order, provided that there are as many markers as prepared transactions and that no part of the
    partition's log is missing. Those that earlier chapters counted (``before``) are included.

    ``order``: the places of ``rows`` among those that were given. For each row of ``rows``: ``is_only``: its
    epoch has no other transaction; ``matched``: its marker can be identified, or is known to be missing;
    ``marker_count``: the number of markers of its epoch; ``due_count``: how many of its markers have the due
    type; ``due_marker``: the place in ``markers`` of the first of them that no operator sent, UNKNOWN without
    one; ``in_order``: the place of its marker in an epoch of several; ``batches_at``: the number of the key
    of its batches; ``epoch_is_whole``: compaction and holes have removed no other transaction with the epoch
    of its batches. ``ended_at``: for each row of ``markers``, the number of the key of the batches that it
    ended. ``wrong``: WrongMarkers. ``may_have_more``: whether
    an operator may have sent another marker of the due type.
    """

    def __init__(
        self,
        listed: tuple[pa.Table, Longs, Longs],
        marked: tuple[pa.Table, Longs, Longs],
        facts: Facts,
        before: Counts,
        tolerance_ms: int,
    ) -> None:
        """``listed``: prepared rows of the kind LISTED_PARTITION, with the numbers of the keys of the Prepare
        record and of the transaction's batches; ``marked``: rows of the kind MARKER, with those of the marker
        and of the batches that it ended.
        """
        rows, at, batches_at = listed
        markers, marked_at, ended_at = marked
        self.order = order = np.lexsort((longs(rows["prepared_position"]), at))
        self.rows, at, self.batches_at = rows.take(pa.array(order)), at[order], batches_at[order]
        order = np.lexsort((longs(markers["timestamp_ms"]), longs(markers["offset"]), marked_at))
        self.markers, marked_at = markers.take(pa.array(order)), marked_at[order]
        self.ended_at = ended_at = ended_at[order]
        first_due = np.searchsorted(at, at)
        self.of_epoch = np.searchsorted(at, at, side="right") - first_due
        self.number = np.arange(len(at)) - first_due
        self._at, self._marked_at = at, marked_at
        self._first_marker = np.searchsorted(marked_at, at)
        self._next_marker = np.searchsorted(marked_at, at, side="right")
        self.marker_count = self._next_marker - self._first_marker
        self.types = _places(self.markers["type"])
        self.type = _places(self.rows["due_type"])
        own = longs(self.markers["by_operator"]) != 1
        own_before = np.concatenate([[0], np.cumsum(own)])
        own_count = own_before[self._next_marker] - own_before[self._first_marker]
        prepared_before, marked_before = (
            sums_at(before.due_at, each, at) for each in (before.listed, before.markers)
        )
        self.is_only = self.of_epoch + prepared_before == 1
        self.whole = partitions_whole(self.rows, facts)
        self.number += prepared_before - marked_before
        as_many = self.of_epoch + prepared_before == own_count + marked_before
        # its marker may lie before this chapter's part of the partition's log
        self.matched = np.where(self.is_only, marked_before == 0, self.whole & as_many & (self.number >= 0))
        # a transaction that a hole hides may have markers of this epoch too
        self.matched &= longs(self.rows["counted"]) == 1
        own_places = np.append(np.flatnonzero(own), UNKNOWN)
        in_order = own_before[self._first_marker] + np.clip(self.number, 0, np.maximum(own_count - 1, 0))
        in_order = own_places[np.minimum(in_order, len(own_places) - 1)]
        self.in_order = np.where(self.matched & ~self.is_only & (own_count > 0), in_order, UNKNOWN)
        is_due = (self.in_order != UNKNOWN) & (taken(self.types, self.in_order) == self.type)
        due_marker = np.where(
            self.is_only, self._first_of_type(own), np.where(is_due, self.in_order, UNKNOWN)
        )
        self.due_marker = np.where(self.matched, due_marker, UNKNOWN)
        due_count = np.where(self.is_only, self._count(), is_due)
        self.due_count = np.where(self.matched, due_count, 0)
        coverages = (before.producers.get(key, NO_COVERAGE) for key in _producers(self.rows))
        complete_from = [each.compacted_epoch if each.whole else ANY_EPOCH for each in coverages]
        self.epoch_is_whole: Flags = longs(self.rows["producer_epoch"]) > np.array(complete_from, np.int64)
        self.wrong = wrong_markers(self, ended_at, before, tolerance_ms)
        alike = np.where(~self.is_only & (self.due_marker != UNKNOWN), self.wrong.alike, 0)
        self.may_have_more: Flags = alike == UNKNOWN
        self.due_count = self.due_count + np.maximum(alike, 0)

    def row_of_marker(self) -> Longs:
        """For each marker, the place of the first row of its epoch; -1 without one."""
        row = np.searchsorted(self._at, self._marked_at)
        return np.where(np.append(self._at, UNKNOWN)[row] == self._marked_at, row, -1)

    def _of_type(self, wanted: Flags) -> list[Longs]:
        """By type, how many markers of that type, among those that are wanted, come before each place."""
        return [
            np.concatenate([[0], np.cumsum((self.types == each) & wanted)]) for each in range(len(_TYPES))
        ]

    def _count(self) -> Longs:
        """How many markers of the due type each epoch has."""
        before_places = self._of_type(np.ones(len(self.types), dtype=np.bool_))
        aborts, commits = (each[self._next_marker] - each[self._first_marker] for each in before_places)
        count: Longs = np.where(self.type == 1, commits, aborts)
        return count

    def _first_of_type(self, wanted: Flags) -> Longs:
        """The place of the first marker of the due type that each epoch has, among those that are wanted."""
        first = np.full(len(self.type), UNKNOWN)
        for each, before in enumerate(self._of_type(wanted)):
            places = np.flatnonzero((self.types == each) & wanted)
            with_marker = (self.type == each) & (before[self._next_marker] > before[self._first_marker])
            # it is the next of its type after all markers before the epoch's first
            first[with_marker] = places[before[self._first_marker[with_marker]]]
        return first

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
        """The place of each transaction's first marker of the due type, whoever sent it; UNKNOWN if it has
        none.
        """
        of_all = self._first_of_type(np.ones(len(self.types), dtype=np.bool_))
        first = np.where(self.is_only, of_all, self.due_marker)
        return np.where(self.due_count > 0, first, UNKNOWN)


def _places(column: pa.ChunkedArray) -> Longs:
    return longs(pc.index_in(column, pa.array(_TYPES)))


def _producers(rows: pa.Table) -> Iterable[tuple[str, int]]:
    return zip(rows["cluster"].to_pylist(), rows["producer_id"].to_pylist(), strict=True)


def transaction_markers(due: Due, newest: pa.Table, is_past: Flags) -> pa.Table:
    """``silver.transaction_markers``.

    A marker is known to be missing only if the partition's log has no hole, and either has the marker of a
    transaction that the coordinator prepared after it had completed this one, or is known past that moment
    in another way (``is_past``: past_completion). No clock is needed for the first.
    """
    rows, due_count, matched = due.rows, due.due_count, due.matched
    has_marker = (due.marker_count > 0) | ~due.is_only
    completed = longs(rows["completed_position"])
    is_over = (completed != UNKNOWN) & (_newest_prepared(rows, newest) > completed)
    is_past_completion = due.whole & (is_over | is_past)
    is_certain = (due_count > 0) | is_past_completion
    is_counted = matched & is_certain & ~due.may_have_more
    marker, wrong = due.first_due_marker(), np.where(matched, due.wrong.first, UNKNOWN)
    prepared = longs(rows["prepared_position"])
    prepared_at = nullable(longs(rows["prepared_ms"]), pa.timestamp("us", tz="UTC"))
    columns = {
        **{name: rows[name] for name in (*LOG, "transactional_id", "producer_id", "due_type")},
        "marker_id": _marker_ids(rows),
        "producer_epoch": rows["prepared_epoch"],
        "transaction_partition": rows["name"],
        "completed": pc.is_valid(rows["completed_position"]),
        "found": nullable(np.where(is_counted, due_count, UNKNOWN), pa.int64()),
        "wrong": nullable(
            np.where(matched & (is_certain | has_marker), due.wrong.found, UNKNOWN), pa.int64()
        ),
        "coordinator_epoch": rows["prepared_by_epoch"],
        "marker_coordinator_epoch": nullable(_coordinator_epochs(due), pa.int32()),
        "marker_position": _take_or_null(due.markers["offset"], marker),
        "marker_at": _times(due.markers["timestamp_ms"], marker),
        "wrong_type": _take_or_null(due.markers["type"], wrong),
        "wrong_position": _take_or_null(due.markers["offset"], wrong),
        "wrong_at": _times(due.markers["timestamp_ms"], wrong),
        **{
            f"wrong_{name.removeprefix('ended_')}": _take_or_null(due.markers[name], wrong)
            for name in ("client_id", "connection", *_ENDED)
        },
        "from_position": rows["prepared_position"],
        "to_position": pa.array(prepared + 1),
        "from_time": prepared_at,
        "to_time": prepared_at,
    }
    return table_of(TRANSACTION_MARKERS.arrow_schema, columns)


_ENDED = ("ended_first_offset", "ended_last_offset", "ended_records")


def _coordinator_epochs(due: Due) -> Longs:
    """The coordinator epoch of each marker that was due: -1 if only operators sent such markers, UNKNOWN
    without one. If it is less than that of the Prepare record, it counts only if a coordinator surely sent
    it.
    """
    own = due.due_marker
    epochs, by_operator = (
        longs(_take_or_null(due.markers[name], own)) for name in ("coordinator_epoch", "by_operator")
    )
    doubtful = (epochs < longs(due.rows["prepared_by_epoch"])) & (by_operator != 0)
    found_none = np.where(due.due_count > 0, NONE, UNKNOWN)
    return np.where(own == UNKNOWN, found_none, np.where(doubtful, UNKNOWN, epochs))


def _times(ms: pa.ChunkedArray, at: Longs) -> pa.Array:
    return nullable(longs(_take_or_null(ms, at)), pa.timestamp("us", tz="UTC"))


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
