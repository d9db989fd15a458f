"""What is committed to a table costs what it changes, and what was added is known."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo, GreaterThanOrEqual
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField

from fencepost.iceberg import commits, patches

_COLUMNS = Schema(NestedField(1, "chapter", LongType()), NestedField(2, "value", LongType()))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table with a partition for each chapter."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path / 'catalog.db'}", warehouse=str(tmp_path))
    catalog.create_namespace("silver")
    by_chapter = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "chapter"))
    return catalog.create_table("silver.rows", _COLUMNS, partition_spec=by_chapter)


def _rows(chapter: int, *values: int) -> pa.Table:
    columns = {"chapter": [chapter] * len(values), "value": list(values)}
    return pa.table(columns, pa.schema([("chapter", pa.int64()), ("value", pa.int64())]))


def _values(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["value"].to_pylist())


def _added(table: Table, since: int | None) -> int | None:
    tasks = commits.added(table, since)
    return None if tasks is None else sum(task.file.record_count for task in tasks)


def test_a_replacement_is_one_snapshot_and_none_where_nothing_changes(table: Table) -> None:
    commits.replace(table, [_rows(1)])
    assert table.current_snapshot() is None
    commits.replace(table, [_rows(1, 1, 2), _rows(2, 3)])
    for value in range(4, 8):
        commits.replace(table, [_rows(2, value)], EqualTo("chapter", 2))
    assert _values(table) == [1, 2, 7]
    assert len(table.snapshots()) == 5
    commits.replace(table, (), EqualTo("chapter", 3))
    assert len(table.snapshots()) == 5
    # a part of a partition
    commits.replace(table, [_rows(1, 9)], EqualTo("value", 2))
    assert _values(table) == [1, 7, 9]
    snapshot = table.current_snapshot()
    assert snapshot is not None
    # what is gone is listed once at most
    assert len(snapshot.manifests(table.io)) <= 4


def test_old_snapshots_expire(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "SNAPSHOTS_KEPT", 3)
    seen = []
    for value in range(6):
        commits.append(table, _rows(1, value))
        snapshot = table.current_snapshot()
        assert snapshot is not None
        seen.append(snapshot.snapshot_id)
    assert [each.snapshot_id for each in table.snapshots()] == seen[-3:]
    assert _values(table) == list(range(6))
    assert _added(table, seen[-3]) == 2
    assert _added(table, None) == 6
    # what was added since then is not known any more
    assert _added(table, seen[0]) is None


def test_what_came_since_a_table_was_read_stays_known(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "SNAPSHOTS_KEPT", 4)
    monkeypatch.setattr(commits, "SNAPSHOTS_WAITING", 9)
    monkeypatch.setattr(commits, "FILES_TOGETHER", 6)
    commits.append(table, _rows(1, 0))
    seen = table.metadata.current_snapshot_id
    assert seen is not None
    commits.keep_since(table, seen)
    for value in range(1, 6):
        commits.append(table, _rows(1, value))
    commits.compact_files(table)
    commits.append(table, _rows(1, 6))
    assert _added(table, seen) == 6
    # what is read later is noted when several snapshots came since, and lets the older ones go
    newest = table.metadata.current_snapshot_id
    assert newest is not None
    commits.keep_since(table, newest)
    commits.append(table, _rows(1, 7))
    commits.keep_since(table, table.snapshots()[-1].snapshot_id)
    assert len(table.snapshots()) == 4 and _added(table, newest) == 1
    assert table.metadata.refs[commits.READ].snapshot_id == newest
    assert _added(table, seen) is None
    # there is an end to that
    for value in range(8, 18):
        commits.append(table, _rows(1, value))
    assert len(table.snapshots()) == 10 and _added(table, newest) is None
    assert _values(table) == list(range(18))
    commits.keep_since(table, seen)


def test_manifests_are_neither_long_nor_many(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "MANIFEST_FILES", 4)
    commits.replace(table, [pa.concat_tables(_rows(chapter, chapter) for chapter in range(10))])
    assert _listed(table) == [2, 4, 4]
    assert _added(table, None) == 10
    for chapter in range(10, 22):
        commits.replace(table, [_rows(chapter, chapter)], GreaterThanOrEqual("chapter", chapter - 1))
        commits.append(table, _rows(chapter - 1, chapter - 1))
        listed = _listed(table)
        assert sum(listed) == chapter + 1
        assert len(listed) <= chapter / 4 + 5
        snapshot = table.current_snapshot()
        assert snapshot is not None
        assert _added(table, snapshot.parent_snapshot_id) == 1
    assert _values(table) == list(range(22))


def _listed(table: Table) -> list[int]:
    """How many files each manifest of a table lists."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    found = snapshot.manifests(table.io)
    return sorted(count for each in found if (count := len(each.fetch_manifest_entry(table.io))))


def test_small_files_become_one_and_nothing_is_new(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "FILES_TOGETHER", 4)
    for value in range(3):
        commits.append(table, _rows(1, value))
    commits.append(table, _rows(2, 3))
    commits.compact_files(table)
    # three of one partition
    assert len(list(table.scan().plan_files())) == 4
    seen = table.metadata.current_snapshot_id
    commits.append(table, _rows(1, 4))
    assert _added(table, seen) == 1 and _added(table, None) == 5
    commits.compact_files(table)
    assert len(list(table.scan().plan_files())) == 2
    assert _values(table) == [0, 1, 2, 3, 4]
    assert _added(table, seen) == 1 and _added(table, table.metadata.current_snapshot_id) == 0
    commits.replace(table, (), EqualTo("value", 4))
    assert _added(table, seen) is None


def test_what_somebody_else_appends_meanwhile_stays(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "FILES_TOGETHER", 2)
    commits.append(table, _rows(1, 1))
    commits.append(table, _rows(1, 2))
    stale = table.catalog.load_table(table.name())
    commits.append(table, _rows(1, 3))
    commits.compact_files(stale)
    assert _values(table.refresh()) == [1, 2, 3]
