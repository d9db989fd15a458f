"""The catalog that reads what a table's metadata says once: it never says what is no longer so."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.serializers import FromInputFile

from fencepost.iceberg.catalog import open_catalog
from fencepost.settings import Lake

ROWS = pa.table({"n": [1, 2]})


def _of(folder: Path) -> Lake:
    return Lake(str(folder / "warehouse"), f"sqlite:///{folder / 'catalog.db'}")


def test_a_table_is_as_the_newest_commit_left_it_whoever_made_that(tmp_path: Path) -> None:
    mine, other = open_catalog(_of(tmp_path)), open_catalog(_of(tmp_path))
    mine.create_namespace("s")
    mine.create_table("s.t", ROWS.schema).append(ROWS)
    other.load_table("s.t").append(ROWS)
    assert mine.load_table("s.t").scan().to_arrow().num_rows == 4
    mine.load_table("s.t").overwrite(ROWS)
    assert other.load_table("s.t").scan().to_arrow().num_rows == 2
    mine.drop_table("s.t")
    with pytest.raises(NoSuchTableError, match=r"s\.t"):
        other.load_table("s.t")


def test_metadata_is_read_once_for_each_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = open_catalog(_of(tmp_path))
    catalog.create_namespace("s")
    catalog.create_table("s.t", ROWS.schema).append(ROWS)
    read = FromInputFile.table_metadata
    times = []
    monkeypatch.setattr(FromInputFile, "table_metadata", lambda file: times.append(file) or read(file))
    other = open_catalog(_of(tmp_path))
    for _ in range(3):
        assert other.load_table("s.t").scan().to_arrow().num_rows == 2
    assert len(times) == 1
    # what it commits it knows, and so it is with what is read
    other.load_table("s.t").append(ROWS)
    known = other.load_table("s.t").metadata
    assert len(times) == 1
    assert known == open_catalog(_of(tmp_path)).load_table("s.t").metadata
