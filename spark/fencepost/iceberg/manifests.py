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

MANIFEST_FILES = 32
"""A new manifest lists at most so many files. When there are so many manifests that list fewer, they become
one: each commit adds a manifest, and every scan opens them all.
"""


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
    """Removes files and adds others, in one snapshot.

    What is removed, what is left of the manifests that listed it, and what is added is listed together.
    PyIceberg 0.12 reads manifests twice to find the removed files, writes three for one, and keeps those that
    list nothing any more.
    """

    def __init__(self, change: Transaction, **properties: str) -> None:
        super().__init__(Operation.OVERWRITE, change, change._table.io, snapshot_properties=properties)

    def _manifests(self) -> list[ManifestFile]:
        staying, entries = self._without_removed()
        entries[self._transaction.table_metadata.default_spec_id] += self._added_entries()
        written = chain.from_iterable(starmap(self._list, entries.items()))
        return self._process_manifests([*written, *staying])

    def _without_removed(self) -> tuple[list[ManifestFile], defaultdict[int, list[ManifestEntry]]]:
        """The manifests that list no removed file, and by partition spec the entries of the others. Raises
        ValidationException if a removed file is not in the table.
        """
        snapshot = self._transaction.table_metadata.snapshot_by_name(self._target_branch)
        manifests = () if snapshot is None else snapshot.manifests(self._io)
        missing, staying = set(self._deleted_data_files), []
        entries: defaultdict[int, list[ManifestEntry]] = defaultdict(list)
        # the newest first, because most runs replace what the last one wrote
        for manifest in sorted(manifests, key=lambda each: each.sequence_number, reverse=True):
            if not manifest.has_added_files() and not manifest.has_existing_files():
                continue
            listed = manifest.fetch_manifest_entry(self._io) if missing else []
            if missing.isdisjoint(each.data_file for each in listed):
                staying.append(manifest)
                continue
            for each in listed:
                is_removed = each.data_file in missing
                missing.discard(each.data_file)
                of_spec = entries[manifest.partition_spec_id]
                of_spec.append(_removed(each, self._snapshot_id) if is_removed else _existing(each))
        if missing:
            raise ValidationException(f"not in the table: {sorted(each.file_path for each in missing)}")
        return staying, entries


def _existing(entry: ManifestEntry) -> ManifestEntry:
    entry.status = ManifestEntryStatus.EXISTING
    return entry


def _removed(entry: ManifestEntry, snapshot: int) -> ManifestEntry:
    entry.status, entry.snapshot_id = ManifestEntryStatus.DELETED, snapshot
    return entry


def _files_in(manifest: ManifestFile) -> int:
    return (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
