"""Finds the first chapter in which a table has changed since a snapshot. Iceberg's lists of files are enough:
no file is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyiceberg.manifest import DataFile, DataFileContent, ManifestFile
from pyiceberg.table import Table

from fencepost.tables import CHAPTER

Since = Mapping[str, int]
"""By cluster, the begin of the first chapter that has changed. Empty: none has."""

_CLUSTER = "cluster"


def earliest(found: Iterable[Since]) -> Since:
    """The first of several, by cluster."""
    first: dict[str, int] = {}
    for each in found:
        for cluster, chapter in each.items():
            first[cluster] = min(chapter, first.get(cluster, chapter))
    return first


def changed_since(table: Table, before: int | None) -> Since | None:
    """The first chapter of each cluster that has changed since a snapshot; ``before``: None for the empty
    table.

    Returns None if that is not known: the snapshot has expired, rows have no chapter, rows of a file were
    deleted, or the table is not partitioned by cluster and chapter.
    """
    if before is not None and table.snapshot_by_id(before) is None:
        return None
    then, now = _manifests(table, before), _manifests(table, table.metadata.current_snapshot_id)
    was, is_ = _files(table, then - now), _files(table, now - then)
    found: list[Since] = []
    for path in was.keys() ^ is_.keys():
        place = _place(table, was.get(path) or is_[path])
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


def _place(table: Table, file: DataFile) -> tuple[str, int] | None:
    """The cluster and the chapter of a file's rows; None where that is not known."""
    if file.content != DataFileContent.DATA:
        return None
    fields = table.specs()[file.spec_id].fields
    of = {field.name: file.partition[position] for position, field in enumerate(fields)}
    cluster, chapter = of.get(_CLUSTER), of.get(CHAPTER)
    return None if cluster is None or chapter is None else (str(cluster), int(chapter))
