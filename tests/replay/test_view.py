"""What a chapter reads of each table, and why."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines.tasks import TaskEngine
from fencepost.opening import ensure
from fencepost.replay.compaction import TABLES
from fencepost.replay.cuts import Cuts
from fencepost.replay.held_rows import HeldRows
from fencepost.replay.line_times import Finding, LineTimes
from fencepost.replay.log_begins import Begins
from fencepost.replay.time_bounds import Bounds
from fencepost.replay.view import EvidenceView
from fencepost.settings import Settings
from fencepost.tables import BATCHES, FILES, REQUESTS, Table
from fencepost.tables.clocks import WENT_BACK

SINCE_MS, UNTIL_MS = 1_000, 2_000
LOG = ("c", "orders", "id", 0)


@pytest.fixture
def catalog(empty_lake: Callable[[], Settings]) -> Catalog:
    """A lake with lines and batches at several times; the file of the lines was renamed."""
    catalog = ensure(empty_lake().lake)
    lines = [
        {"line_digest": str(ms), "total_time_ms": 1.0, "logged_at_ms": ms, "broker_id": 1, **_FILE}
        for ms in _TIMES
    ]
    _append(catalog, REQUESTS, lines)
    places = dict(zip(("cluster", "topic", "topic_id", "partition"), LOG, strict=True))
    for at, ms in enumerate(_TIMES):
        batch = {**places, "base_offset": at, "last_offset": at, "leader_epoch": 0, "max_timestamp_ms": ms}
        _append(catalog, BATCHES, [batch])
    return catalog


_TIMES = (500, 1_500, 2_500)
_FILE = {"file": "request.log", "file_begins": "digest"}


def _append(catalog: Catalog, table: Table, rows: list[dict[str, object]]) -> None:
    full = [[{"cluster": "c", **row}.get(name) for name in table.columns] for row in rows]
    lake.append(catalog, table, table.rows(full))


def test_a_view_says_why_it_gives_which_rows(catalog: Catalog) -> None:
    engine = TaskEngine(catalog)
    nothing = {table.name: table.arrow_schema.empty_table() for table in TABLES}
    view = EvidenceView(
        engine,
        HeldRows(engine, catalog, (REQUESTS,)),
        Bounds({"c": UNTIL_MS}, {LOG: 2}),
        Begins({"c": SINCE_MS}, Cuts({LOG: 1}, {}, {"c": SINCE_MS}), nothing),
        {("c", 1, "digest"): "request.log.1"},
        LineTimes([Finding(("c", 1), WENT_BACK, 1_400, 1_500)]),
        {},
    )
    lines = view.scan(REQUESTS, ("logged_at_ms", "total_time_ms", "file"))
    assert lines.to_pylist() == [{"logged_at_ms": 1_500, "total_time_ms": 100.0, "file": "request.log.1"}]
    assert view.scan(BATCHES, ("base_offset",))["base_offset"].to_pylist() == [1]
    assert view.explain(REQUESTS).splitlines() == [
        "bronze.requests:",
        "  logged_at_ms from 1970-01-01 00:00:01+00:00 (c) on",
        "  logged_at_ms before 1970-01-01 00:00:02+00:00 (c)",
        "  lines in the files in which they are now",
        "  requests of 1 time that passed twice as if they had lasted for these",
        "  from rows in memory, read for several chapters",
        "  read once for all protocols",
    ]
    of_batches = view.explain(BATCHES)
    compacted = "__cluster_metadata, __consumer_offsets, __transaction_state"
    assert f"1 log, each from its cut on; of {compacted} before it" in of_batches
    assert "before the end of its log at 1970-01-01 00:00:02+00:00 (c)" in of_batches
    assert EvidenceView(engine).explain(FILES) == "bronze.files:\n  all rows"
