"""How many transactions of an epoch, and how many markers, came before what is read.

Before transaction version 2 a producer keeps its epoch for days, and only counting tells which transaction
of the coordinator is which one in the partition (comparison, markers_due). So both are counted, for the
epochs of which every transaction was counted so far (id_state). The state of each log is dumped at an offset
of its own: the end of a transaction in the coordinator's log may have been counted while its marker is still
to come.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Account, rows_of
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, longs, table_of
from fencepost.protocols.producer_epoch.facts import CoordinatorCoverage
from fencepost.protocols.producer_epoch.tables import COUNTS

Producers = Mapping[tuple[str, int], CoordinatorCoverage]
"""By cluster and producer id."""

_COUNTS = ("listed", "ended", "markers", "interrupted")


class Counts:
    """What was counted before (rows of COUNTS).

    ``at`` is the number of each row's key, which is cluster, partition, producer id and producer epoch;
    ``due_at`` the number of the same key with the epoch of the Prepare record. ``prepared`` is that epoch,
    UNKNOWN for none; ``due_type`` how those transactions ended, and ``completed_ms`` when the last of them
    was complete.
    """

    def __init__(self, rows: pa.Table, producers: Producers, at: Longs, due_at: Longs) -> None:
        self.producers = producers
        self.at, self.due_at = at, due_at
        self.prepared, self.epochs = longs(rows["prepared_epoch"]), longs(rows["producer_epoch"])
        self.listed, self.ended, self.markers, self.interrupted = (longs(rows[name]) for name in _COUNTS)
        self.due_type, self.completed_ms = rows["due_type"].to_pylist(), longs(rows["completed_ms"])
        # of an epoch whose transactions were counted only in part, only the count of markers can be used
        self._keys = list(_keys(rows))
        compacted = np.array([producers[key].compacted_epoch for key in self._keys], dtype=np.int64)
        whole = longs(rows["producer_epoch"]) > compacted
        self.listed_whole, self.ended_whole = (np.where(whole, each, 0) for each in (self.listed, self.ended))

    def has_listed(self, cluster: str, producer_id: int, epoch: int) -> bool:
        """Whether a transaction of a producer epoch was counted, in whatever partition."""
        listed = zip(self._keys, self.epochs.tolist(), self.listed.tolist(), strict=True)
        return any(key == (cluster, producer_id) and of == epoch and count for key, of, count in listed)


def sums_at(counted_at: Longs, counts: Longs, at: Longs) -> Longs:
    """The sum of the counts at each of these numbers."""
    numbers, places = np.unique(counted_at, return_inverse=True)
    if not len(numbers):
        return np.zeros(len(at), dtype=np.int64)
    sums = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(sums, places, counts)
    place = np.minimum(np.searchsorted(numbers, at), len(numbers) - 1)
    return np.where(numbers[place] == at, sums[place], 0)


def counted(rows: pa.Table, producers: Producers) -> pa.Table:
    """The rows of COUNTS that can be used: the coordinator's log has all that came since."""
    coverages = [producers.get(key) for key in _keys(rows)]
    compacted = [np.iinfo(np.int64).max if each is None else each.compacted_epoch for each in coverages]
    return rows.filter(pc.greater(_epoch(rows), pa.array(compacted, pa.int64())))


def dumped_counts(
    accounts: Account,
    counted_before: pa.Table,
    producers: Producers,
    interrupted: pa.Table,
    repeated: pa.Table,
) -> pa.Table:
    """COUNTS where the states of logs are dumped: those of before and of all that ended since.
    ``interrupted``: the markers of WrongMarkers.interrupts; ``repeated``: those of MatchedMarkers.repeats,
    which do not count.
    """
    ended = rows_of(accounts, account.PARTITION_TRANSACTION)
    ended = ended.filter(pc.fill_null(pc.greater_equal(ended["marker_coordinator_epoch"], 0), False))
    ended, marked = (
        rows.filter(pc.invert(pc.fill_null(rows["by_operator"], False)))
        for rows in (ended, rows_of(accounts, account.MARKER))
    )
    of_logs = [
        _counted(rows_of(accounts, account.LISTED_PARTITION), "listed", "producer_epoch", "prepared_epoch"),
        _counted(ended, "ended", "producer_epoch", "marker_epoch"),
        _counted(marked, "markers", None, "producer_epoch"),
        _counted(repeated, "markers", None, "producer_epoch", -1),
        _counted(interrupted, "interrupted", "ended_epoch", None),
    ]
    since = {key: each.counted_from for key, each in producers.items() if each.counted_from != UNKNOWN}
    keys = ["cluster", "producer_id"]
    clusters, ids = zip(*since, strict=True) if since else ((), ())
    goes_on = pa.table(
        {
            "cluster": pa.array(clusters, pa.string()),
            "producer_id": pa.array(ids, pa.int64()),
            "since": pa.array(since.values(), pa.int64()),
        }
    )
    schema = COUNTS.arrow_schema
    rows = pa.concat_tables([*of_logs, counted_before])
    rows = rows.join(goes_on, keys, join_type="inner")
    rows = rows.filter(pc.greater_equal(_epoch(rows), rows["since"]))
    functions = {**dict.fromkeys(_COUNTS, "sum"), "completed_ms": "max"}
    names = [name for name in schema.names if name not in functions]
    sums = rows.group_by(names).aggregate(list(functions.items()))
    sums = sums.select([f"{name}_{functions[name]}" if name in functions else name for name in schema.names])
    return sums.rename_columns(schema.names).cast(schema)


def _counted(rows: pa.Table, what: str, epoch: str | None, prepared: str | None, each: int = 1) -> pa.Table:
    """A row for each of ``rows`` that is ``dumped``, which counts as so many."""
    rows = rows.filter(rows["dumped"])
    columns = {
        "cluster": rows["cluster"],
        "producer_id": rows["producer_id"],
        "name": rows["name"] if "name" in rows.column_names else name_of(rows),
        "producer_epoch": pa.nulls(rows.num_rows, pa.int32()) if epoch is None else rows[epoch],
        "prepared_epoch": pa.nulls(rows.num_rows, pa.int32()) if prepared is None else rows[prepared],
        "due_type": rows["due_type"] if what == "listed" else pa.nulls(rows.num_rows, pa.string()),
        "completed_ms": rows["completed_ms"] if what == "listed" else pa.nulls(rows.num_rows, pa.int64()),
        **dict.fromkeys(_COUNTS, pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows)),
        what: pa.repeat(pa.scalar(each, pa.int64()), rows.num_rows),
    }
    return table_of(COUNTS.arrow_schema, columns)


def name_of(rows: pa.Table) -> pa.ChunkedArray:
    """'topic:partition' of each row."""
    return pc.binary_join_element_wise(rows["topic"], rows["partition"].cast(pa.string()), ":")


def _epoch(rows: pa.Table) -> pa.ChunkedArray:
    return pc.coalesce(rows["prepared_epoch"], rows["producer_epoch"]).cast(pa.int64())


def _keys(rows: pa.Table) -> zip[tuple[str, int]]:
    return zip(rows["cluster"].to_pylist(), rows["producer_id"].to_pylist(), strict=True)
