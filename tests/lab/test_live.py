"""A capture recorded now, from a broker that this test starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from evidence import disagreements, ground_truth
from record import record


@pytest.mark.live
def test_a_fresh_capture(tmp_path: Path) -> None:
    capture = record("live", "4.3.1", tmp_path)
    answers = {row["case"]: row["error"] for row in ground_truth(capture)}
    assert answers["late_kept_by_id"] == "NONE"
    assert answers["late_moved_by_id"] == "STALE_MEMBER_EPOCH"
    assert answers["current_epoch_anothers_partition"] == "NONE"
    assert disagreements(capture) == []
