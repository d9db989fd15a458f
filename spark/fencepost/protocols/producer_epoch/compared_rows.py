"""The rows of partitions and those of coordinators, numbered by the keys by which they are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Account, rows_of
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, longs
from fencepost.protocols.producer_epoch.counts import Counts, counted, name_of
from fencepost.protocols.producer_epoch.facts import Facts, named_producers
from fencepost.protocols.producer_epoch.markers_due import Due
from fencepost.replay.log_ends import FOREVER


class Comparison:
    """Rows of partitions and of coordinators, with numbers for the keys by which they are compared: cluster,
    name of the partition, producer id and epoch.
    """

    def __init__(self, accounts: Account, counts: pa.Table, facts: Facts, tolerance_ms: int) -> None:
        self.transactions = _with_name(rows_of(accounts, account.PARTITION_TRANSACTION))
        self.markers = _with_name(rows_of(accounts, account.MARKER))
        self.listed = rows_of(accounts, account.LISTED_PARTITION)
        prepared = self.listed.filter(pc.is_valid(self.listed["prepared_position"]))
        self.answered = rows_of(accounts, account.ANSWERED_TRANSACTION)
        self.known = named_producers(accounts)
        self.counted = counted(counts, self.known)
        sides = [
            self.transactions,
            self.markers,
            self.listed,
            self.answered,
            prepared,
            self.counted,
            self.counted,
            prepared,
            self.markers.append_column(
                # what a hole hides may have been of its own epoch
                "batches_epoch",
                pc.coalesce(self.markers["ended_epoch"], self.markers["producer_epoch"]),
            ),
        ]
        epochs = [*["producer_epoch"] * 4, "prepared_epoch", "producer_epoch", "prepared_epoch"]
        self.transaction_keys, marker_keys, self.listed_keys, self.answered_keys, due_keys, *keys = (
            _key_numbers(sides, [*epochs, "producer_epoch", "batches_epoch"])
        )
        *count_keys, self._batch_keys, ended_keys = keys
        self.before = Counts(self.counted, self.known, *count_keys)
        listed, marked = (prepared, due_keys, self._batch_keys), (self.markers, marker_keys, ended_keys)
        self.due = Due(listed, marked, facts, self.before, tolerance_ms)
        self.transaction_places, self.listed_places, self.counted_places = _key_numbers(
            [self.transactions, self.listed, self.counted]
        )

    def has_marker(self) -> Flags:
        """Which rows of ``listed`` have their coordinator's marker in the partition."""
        prepared = np.flatnonzero(longs(self.listed["prepared_position"]) != UNKNOWN)
        marked = np.zeros(self.listed.num_rows, dtype=np.bool_)
        marked[prepared[self.due.order]] = self.due.due_marker != UNKNOWN
        return marked

    def listed_when_removed(self, facts: Facts) -> Flags:
        """Which transactions that were open when their topic was deleted the coordinator listed then: one of
        its transactions had the partition before, and was prepared only after that, or not at all.

        The coordinator knows a partition by its name, so it does not matter which topic of that name it
        meant. Its marker came too late for this log, and for batches of another epoch it would not do.
        """
        rows, listed = self.transactions, self.listed
        is_gone = (longs(rows["open"]) == 1) & (longs(rows["ended_ms"]) != UNKNOWN)
        is_gone &= longs(rows["newest_epoch"]) == longs(rows["producer_epoch"])
        stays_open = (longs(listed["cut"]) == 0) & (longs(listed["completed_position"]) == UNKNOWN)
        prepared_ms, listed_ms = (longs(listed[name]) for name in ("prepared_ms", "listed_ms"))
        prepared_ms = np.where((prepared_ms == UNKNOWN) & stays_open, FOREVER, prepared_ms)
        found = np.zeros(rows.num_rows, dtype=np.bool_)
        candidates = np.flatnonzero(is_gone & np.isin(self.transaction_keys, self.listed_keys))
        columns = (rows[name].take(pa.array(candidates)).to_pylist() for name in ("cluster", "partition_key"))
        for at, cluster, key in zip(candidates.tolist(), *columns, strict=True):
            before, after = facts.removals.get((cluster, key.rpartition(":")[0]), (UNKNOWN, FOREVER))
            of_key = self.listed_keys == self.transaction_keys[at]
            found[at] = np.any(of_key & (listed_ms != UNKNOWN) & (listed_ms < before) & (prepared_ms > after))
        return found

    def ends_part(self) -> Longs:
        """WrongMarkers.ends_part of the marker that ended each row of ``transactions``; 0 without one."""
        markers, flags = self.due.markers, self.due.wrong.ends_part
        at = np.flatnonzero(flags)
        logs = markers["partition_key"].take(pa.array(at)).to_pylist()
        offsets = longs(markers["offset"])[at]
        places = zip(self.due.ended_at[at].tolist(), logs, offsets.tolist(), strict=True)
        found = dict(zip(places, flags[at].tolist(), strict=True))
        parts = np.zeros(self.transactions.num_rows, dtype=np.int64)
        ended = longs(self.transactions["ended_position"])
        rows = np.flatnonzero(np.isin(ended, offsets))
        logs = self.transactions["partition_key"].take(pa.array(rows)).to_pylist()
        for row, log in zip(rows.tolist(), logs, strict=True):
            parts[row] = found.get((int(self.transaction_keys[row]), log, int(ended[row])), 0)
        return parts

    def left(self, closed: Flags, listings: Longs, created_once: Flags) -> Longs:
        """How many of the coordinator's transactions with the key of each transaction may still be this one.

        ``closed``: which transactions were ended by a marker of their own; ``listings``: with the key of
        each, how many the coordinator has.
        """
        logs = longs(self.transactions["partition_key"].combine_chunks().dictionary_encode().indices)
        _, at = np.unique(np.stack([self.transaction_keys, logs]), axis=1, return_inverse=True)
        # one that lists a name may have written to several incarnations of the topic, and ended in the last
        left = listings - np.bincount(at[closed], minlength=len(at) + 1)[at]
        # its marker may have come without a batch before it
        marked = self._marked_before(self.transaction_keys, longs(self.transactions["first_offset"]))
        return np.where(created_once, np.minimum(left, listings - marked), left)

    def _marked_before(self, keys: Longs, offsets: Longs) -> Longs:
        """How many of the coordinator's transactions with each of these keys have their marker before an
        offset.
        """
        own = self.due.due_marker[self.due.due_marker != UNKNOWN]
        marked_at = self.due.batches_at[self.due.due_marker != UNKNOWN]
        positions, place = np.unique(longs(self.due.markers["offset"])[own], return_inverse=True)
        span = len(positions) + 1
        marked = np.sort(marked_at * span + place)
        until = keys * span + np.searchsorted(positions, offsets)
        return np.searchsorted(marked, until) - np.searchsorted(marked, keys * span)

    def past_completion(self, facts: Facts) -> Flags:
        """Which rows of ``due`` were complete before the log of their partition ended, as far as it was
        captured: it has no hole, or the transaction's batches are still open there.
        """
        rows = self.due.rows
        is_open = longs(self.transactions["open"]) == 1
        visible = self.due.whole | np.isin(self.due.batches_at, self.transaction_keys[is_open])
        past = np.zeros(rows.num_rows, dtype=np.bool_)
        candidates = np.flatnonzero(visible & (self.due.due_count == 0))
        columns = (rows[name].take(pa.array(candidates)) for name in ("cluster", "name", "completed_ms"))
        cluster, name, completed_ms = (column.to_pylist() for column in columns)
        for at, *place, ms in zip(candidates.tolist(), cluster, name, completed_ms, strict=True):
            past[at] = ms is not None and facts.is_known_past((place[0], place[1]), ms)
        return past

    def still_counted(self) -> pa.Table:
        """The rows of ``counted`` as they are dumped: what had been interrupted before other transactions is
        no longer of interest.
        """
        is_over = pa.array(np.isin(self.before.at, self._batch_keys))
        zero = pa.scalar(0, pa.int64())
        interrupted = pc.if_else(is_over, zero, self.counted["interrupted"])
        at = self.counted.schema.get_field_index("interrupted")
        return self.counted.set_column(at, "interrupted", interrupted)


def _with_name(rows: pa.Table) -> pa.Table:
    return rows.append_column("name", name_of(rows))


def _key_numbers(sides: Sequence[pa.Table], epochs: Sequence[str] = ()) -> list[Longs]:
    """Numbers for cluster, name of the partition, producer id and, if given, the epoch of each row."""
    columns = []
    for key in ("cluster", "name"):
        texts = pa.chunked_array([chunk for side in sides for chunk in side[key].chunks], pa.string())
        columns.append(longs(texts.combine_chunks().dictionary_encode().indices))
    columns.append(np.concatenate([longs(side["producer_id"]) for side in sides]))
    if epochs:
        columns.append(
            np.concatenate([longs(side[epoch]) for side, epoch in zip(sides, epochs, strict=True)])
        )
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, places = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * (len(values) + 1) + places, return_inverse=True)
    return np.split(codes, np.cumsum([side.num_rows for side in sides])[:-1])
