"""Silver of a history in chapters is that of all of it: a chapter goes on from what the one before knew."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from fencepost import lake
from fencepost.capture.run import capture
from fencepost.engines.process import ProcessEngine
from fencepost.protocols.producer_epoch.protocol import PROTOCOL
from fencepost.replay import chapters as cut_in
from fencepost.replay import run
from fencepost.replay.ended import Selected
from fencepost.replay.evidence import Beside, evidence
from fencepost.replay.handed_down import taken_over
from fencepost.replay.log_names import names_now
from fencepost.replay.window import windows
from fencepost.settings import Lake, load

CAPTURES = Path(__file__).parents[2] / "captures"


@pytest.mark.parametrize(
    ("name", "length_ms", "overlap_ms"),
    [
        ("producers-4.3.1", 10_000, 5_000),
        ("idempotent-4.3.1", 3_000, 2_000),
        ("streams-4.3.1", 60_000, 5_000),
    ],
)
def test_chapters(
    name: str, length_ms: int, overlap_ms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cut_in, "OVERLAP_MS", overlap_ms)
    monkeypatch.setattr(cut_in, "LATEST_MS", 1_000)
    monkeypatch.setattr(run, "protocols", lambda: [PROTOCOL])
    whole, chapters = _both(name, length_ms, tmp_path)
    for table in PROTOCOL.tables:
        assert _counted(chapters[table.name]) == _counted(whole[table.name]), table.name


def _both(name: str, length_ms: int, tmp_path: Path) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
    """The tables of all of a capture's history, and of its chapters."""
    where = Lake(str(tmp_path / "warehouse"), f"sqlite:///{tmp_path / 'catalog.db'}")
    settings = dataclasses.replace(load(CAPTURES / name / "fencepost.toml"), lake=where)
    catalog = lake.ensure(settings.lake)
    engine = ProcessEngine(catalog)
    capture(settings, catalog, lambda size, what: engine, "run")
    whole = PROTOCOL.rebuild(evidence(engine, catalog, settings))
    begins = cut_in.begins(catalog, windows(catalog, settings).newest, length_ms)
    source = cut_in.Source(engine, catalog, settings, Beside.of(catalog), names_now(engine))
    parts: dict[str, list[pa.Table]] = {table.name: [] for table in PROTOCOL.tables}
    known: dict[str, pa.Table] = {}
    previous: dict[str, int] = {}
    plan = cut_in.chapters(begins)
    assert len(plan) > 2
    for chapter in plan:
        rebuilt = PROTOCOL.rebuild(cut_in.evidence_of(chapter, previous, source, known))
        found = {
            table.name: taken_over(engine, table, rebuilt[table.name], known.get(table.name), chapter.begin)
            for table in PROTOCOL.tables
        }
        kept = Selected(chapter, known)
        for table in PROTOCOL.tables:
            parts[table.name].append(kept.of(engine, table, found))
        known = next(iter(run._handed_down(engine, chapter, {**rebuilt, **found}).values()), {})
        previous = dict.fromkeys(chapter.until_ms, chapter.begin)
    return dict(whole), {name: pa.concat_tables(each) for name, each in parts.items()}


def _counted(rows: pa.Table) -> Counter[tuple[str, ...]]:
    return Counter(tuple(map(repr, row.values())) for row in rows.to_pylist())
