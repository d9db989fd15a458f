"""Finds partitions and their files, by what the manifests say of them: PyIceberg's planning takes as long as
writing some thousand rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile, ManifestContent, ManifestFile
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType, PrimitiveType, StringType

from fencepost.conditions import Bound, Where, written
from fencepost.iceberg.listing import Listing
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
        summaries = _Bounds(partial(_of_manifest, of_spec, manifest))
        may_meet = [each for each in conditions if written([each], summaries)]
        for entry in listing.entries(manifest) if may_meet else ():
            if written(may_meet, _Bounds(partial(_of_partition, of_spec, entry.data_file.partition))):
                yield entry.data_file


@dataclass(frozen=True)
class _Bounds:
    """Whether values between bounds may meet a condition; a value lies between itself and itself.

    ``of``: returns, for a column, the least and the greatest value, both None without a value, and whether
    any is null.
    """

    of: Callable[[str], tuple[Any, Any, bool]]

    def is_null(self, column: str) -> bool:
        return self.of(column)[2]

    def equals(self, column: str, value: Any) -> bool:
        return self.is_in(column, frozenset({value}))

    def is_in(self, column: str, values: frozenset[Any]) -> bool:
        least, most, _ = self.of(column)
        return least is not None and any(least <= each <= most for each in values)

    def at_least(self, column: str, value: Bound) -> bool:
        most = self.of(column)[1]
        return most is not None and bool(most >= value)

    def below(self, column: str, value: Bound) -> bool:
        least = self.of(column)[0]
        return least is not None and bool(least < value)

    def all_of(self, parts: Iterable[bool]) -> bool:
        return all(parts)

    def any_of(self, parts: Iterable[bool]) -> bool:
        return any(parts)


def _of_manifest(fields: Mapping[str, _Field], manifest: ManifestFile, column: str) -> tuple[Any, Any, bool]:
    field = fields[column]
    summary = (manifest.partitions or [])[field.at]
    has_null = bool(summary.contains_null)
    if summary.lower_bound is None or summary.upper_bound is None:
        return None, None, has_null
    least: Any = from_bytes(field.type, summary.lower_bound)
    return least, from_bytes(field.type, summary.upper_bound), has_null


def _of_partition(fields: Mapping[str, _Field], partition: Record, column: str) -> tuple[Any, Any, bool]:
    value = partition[fields[column].at]
    return value, value, value is None
