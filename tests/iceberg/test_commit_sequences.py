"""Whatever is committed to a table, in whatever order and beside whom: its rows, their counts and its list of
files are as they should be.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField

from fencepost.conditions import Where, Within
from fencepost.conditions.iceberg import expression
from fencepost.iceberg import commits, patches
from fencepost.iceberg.listing import Listing
from fencepost.iceberg.sql_catalog import CachingSqlCatalog
from fencepost.lake.partitions import files_of_partitions

_AT_ONCE = {"commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "1"}
_COLUMNS = Schema(NestedField(1, "chapter", LongType()), NestedField(2, "value", LongType()))
_NAME = ("silver", "rows")
Rows = list[tuple[int, int]]

_rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=4)
_where = st.one_of(
    st.builds(lambda chapter: [{"chapter": Within(least=chapter)}], st.integers(0, 5)),
    st.builds(lambda chapters: [{"chapter": each} for each in chapters], st.lists(st.integers(0, 5))),
    # a part of a file
    st.builds(lambda value: [{"value": value}], st.integers(0, 9)),
)
_steps = st.lists(
    st.tuples(
        st.sampled_from(["append", "replace", "compact"]), st.lists(_rows, max_size=2), _where, st.booleans()
    ),
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(steps=_steps)
def test_every_sequence_of_commits(
    steps: list[tuple[str, list[Rows], Where, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stale step has begun before the last commit of somebody else: it is refused, or done beside it."""
    monkeypatch.setattr(patches, "MANIFEST_FILES", 3)
    monkeypatch.setattr(commits, "FILES_TOGETHER", 4)
    monkeypatch.setattr(commits, "SNAPSHOTS_KEPT", 3)
    with tempfile.TemporaryDirectory() as folder:
        ours, others = _catalog(Path(folder)), _catalog(Path(folder))
        ours.create_namespace("silver")
        by_chapter = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "chapter"))
        ours.create_table(_NAME, _COLUMNS, partition_spec=by_chapter, properties=_AT_ONCE)
        expected: Counter[tuple[int, int]] = Counter()
        before = ours.load_table(_NAME), expected
        for kind, pieces, where, stale in steps:
            # a commit changes the object that it is given
            table, seen = before if stale else (ours.load_table(_NAME), expected)
            before = ours.load_table(_NAME), expected
            rows = [row for piece in pieces for row in piece]
            try:
                if kind == "append":
                    commits.append(table, _table(rows)) if rows else None
                    expected = expected + Counter(rows)
                elif kind == "replace":
                    _replace(table, list(map(_table, pieces)), where)
                    # what came meanwhile stays
                    chosen = Counter({row: count for row, count in seen.items() if _meets(row, where)})
                    expected = expected - chosen + Counter(rows)
                else:
                    commits.compact_files(table)
            except (CommitFailedException, ValidationException):
                assert stale
            for catalog in (ours, others):
                _check(catalog.load_table(_NAME), expected)


def _catalog(folder: Path) -> CachingSqlCatalog:
    return CachingSqlCatalog("lake", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=str(folder))


def _replace(table: Table, pieces: list[pa.Table], where: Where) -> None:
    listing = Listing(table)
    files = files_of_partitions(listing, where)
    if files is None:
        commits.replace(table, pieces, expression(where))
    else:
        commits.exchange(listing, files, pieces)


def _check(table: Table, expected: Counter[tuple[int, int]]) -> None:
    rows = table.scan().to_arrow()
    assert Counter(zip(*(rows[name].to_pylist() for name in ("chapter", "value")), strict=True)) == expected
    snapshot = table.current_snapshot()
    if snapshot is None:
        return
    listed = (each.fetch_manifest_entry(table.io) for each in snapshot.manifests(table.io))
    files = [entry.data_file.file_path for entries in listed for entry in entries]
    assert len(set(files)) == len(files)
    assert snapshot.summary is not None
    assert int(snapshot.summary["total-data-files"] or 0) == len(files)
    assert int(snapshot.summary["total-records"] or 0) == expected.total() == rows.num_rows


def _table(rows: Rows) -> pa.Table:
    names = ("chapter", "value")
    schema = pa.schema([(name, pa.int64()) for name in names])
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema)


def _meets(row: tuple[int, int], where: Where) -> bool:
    values = dict(zip(("chapter", "value"), row, strict=True))
    return any(
        all(
            values[name] >= wanted.least if isinstance(wanted, Within) else values[name] == wanted
            for name, wanted in each.items()
        )
        for each in where
    )
