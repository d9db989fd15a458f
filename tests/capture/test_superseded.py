"""Maintenance deletes notes about files that later ones have replaced, and no reader of notes sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.manifest import DataFile

from fencepost import lake
from fencepost.capture.plan import REQUEST_LOG, SEGMENT
from fencepost.capture.superseded import delete_superseded, needed_notes
from fencepost.capture.written_ends import newest_incarnations
from fencepost.iceberg import commits
from fencepost.iceberg.listing import Listing
from fencepost.opening import ensure
from fencepost.protocols.leader_epoch.capture.partition_files import LEADER_EPOCHS
from fencepost.protocols.leader_epoch.captured_files import captured_files
from fencepost.replay.entities import tuples
from fencepost.replay.log_names import names_of
from fencepost.settings import Settings
from fencepost.tables import FILES

Row = dict[str, Any]
START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = {
    REQUEST_LOG: ("/logs/r.log", "/logs/r.log.1", "/logs/r.log.2"),
    SEGMENT: tuple(f"/log_dir/orders-0/{offset:020}.log" for offset in (0, 40)),
    LEADER_EPOCHS.name: ("/log_dir/orders-0/leader-epoch-checkpoint",),
}


@st.composite
def notes(draw: st.DrawFn) -> list[Row]:
    """Rows of bronze.files. A run notes a file once, and finds one topic in a folder."""
    found: dict[tuple[Any, ...], Row] = {}
    topics: dict[tuple[Any, ...], str] = {}
    few = st.none() | st.integers(0, 60)
    for _ in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(sorted(NAMES)))
        in_text = kind == REQUEST_LOG
        run = draw(st.integers(0, 5))
        row = {
            "cluster": draw(st.sampled_from("ab")),
            "broker_id": draw(st.integers(1, 2)),
            "kind": kind,
            "file": draw(st.sampled_from(NAMES[kind])),
            "head_digest": draw(st.sampled_from("xy")),
            "size": draw(st.integers(-1, 60)),
            "consumed_to": draw(st.integers(0, 60)),
            "entries": draw(st.integers(0, 2)),
            "too_late": draw(st.sampled_from((None, 0, 0, 0, 3))) if kind != LEADER_EPOCHS.name else None,
            "next_offset": draw(few) if kind == SEGMENT else None,
            "file_begins": draw(st.sampled_from((None, "b1", "b2", "b3"))) if in_text else None,
            "timezone": draw(st.sampled_from(("UTC", "Asia/Tokyo"))) if in_text else None,
            "captured_at": START + timedelta(hours=run),
        }
        folder = (row["cluster"], row["broker_id"], run)
        topic = None if in_text else topics.setdefault(folder, draw(st.sampled_from(("", "id1", "id2"))))
        row["topic_id"] = topic
        found[tuple(row[name] for name in FILES.key)] = row
    return list(found.values())


def seen(files: pa.Table) -> list[object]:
    """What readers of notes take from them."""
    files = files.sort_by("captured_at")
    rows = files.to_pylist()
    ends: dict[tuple[Any, ...], int] = {}
    for row in rows:
        place = (
            row["cluster"],
            row["kind"],
            row["broker_id"],
            row["file_begins"],
            row["file"],
            row["topic_id"],
        )
        ends[place] = max(ends.get(place, -1), row["consumed_to"], row["next_offset"] or 0)
    late = files.group_by(["cluster", "kind"]).aggregate([("too_late", "sum")]).sort_by("cluster").to_pylist()
    return [
        names_of(files),
        captured_files(files),
        sorted(map(repr, newest_incarnations(files))),
        ends,
        {tuple(row[name] for name in FILES.key[:-1]): row for row in rows},
        {(row["cluster"], row["broker_id"]): row["timezone"] for row in rows if row["kind"] == REQUEST_LOG},
        {(row["cluster"], row["broker_id"], row["kind"]) for row in rows if row["entries"]},
        sorted((row["cluster"], row["kind"], row["too_late_sum"] or 0) for row in late),
    ]


@given(notes())
def test_readers_of_notes_see_no_difference(rows: list[Row]) -> None:
    files = pa.Table.from_pylist(rows, schema=FILES.arrow_schema)
    needed = needed_notes(files)
    left = files.filter(pa.array([key in needed for key in tuples(files.select(FILES.key))], pa.bool_()))
    assert seen(left) == seen(files)


def test_a_log_that_is_noted_a_thousand_times_leaves_two_notes(empty_lake: Callable[[], Settings]) -> None:
    """The newest one, which knows of no line, and the one that knew of most; and what no rebuild has read."""
    catalog = ensure(empty_lake().lake)
    for begin in (0, 500):
        rows = [_grown(number) for number in range(begin, begin + 500)]
        lake.append(catalog, FILES, pa.Table.from_pylist(rows, schema=FILES.arrow_schema))
    read_at = lake.snapshot(catalog, FILES)
    later = [_grown(number) for number in (1_000, 1_001)]
    lake.append(catalog, FILES, pa.Table.from_pylist(later, schema=FILES.arrow_schema))
    assert delete_superseded(catalog, None).rows == 0
    assert delete_superseded(catalog, read_at).rows == 999
    assert sorted(lake.scan(catalog, FILES)["size"].to_pylist()) == [600, 1_000, 1_001]
    assert delete_superseded(catalog, lake.snapshot(catalog, FILES)).rows == 1
    assert pc.max(lake.scan(catalog, FILES)["entries"]).as_py() == 7


def test_a_collector_may_note_a_file_meanwhile(
    empty_lake: Callable[[], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = empty_lake()
    catalog, of_collector = ensure(settings.lake), ensure(settings.lake)
    rows = [_grown(number) for number in range(20)]
    lake.append(catalog, FILES, pa.Table.from_pylist(rows, schema=FILES.arrow_schema))
    commit = commits.forget

    def commit_late(listing: Listing, old: Sequence[DataFile], pieces: Iterable[pa.Table]) -> None:
        row = pa.Table.from_pylist([_grown(30)], schema=FILES.arrow_schema)
        lake.append(of_collector, FILES, row)
        commit(listing, old, pieces)

    monkeypatch.setattr(commits, "forget", commit_late)
    delete_superseded(catalog, lake.snapshot(catalog, FILES))
    assert sorted(lake.scan(ensure(settings.lake), FILES)["size"].to_pylist()) == [19, 30]


def _grown(number: int) -> Row:
    return {
        "cluster": "c", "broker_id": 1, "kind": REQUEST_LOG, "file": "/logs/r.log", "file_begins": "b",
        "size": number, "consumed_to": number, "entries": 7 if number == 600 else 0,
        "captured_at": START + timedelta(minutes=number),
    }  # fmt: skip
