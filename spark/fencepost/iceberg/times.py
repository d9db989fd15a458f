"""The times in a table's metadata, which Iceberg's Java library, and so Spark, takes only in order.

It refuses a table whose logs of snapshots and of metadata go back by more than a minute, and a snapshot that
is older than the table by as much (org.apache.iceberg.TableMetadata). PyIceberg 0.12 writes the time of the
machine's clock whatever came before: that of a machine may be set back, and machines that share a lake have
clocks of their own. May go when PyIceberg keeps them in order.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import TypeVar

from pyiceberg.catalog import Catalog
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import MetadataLogEntry, SnapshotLogEntry

_AHEAD_MS = 60_000
"""By so much Java's library lets times go back."""

_CORRECTED = "fencepost.times-corrected-at"

E = TypeVar("E", SnapshotLogEntry, MetadataLogEntry)


def in_order(metadata: TableMetadata) -> TableMetadata:
    """The metadata with times that neither go back nor are later than now; itself if that is so already."""
    now_ms = time.time_ns() // 1_000_000
    if _are_in_order(metadata, now_ms):
        return metadata
    snapshot_log = list(_kept_in_order(metadata.snapshot_log, now_ms))
    metadata_log = list(_kept_in_order(metadata.metadata_log, now_ms))
    newest = (each[-1].timestamp_ms for each in (snapshot_log, metadata_log) if each)
    return metadata.model_copy(
        update={
            "snapshot_log": snapshot_log,
            "metadata_log": metadata_log,
            "last_updated_ms": min(now_ms, max(metadata.last_updated_ms, *newest, 0)),
        }
    )


def correct(catalog: Catalog) -> None:
    """Commit tables anew whose times Spark would refuse: they are not in order, or ahead of this machine's
    clock, and so it could not commit to them.
    """
    now_ms = time.time_ns() // 1_000_000
    for name in (each for namespace in catalog.list_namespaces() for each in catalog.list_tables(namespace)):
        table = catalog.load_table(name)
        if not _are_in_order(table.metadata, now_ms + _AHEAD_MS):
            with table.transaction() as change:
                change.set_properties({_CORRECTED: str(now_ms)})


def _are_in_order(metadata: TableMetadata, latest_ms: int) -> bool:
    last = metadata.last_updated_ms
    logs = (metadata.snapshot_log, metadata.metadata_log)
    return all(
        one <= other
        for log in logs
        for one, other in pairwise([*(each.timestamp_ms for each in log), last, latest_ms])
    )


def _kept_in_order(log: Iterable[E], latest_ms: int) -> Iterator[E]:
    entries = list(log)
    times = accumulate((min(each.timestamp_ms, latest_ms) for each in entries), max)
    for each, ms in zip(entries, times, strict=True):
        yield each if each.timestamp_ms == ms else each.model_copy(update={"timestamp_ms": ms})
