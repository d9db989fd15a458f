"""Times in tables' metadata are in order, whatever the clocks of machines say, so Spark reads the tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.snapshots import MetadataLogEntry, SnapshotLogEntry
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.types import LongType, NestedField
from pyspark.sql import SparkSession

from fencepost import lake
from fencepost.iceberg import times
from fencepost.opening import ensure
from fencepost.settings import Settings
from fencepost.tables import ALERT_NOTES

_DAY_MS = 86_400_000
_NOW_MS = 40 * _DAY_MS
_MS = st.integers(0, 2 * _NOW_MS)


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Call it with the milliseconds that the clock goes ahead."""
    now, now_ns = time.time, time.time_ns

    def set_to(ahead_ms: int) -> None:
        monkeypatch.setattr(time, "time", lambda: now() + ahead_ms / 1000)
        monkeypatch.setattr(time, "time_ns", lambda: now_ns() + ahead_ms * 1_000_000)

    return set_to


def _metadata(snapshots: list[int], files: list[int], updated_ms: int) -> TableMetadata:
    schema = Schema(NestedField(1, "value", LongType()))
    made = new_table_metadata(schema, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, "/t")
    return made.model_copy(
        update={
            "snapshot_log": [
                SnapshotLogEntry(snapshot_id=at, timestamp_ms=ms) for at, ms in enumerate(snapshots)
            ],
            "metadata_log": [
                MetadataLogEntry(metadata_file=str(at), timestamp_ms=ms) for at, ms in enumerate(files)
            ],
            "last_updated_ms": updated_ms,
        }
    )


@given(st.lists(_MS, max_size=5), st.lists(_MS, max_size=5), _MS)
def test_times_neither_go_back_nor_are_ahead(snapshots: list[int], files: list[int], updated_ms: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: _NOW_MS * 1_000_000)
        given_metadata = _metadata(snapshots, files, updated_ms)
        found = times.in_order(given_metadata)
        assert times.in_order(found) is found
    for log, before in ((found.snapshot_log, snapshots), (found.metadata_log, files)):
        written = [each.timestamp_ms for each in log]
        assert len(written) == len(before)
        assert all(one <= other for one, other in pairwise([*written, found.last_updated_ms, _NOW_MS]))
        if [*before, updated_ms, _NOW_MS] == sorted([*before, updated_ms, _NOW_MS]):
            assert written == before


def test_spark_reads_and_writes_what_was_committed_by_a_clock_that_is_ahead(
    new_lake: Callable[[], tuple[SparkSession, Settings]], set_clock: Callable[[int], None]
) -> None:
    session, settings = new_lake()
    catalog = ensure(settings.lake)

    def note(run_id: str) -> None:
        row = {"recipient": "r", "key": run_id, "state": "new", "run_id": run_id}
        lake.append(catalog, ALERT_NOTES, pa.Table.from_pylist([row], schema=ALERT_NOTES.arrow_schema))

    set_clock(10 * _DAY_MS)
    note("ahead")
    set_clock(0)
    note("set back")
    assert session.table(ALERT_NOTES.name).count() == 2
    # nothing was committed since the clock was set back
    set_clock(10 * _DAY_MS)
    note("ahead again")
    set_clock(0)
    times.correct(catalog)
    session.sql(f"REFRESH TABLE {ALERT_NOTES.name}")
    session.sql(f"DELETE FROM {ALERT_NOTES.name} WHERE run_id = 'ahead'")
    assert session.table(ALERT_NOTES.name).count() == 2


def test_a_snapshot_is_no_older_than_its_table(
    empty_lake: Callable[[], Settings], set_clock: Callable[[int], None]
) -> None:
    """A catalog behind Iceberg's REST protocol would refuse it."""
    catalog = ensure(empty_lake().lake)
    table = catalog.load_table(ALERT_NOTES.name)
    latest_ms = table.metadata.last_updated_ms
    set_clock(-_DAY_MS)
    row = {"recipient": "r", "key": "k", "state": "new", "run_id": "behind"}
    lake.append(catalog, ALERT_NOTES, pa.Table.from_pylist([row], schema=ALERT_NOTES.arrow_schema))
    snapshot = catalog.load_table(ALERT_NOTES.name).current_snapshot()
    assert snapshot is not None and snapshot.timestamp_ms >= latest_ms
