"""Markers that ended a transaction in a partition otherwise than its coordinator had prepared it.

An operator ends a transaction that is not hanging: what its producer wrote so far ends as the operator says,
and the coordinator's marker ends the rest. From transaction version 2 on the coordinator's marker has the
epoch after that of the batches, and the operator's has that of the batches. Before, all have one epoch: a
marker that comes after the coordinator's marker of one transaction may concern the next one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, first_at_or_after, longs, taken
from fencepost.protocols.producer_epoch.counts import Counts, sums_at
from fencepost.protocols.producer_epoch.matched_markers import MatchedMarkers
from fencepost.protocols.producer_epoch.producer_state import NONE

_PRODUCER = ("cluster", "producer_id", "producer_epoch")
_NEVER = np.iinfo(np.int64).max


class WrongMarkers(NamedTuple):
    """The markers of the other type that ended the transaction of each row of MatchedMarkers.

    ``found``: how many there are; UNKNOWN if a hole may hide one, or if one may concern another transaction.
    ``first``: the place of the first of them, UNKNOWN without one. ``interrupts``: for each marker, whether
    an operator ended with it what no coordinator has prepared so far; ``ends_part``: whether it ended a part
    of such a transaction, 1 or 0, UNKNOWN if that may have been outside of it. ``alike``: for each row, how
    many other markers of the due type ended its transaction, too, UNKNOWN if one may have.
    """

    found: Longs
    first: Longs
    interrupts: Flags
    ends_part: Longs
    alike: Longs


def wrong_markers(due: MatchedMarkers, before: Counts, tolerance_ms: int) -> WrongMarkers:
    """The markers of the other type that ended these transactions."""
    batches_at, ended_at = due.batches_at, due.ended_at
    ended_epoch = longs(due.markers["ended_epoch"])
    count, first = np.zeros(len(due.type), dtype=np.int64), np.full(len(due.type), _NEVER)
    hidden = np.zeros(len(due.type), dtype=np.bool_)

    def add(rows: Longs, markers: Longs) -> None:
        differs = due.types[markers] != due.type[rows]
        hidden[rows[due.types[markers] == UNKNOWN]] = True
        np.add.at(count, rows[differs], 1)
        np.minimum.at(first, rows[differs], markers[differs])

    # without the marker that is due every other one of a coordinator counts, also one that ended nothing
    row = due.row_of_marker()
    missing = np.append(due.is_only & (due.due_marker == UNKNOWN), False)[row]
    is_of_row = (ended_epoch >= 0) & (np.append(batches_at, UNKNOWN)[row] == ended_at)
    is_of_row |= (
        (ended_epoch == NONE) & (longs(due.markers["by_operator"]) != 1) & np.append(due.whole, False)[row]
    )
    replacing = np.flatnonzero(missing & is_of_row)
    add(row[replacing], replacing)
    hidden[row[missing & ~is_of_row & (ended_epoch < 0)]] = True
    in_order = np.flatnonzero(~due.is_only & (due.due_marker == UNKNOWN) & (due.in_order != UNKNOWN))
    add(in_order, due.in_order[in_order])
    counted = np.zeros(len(row) + 1, dtype=np.bool_)
    counted[replacing] = counted[due.in_order[due.in_order != UNKNOWN]] = True
    counted[due.due_marker[due.due_marker != UNKNOWN]] = True
    others = np.flatnonzero(~counted[:-1] & (ended_epoch != NONE))
    concerned, may_concern, interrupts, ends_part = _concerned(due, others, before, tolerance_ms)
    add(concerned[concerned != UNKNOWN], others[concerned != UNKNOWN])
    doubtful = may_concern != UNKNOWN
    sure = concerned != UNKNOWN
    ends_part[others[sure]] = 1
    is_alike = due.types[others[sure]] == due.type[concerned[sure]]
    alike = np.bincount(concerned[sure][is_alike], minlength=len(due.type))
    may_be_part = doubtful & (ends_part[others] == UNKNOWN)
    is_alike = due.types[others[may_be_part]] == due.type[may_concern[may_be_part]]
    alike[may_concern[may_be_part][is_alike]] = UNKNOWN
    hidden[may_concern[doubtful][due.types[others[doubtful]] != due.type[may_concern[doubtful]]]] = True
    first_known = taken(longs(due.markers["first_known"]), due.due_marker)
    hidden |= (due.due_marker != UNKNOWN) & (first_known != 1)
    # what had been interrupted before
    order = np.lexsort((longs(due.rows["prepared_position"]), batches_at))
    is_first = np.zeros(len(order), dtype=np.bool_)
    is_first[order[np.unique(batches_at[order], return_index=True)[1]]] = True
    hidden |= is_first & (sums_at(before.at, before.interrupted, batches_at) > 0)
    count = np.where(hidden & (count == 0), UNKNOWN, count)
    first = np.where(first == _NEVER, UNKNOWN, first)
    return WrongMarkers(count, first, interrupts, ends_part, alike)


def _concerned(
    due: MatchedMarkers, markers: Longs, before: Counts, tolerance_ms: int
) -> tuple[Longs, Longs, Flags, Longs]:
    """For each of these markers, which ended batches and are not due: the row that it surely concerns, and
    the row that it may concern; WrongMarkers.interrupts, and ends_part where that is not known (both of all
    markers).
    """
    batches_at, ended_at = due.batches_at, due.ended_at
    by_operator, offset, ms, ended_epoch = (
        longs(due.markers[name]) for name in ("by_operator", "offset", "timestamp_ms", "ended_epoch")
    )
    surely, perhaps = np.full(len(markers), UNKNOWN), np.full(len(markers), UNKNOWN)
    interrupts, ends_part = np.zeros(len(offset), dtype=np.bool_), np.zeros(len(offset), dtype=np.int64)
    until = taken(offset, np.where(due.due_marker != UNKNOWN, due.due_marker, due.in_order))
    until = np.where(until == UNKNOWN, _NEVER, until)
    order = np.lexsort((longs(due.rows["prepared_position"]), until, batches_at))
    places = first_at_or_after(batches_at[order], until[order], ended_at[markers], offset[markers] + 1)
    started = longs(due.rows["started_ms"])
    prepared = np.bincount(batches_at, minlength=1)
    prepared_before = sums_at(before.at, before.listed, batches_at)
    unmatched = np.bincount(batches_at[~due.matched], minlength=len(prepared))
    for number, (marker, place) in enumerate(zip(markers.tolist(), places.tolist(), strict=True)):
        group = ended_at[marker]
        row = order[place] if place < len(order) and batches_at[order[place]] == group else UNKNOWN
        if row == UNKNOWN:
            last = order[place - 1] if place and batches_at[order[place - 1]] == group else UNKNOWN
            interrupts[marker] = by_operator[marker] == 1
            # an operator may have written the marker that was due, and the coordinator this one
            if last != UNKNOWN and (
                due.due_marker[last] == UNKNOWN or by_operator[due.due_marker[last]] != 0
            ):
                perhaps[number] = last
        elif unmatched[group] or ended_epoch[marker] == UNKNOWN:
            perhaps[number] = row
        elif prepared[group] + prepared_before[row] == 1 and due.epoch_is_whole[row]:
            # what hung before the transaction began may have had its epoch
            began = ms[marker] >= started[row] - tolerance_ms
            (surely if began else perhaps)[number] = row
        elif by_operator[marker] == 0:
            # it was due for a transaction that compaction has removed, or that was counted before
            continue
        elif by_operator[marker] != 1:
            perhaps[number] = row
        elif (is_part := _ended_part(due, row, marker, before, tolerance_ms)) is not None:
            (surely if is_part else perhaps)[number] = row
        if row != UNKNOWN and perhaps[number] == row:
            ends_part[marker] = UNKNOWN
    return surely, perhaps, interrupts, ends_part


def _ended_part(due: MatchedMarkers, row: int, marker: int, before: Counts, tolerance_ms: int) -> bool | None:
    """Whether an operator's marker surely ended a part of the transaction of a row, one of several of its
    epoch. None if it came before that transaction: then it ended a hanging one, of which the epoch had one
    before.
    """
    if _was_verified(due, row, marker):
        return True
    ms, ended_epoch = (longs(due.markers[name]) for name in ("timestamp_ms", "ended_epoch"))
    if ms[marker] < longs(due.rows["started_ms"])[row] - tolerance_ms:
        return None
    own = due.due_marker[row]
    return bool(own != UNKNOWN and ended_epoch[own] == NONE) or _is_first_of_epoch(due, row, before)


def _was_verified(due: MatchedMarkers, row: int, marker: int) -> bool:
    """Whether a leader had verified the transaction of a row for the partition before another marker than
    the due one came there.

    A leader verifies a transaction only while the partition has none of the producer's open (KIP-890). So
    what the marker ended began after that. Only times of one clock are compared: a Prepare record comes
    before its marker, so a verification that came longer before the one than this marker came before the
    other was the first of all.
    """
    own = due.due_marker[row]
    verified_ms = longs(due.rows["verified_ms"])[row]
    if UNKNOWN in (own, verified_ms):
        return False
    ms, leader_epoch = (longs(due.markers[name]) for name in ("timestamp_ms", "leader_epoch"))
    is_of_one_leader = leader_epoch[own] == leader_epoch[marker] != UNKNOWN
    # each of the two times that are compared may be a millisecond longer than it seems
    return bool(is_of_one_leader and verified_ms > ms[own] - ms[marker] + 1)


def _is_first_of_epoch(due: MatchedMarkers, row: int, before: Counts) -> bool:
    """Whether a row is of the first transaction of its producer id and epoch, in whatever partitions."""
    rows, (cluster, producer_id, epoch) = due.rows, (due.rows[name][row].as_py() for name in _PRODUCER)
    of_epoch = pc.and_(pc.equal(rows["producer_id"], producer_id), pc.equal(rows["producer_epoch"], epoch))
    of_epoch = pc.and_(of_epoch, pc.equal(rows["cluster"], cluster))
    first = pc.min(rows["prepared_position"].filter(of_epoch)).as_py()
    is_first: bool = rows["prepared_position"][row].as_py() == first
    return is_first and bool(due.epoch_is_whole[row]) and not before.has_listed(cluster, producer_id, epoch)
