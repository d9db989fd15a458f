"""The files of a table, as the manifests of one snapshot list them."""

from __future__ import annotations

from functools import cached_property

from pyiceberg.manifest import ManifestEntry, ManifestFile
from pyiceberg.table import Table


class Listing:
    """The files of the table's current snapshot, whatever is committed later. Each manifest is read once at
    most: to plan what a commit replaces, and to list what is left.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        # a commit changes the table object, also one that is refused because others have committed
        self.snapshot = table.current_snapshot()
        self._entries: dict[ManifestFile, list[ManifestEntry]] = {}

    @cached_property
    def manifests(self) -> tuple[ManifestFile, ...]:
        """The manifests that list a file."""
        found = () if self.snapshot is None else self.snapshot.manifests(self.table.io)
        return tuple(each for each in found if each.has_added_files() or each.has_existing_files())

    def entries(self, manifest: ManifestFile) -> list[ManifestEntry]:
        """The entries of a manifest, without those of removed files."""
        if manifest not in self._entries:
            self._entries[manifest] = manifest.fetch_manifest_entry(self.table.io)
        return self._entries[manifest]
