"""Runs that rebuild the chapters that have changed leave what a run leaves that rebuilds all of them."""

from __future__ import annotations

import random

import pytest
from audits import AuditedAtOnce, differences

from fencepost.ledger import evidence
from fencepost.replay import chapters, silver_writer

pytestmark = pytest.mark.arrivals

ALWAYS = (("recreated-4.3.1", "grown", 2),)
"""Capture, how its files arrive, and a seed."""

_COMMITTED_ALONE = 0.25
"""How often each chapter is committed by itself, as large ones are."""


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captures are of a minute, and those with many requests have more than this in a quarter of it."""
    monkeypatch.setattr(chapters, "MOST_LINES", 150)
    monkeypatch.setattr(chapters, "SHORTEST_MS", 2_000)
    monkeypatch.setattr(chapters, "FEW_LINES", 60)
    monkeypatch.setattr(chapters, "OVERLAP_MS", 2_000)
    monkeypatch.setattr(chapters, "LATEST_MS", 500)
    monkeypatch.setattr(evidence, "SLACK_MS", 500)


def test_runs_on_parts_leave_the_chapters_of_a_run_on_all(
    name: str, way: str, seed: int, audited_at_once: AuditedAtOnce, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, expected = audited_at_once(name, in_chapters=True)
    if random.Random(f"{name} {way} {seed}").random() < _COMMITTED_ALONE:
        monkeypatch.setattr(silver_writer, "HELD_BYTES", 0)
    assert differences(site.audited_in_pieces(name, way, seed), expected) == {}
    assert len(site.chapters) > 1
