"""Runs that rebuild the chapters that have changed leave what a run leaves that rebuilds all of them, and so
do the marts that they build.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from audits import Site, differences
from pyspark.sql import SparkSession
from trees import CUTS, put, tree_of

from fencepost import marts, pipeline, stale
from fencepost.changed import changed_since
from fencepost.places import work_folder
from fencepost.reading import QueryError, open_lake
from fencepost.replay import chapters, news, replaced
from fencepost.settings import Lake, load

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
    if "way" in metafunc.fixturenames:
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


def test_marts_of_chapters_that_changed_are_those_of_all(
    spark: SparkSession, captures: Path, tmp_path: Path
) -> None:
    """A run on a part, then one on all, which writes no rows of earlier chapters. Afterwards each mart has
    the rows that its whole query gives.
    """
    tree, logs, lake = tree_of(captures / "incarnations-4.3.1"), tmp_path / "capture", tmp_path / "lake"
    put(tree, logs)
    settings = replace(
        load(logs / "fencepost.toml"),
        lake=Lake(str(lake / "warehouse"), f"sqlite:///{lake / 'catalog.db'}"),
        chapter_ms=LENGTH_MS,
    )
    models = stale.models(marts.parse(settings))
    in_chapters = [each.relation for each in models if each.in_chapters and each.is_table]
    before: dict[str, int | None] = {}
    for files in (*CUTS["grown_line_by_line"](tree, random.Random(0)), tree):
        put(files, logs)
        with pipeline.Run(settings) as run:
            tables = {name: run.catalog.load_table(name) for name in before}
            for step in ("capture", "rebuild", "judge", "marts"):
                pipeline.STEPS[step](run)
            found = {name: changed_since(table.refresh(), before[name]) for name, table in tables.items()}
            before = {name: run.catalog.load_table(name).metadata.current_snapshot_id for name in in_chapters}
    changed = [min(each.values()) for each in found.values() if each]
    assert len(changed) > 2
    assert min(changed) > chapters.FIRST
    marts.run_dbt(spark, settings, ["compile"])
    compiled = work_folder(settings, "dbt") / "target" / "compiled" / "fencepost" / "models"
    whole = {path.stem: path.read_text() for path in compiled.rglob("*.sql")}
    with open_lake(settings) as reader, open_lake(settings, "spark") as in_spark:
        for mart in models:
            if mart.is_table:
                try:
                    expected = reader.query(whole[mart.name])
                except QueryError:
                    # DuckDB has no word for it
                    expected = in_spark.query(whole[mart.name])
                columns = list(mart.columns)
                assert (mart.name, _counted(reader.scan(mart.relation, columns))) == (
                    mart.name,
                    _counted(expected.select(columns)),
                )


def _counted(rows: pa.Table) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows.to_pylist())
