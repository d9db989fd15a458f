"""From which chapter on a table is not what it was: Iceberg's lists of files tell, and no file is opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile, DataFileContent, ManifestFile
from pyiceberg.table import Table
from pyiceberg.types import LongType, StringType

from fencepost.tables import CHAPTER

Since = Mapping[str | None, int]
"""By cluster, the begin of the first chapter that has changed; None is any cluster. Empty: none has."""

_CLUSTER = "cluster"


def earliest(found: Iterable[Since]) -> Since:
    """The first of several, by cluster."""
    first: dict[str | None, int] = {}
    for each in found:
        for cluster, chapter in each.items():
            first[cluster] = min(chapter, first.get(cluster, chapter))
    return first


def changed_since(table: Table, before: int | None) -> Since | None:
    """What has changed since a snapshot; None: since the table was empty.

    Gives None where it cannot be told: the snapshot has expired, rows have no chapter, or a file lost some.
    """
    if {_CLUSTER, CHAPTER} - set(table.schema().column_names):
        return None
    if before is not None and table.snapshot_by_id(before) is None:
        return None
    then, now = _manifests(table, before), _manifests(table, table.metadata.current_snapshot_id)
    was, is_ = _files(table, then - now), _files(table, now - then)
    lies = _Lies(table)
    found: list[Since] = []
    for path in was.keys() ^ is_.keys():
        place = lies.of(was.get(path) or is_[path])
        if place is None:
            return None
        found.append(dict([place]))
    return earliest(found)


def _manifests(table: Table, snapshot: int | None) -> set[ManifestFile]:
    found = None if snapshot is None else table.snapshot_by_id(snapshot)
    return set(found.manifests(table.io)) if found else set()


def _files(table: Table, manifests: Iterable[ManifestFile]) -> dict[str, DataFile]:
    entries = (entry for each in manifests for entry in each.fetch_manifest_entry(table.io))
    return {entry.data_file.file_path: entry.data_file for entry in entries}


@dataclass(frozen=True)
class _Lies:
    """Where the rows of a table's files lie."""

    table: Table

    def of(self, file: DataFile) -> tuple[str | None, int] | None:
        """The cluster, if it is one, and the first chapter; None where that is not known."""
        if file.content != DataFileContent.DATA:
            return None
        parts = dict(self._partition(file))
        if CHAPTER in parts:
            return None if parts[CHAPTER] is None else (parts.get(_CLUSTER), int(parts[CHAPTER]))
        lower, upper = file.lower_bounds or {}, file.upper_bounds or {}
        number, name = (self.table.schema().find_field(each).field_id for each in (CHAPTER, _CLUSTER))
        if number not in lower or (file.null_value_counts or {}).get(number) != 0:
            return None
        # a longer name is cut, and then its bounds differ
        is_one = name in lower and lower[name] == upper.get(name)
        cluster = from_bytes(StringType(), lower[name]) if is_one else None
        return cluster, int(from_bytes(LongType(), lower[number]))

    def _partition(self, file: DataFile) -> Iterator[tuple[str, Any]]:
        for position, field in enumerate(self.table.specs()[file.spec_id].fields):
            yield field.name, file.partition[position]
