"""What PyIceberg 0.12 lacks, or does at a cost that grows with the history of a table.

Only this file and the catalog in a database (``sql_catalog``) know PyIceberg's private names. Each part says
when it may go. Milliseconds are CPU time of one commit that replaces two files of a table, after eighty such
commits; with everything here it is 15 ms.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, starmap
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pyiceberg.manifest
from pyarrow import fs
from pyiceberg.avro.decoder import new_decoder
from pyiceberg.avro.file import _SCHEMA_KEY, META_SCHEMA, AvroFile, AvroFileHeader, D
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import construct_reader, resolve_reader
from pyiceberg.exceptions import ValidationException
from pyiceberg.io import FileIO
from pyiceberg.io.fileformat import FileFormatModel
from pyiceberg.io.pyarrow import PyArrowFileIO, _to_requested_schema, pyarrow_to_schema
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata, TableMetadataV2
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    RemoveSnapshotsUpdate,
    TableRequirement,
    TableUpdate,
)
from pyiceberg.table.update.snapshot import (
    ExpireSnapshots,
    _FastAppendFiles,
    _OverwriteFiles,
    _SnapshotProducer,
)
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from fencepost.iceberg.listing import Listing

MANIFEST_FILES = 32
"""A new manifest lists at most so many files. When there are so many manifests that list fewer, they become
one: each commit adds a manifest, and every scan opens them all.
"""

_Entries = defaultdict[int, list[ManifestEntry]]
"""Entries by partition spec."""


class Change(Transaction):
    """A transaction that computes the table's new metadata once for each update. It lets old snapshots expire
    in the same commit; which ones, a subclass says.

    May go when Transaction keeps the metadata that it has computed (0.12 computes it some twenty times in a
    commit), and computes updates that are not of snapshots again when it repeats a commit.
    """

    _computed: tuple[TableMetadata, tuple[Any, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        """The table's metadata as it will be after the updates so far."""
        base, updates = self._table.metadata, self._updates
        if self._computed is None or self._computed[0] is not base or self._computed[1] is not updates:
            self._computed = base, updates, super().table_metadata
        return self._computed[2]

    def commit_transaction(self) -> IcebergTable:
        """Commit, if there are any updates."""
        if self._updates:
            self._expire_snapshots()
        return super().commit_transaction()

    def expired(self) -> list[int]:
        """The ids of the snapshots that expire."""
        return []

    def _rebuild_snapshot_updates(self) -> None:
        # another process has committed, and may have expired the same snapshots
        self._updates = tuple(each for each in self._updates if not isinstance(each, RemoveSnapshotsUpdate))
        super()._rebuild_snapshot_updates()
        self._expire_snapshots()

    def _expire_snapshots(self) -> None:
        if old := self.expired():
            ExpireSnapshots(self).by_ids(old).commit()


class _SharedMetadata(TableMetadataV2):
    """Metadata whose copies share the schemas, snapshots and other parts.

    PyIceberg changes no part of metadata that it is given: each update makes new ones. May go when an update
    copies only what it changes (0.12 copies everything, and loses what a schema has computed about itself:
    42 ms, with what ``Change`` saves).
    """

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> _SharedMetadata:
        """See BaseModel; never deep."""
        return super().model_copy(update=update)


def share(metadata: TableMetadata) -> TableMetadata:
    """The same metadata, of which copies are cheap."""
    if type(metadata) is not TableMetadataV2:
        return metadata
    return _SharedMetadata.model_construct(metadata.model_fields_set, **dict(metadata))


def _no_older(update: TableUpdate, least_ms: int) -> TableUpdate:
    if not isinstance(update, AddSnapshotUpdate) or update.snapshot.timestamp_ms >= least_ms:
        return update
    return AddSnapshotUpdate(snapshot=update.snapshot.model_copy(update={"timestamp_ms": least_ms}))


class _Listed(_SnapshotProducer[Any]):
    """Lists files in manifests that are neither long nor many.

    Removing a file rewrites the manifest that lists it, and each run replaces the newest files: so manifests
    should be short. May go when PyIceberg merges manifests by the number of their files, also where files are
    removed (0.12 does so by bytes, and only where files are added).
    """

    @property
    def io(self) -> FileIO:
        """Where the table's files are written."""
        return self._io

    def put(self, old_files: Iterable[DataFile], new_files: Iterable[DataFile]) -> None:
        """Make this the snapshot without the old files and with the new ones."""
        with self:
            for old in old_files:
                self.delete_data_file(old)
            for new in new_files:
                self.append_data_file(new)

    def _commit(self) -> tuple[tuple[TableUpdate, ...], tuple[TableRequirement, ...]]:
        """Its snapshot is no older than the table, which a REST server would refuse (``iceberg.times``)."""
        updates, requirements = super()._commit()
        least_ms = self._transaction.table_metadata.last_updated_ms
        return tuple(_no_older(each, least_ms) for each in updates), requirements

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        small: defaultdict[int, list[ManifestFile]] = defaultdict(list)
        for each in manifests:
            is_earlier = each.added_snapshot_id != self._snapshot_id
            if is_earlier and each.content == ManifestContent.DATA and _files_in(each) < MANIFEST_FILES:
                small[each.partition_spec_id].append(each)
        for spec, mergeable in small.items():
            if len(mergeable) >= MANIFEST_FILES:
                entries = chain.from_iterable(each.fetch_manifest_entry(self._io) for each in mergeable)
                manifests = [each for each in manifests if each not in mergeable]
                manifests.append(self._manifest(spec, map(_existing, entries)))
        return manifests

    def _list(self, spec: int, entries: Sequence[ManifestEntry]) -> list[ManifestFile]:
        """Write manifests with these entries."""
        firsts = range(0, len(entries), MANIFEST_FILES)
        return [self._manifest(spec, entries[first : first + MANIFEST_FILES]) for first in firsts]

    def _manifest(self, spec: int, entries: Iterable[ManifestEntry]) -> ManifestFile:
        with self.new_manifest_writer(self.spec(spec)) as writer:
            for entry in entries:
                writer.add_entry(entry)
        return writer.to_manifest_file()

    def _added_entries(self) -> list[ManifestEntry]:
        """The entries of the files that this snapshot adds; they inherit its sequence number."""
        return [
            ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED,
                snapshot_id=self._snapshot_id,
                sequence_number=None,
                file_sequence_number=None,
                data_file=file,
            )
            for file in self._added_data_files
        ]


class Append(_Listed, _FastAppendFiles):
    """Adds files, in one snapshot."""

    def __init__(self, change: Transaction) -> None:
        super().__init__(Operation.APPEND, change, change._table.io)

    def _manifests(self) -> list[ManifestFile]:
        added = self._list(self._transaction.table_metadata.default_spec_id, self._added_entries())
        return self._process_manifests(added + self._existing_manifests())


class Exchange(_Listed, _OverwriteFiles):
    """Removes files and adds others, in one snapshot. ``listing``: the table's files before.

    What is added is listed together with what is removed, and apart from the other files of the manifests
    that listed that: most runs replace what the last one wrote, and the entries of other files need not be
    written again each time. May go when PyIceberg keeps no manifests that list nothing any more, and reads
    those with removed files once (0.12 reads them twice, and their number grows with each commit: 140 ms).
    """

    def __init__(self, change: Transaction, listing: Listing, **properties: str) -> None:
        super().__init__(Operation.OVERWRITE, change, change._table.io, snapshot_properties=properties)
        self._listing = listing

    def _manifests(self) -> list[ManifestFile]:
        table = self._transaction._table
        if table.current_snapshot() != self._listing.snapshot:
            # another process has committed meanwhile
            self._listing = Listing(table)
        staying, left, exchanged = self._without_removed()
        exchanged[self._transaction.table_metadata.default_spec_id] += self._added_entries()
        written = chain.from_iterable(starmap(self._list, (*exchanged.items(), *left.items())))
        return self._process_manifests([*written, *staying])

    def _without_removed(self) -> tuple[list[ManifestFile], _Entries, _Entries]:
        """The manifests that list no removed file; of the others the entries of files that are left, and
        those of the removed ones. Raises ValidationException if a removed file is not in the table.
        """
        missing, staying = set(self._deleted_data_files), []
        left, removed = _Entries(list), _Entries(list)
        # the newest first, because most runs replace what the last one wrote
        by_age = sorted(self._listing.manifests, key=lambda each: each.sequence_number, reverse=True)
        for manifest in by_age:
            listed = self._listing.entries(manifest) if missing else []
            if missing.isdisjoint(each.data_file for each in listed):
                staying.append(manifest)
                continue
            for each in listed:
                if each.data_file in missing:
                    missing.discard(each.data_file)
                    removed[manifest.partition_spec_id].append(_removed(each, self._snapshot_id))
                else:
                    left[manifest.partition_spec_id].append(_existing(each))
        if missing:
            raise ValidationException(f"not in the table: {sorted(each.file_path for each in missing)}")
        return staying, left, removed


class Rewrite(Exchange):
    """An exchange after which there are the same rows, or fewer that nobody needs: what others add meanwhile
    is no conflict, and stays. It is one if they remove a file that this removes, too.
    """

    def _validate_concurrency(self) -> None:
        # each attempt to commit looks for the removed files anew
        pass


def _existing(entry: ManifestEntry) -> ManifestEntry:
    return _entry(ManifestEntryStatus.EXISTING, entry.snapshot_id, entry)


def _removed(entry: ManifestEntry, snapshot: int) -> ManifestEntry:
    return _entry(ManifestEntryStatus.DELETED, snapshot, entry)


def _entry(status: ManifestEntryStatus, snapshot: int | None, entry: ManifestEntry) -> ManifestEntry:
    return ManifestEntry.from_args(
        status=status,
        snapshot_id=snapshot,
        sequence_number=entry.sequence_number,
        file_sequence_number=entry.file_sequence_number,
        data_file=entry.data_file,
    )


def _files_in(manifest: ManifestFile) -> int:
    return (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)


class _Resolved(AvroFile[D]):
    """A manifest, or a list of manifests, whose schema is understood once for all files that have it.

    May go when PyIceberg keeps what it has resolved: 0.12 parses the schema of each file that it opens and
    compares it with its own, which takes longer than to read what one lists (2 ms; with this 0.3).
    """

    def __enter__(self) -> AvroFile[D]:
        with self.input_file.open() as file:
            self.decoder = new_decoder(file.read())
        self.header = _HEADER.read(self.decoder)
        text, types, enums = self.header.meta[_SCHEMA_KEY], self.read_types, self.read_enums
        known = text, id(self.read_schema), *types.items(), *enums.items()
        if known not in _resolved:
            schema = AvroSchemaConversion().avro_to_iceberg(json.loads(text))
            wanted = self.read_schema or schema
            _resolved[known] = schema, wanted, resolve_reader(schema, wanted, types, enums)
        self.schema, self.read_schema, self.reader = _resolved[known]
        return self


_HEADER = construct_reader(META_SCHEMA, {-1: AvroFileHeader})
_resolved: dict[tuple[Any, ...], tuple[Schema, Schema, Reader]] = {}
"""By the schema of a file and what is read of it: as many as a lake has partition specs."""

pyiceberg.manifest.AvroFile = _Resolved  # type: ignore[attr-defined]


def as_stored(rows: pa.Table, schema: Schema, format_model: FileFormatModel) -> pa.Table:
    """The rows with the table's types and the ids of its fields, as a writer of files takes them.

    May go when PyIceberg writes rows of a partitioned table that come in pieces: 0.12 needs all in memory,
    and copies them three times.
    """
    present = pyarrow_to_schema(rows.schema, name_mapping=schema.name_mapping)
    stored = [
        _to_requested_schema(schema, present, batch, include_field_ids=True, format_model=format_model)
        # one batch: PyIceberg goes through the columns of every batch
        for batch in rows.combine_chunks().to_batches()
    ]
    return pa.Table.from_batches(stored)


def file_system(io: FileIO, location: str) -> tuple[fs.FileSystem, str]:
    """A file system that lists folders, and the location in it. Raises OSError if there is none.

    May go when a FileIO lists folders.
    """
    if isinstance(io, PyArrowFileIO):
        scheme, netloc, path = PyArrowFileIO.parse_location(location, io.properties)
        return io.fs_by_scheme(scheme, netloc), path
    # what imports fsspec, other catalogs do not need
    from pyiceberg.io.fsspec import FsspecFileIO

    if isinstance(io, FsspecFileIO):
        system = io._get_fs_from_uri(urlparse(location), location)
        return fs.PyFileSystem(fs.FSSpecHandler(system)), system._strip_protocol(location)
    raise OSError(f"{type(io).__name__} cannot list {location}, so it has to be emptied by hand")
