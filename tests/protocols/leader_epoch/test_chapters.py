"""What chapters say of leader epochs and offsets is what one rebuild of all of history says."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaptered import Audit

from fencepost.replay import chapters as of_history

LENGTH_MS, OVERLAP_MS = 30_000, 15_000


def test_chapters_are_the_whole(captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_history, "OVERLAP_MS", OVERLAP_MS)
    audit = Audit.of(captures / "rebalances-4.3.1", tmp_path, ["leader_epoch"])
    chapters = audit.rebuilt(LENGTH_MS)
    assert audit.chapters > 2
    for table in audit.tables:
        assert chapters[table.name] == audit.whole[table.name], table.name
