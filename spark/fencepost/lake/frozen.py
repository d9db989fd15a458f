"""The tables of the lake as they were at one moment, for tasks in other processes: they read, and cannot
commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from pyiceberg.catalog import Catalog
from pyiceberg.io import FileIO
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.metadata import TableMetadata

__all__ = ["frozen", "without_history"]


class _FrozenCatalog:
    """Answers as a catalog does. It has no connection, so it can be pickled."""

    def __init__(self, tables: Iterable[IcebergTable]) -> None:
        self._tables: dict[str, tuple[TableMetadata, str, FileIO]] = {
            ".".join(each.name()): (_current(each.metadata), each.metadata_location, each.io)
            for each in tables
        }

    def supports_server_side_planning(self) -> bool:
        """Never: files are planned where they are read."""
        return False

    def load_table(self, name: str) -> IcebergTable:
        """The table as it was."""
        metadata, location, io = self._tables[name]
        return IcebergTable(tuple(name.split(".")), metadata, location, io, cast(Catalog, self))


def frozen(catalog: Catalog, names: Iterable[str]) -> Catalog:
    """A catalog of these tables as they are now, which can be pickled. Functions of the lake that read
    take it.
    """
    return cast(Catalog, _FrozenCatalog(map(catalog.load_table, names)))


def _current(metadata: TableMetadata) -> TableMetadata:
    """Metadata with no snapshot but the current one."""
    current = [each for each in metadata.snapshots if each.snapshot_id == metadata.current_snapshot_id]
    return metadata.model_copy(update={"snapshots": current, "snapshot_log": [], "metadata_log": []})


def without_history(metadata: TableMetadata) -> TableMetadata:
    """Metadata that is enough to read and write files: the history grows with every commit."""
    return metadata.model_copy(
        update={
            "snapshots": [],
            "snapshot_log": [],
            "metadata_log": [],
            "refs": {},
            "current_snapshot_id": None,
            "statistics": [],
            "partition_statistics": [],
        }
    )
