"""Files in the folders of a table that no snapshot names.

A commit replaces files, and a snapshot that expires leaves its own: PyIceberg 0.12 deletes neither. A run
that is killed between a file and its commit leaves that file.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import chain

from pyarrow import fs
from pyiceberg.exceptions import ValidationError
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from fencepost.iceberg.patches import file_system

_METADATA = ".metadata.json"


def remove_orphans(table: Table, before: datetime) -> tuple[int, int]:
    """Delete the files of a table that were last written before a moment, and that no snapshot of the table
    names. Returns how many they were, and their bytes. Raises OSError if its folders cannot be read.

    A moment of some days ago leaves out what a run is writing now. Another catalog may have a table in the
    same folder: a copy of the catalog names the folder of the original, and so does one that was restored.
    So what any metadata file in the folder names is kept, and the metadata files are. Raises ValueError if
    one of them cannot be understood.
    """
    system, folder = file_system(table.io, table.location())
    selectors = (fs.FileSelector(f"{folder}/{each}", True, recursive=True) for each in ("data", "metadata"))
    files = [each for each in chain.from_iterable(map(system.get_file_info, selectors)) if each.is_file]
    # names are compared, not locations, which can be written in several ways: each has a UUID
    heads = {each.base_name for each in files if each.base_name.endswith(_METADATA)}
    if _name(table.metadata_location) not in heads:
        raise OSError(f"{folder} is not where {table.metadata_location} is")
    old = [each for each in files if each.mtime is not None and each.mtime < before]
    orphans = {each.base_name: each for each in old if each.base_name not in heads}
    if orphans:
        # a run that was killed while it wrote one has left it empty
        written = {each.base_name for each in files if each.base_name in heads and each.size}
        for name in map(_name, _named(table, written)):
            orphans.pop(name, None)
    for each in orphans.values():
        system.delete_file(each.path)
    return len(orphans), sum(each.size for each in orphans.values())


def _named(table: Table, heads: set[str]) -> Iterator[str]:
    """The locations of all files that the table's metadata names, and those of the other metadata files in
    its folder that it does not know.
    """
    own = table.metadata
    known = {_name(table.metadata_location), *(_name(each.metadata_file) for each in own.metadata_log)}
    others = (f"{table.location().rstrip('/')}/metadata/{each}" for each in sorted(heads - known))
    read = set[str]()
    yield from _named_by(table, own, read)
    for each in others:
        try:
            other = FromInputFile.table_metadata(table.io.new_input(each))
        except ValidationError as error:
            raise ValueError(f"{each} cannot be read") from error
        yield from _named_by(table, other, read)


def _named_by(table: Table, metadata: TableMetadata, read: set[str]) -> Iterator[str]:
    yield from (each.statistics_path for each in (*metadata.statistics, *metadata.partition_statistics))
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
