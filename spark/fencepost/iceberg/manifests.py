"""Commits to Iceberg tables that keep manifests short and few."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestEntryStatus, ManifestFile
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

    def _manifests(self) -> list[ManifestFile]:
        added = self._added_data_files
        self._added_data_files, earlier = added[-MANIFEST_FILES:], added[:-MANIFEST_FILES]
        manifests = super()._manifests()
        self._added_data_files = added
        spec = self._transaction.table_metadata.default_spec_id
        for first in range(0, len(earlier), MANIFEST_FILES):
            files = earlier[first : first + MANIFEST_FILES]
            manifests.append(self._manifest(spec, [_entry(self._snapshot_id, file) for file in files]))
        return manifests

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
                manifests.append(self._manifest(spec, entries))
        return manifests

    def _manifest(self, spec: int, entries: Iterable[ManifestEntry]) -> ManifestFile:
        with self.new_manifest_writer(self.spec(spec)) as writer:
            for entry in entries:
                (writer.add if entry.snapshot_id == self._snapshot_id else writer.existing)(entry)
        return writer.to_manifest_file()


class Append(_Listed, _FastAppendFiles):
    """Adds files, in one snapshot."""

    def __init__(self, change: Transaction) -> None:
        super().__init__(Operation.APPEND, change, change._table.io)


class Exchange(_Listed, _OverwriteFiles):
    """Removes files and adds others, in one snapshot.

    Manifests that list nothing but removed files are left out, as an append leaves them out: PyIceberg 0.12
    keeps them with every overwrite.
    """

    def __init__(self, change: Transaction, **properties: str) -> None:
        super().__init__(Operation.OVERWRITE, change, change._table.io, snapshot_properties=properties)

    def _existing_manifests(self) -> list[ManifestFile]:
        manifests = super()._existing_manifests()
        return [each for each in manifests if each.has_added_files() or each.has_existing_files()]

    def _build_manifest_evaluator(self, spec_id: int) -> Callable[[ManifestFile], bool]:
        # In PyIceberg 0.12 several threads share an evaluator, which stores the manifest that it evaluates:
        # so it sometimes missed a file that exists, and the commit was refused.
        build = super()._build_manifest_evaluator

        def is_concerned(manifest: ManifestFile) -> bool:
            return build(spec_id)(manifest)

        return is_concerned


def _entry(snapshot: int, file: DataFile) -> ManifestEntry:
    """The manifest entry for a file that a snapshot adds; it inherits the snapshot's sequence number."""
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED,
        snapshot_id=snapshot,
        sequence_number=None,
        file_sequence_number=None,
        data_file=file,
    )


def _files_in(manifest: ManifestFile) -> int:
    return (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
