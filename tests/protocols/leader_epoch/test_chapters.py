"""What chapters say of leader epochs and offsets is what one rebuild of all of history says."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from fencepost import lake
from fencepost.capture.run import capture
from fencepost.engines.process import ProcessEngine
from fencepost.protocols.leader_epoch.protocol import PROTOCOL
from fencepost.protocols.leader_epoch.tables import METADATA_ANSWER_PARTITIONS, METADATA_ANSWERS
from fencepost.replay import chapters as of_history
from fencepost.replay.ended import Selected
from fencepost.replay.evidence import MetadataRows, evidence
from fencepost.replay.handed_down import handed_down, taken_over
from fencepost.replay.window import windows
from fencepost.settings import Lake, load

CAPTURES = Path(__file__).parents[2] / "captures"
LENGTH_MS, OVERLAP_MS = 30_000, 15_000


def test_chapters_are_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_history, "OVERLAP_MS", OVERLAP_MS)
    settings = load(CAPTURES / "rebalances-4.3.1" / "fencepost.toml")
    place = Lake(str(tmp_path / "warehouse"), f"sqlite:///{tmp_path / 'catalog.db'}")
    settings = dataclasses.replace(settings, lake=place)
    catalog = lake.ensure(settings.lake)
    engine = ProcessEngine(catalog)
    capture(settings, catalog, lambda size, what: engine, "r")
    whole = PROTOCOL.rebuild(evidence(engine, catalog, settings))
    begins = of_history.begins(catalog, windows(catalog, settings).newest, LENGTH_MS)
    source = of_history.Source(engine, catalog, settings, MetadataRows.of(catalog))
    parts: dict[str, list[pa.Table]] = {table.name: [] for table in PROTOCOL.tables}
    previous: dict[str, int] = {}
    before: dict[str, pa.Table] = {}
    plan = of_history.chapters(begins)
    assert len(plan) > 2
    for chapter in plan:
        found = dict(PROTOCOL.rebuild(of_history.evidence_of(chapter, previous, source, before)))
        down = {table.name: found[table.name] for table in PROTOCOL.hands_down if chapter.goes_on_in}
        kept = Selected(chapter)
        for table in PROTOCOL.tables:
            known = before.get(table.name)
            found[table.name] = taken_over(engine, table, found[table.name], known, chapter.begin)
            if table.hands_down:
                down[table.name] = handed_down(engine, table, found[table.name], chapter)
        for table in PROTOCOL.tables:
            parts[table.name].append(kept.of(engine, table, found))
        before, previous = down, dict.fromkeys(chapter.until_ms, chapter.begin)
    for table in PROTOCOL.tables:
        assert rows(pa.concat_tables(parts[table.name])) == rows(whole[table.name]), table.name
    # fct_metadata_answers looks for one in the chapter of the other
    for answers, told in zip(
        parts[METADATA_ANSWERS.name], parts[METADATA_ANSWER_PARTITIONS.name], strict=True
    ):
        assert set(told["request_id"].to_pylist()) <= set(answers["request_id"].to_pylist())


def rows(table: pa.Table) -> Counter[str]:
    return Counter(str(row) for row in table.to_pylist())
