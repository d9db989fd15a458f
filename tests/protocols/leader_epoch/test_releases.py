"""The table of releases in the README of the specification: a capture in a cell is what a real broker did."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fencepost.spec.manifest import runs

SPEC = Path(__file__).resolve().parents[3] / "spec" / "leader_epoch"
MODELS = {run.name for run in runs(SPEC)}
ROW = re.compile(r"^\| (\d\.\d) \| (by name|by id) \| `(MC\w+)` \|(.*)\|$", re.MULTILINE)
ROWS = ROW.findall((SPEC / "README.md").read_text(encoding="utf-8"))
MADE_BY = {"by name": "late_commit", "by id": "position_kept"}
Row = dict[str, Any]


def _reads_on(row: Row, commits: str) -> bool:
    stored = row["kind"] == "orphan" and row["made_by"] == MADE_BY[commits]
    return stored and row["returned_offset"] is not None and row["reset_to"] is None


def _stored(row: Row, commits: str) -> bool:
    return bool(row["kind"] == "orphan" and row["made_by"] == MADE_BY[commits])


def _refused(row: Row, commits: str) -> bool:
    refused = (row.get("api"), row.get("error")) == ("OffsetCommit", "UNKNOWN_TOPIC_ID")
    return refused and commits == "by id"


def _goes_back(row: Row, commits: str) -> bool:
    return bool(row["kind"] == "stale_answer" and row["what"] == "incarnation" and row["told_topic_id"])


def _takes_along(row: Row, commits: str) -> bool:
    """No driver has made it."""
    return False


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_cell_is_a_capture_or_a_model(captures: Path, row: tuple[str, ...]) -> None:
    release, commits, model, cells = row
    assert model in MODELS
    everywhere = [path.name for path in captures.glob(f"incarnations-{release}.*")]
    claims = (_reads_on, _stored, _refused, _goes_back, _takes_along)
    for cell, did in zip((each.strip() for each in cells.split(" | ")), claims, strict=True):
        seen = [name for name in everywhere if any(did(each, commits) for each in _rows(captures / name))]
        named = re.findall(r"`([\w.-]+)`", cell)
        if cell.startswith("model: "):
            (model,) = named
            assert f"MCLeaderEpoch_{model}" in MODELS
            assert seen == [], cell
        else:
            assert named == seen, cell
            assert bool(named) != (cell == "no: by name"), cell


def _rows(capture: Path) -> list[Row]:
    text = (capture / "ground_truth.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_release_and_way_of_committing_has_its_row() -> None:
    assert [(row[0], row[1]) for row in ROWS] == [
        ("3.9", "by name"), ("4.0", "by name"), ("4.1", "by name"), ("4.2", "by name"), ("4.2", "by id"),
        ("4.3", "by name"), ("4.3", "by id"),
    ]  # fmt: skip
