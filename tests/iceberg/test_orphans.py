"""Maintenance deletes what no snapshot names, and nothing else."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from fencepost import lake
from fencepost.iceberg import commits
from fencepost.maintenance import KEPT, MaintenanceSummary, remove_old_files
from fencepost.opening import ensure
from fencepost.settings import Settings
from fencepost.tables import BATCHES

HOSTILE = 'pay\'ments/../%2F="eu"#?\n☃'


def _aged(folder: Path, days: float) -> None:
    then = time.time() - days * 86_400
    for file in folder.rglob("*"):
        os.utime(file, (then, then))


def _rows(*topics: str) -> pa.Table:
    rows = [{"cluster": HOSTILE, "topic": topic} for topic in topics]
    return pa.Table.from_pylist(rows, schema=BATCHES.arrow_schema)


def _files(folder: Path) -> set[Path]:
    return {file for file in folder.rglob("*") if file.is_file()}


def test_what_no_snapshot_names_is_deleted_once_it_is_old(
    empty_lake: Callable[[], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "SNAPSHOTS_KEPT", 3)
    settings = empty_lake()
    catalog, warehouse = ensure(settings.lake), Path(settings.lake.warehouse)
    for number in range(8):
        lake.replace(catalog, BATCHES, _rows(f"{number}", HOSTILE))
    folder = Path(catalog.load_table(BATCHES.name).location())
    # as a run leaves it that is killed before its commit; of an older release, which named no run
    orphan = folder / "data" / "00000-0-11111111-2222-3333-4444-555555555555.parquet"
    orphan.write_bytes(b"PAR1")
    assert remove_old_files(catalog) == MaintenanceSummary(0, 0)
    _aged(warehouse, KEPT / timedelta(days=1) + 1)
    young = orphan.with_name("00000-0-61111111-2222-3333-4444-555555555555.parquet")
    young.write_bytes(b"PAR1")
    before = _files(folder)
    removed = remove_old_files(catalog)
    gone = before - _files(folder)
    assert removed.files == len(gone) > 5
    assert orphan in gone
    assert young not in gone
    assert remove_old_files(catalog) == MaintenanceSummary(0, 0)
    table = catalog.load_table(BATCHES.name)
    seen = [
        sorted(table.scan(snapshot_id=each.snapshot_id).to_arrow()["topic"].to_pylist())
        for each in table.metadata.snapshots
    ]
    assert len(seen) >= 3
    assert seen[-1] == ["7", HOSTILE]
    lake.append(catalog, BATCHES, _rows("8"))
    assert lake.count(catalog, BATCHES) == 3


def test_what_another_catalog_names_stays(
    empty_lake: Callable[[], Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copied lake names the files of the original, which goes on; and the copy goes on, too."""
    monkeypatch.setattr(commits, "SNAPSHOTS_KEPT", 2)
    settings = empty_lake()
    catalog, warehouse = ensure(settings.lake), Path(settings.lake.warehouse)
    lake.append(catalog, BATCHES, _rows("a"))
    copied = shutil.copytree(warehouse.parent, tmp_path / "copy")
    other = ensure(replace(settings.lake, catalog=f"sqlite:///{copied / 'catalog.db'}"))
    for number in range(4):
        lake.replace(catalog, BATCHES, _rows(f"original {number}"))
    lake.replace(other, BATCHES, _rows("copy"))
    _aged(warehouse, 9)
    for each in (other, catalog):
        remove_old_files(each)
        for one, topic in ((catalog, "original 3"), (other, "copy")):
            assert lake.scan(one, BATCHES)["topic"].to_pylist() == [topic]
        table = catalog.load_table(BATCHES.name)
        for snapshot in table.metadata.snapshots:
            assert table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().num_rows == 1


def test_nothing_is_deleted_where_a_table_is_not_in_its_folder(
    empty_lake: Callable[[], Settings], caplog: pytest.LogCaptureFixture
) -> None:
    settings = empty_lake()
    catalog = ensure(settings.lake)
    lake.append(catalog, BATCHES, _rows("a"))
    folder = Path(catalog.load_table(BATCHES.name).location())
    with catalog.load_table(BATCHES.name).transaction() as change:
        change.set_properties({"write.metadata.path": str(folder / "elsewhere")})
    _aged(Path(settings.lake.warehouse), 9)
    assert remove_old_files(catalog).files == 0
    assert "old files are left" in caplog.text
