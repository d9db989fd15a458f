"""Rows that are more than memory should hold make the same silver: read by file, and kept in files."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaptered import Audit

from fencepost.engines import entities, parts, piece_files, tasks
from fencepost.protocols import protocols
from fencepost.protocols.leader_epoch import committed_offset_rows
from fencepost.replay import view


@pytest.mark.parametrize("chapter_ms", [None, 12_000])
def test_rows_in_pieces_make_the_same_silver(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chapter_ms: int | None
) -> None:
    audit = Audit.of(captures / "fencings-4.3.1", tmp_path, [each.name for each in protocols()])
    expected = audit.whole if chapter_ms is None else audit.rebuilt(chapter_ms)
    monkeypatch.setattr(tasks, "READ_BYTES", 0)
    monkeypatch.setattr(parts, "ROWS_AT_ONCE", 500)
    monkeypatch.setattr(committed_offset_rows, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(piece_files, "HELD_BYTES", 100_000)
    monkeypatch.setattr(piece_files, "PIECE_BYTES", 10_000)
    monkeypatch.setattr(entities, "HELD_BYTES", 10_000)
    # as where evidence is large
    monkeypatch.setattr(view, "CACHED_BYTES", -1)
    audit.ledger.begin("rebuild")
    assert audit.rebuilt(chapter_ms) == expected
