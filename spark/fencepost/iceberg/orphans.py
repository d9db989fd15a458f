"""Files in the folders of a table that no snapshot names.

A commit replaces files, and a snapshot that expires leaves its own: PyIceberg 0.12 deletes neither. A run
that is killed between a file and its commit leaves that file.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import chain

from pyarrow import fs
from pyiceberg.table import Table

from fencepost.iceberg.file_systems import file_system

_FOLDERS = ("data", "metadata")


def remove_orphans(table: Table, before: datetime) -> tuple[int, int]:
    """Delete the files of a table that were last written before a moment, and that no snapshot of the table
    names. Returns how many they were, and their bytes. Raises OSError if its folders cannot be listed.

    A moment of some days ago leaves out what a run is writing now.
    """
    system, folder = file_system(table.io, table.location())
    selectors = (fs.FileSelector(f"{folder}/{each}", True, recursive=True) for each in _FOLDERS)
    files = [each for each in chain.from_iterable(map(system.get_file_info, selectors)) if each.is_file]
    # names are compared, not locations, which can be written in several ways: each has a UUID
    if _name(table.metadata_location) not in {each.base_name for each in files}:
        raise OSError(f"{folder} is not where {table.metadata_location} is")
    old = [each for each in files if each.mtime is not None and each.mtime < before]
    named = set(map(_name, _named(table))) if old else set()
    orphans = [each for each in old if each.base_name not in named]
    for each in orphans:
        system.delete_file(each.path)
    return len(orphans), sum(each.size for each in orphans)


def _named(table: Table) -> Iterator[str]:
    """The locations of all files that the table's metadata names, itself or by its snapshots."""
    metadata = table.metadata
    yield table.metadata_location
    yield from (each.metadata_file for each in metadata.metadata_log)
    yield from (each.statistics_path for each in (*metadata.statistics, *metadata.partition_statistics))
    read = set[str]()
    for snapshot in metadata.snapshots:
        yield snapshot.manifest_list
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path not in read:
                read.add(manifest.manifest_path)
                yield manifest.manifest_path
                entries = manifest.fetch_manifest_entry(table.io, discard_deleted=False)
                yield from (each.data_file.file_path for each in entries)


def _name(location: str) -> str:
    return location.rpartition("/")[2]
