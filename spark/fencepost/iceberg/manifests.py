"""The manifests that a commit to an Iceberg table writes: they are neither long nor many."""

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
"""A manifest lists so many files at most when they are added. So many manifests become one if each lists
fewer: each commit adds one, and whoever asks for all files opens them all.
"""


class _Listed(_SnapshotProducer[Any]):
    """Lists files in manifests that are neither long nor many.

    Where a file goes, all that are listed with it are listed anew, and each run replaces the newest ones.
    """

    def _manifests(self) -> list[ManifestFile]:
        added = self._added_data_files
        self._added_data_files, earlier = added[-MANIFEST_FILES:], added[:-MANIFEST_FILES]
        found = super()._manifests()
        self._added_data_files = added
        spec = self._transaction.table_metadata.default_spec_id
        for first in range(0, len(earlier), MANIFEST_FILES):
            files = earlier[first : first + MANIFEST_FILES]
            found.append(self._manifest(spec, [_entry(self._snapshot_id, file) for file in files]))
        return found

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        small: defaultdict[int, list[ManifestFile]] = defaultdict(list)
        for each in manifests:
            was_there = each.added_snapshot_id != self._snapshot_id
            if was_there and each.content == ManifestContent.DATA and _files_in(each) < MANIFEST_FILES:
                small[each.partition_spec_id].append(each)
        for spec, many in small.items():
            if len(many) >= MANIFEST_FILES:
                entries = chain.from_iterable(each.fetch_manifest_entry(self._io) for each in many)
                manifests = [each for each in manifests if each not in many]
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
    """Takes files away and adds others, in one snapshot.

    Manifests that list nothing but files that are gone are left out, as an append leaves them out: PyIceberg
    0.12 keeps them with every overwrite.
    """

    def __init__(self, change: Transaction, **properties: str) -> None:
        super().__init__(Operation.OVERWRITE, change, change._table.io, snapshot_properties=properties)

    def _existing_manifests(self) -> list[ManifestFile]:
        found = super()._existing_manifests()
        return [each for each in found if each.has_added_files() or each.has_existing_files()]

    def _build_manifest_evaluator(self, spec_id: int) -> Callable[[ManifestFile], bool]:
        # PyIceberg 0.12 has several threads share an evaluator, which notes the manifest that it looks at: a
        # file that is there was missed now and then, and the commit refused
        build = super()._build_manifest_evaluator

        def is_concerned(manifest: ManifestFile) -> bool:
            return build(spec_id)(manifest)

        return is_concerned


def _entry(snapshot: int, file: DataFile) -> ManifestEntry:
    """What tells that a snapshot has added a file; its number is the snapshot's, once that has one."""
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED,
        snapshot_id=snapshot,
        sequence_number=None,
        file_sequence_number=None,
        data_file=file,
    )


def _files_in(manifest: ManifestFile) -> int:
    return (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
