"""Manifests are read as PyIceberg reads them, and their schemas are resolved once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyiceberg.manifest
import pytest
from pyiceberg.avro.file import AvroFile
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from fencepost.iceberg import commits, patches

_COLUMNS = Schema(NestedField(1, "chapter", LongType()), NestedField(2, "cluster", StringType()))
_SPECS = (
    UNPARTITIONED_PARTITION_SPEC,
    PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "chapter")),
    PartitionSpec(
        PartitionField(2, 1000, IdentityTransform(), "cluster"),
        PartitionField(1, 1001, BucketTransform(4), "chapter_bucket"),
    ),
)


@pytest.fixture
def tables(tmp_path: Path) -> list[Table]:
    """One table for each partition spec; each has had rows added, replaced and removed."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path / 'catalog.db'}", warehouse=str(tmp_path))
    catalog.create_namespace("silver")
    made = [
        catalog.create_table(f"silver.rows_{number}", _COLUMNS, partition_spec=spec)
        for number, spec in enumerate(_SPECS)
    ]
    for table in made:
        for clusters in (["a", None], ["b"], ["c", "d"]):
            rows = pa.table({"chapter": pa.array([1] * len(clusters)), "cluster": clusters})
            commits.replace(table, [rows])
    return made


def test_they_are_read_as_pyiceberg_reads_them(tables: list[Table], monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> list[Any]:
        snapshots = [(table, snapshot) for table in tables for snapshot in table.snapshots()]
        manifests = [
            (table, each)
            for table, snapshot in snapshots
            for each in pyiceberg.manifest.read_manifest_list(table.io.new_input(snapshot.manifest_list))
        ]
        entries = [each.fetch_manifest_entry(table.io, discard_deleted=False) for table, each in manifests]
        return [_values(each) for each in (*(each for _, each in manifests), *entries)]

    found = [read() for _ in range(2)]
    monkeypatch.setattr(pyiceberg.manifest, "AvroFile", AvroFile)
    assert found == [read()] * 2


def _values(record: Any) -> Any:
    """A record of a manifest as lists and dictionaries, to compare it."""
    if isinstance(record, Record):
        return [type(record).__name__, *(_values(each) for each in record._data)]
    if isinstance(record, list):
        return [_values(each) for each in record]
    return dict(record) if isinstance(record, Mapping) else record


def test_what_was_resolved_once_is_not_resolved_again(
    tables: list[Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve: Callable[..., Any] = patches.resolve_reader
    resolved = []
    monkeypatch.setattr(patches, "_resolved", {})
    monkeypatch.setattr(patches, "resolve_reader", lambda *args: resolved.append(args) or resolve(*args))
    for _ in range(3):
        for table in tables:
            list(table.scan().plan_files())
    lists_and_entries = 2
    assert len(resolved) <= lists_and_entries * len(_SPECS)
