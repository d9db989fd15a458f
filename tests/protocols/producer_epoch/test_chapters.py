"""A rebuild by chapters gives the same silver as one of the whole history."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from chaptered import Audit

from fencepost import lake
from fencepost.protocols.producer_epoch.request_targets import APIS
from fencepost.replay import chapters as cut_in
from fencepost.tables import REQUESTS


@pytest.mark.parametrize(
    "cut",
    [
        ("producers-4.3.1", 10_000, 5_000),
        ("idempotent-4.3.1", 3_000, 2_000),
        ("streams-4.3.1", 60_000, 5_000),
    ],
)
def test_chapters(
    cut: tuple[str, int, int], captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``cut``: a capture, the length of its chapters and their overlap in ms."""
    name, length_ms, overlap_ms = cut
    monkeypatch.setattr(cut_in, "OVERLAP_MS", overlap_ms)
    monkeypatch.setattr(cut_in, "LATEST_MS", 1_000)
    audit = Audit.of(captures / name, tmp_path, ["producer_epoch"])
    chapters = audit.rebuilt(length_ms)
    assert audit.chapters > 2
    for table in audit.tables:
        assert chapters[table.name] == audit.whole[table.name], table.name


def test_an_id_that_has_expired_is_known_in_later_chapters(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compaction leaves no tombstone: without what is handed down nothing shows why a producer is refused."""
    monkeypatch.setattr(cut_in, "OVERLAP_MS", 10)
    monkeypatch.setattr(cut_in, "LATEST_MS", 100)
    audit = Audit.of(captures / "expired-4.3.1", tmp_path, ["producer_epoch"])
    name, expired = "silver.producer_fencings", "'expired'"
    whole, chapters = (
        {fencing["request_id"]: fencing["cause"] for fencing in map(dict, rows[name])}
        for rows in (audit.whole, audit.rebuilt(150))
    )
    came_back = {each for each in whole if whole[each] == expired}
    assert came_back
    assert {each for each in chapters if chapters[each] == expired} == came_back


def test_an_epoch_of_many_transactions_is_counted_through_all_chapters(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before transaction version 2, and without lines of requests, only counting tells which marker belongs
    to which transaction.
    """
    monkeypatch.setattr(cut_in, "OVERLAP_MS", 2_000)
    monkeypatch.setattr(cut_in, "LATEST_MS", 1_000)
    audit = Audit.of(captures / "producers-tv1-4.3.1", tmp_path, ["producer_epoch"])
    lines = lake.scan(audit.catalog, REQUESTS)
    of_producers = pc.is_in(lines["api_key"], pa.array(sorted(APIS), pa.int32()))
    lake.replace(audit.catalog, REQUESTS, lines.filter(pc.invert(of_producers)))
    whole, chapters = audit.rebuilt(None), audit.rebuilt(8_000)
    assert audit.chapters > 2
    name = "silver.transaction_markers"
    assert chapters[name] == whole[name]
    listed = [
        {dict(row)["partition_transaction_id"]: dict(row)["listed"] for row in each}
        for each in (whole["silver.partition_transactions"], chapters["silver.partition_transactions"])
    ]
    assert listed[0].keys() == listed[1].keys()
    # without lines it is unknown, in the chapter of its end, whether a coordinator listed a transaction that
    # none lists
    assert {listed[0][each] for each in listed[0] if listed[0][each] != listed[1][each]} <= {"False"}
    assert all(listed[1][each] in {listed[0][each], "None"} for each in listed[0])
