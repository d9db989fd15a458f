"""Where evidence is deleted by its age between runs, they leave what runs leave that have all of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from audits import Audit, Found, Site, differences
from trees import tree_of, until

from fencepost import lake
from fencepost.opening import ensure
from fencepost.replay import chapter_snapshots, chapters
from fencepost.replay.borders import Borders
from fencepost.tables import REQUESTS, VERDICTS

pytestmark = pytest.mark.arrivals

NAME = "days-4.3.1"
"""A cluster that was busy around four midnights."""

MOMENTS = [datetime(2026, 11, *each, tzinfo=UTC) for each in ((26, 12), (27, 0, 0, 5), (27, 0, 0, 9))]
DAY_MS, MINUTE_MS = 86_400_000, 60_000


@pytest.fixture(autouse=True)
def _few_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """The capture is of five days, and a lake usually has snapshots of eight chapters; beside a window of a
    minute, days are not united.
    """
    monkeypatch.setattr(chapters, "FEW_LINES", 0)
    monkeypatch.setattr(chapter_snapshots, "KEPT", 2)


def test_runs_leave_what_they_leave_with_all_evidence(captures: Path, tmp_path: Path) -> None:
    site = Site(tmp_path, tree_of(captures / NAME))
    trees = [until(site.whole, moment) for moment in MOMENTS]

    def audited(keep_ms: int | None) -> tuple[Found, int, dict[str, int]]:
        found = site.after(
            [Audit(tree, DAY_MS, MINUTE_MS, judges=True, keep_evidence_ms=keep_ms) for tree in trees]
        )
        catalog = ensure(site.lake)
        times = lake.scan(catalog, REQUESTS, ("logged_at_ms",))["logged_at_ms"].to_pylist()
        derived = {name: rows for name, rows in found.items() if not name.startswith("bronze.")}
        return derived, min(times), dict(Borders.of(catalog).since_ms)

    expected, oldest, none = audited(None)
    found, oldest_kept, borders = audited(MINUTE_MS)
    assert differences(found, expected) == {}
    assert all(expected[table.name] for table in VERDICTS)
    assert none == {}
    assert oldest < borders[NAME] <= oldest_kept
