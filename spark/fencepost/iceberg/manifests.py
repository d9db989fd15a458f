"""Commits to Iceberg tables that keep manifests short and few."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, starmap
from typing import Any

from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import ManifestContent, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles, _OverwriteFiles, _SnapshotProducer

from fencepost.iceberg.listing import Listing

MANIFEST_FILES = 32
"""A new manifest lists at most so many files. When there are so many manifests that list fewer, they become
one: each commit adds a manifest, and every scan opens them all.
"""


_Entries = defaultdict[int, list[ManifestEntry]]
"""Entries by partition spec."""


class _Listed(_SnapshotProducer[Any]):
    """Lists files in manifests that are neither long nor many.

    Removing a file rewrites the manifest that lists it, and each run replaces the newest files: so manifests
    should be short.
    """

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
    written again each time. PyIceberg 0.12 reads manifests twice to find the removed files, lists all three
    separately, and keeps manifests that list nothing any more.
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
