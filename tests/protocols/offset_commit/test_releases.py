"""The table of releases in the README of the specification: a capture in a cell is what a real broker did."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fencepost.spec.manifest import runs

SPEC = Path(__file__).resolve().parents[3] / "spec" / "offset_commit"
MODELS = {run.name for run in runs(SPEC)}
ROW = re.compile(
    r"^\| (\d\.\d) \| (classic|consumer|streams) \| `(\w+)` \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE
)
ROWS = ROW.findall((SPEC / "README.md").read_text(encoding="utf-8"))
REFUSED = {"STALE_MEMBER_EPOCH", "ILLEGAL_GENERATION"}
NO = "no: "


def _zombie(row: dict[str, Any]) -> bool:
    return row["truth"] == "zombie" and row["error"] == "NONE"


def _zombie_refused(row: dict[str, Any]) -> bool:
    """By its epoch: a member that is gone is refused by its id, on every release."""
    return row["truth"] == "zombie" and row["error"] in REFUSED


def _anothers(row: dict[str, Any]) -> bool:
    return row["truth"] != "unfenced" and row["owner_member_id"] is not None and row["error"] == "NONE"


def _owner(row: dict[str, Any]) -> bool:
    return row["truth"] == "owner" and row["error"] in REFUSED


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[1]}-{row[0]}")
def test_a_cell_is_a_capture_or_a_model(captures: Path, row: tuple[str, ...]) -> None:
    release, group, model, zombie, anothers, owner = row
    assert model in MODELS
    everywhere = [path.name for path in captures.glob(f"*-{release}.*")]
    shows = (_zombie_refused if zombie.startswith(NO) else _zombie, _anothers, _owner)
    for cell, shown in zip((zombie, anothers, owner), shows, strict=True):
        named = re.findall(r"`([\w.-]+)`", cell)
        assert named
        for name in named:
            assert name in everywhere
            assert any(shown(row) for row in _rows(captures / name, group)), (name, cell)
    if zombie.startswith(NO):
        assert not any(_zombie(row) for name in everywhere for row in _rows(captures / name, group)), row


def _rows(capture: Path, group: str) -> list[dict[str, Any]]:
    """What was asked of groups of a type; captures that do not name it have consumer groups only."""
    truth = capture / "ground_truth.jsonl"
    rows = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row.get("truth") and row.get("group_type", "consumer") == group]


def test_every_release_and_kind_has_its_row() -> None:
    assert len(ROWS) == 12
