"""Silver of a history in chapters is that of all of it: a chapter goes on from what the one before knew."""

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
    """A capture in chapters of so many ms, which overlap by so many."""
    name, length_ms, overlap_ms = cut
    monkeypatch.setattr(cut_in, "OVERLAP_MS", overlap_ms)
    monkeypatch.setattr(cut_in, "LATEST_MS", 1_000)
    audit = Audit.of(captures / name, tmp_path, ["producer_epoch"])
    chapters = audit.rebuilt(length_ms)
    assert audit.chapters > 2
    for table in audit.tables:
        assert chapters[table.name] == audit.whole[table.name], table.name


def test_an_epoch_of_many_transactions_is_counted_through_all_chapters(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before transaction version 2, and without a line that tells: only the counts of both sides do."""
    monkeypatch.setattr(cut_in, "OVERLAP_MS", 2_000)
    monkeypatch.setattr(cut_in, "LATEST_MS", 1_000)
    audit = Audit.of(captures / "producers-tv1-4.3.1", tmp_path, ["producer_epoch"])
    lines = lake.scan(audit.catalog, REQUESTS)
    told = pc.is_in(lines["api_key"], pa.array(sorted(APIS), pa.int32()))
    lake.replace(audit.catalog, REQUESTS, lines.filter(pc.invert(told)))
    whole, chapters = audit.rebuilt(None), audit.rebuilt(8_000)
    assert audit.chapters > 2
    name = "silver.transaction_markers"
    assert chapters[name] == whole[name]
    held = [
        {dict(row)["partition_transaction_id"]: dict(row)["listed"] for row in each}
        for each in (whole["silver.partition_transactions"], chapters["silver.partition_transactions"])
    ]
    assert held[0].keys() == held[1].keys()
    # what a transaction that no coordinator lists came too early for is in no line: seconds later, unknown
    assert {held[0][each] for each in held[0] if held[0][each] != held[1][each]} <= {"False"}
    assert all(held[1][each] in {held[0][each], "None"} for each in held[0])
