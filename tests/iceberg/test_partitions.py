"""The files of whole partitions are those that PyIceberg plans."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from fencepost.conditions import Where, Within
from fencepost.conditions.iceberg import expression, is_chosen_whole
from fencepost.iceberg import commits, patches
from fencepost.iceberg.listing import Listing
from fencepost.lake.partitions import files_of_partitions

_NAMES = (None, "", "a", "b", "b ", "é", "'; --", "a name of more than sixteen characters")
_FIELDS = [("cluster", pa.string()), ("chapter", pa.int64()), ("value", pa.int64())]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table by cluster and chapter, with several files in some partitions and several manifests."""
    folder = tmp_path_factory.mktemp("lake")
    table = _table(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patches, "MANIFEST_FILES", 3)
        for value, chapters in enumerate([range(5), [3, 4], [9]]):
            rows = [(name, chapter, value) for name in _NAMES for chapter in chapters]
            commits.append(table, _rows(rows))
    return table


def _table(folder: Path) -> Table:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=str(folder))
    catalog.create_namespace("silver")
    columns = Schema(
        NestedField(1, "cluster", StringType()),
        NestedField(2, "chapter", LongType()),
        NestedField(3, "value", LongType()),
    )
    spec = PartitionSpec(
        PartitionField(1, 1000, IdentityTransform(), "cluster"),
        PartitionField(2, 1001, IdentityTransform(), "chapter"),
    )
    return catalog.create_table("silver.rows", columns, partition_spec=spec)


def _rows(rows: list[tuple[str | None, int | None, int]]) -> pa.Table:
    names = [name for name, _ in _FIELDS]
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], pa.schema(_FIELDS))


_chapters = st.integers(-1, 10)
_conditions = st.fixed_dictionaries(
    {},
    optional={
        "cluster": st.sampled_from((*_NAMES, "c")) | st.frozensets(st.sampled_from((*_NAMES, "c"))),
        "chapter": st.none()
        | _chapters
        | st.frozensets(st.none() | _chapters)
        | st.builds(Within, least=st.none() | _chapters, below=st.none() | _chapters),
    },
)


@given(where=st.none() | st.lists(_conditions, max_size=3))
def test_the_files_of_partitions_are_those_that_pyiceberg_plans(table: Table, where: Where | None) -> None:
    found = files_of_partitions(Listing(table), where)
    assert found is not None
    planned = list(table.scan(expression(where)).plan_files())
    assert all(map(is_chosen_whole, planned))
    assert sorted(each.file_path for each in found) == sorted(task.file.file_path for task in planned)


def test_parts_of_files_are_not_told_by_partitions(tmp_path: Path) -> None:
    table = _table(tmp_path)
    # without files every condition chooses none
    assert files_of_partitions(Listing(table), [{"value": 1}]) == []
    commits.append(table, _rows([("a", 1, 1)]))
    assert files_of_partitions(Listing(table), [{"cluster": "a"}, {"value": 1}]) is None
    with table.update_spec() as update:
        update.remove_field("chapter")
    assert len(files_of_partitions(Listing(table), [{"chapter": 1}]) or ()) == 1
    commits.append(table, _rows([("a", 1, 2)]))
    assert files_of_partitions(Listing(table), [{"chapter": 1}]) is None
