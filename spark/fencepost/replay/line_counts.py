"""Counts the lines of request logs in each part of each cluster's history.

Only lines that came since the last rebuild are read: the counts of the others are noted, with the snapshot of
``bronze.requests`` that they were taken from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.replay.entities import tuples
from fencepost.tables import LINE_COUNTS, REQUESTS

LineCounts = Mapping[str, Mapping[int, int]]
"""Cluster -> the begin of a part of history, in ms -> how many lines brokers dated in it."""

_PART = ["cluster", "begins_at_ms"]
_COUNTED = LINE_COUNTS.schema_of((*_PART, "lines"))


def line_counts(catalog: Catalog, length_ms: int) -> LineCounts:
    """How many lines each part has, for parts that begin at multiples of ``length_ms`` and have lines."""
    noted = lake.scan(catalog, LINE_COUNTS)
    notes = set(tuples(noted.select(["length_ms", "seen"])))
    seen = next((snapshot for length, snapshot in notes if length == length_ms), None)
    if seen is not None and seen == lake.snapshot(catalog, REQUESTS):
        return _by_cluster(noted)
    columns = ("cluster", "logged_at_ms")
    new = None if seen is None else lake.added(catalog, REQUESTS, columns, None, seen)
    known = noted.select(_COUNTED.names)
    if new is None:
        new, known = lake.files(catalog, REQUESTS, columns), _COUNTED.empty_table()
    parts = [known, *(_counted(rows, length_ms) for rows in new.read_each())]
    counted = (
        pa.concat_tables(parts).group_by(_PART).aggregate([("lines", "sum")]).rename_columns(_COUNTED.names)
    )
    rows = [(*each, length_ms, new.snapshot) for each in tuples(counted)]
    lake.replace(catalog, LINE_COUNTS, LINE_COUNTS.rows(rows))
    return _by_cluster(counted)


def _counted(rows: pa.Table, length_ms: int) -> pa.Table:
    rows = rows.drop_null()
    begins = rows["logged_at_ms"].to_numpy() // length_ms * length_ms
    parts = pa.table({"cluster": rows["cluster"], "begins_at_ms": begins})
    return parts.group_by(_PART).aggregate([([], "count_all")]).rename_columns(_COUNTED.names).cast(_COUNTED)


def _by_cluster(counted: pa.Table) -> LineCounts:
    lines: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for cluster, begins, number in tuples(counted.select(_COUNTED.names)):
        lines[cluster][begins] = number
    return lines
