"""What is known to be missing, by the modules whose definitions rest on it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from fencepost import lake
from fencepost.judge.unread import unread_by_module
from fencepost.opening import ensure
from fencepost.protocols.offset_commit.tables import COMMIT_CLOCKS
from fencepost.settings import Lake


def test_a_time_without_lines_counts_for_all_that_rests_on_request_logs(tmp_path: Path) -> None:
    catalog = ensure(Lake(str(tmp_path / "warehouse"), f"sqlite:///{tmp_path / 'catalog.db'}"))
    at = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)
    rows = [("c", 1, None, finding, None, None, at, at) for finding in ("whole_seconds", "lines_missing")]
    lake.replace(catalog, COMMIT_CLOCKS, COMMIT_CLOCKS.rows(rows))
    told = {row["module"]: (row["cluster"], row["entries"]) for row in unread_by_module(catalog).to_pylist()}
    assert told == dict.fromkeys(
        (
            "LagReportProps",
            "LeaderEpochProps",
            "OffsetCommitProps",
            "OwnershipClaimProps",
            "ProducerEpochProps",
        ),
        ("c", 1),
    )
