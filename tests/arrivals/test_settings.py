"""What a lake holds follows from its evidence and the last settings, not from those of the runs before."""

from __future__ import annotations

from pathlib import Path

import pytest
from audits import Audit, Site, differences
from trees import Tree, tree_of

from fencepost.ledger import evidence
from fencepost.replay import chapters

pytestmark = pytest.mark.arrivals

FIRST, LATER = "subscriptions-4.3.1", "markers-4.3.1"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captures are of a minute."""
    monkeypatch.setattr(chapters, "FEW_LINES", 60)
    monkeypatch.setattr(chapters, "OVERLAP_MS", 2_000)
    monkeypatch.setattr(chapters, "LATEST_MS", 500)
    monkeypatch.setattr(evidence, "SLACK_MS", 500)


def _together(captures: Path, *names: str) -> Tree:
    """Several captures as the clusters of one configuration."""
    found = {
        f"{name}/{file}": data
        for name in names
        for file, data in tree_of(captures / name).items()
        if file != "fencepost.toml"
    }
    clusters = [
        (captures / name / "fencepost.toml").read_text().replace('["', f'["{name}/') for name in names
    ]
    return {**found, "fencepost.toml": "\n".join(clusters).encode()}


def test_a_cluster_comes_later_and_chapters_and_a_window_are_switched_on_and_off(
    captures: Path, tmp_path: Path
) -> None:
    site = Site(tmp_path, _together(captures, FIRST, LATER))
    first = {name: data for name, data in site.whole.items() if not name.startswith(LATER)}
    half = {name: data for name, data in first.items() if not name.endswith(".log.1.gz")}
    last = Audit(site.whole, chapter_ms=10_000)
    expected = site.after([last])
    assert len(site.chapters) > 2
    only = frozenset({FIRST})
    found = site.after(
        [
            Audit(half, chapter_ms=7_000, clusters=only),
            Audit(first, window_ms=15_000, clusters=only),
            Audit(first, clusters=only),
            last,
        ]
    )
    assert differences(found, expected) == {}
