"""Rows that come in pieces, as files of a table's partitions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import And, EqualTo, GreaterThan
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import ListType, LongType, NestedField, StringType

from fencepost.iceberg import commits, data_files

SCHEMA = Schema(
    NestedField(1, "cluster", StringType()),
    NestedField(2, "chapter", LongType()),
    NestedField(3, "value", LongType()),
    NestedField(4, "names", ListType(5, StringType(), element_required=False)),
)
BY = PartitionSpec(
    PartitionField(1, 1000, IdentityTransform(), "cluster"),
    PartitionField(2, 1001, IdentityTransform(), "chapter"),
)
ROWS = [
    {"cluster": cluster, "chapter": chapter, "value": 10 * number + (chapter or 0), "names": ["a", None]}
    for number in range(4)
    for cluster in ("one", "an/other", None)
    for chapter in (0, 1, None)
]
PIECES = [
    pa.Table.from_pylist(ROWS[first : first + 7], SCHEMA.as_arrow()) for first in range(0, len(ROWS), 7)
]
PARTITIONS = 9


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    found = SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=tmp_path.as_uri())
    found.create_namespace("silver")
    return found


def rows(table: Table) -> list[str]:
    return sorted(map(str, table.scan().to_arrow().to_pylist()))


@pytest.mark.parametrize("by", [BY, PartitionSpec()])
def test_pieces_become_one_file_of_each_partition(catalog: SqlCatalog, by: PartitionSpec) -> None:
    table = catalog.create_table("silver.numbers", SCHEMA, partition_spec=by)
    commits.replace(table, PIECES)
    assert rows(table) == sorted(map(str, ROWS))
    assert len(list(table.scan().plan_files())) == (PARTITIONS if by is BY else 1)


def test_a_file_that_is_large_and_one_that_too_many_are_open_beside_end(
    catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = catalog.create_table("silver.numbers", SCHEMA, partition_spec=BY)
    monkeypatch.setattr(data_files, "FILE_BYTES", 1)
    commits.replace(table, PIECES)
    assert len(list(table.scan().plan_files())) > PARTITIONS
    assert rows(table) == sorted(map(str, ROWS))
    monkeypatch.undo()
    monkeypatch.setattr(data_files, "OPEN_FILES", 2)
    commits.replace(table, PIECES)
    assert len(list(table.scan().plan_files())) > PARTITIONS
    assert rows(table) == sorted(map(str, ROWS))


def test_files_tell_which_rows_they_have(catalog: SqlCatalog) -> None:
    """As those that PyIceberg writes of the same rows: a scan opens what may have what it asks for."""
    table = catalog.create_table("silver.numbers", SCHEMA, partition_spec=BY)
    other = catalog.create_table("silver.others", SCHEMA, partition_spec=BY)
    commits.replace(table, PIECES)
    other.append(pa.concat_tables(PIECES))

    def told(of: Table) -> set[str]:
        files = [task.file for task in of.scan().plan_files()]
        return {
            f"{each.partition} {each.record_count} {dict(each.lower_bounds)} {dict(each.upper_bounds)} "
            f"{dict(each.value_counts)} {dict(each.null_value_counts)}"
            for each in files
        }

    assert told(table) == told(other)
    chosen = And(EqualTo("chapter", 1), GreaterThan("value", 20))
    assert [task.file.partition[1] for task in table.scan(chosen).plan_files()] == [1, 1, 1]


def test_what_breaks_off_leaves_the_table_as_it_was(catalog: SqlCatalog) -> None:
    table = catalog.create_table("silver.numbers", SCHEMA, partition_spec=BY)
    commits.replace(table, PIECES[:1])
    before = rows(table)

    def broken() -> Iterator[pa.Table]:
        yield PIECES[1]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        commits.replace(table, broken())
    assert rows(catalog.load_table("silver.numbers")) == before
