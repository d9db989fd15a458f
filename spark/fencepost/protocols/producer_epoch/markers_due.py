"""The markers that are due by the coordinators' transactions: ``silver.transaction_markers``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
)
from fencepost.protocols.producer_epoch.counts import Counts
from fencepost.protocols.producer_epoch.facts import Facts
from fencepost.protocols.producer_epoch.matched_markers import MatchedMarkers
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.tables import TRANSACTION_MARKERS
from fencepost.protocols.producer_epoch.wrong_markers import wrong_markers
from fencepost.reasons import (
    ALL_KNOWN,
    CLEANED_AWAY,
    EVIDENCE_ENDS,
    IN_ZOOKEEPER,
    NOT_CAPTURED,
    NOT_TOLD_APART,
    TOPIC_REMOVED,
    TOPIC_UNKNOWN,
    Unknown,
)
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


class Due(MatchedMarkers):
    """The markers that are due by the coordinators' transactions, and the markers that partitions have.

    ``wrong``: WrongMarkers. For each row of ``rows``, ``may_have_more``: whether an operator may have sent
    another marker of the due type; ``due_count`` includes those that surely were sent.
    """

    def __init__(
        self,
        listed: tuple[pa.Table, Longs, Longs],
        marked: tuple[pa.Table, Longs, Longs],
        facts: Facts,
        before: Counts,
        tolerance_ms: int,
    ) -> None:
        """See MatchedMarkers."""
        super().__init__(listed, marked, facts, before, tolerance_ms)
        self.wrong = wrong_markers(self, before, tolerance_ms)
        alike = np.where(~self.is_only & (self.due_marker != UNKNOWN), self.wrong.alike, 0)
        self.may_have_more: Flags = alike == UNKNOWN
        self.due_count = self.due_count + np.maximum(alike, 0)

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


def transaction_markers(due: Due, newest: pa.Table, is_past: Flags, facts: Facts) -> pa.Table:
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
    found = nullable(np.where(is_counted, due_count, UNKNOWN), pa.int64())
    has_wrong = matched & (is_certain | has_marker)
    wrong_count = nullable(np.where(has_wrong, due.wrong.found, UNKNOWN), pa.int64())
    writers, may_be_anothers = _writers(due, is_counted)
    is_known = pc.and_(pc.is_valid(found), pc.is_valid(wrong_count)).to_pylist()
    unknown = _unknown(due, is_known, matched & ~is_certain, facts)
    unknown = [
        (_ANYBODYS if anothers else _MAY_HIDE) if each == ALL_KNOWN and several is None else each
        for each, several, anothers in zip(
            unknown, writers.to_pylist(), may_be_anothers.tolist(), strict=True
        )
    ]
    marker, wrong = due.first_due_marker(), np.where(matched, due.wrong.first, UNKNOWN)
    prepared = longs(rows["prepared_position"])
    prepared_at = nullable(longs(rows["prepared_ms"]), pa.timestamp("us", tz="UTC"))
    columns = {
        **{name: rows[name] for name in (*LOG, "transactional_id", "producer_id", "due_type")},
        "marker_id": _marker_ids(rows),
        "producer_epoch": rows["prepared_epoch"],
        "transaction_partition": rows["name"],
        "completed": pc.is_valid(rows["completed_position"]),
        "found": found,
        "writers": writers,
        "wrong": wrong_count,
        "coordinator_epoch": rows["prepared_by_epoch"],
        "marker_coordinator_epoch": nullable(_coordinator_epochs(due), pa.int32()),
        "marker_position": _take_or_null(due.markers["offset"], marker),
        "marker_at": _times(due.markers["timestamp_ms"], marker),
        "wrong_type": _take_or_null(due.markers["type"], wrong),
        "wrong_position": _take_or_null(due.markers["offset"], wrong),
        "wrong_at": _times(due.markers["timestamp_ms"], wrong),
        **{
            f"wrong_{name.removeprefix('ended_')}": _take_or_null(due.markers[name], wrong)
            for name in ("by_operator", "client_id", "connection", *_ENDED)
        },
        **{
            f"unknown_{name}": pa.array([getattr(each, name) for each in unknown], pa.string())
            for name in Unknown._fields
        },
        "from_position": rows["prepared_position"],
        "to_position": pa.array(prepared + 1),
        "from_time": prepared_at,
        "to_time": prepared_at,
    }
    return table_of(TRANSACTION_MARKERS.arrow_schema, columns)


_ENDED = ("ended_first_offset", "ended_last_offset", "ended_records")


_ENDS = Unknown(EVIDENCE_ENDS, "the partition's log was not captured past the end of the transaction")
_REMOVED = Unknown(TOPIC_REMOVED, "clocks do not tell whether the marker came before the topic was deleted")
_MAY_HIDE = Unknown(
    NOT_CAPTURED, "a part of the partition's log that was not captured may hide another marker"
)
_ANYBODYS = Unknown(NOT_CAPTURED, "no request line tells whether a coordinator or an operator sent a marker")
_ALIKE = Unknown(NOT_TOLD_APART, "the partition's markers of this epoch cannot be told apart")
_SHORTENED = Unknown(CLEANED_AWAY, "the beginning of the partition's log was removed")
_MADE_AGAIN = Unknown(TOPIC_UNKNOWN, "the coordinator's record has only the name of a topic made again")
_HOLE = Unknown(NOT_CAPTURED, "the partition's log, or a part of it, was not captured")
_IN_ZOOKEEPER = Unknown(IN_ZOOKEEPER, "the epoch at which the coordinator was elected is in no log")


def _unknown(due: Due, is_known: Sequence[bool], too_soon: Flags, facts: Facts) -> list[Unknown]:
    """Of each row, why its markers are not known, or else the epoch of the coordinator that prepared it."""
    names = ("cluster", "name", "prepared_by_epoch")
    fewer = due.marker_count < due.of_epoch
    rows = zip(*(due.rows[name].to_pylist() for name in names), is_known, too_soon, fewer, strict=True)
    return [
        _why_unknown((cluster, name), facts, ends=ends, fewer=less)
        if not known
        else (_IN_ZOOKEEPER if epoch is None and cluster in facts.in_zookeeper else ALL_KNOWN)
        for cluster, name, epoch, known, ends, less in rows
    ]


def _why_unknown(place: tuple[str, str], facts: Facts, *, ends: bool, fewer: bool) -> Unknown:
    """``fewer``: the partition has fewer markers of the epoch than the coordinator has transactions, as where
    its topic was deleted before the last of them ended.
    """
    if facts.whole.get(place, False):
        if (ends or fewer) and (place[0], place[1].rpartition(":")[0]) in facts.removed_once:
            return _REMOVED
        return _ENDS if ends else _ALIKE
    if place in facts.shortened:
        return _SHORTENED
    return _MADE_AGAIN if place in facts.made_again else _HOLE


def _writers(due: Due, is_counted: Flags) -> tuple[pa.Array, Flags]:
    """How many writers (Due.writers) the markers have that were found, and where that is unknown since no
    line tells who sent one. So it is if a hole in the log, or its lost beginning, may hide another marker.
    Neither can take back that there are more than writers that may have written one.
    """
    first, (least, most) = due.first_due_marker(), due.writers()
    ended, first_known, to_end = (
        longs(_take_or_null(due.markers[name], first)) for name in ("ended_epoch", "first_known", "to_end")
    )
    # none lies before the one that ended what is in the log
    is_sure = (to_end == 1) & (due.whole | (ended >= 0) | (first_known == 1))
    is_more = due.due_count > most
    may_be_anothers = is_sure & ~is_more & (due.due_count > least)
    is_known = is_counted & (is_more | (is_sure & ~may_be_anothers)) & (first != UNKNOWN)
    found_none = np.where(is_counted & (due.due_count == 0), 0, UNKNOWN)
    counted = np.where(is_more, most, np.minimum(due.due_count, most))
    return nullable(np.where(is_known, counted, found_none), pa.int32()), may_be_anothers


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


def _newest_prepared(rows: pa.Table, newest: pa.Table) -> Longs:
    columns = (newest[name].to_pylist() for name in (*_PLACE, "prepared_position"))
    positions: dict[Key, int] = {tuple(key): position for *key, position in zip(*columns, strict=True)}
    keys = zip(*(rows[name].to_pylist() for name in _PLACE), strict=True)
    return np.fromiter((positions.get(key, UNKNOWN) for key in keys), np.int64, rows.num_rows)


def _take_or_null(column: pa.ChunkedArray, at: Longs) -> pa.ChunkedArray:
    unknown = at == UNKNOWN
    return column.take(pa.array(np.where(unknown, 0, at), mask=unknown))
