"""What chapters say of leader epochs and offsets is what one rebuild of all of history says."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaptered import Audit

from fencepost import lake
from fencepost.protocols.leader_epoch.tables import METADATA_ANSWER_PARTITIONS, METADATA_ANSWERS
from fencepost.replay import chapters as of_history
from fencepost.tables import CHAPTER

LENGTH_MS, OVERLAP_MS = 30_000, 15_000


def test_chapters_are_the_whole(captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_history, "OVERLAP_MS", OVERLAP_MS)
    audit = Audit.of(captures / "rebalances-4.3.1", tmp_path, ["leader_epoch"])
    chapters = audit.rebuilt(LENGTH_MS)
    assert audit.chapters > 2
    for table in audit.tables:
        assert chapters[table.name] == audit.whole[table.name], table.name
    # fct_metadata_answers looks for one in the chapter of the other
    answers, told = (
        set(zip(*lake.scan(audit.catalog, table, ("request_id", CHAPTER)).to_pydict().values(), strict=True))
        for table in (METADATA_ANSWERS, METADATA_ANSWER_PARTITIONS)
    )
    assert told <= answers
