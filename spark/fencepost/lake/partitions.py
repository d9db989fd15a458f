"""Finds partitions and their files, by what the manifests say of them: PyIceberg's planning takes as long as
writing some thousand rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile, ManifestContent, ManifestFile
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, LongType, PrimitiveType, StringType

from fencepost.iceberg.listing import Listing
from fencepost.lake.conditions import AtLeast, Below, Where
from fencepost.lake.reading import scan
from fencepost.tables import Table

__all__ = ["files_of_partitions", "partitions"]

_COMPARED = (StringType, LongType, IntegerType)
"""The types whose values Python compares as Iceberg does."""


@dataclass(frozen=True)
class _Field:
    """A field of a partition spec; ``at``: its place."""

    at: int
    type: PrimitiveType

    def may_be(self, manifest: ManifestFile, wanted: Any) -> bool:
        """Whether a partition in the manifest may have a value that meets a condition."""
        if isinstance(wanted, frozenset):
            return any(self.may_be(manifest, each) for each in wanted)
        summary = (manifest.partitions or [])[self.at]
        if wanted is None:
            return bool(summary.contains_null)
        if summary.lower_bound is None or summary.upper_bound is None:
            return False
        least: Any = from_bytes(self.type, summary.lower_bound)
        most: Any = from_bytes(self.type, summary.upper_bound)
        if isinstance(wanted, AtLeast):
            return bool(most >= wanted.value)
        if isinstance(wanted, Below):
            return bool(least < wanted.value and (wanted.least is None or most >= wanted.least))
        return bool(least <= wanted <= most)


def files_of_partitions(listing: Listing, where: Where | None) -> list[DataFile] | None:
    """The files with the rows that ``where`` chooses (None: all rows). None where it may choose a part of a
    file: where it names a column by which some file is not partitioned, or if rows of files were deleted.
    """
    conditions = [{}] if where is None else where
    named = {name for each in conditions for name in each}
    fields = {each: _fields(listing, each) for each in {each.partition_spec_id for each in listing.manifests}}
    if not all(named <= of_spec.keys() for of_spec in fields.values()):
        return None
    if any(each.content != ManifestContent.DATA for each in listing.manifests):
        return None
    return list(_files(listing, conditions, fields))


def partitions(catalog: Catalog, table: Table) -> set[tuple[Any, ...]]:
    """The values of the columns by which the table is partitioned, for each partition that has a row."""
    listing = Listing(catalog.load_table(table.name))
    found: set[tuple[Any, ...]] = set()
    for manifest in listing.manifests:
        fields = _fields(listing, manifest.partition_spec_id)
        if not fields.keys() >= set(table.stored_by):
            rows = scan(catalog, table, table.stored_by)
            return set(zip(*(rows[name].to_pylist() for name in table.stored_by), strict=True))
        places = [fields[name].at for name in table.stored_by]
        for entry in listing.entries(manifest):
            found.add(tuple(entry.data_file.partition[at] for at in places))
    return found


def _fields(listing: Listing, spec: int) -> dict[str, _Field]:
    schema = listing.table.schema()
    types = [schema.find_type(each.source_id) for each in listing.table.specs()[spec].fields]
    return {
        each.name: _Field(at, kind)
        for at, (each, kind) in enumerate(zip(listing.table.specs()[spec].fields, types, strict=True))
        if isinstance(each.transform, IdentityTransform) and isinstance(kind, _COMPARED)
    }


def _files(
    listing: Listing, conditions: Where, fields: Mapping[int, Mapping[str, _Field]]
) -> Iterator[DataFile]:
    for manifest in listing.manifests:
        of_spec = fields[manifest.partition_spec_id]
        may_meet = [
            each
            for each in conditions
            if all(of_spec[name].may_be(manifest, wanted) for name, wanted in each.items())
        ]
        for entry in listing.entries(manifest) if may_meet else ():
            partition = entry.data_file.partition
            if any(
                all(_is(partition[of_spec[name].at], wanted) for name, wanted in each.items())
                for each in may_meet
            ):
                yield entry.data_file


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, frozenset):
        return value in wanted
    if isinstance(wanted, AtLeast):
        return value is not None and value >= wanted.value
    if isinstance(wanted, Below):
        return value is not None and value < wanted.value and (wanted.least is None or value >= wanted.least)
    return bool(value == wanted)
