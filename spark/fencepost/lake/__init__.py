"""Reads and writes the tables of the lake through Iceberg's own catalog; no JVM is needed.

The tables are declared in :mod:`fencepost.tables`; rows are Arrow tables.
"""

from fencepost.lake.forgetting import Chosen, Forgotten, forget
from fencepost.lake.frozen import frozen, without_history
from fencepost.lake.partitions import partitions
from fencepost.lake.reading import Files, added, by_file, files, scan, scan_at
from fencepost.lake.statistics import Extent, count, extents, greatest, present, size, snapshot
from fencepost.lake.tables import ROW_GROUP, ensure
from fencepost.lake.writing import (
    aligned,
    append,
    append_files,
    compact_files,
    delete,
    keep_since,
    replace,
    replace_by_batches,
    replace_by_files,
    replace_by_pieces,
)

__all__ = [
    "ROW_GROUP",
    "Chosen",
    "Extent",
    "Files",
    "Forgotten",
    "added",
    "aligned",
    "append",
    "append_files",
    "by_file",
    "compact_files",
    "count",
    "delete",
    "ensure",
    "extents",
    "files",
    "forget",
    "frozen",
    "greatest",
    "keep_since",
    "partitions",
    "present",
    "replace",
    "replace_by_batches",
    "replace_by_files",
    "replace_by_pieces",
    "scan",
    "scan_at",
    "size",
    "snapshot",
    "without_history",
]
