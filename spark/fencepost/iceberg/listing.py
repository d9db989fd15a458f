"""The files of a table, as the manifests of its current snapshot list them."""

from __future__ import annotations

from functools import cached_property

from pyiceberg.manifest import ManifestEntry, ManifestFile
from pyiceberg.table import Table


class Listing:
    """Reads each manifest once at most: to plan what a commit replaces and to list what is left."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._entries: dict[ManifestFile, list[ManifestEntry]] = {}

    @cached_property
    def manifests(self) -> tuple[ManifestFile, ...]:
        """The manifests that list a file."""
        snapshot = self.table.current_snapshot()
        found = () if snapshot is None else snapshot.manifests(self.table.io)
        return tuple(each for each in found if each.has_added_files() or each.has_existing_files())

    def entries(self, manifest: ManifestFile) -> list[ManifestEntry]:
        """The entries of a manifest, without those of removed files."""
        if manifest not in self._entries:
            self._entries[manifest] = manifest.fetch_manifest_entry(self.table.io)
        return self._entries[manifest]
