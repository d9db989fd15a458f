"""Which markers in partitions belong to which transactions of the coordinators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, longs, taken
from fencepost.protocols.producer_epoch.counts import Counts, sums_at
from fencepost.protocols.producer_epoch.facts import (
    ANY_EPOCH,
    NO_COVERAGE,
    CoordinatorCoverage,
    Facts,
)
from fencepost.protocols.producer_epoch.producer_state import MARKER_TYPES, NONE
from fencepost.protocols.producer_epoch.repeated_markers import Marker, Prepared, repeats
from fencepost.replay.entities import numbered_rows
from fencepost.replay.log_ends import FOREVER


class MatchedMarkers:
    """The markers that partitions have, matched with the transactions that coordinators prepared.

    A marker belongs to the transaction whose Prepare record has its producer id and epoch. If an epoch has
    several transactions (before transaction version 2), transactions and the coordinators' markers are
    matched in order, provided that there are as many markers as prepared transactions (without
    repeated_markers) and that no part of the partition's log is missing. Those that were counted ``before``
    are included.

    ``order``: the places of ``rows`` among those that were given. For each row of ``rows``: ``is_only``: its
    epoch certainly has no other transaction; ``matched``: its marker can be identified, or is known to be
    missing;
    ``marker_count``: the number of markers of its epoch; ``due_count``: how many of its markers have the due
    type; ``due_marker``: the place in ``markers`` of the first of them that no operator sent, UNKNOWN without
    one; ``in_order``: the place of its marker in an epoch of several; ``batches_at``: the number of the key
    of its batches; ``epoch_is_whole``: compaction and holes have removed no other transaction with the epoch
    of its batches. ``ended_at``: for each row of ``markers``, the number of the key of the batches that it
    ended. ``repeats``: which markers were written a second time, and ended nothing.
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
        self.ended_at = ended_at[order]
        first_due = np.searchsorted(at, at)
        self.of_epoch = np.searchsorted(at, at, side="right") - first_due
        self.number = np.arange(len(at)) - first_due
        self._at, self._marked_at = at, marked_at
        self._first_marker = np.searchsorted(marked_at, at)
        self._next_marker = np.searchsorted(marked_at, at, side="right")
        self.marker_count = self._next_marker - self._first_marker
        self.types = _places(self.markers["type"])
        self.type = _places(self.rows["due_type"])
        prepared_before, marked_before = (
            sums_at(before.due_at, each, at) for each in (before.listed, before.markers)
        )
        coverages = [before.producers.get(key, NO_COVERAGE) for key in _producers(self.rows)]
        self.is_only = (self.of_epoch + prepared_before == 1) & ~_may_go_on(self.rows, coverages)
        self.whole = partitions_whole(self.rows, facts)
        self.number += prepared_before - marked_before
        self._repeated_row = self._repeated_rows(tolerance_ms)
        self.repeats = self._repeated_row != UNKNOWN
        repeat_count = np.bincount(self._repeated_row[self.repeats], minlength=len(at))
        own = (longs(self.markers["by_operator"]) != 1) & ~self.repeats
        own_before = np.concatenate([[0], np.cumsum(own)])
        own_count = own_before[self._next_marker] - own_before[self._first_marker]
        as_many = self.of_epoch + prepared_before == own_count + marked_before
        # its marker may lie before what is read of the partition's log
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
        due_count = np.where(self.is_only, self._count(), np.where(is_due, 1 + repeat_count, 0))
        self.due_count = np.where(self.matched, due_count, 0)
        complete_from = [each.compacted_epoch if each.whole else ANY_EPOCH for each in coverages]
        self.epoch_is_whole: Flags = longs(self.rows["producer_epoch"]) > np.array(complete_from, np.int64)

    def writers(self) -> tuple[Longs, Longs]:
        """How many pairs of a coordinator, at its epoch, and a leader of the partition wrote the markers of
        each row: at least, and at most, if those that no line tells of are coordinators', too. It is 1 if
        operators sent all.
        """
        of_key = self.row_of_marker()
        is_of_only = np.append(self.is_only, np.False_)[of_key]
        is_of_only &= self.types == np.append(self.type, UNKNOWN)[of_key]
        in_order = np.flatnonzero(self.in_order != UNKNOWN)
        rows = np.where(is_of_only, of_key, self._repeated_row)
        rows[self.in_order[in_order]] = in_order
        epochs, leaders = (longs(self.markers[name]) for name in ("coordinator_epoch", "leader_epoch"))
        by_operator = longs(self.markers["by_operator"])

        def counted(may_be: Flags) -> Longs:
            at = np.flatnonzero(may_be & (rows != UNKNOWN) & (epochs >= 0))
            distinct = np.unique(np.stack([rows[at], epochs[at], leaders[at]]), axis=1)
            return np.maximum(np.bincount(distinct[0], minlength=len(self.type)), 1)

        return counted(by_operator == 0), counted(by_operator != 1)

    def _repeated_rows(self, tolerance_ms: int) -> Longs:
        """The row whose marker each marker repeats (repeated_markers.repeats); UNKNOWN if none."""
        repeated = np.full(len(self.types), UNKNOWN)
        by_operator = longs(self.markers["by_operator"])
        is_first = np.append(True, self._at[1:] != self._at[:-1])[: len(self._at)]
        more = self.marker_count > self.of_epoch + self.number
        names = ("prepared_ms", "completed_ms")
        prepared_ms, completed_ms = (longs(self.rows[name]) for name in names)
        marked_ms, ended = (longs(self.markers[name]) for name in ("timestamp_ms", "ended_epoch"))
        for row in np.flatnonzero(is_first & more & self.whole & ~self.is_only & (self.number >= 0)).tolist():
            places = np.arange(self._first_marker[row], self._next_marker[row])
            places = places[by_operator[places] != 1]
            rows = slice(row, row + self.of_epoch[row])
            transactions = [*map(Prepared, prepared_ms[rows], completed_ms[rows], self.type[rows])]
            told = marked_ms[places], self.types[places], by_operator[places] == 0, ended[places] == NONE
            markers = [*map(Marker, *told)]
            for marker, at in repeats(transactions, markers, int(self.number[row]), tolerance_ms).items():
                repeated[places[marker]] = row + at
        return repeated

    def row_of_marker(self) -> Longs:
        """For each marker, the place of the first row of its epoch; -1 without one."""
        row = np.searchsorted(self._at, self._marked_at)
        return np.where(np.append(self._at, UNKNOWN)[row] == self._marked_at, row, -1)

    def _of_type(self, wanted: Flags) -> list[Longs]:
        """By type, how many markers of that type, among those that are wanted, come before each place."""
        return [
            np.concatenate([[0], np.cumsum((self.types == each) & wanted)])
            for each in range(len(MARKER_TYPES))
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


def _may_go_on(rows: pa.Table, coverages: Sequence[CoordinatorCoverage]) -> Flags:
    """Whether a later transaction may have the same epoch, which is not known: before transaction version 2,
    in the newest epoch of a producer whose coordinator's log may go on.
    """
    clusters = pc.index_in(rows["cluster"], pc.unique(rows["cluster"]))
    producer = numbered_rows(longs(clusters), longs(rows["producer_id"]))
    epochs = longs(rows["prepared_epoch"])
    newest = np.full(len(epochs), UNKNOWN)
    np.maximum.at(newest, producer, epochs)
    known_ms = np.array([each.known_ms for each in coverages], dtype=np.int64)
    is_newest, kept = epochs == newest[producer], epochs == longs(rows["producer_epoch"])
    may_go_on: Flags = is_newest & kept & (known_ms != FOREVER)
    return may_go_on


def _places(column: pa.ChunkedArray) -> Longs:
    return longs(pc.index_in(column, pa.array(MARKER_TYPES)))


def _producers(rows: pa.Table) -> Iterable[tuple[str, int]]:
    return zip(rows["cluster"].to_pylist(), rows["producer_id"].to_pylist(), strict=True)


def partitions_whole(rows: pa.Table, facts: Facts) -> Flags:
    """Whether the log of each row's partition (``cluster``, ``name``) is known from its beginning on."""
    keys = zip(rows["cluster"].to_pylist(), rows["name"].to_pylist(), strict=True)
    return np.fromiter((facts.whole.get(key, False) for key in keys), np.bool_, rows.num_rows)
