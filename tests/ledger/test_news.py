"""From which chapter on new evidence is read: of replaced files, topics created again, and ends of logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.ledger.evidence import first_that_read_more
from fencepost.opening import ensure
from fencepost.protocols import captured
from fencepost.protocols.leader_epoch.bronze import LEADER_EPOCH_CHECKPOINTS, PARTITION_FOLDERS
from fencepost.settings import Settings
from fencepost.tables import BATCHES, HIGH_WATERMARKS, Table

DAY_MS, NOON_MS = 86_400_000, 43_200_000
BEGINS = [day * DAY_MS for day in range(10)]
LOG = {"cluster": "c", "topic": "orders", "topic_id": "first", "partition": 0}


@pytest.fixture
def catalog(empty_lake: Callable[[], Settings]) -> Catalog:
    """Each day a batch of a hundred offsets was written."""
    found = ensure(empty_lake().lake)
    rows = [
        {
            **LOG,
            "base_offset": day * 100,
            "last_offset": day * 100 + 99,
            "max_timestamp_ms": day * DAY_MS + NOON_MS,
        }
        for day in range(10)
    ]
    _append(found, BATCHES, rows)
    _content(found, 0, [(0, 0), (1, 150)])
    return found


def _append(catalog: Catalog, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    lake.append(catalog, table, table.rows([[row.get(name) for name in table.columns] for row in rows]))


def _content(catalog: Catalog, number: int, entries: Sequence[tuple[int, int]]) -> None:
    replica = {**LOG, "broker_id": 1, "state": "live", "content_digest": str(number)}
    replica["captured_at"] = datetime(2026, 1, 1, 0, number, tzinfo=UTC)
    named = ("leader_epoch", "start_offset")
    rows = [{**replica, **dict(zip(named, entry, strict=True))} for entry in entries]
    _append(catalog, LEADER_EPOCH_CHECKPOINTS, rows)


def _since(catalog: Catalog, change: Callable[[], None]) -> int | None:
    """The day of the first chapter that reads what has changed."""
    seen = {table.name: lake.snapshot(catalog, table) for table in captured()}
    change()
    found = first_that_read_more(catalog, seen, {"c": BEGINS}).get("c")
    return None if found is None else found // DAY_MS


@pytest.mark.parametrize(
    ("entries", "day"),
    [
        ([(0, 0), (1, 150), (2, 800)], 8),  # an election
        ([(1, 500)], 9),  # retention: no news, so at most the last chapter
        ([(1, 500), (2, 800)], 8),
        ([(0, 0)], 1),  # truncation
        ([(0, 0), (2, 150)], 1),
    ],
)
def test_a_checkpoint_is_news_from_its_first_new_entry_on(
    catalog: Catalog, entries: list[tuple[int, int]], day: int
) -> None:
    since = _since(catalog, lambda: _content(catalog, 1, entries))
    assert since == day or (day == 9 and since is None)


def test_what_retention_moved_twice_is_no_news(catalog: Catalog) -> None:
    _content(catalog, 1, [(1, 500)])
    assert _since(catalog, lambda: _content(catalog, 2, [(1, 700)])) in (None, 9)


def test_a_topic_that_is_created_again_changes_no_chapter_of_the_one_before(catalog: Catalog) -> None:
    again = {**LOG, "topic_id": "second"}

    def create() -> None:
        _append(catalog, PARTITION_FOLDERS, [{**again, "broker_id": 1, "state": "live"}])
        batch = {**again, "base_offset": 0, "last_offset": 9, "max_timestamp_ms": 7 * DAY_MS + NOON_MS}
        _append(catalog, BATCHES, [batch])
        row = {**again, "broker_id": 1, "state": "live", "content_digest": "x", "leader_epoch": 0}
        row |= {"start_offset": 0, "captured_at": datetime(2026, 1, 2, tzinfo=UTC)}
        _append(catalog, LEADER_EPOCH_CHECKPOINTS, [row])

    assert _since(catalog, create) == 7


def test_an_end_that_is_noted_again_is_news_since_it_was_noted_before(catalog: Catalog) -> None:
    """And an end that is new, since the newest record. Of the same content nothing is new."""

    def since(high_watermark: int, segment_day: int, day: int) -> int | None:
        row = {
            **LOG,
            "broker_id": 1,
            "high_watermark": high_watermark,
            "segment_written_at": noon(segment_day),
        }
        rows = [list({**dict.fromkeys(HIGH_WATERMARKS.columns), **row, "written_at": noon(day)}.values())]
        return _since(catalog, lambda: _replace(catalog, HIGH_WATERMARKS.rows(rows)))

    assert [since(7, 2, 5), since(7, 2, 5), since(7, 2, 8), since(9, 8, 9)] == [2, None, 5, 8]


def noon(day: int) -> datetime:
    return datetime.fromtimestamp((day * DAY_MS + NOON_MS) / 1000, UTC)


def _replace(catalog: Catalog, rows: pa.Table) -> None:
    lake.replace(catalog, HIGH_WATERMARKS, rows)
