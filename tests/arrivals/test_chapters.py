"""Runs that rebuild the chapters that have changed leave what a run leaves that rebuilds all of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from audits import Site, differences
from trees import CUTS, tree_of

from fencepost.replay import chapters, news, replaced

LENGTH_MS = 10_000
OVERLAP_MS = 2_000

ALWAYS: tuple[tuple[str, str, int], ...] = (("groups-4.3.1", "grown", 1),)
"""Capture, how its files arrive, and a seed."""

_KILLED = 0.25


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captures are of a minute; each chapter is committed by itself, as large ones are."""
    monkeypatch.setattr(chapters, "OVERLAP_MS", OVERLAP_MS)
    monkeypatch.setattr(chapters, "LATEST_MS", 500)
    monkeypatch.setattr(news, "SLACK_MS", 500)
    monkeypatch.setattr(replaced, "HELD_BYTES", 0)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All captures, ways and so many seeds, if many times the usual number of cases is wanted."""
    times = int(metafunc.config.getoption("--times"))
    captures = Path(__file__).resolve().parents[1] / "captures"
    every = sorted(path.parent.name for path in captures.glob("*/fencepost.toml"))
    cases = (
        ALWAYS
        if times == 1
        else [(name, way, seed) for name in every for way in CUTS for seed in range(times)]
    )
    metafunc.parametrize(("name", "way", "seed"), cases)


def test_runs_on_parts_leave_the_chapters_of_a_run_on_all(
    name: str, way: str, seed: int, captures: Path, tmp_path: Path
) -> None:
    site = Site(tmp_path, tree_of(captures / name))
    rows = site.audited(chapter_ms=LENGTH_MS)
    chance = random.Random(f"{name} {way} {seed}")
    before = CUTS[way](site.whole, chance)
    found = site.audited(before, killed=chance if chance.random() < _KILLED else None, chapter_ms=LENGTH_MS)
    assert differences(found, rows) == {}
    assert len(site.chapters) > 1
