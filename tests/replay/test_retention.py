"""A window keeps the newest chapters: they have the rows that they have where all of history is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.run import capture
from fencepost.engines.tasks import TaskEngine
from fencepost.judge import judge
from fencepost.ledger import DROPPED, KEPT, Ledger
from fencepost.opening import ensure
from fencepost.protocols import protocols
from fencepost.replay import chapters, retention, silver_writer
from fencepost.replay.entities import tuples
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.retention import kept
from fencepost.replay.run import rebuild
from fencepost.settings import Lake, Settings, load
from fencepost.tables import BATCHES, CHAPTER, DECISIONS, EPISODES, REQUESTS, VERDICT_COVERAGE

CAPTURES = ("groups-4.3.1", "recreated-4.3.1")
CHAPTER_MS, WINDOW_MS = 5_000, 8_000
SILVER = [table for protocol in protocols() for table in protocol.tables]
Rows = dict[str, Counter[Any]]


@dataclass
class Site:
    """Real brokers' logs in a lake."""

    settings: Settings
    catalog: Catalog

    def run(self, window_ms: int | None) -> Rows:
        """Rebuild and judge; the rows of silver and the decisions, with their chapter."""
        settings = replace(self.settings, window_ms=window_ms)
        here = TaskEngine(self.catalog)
        rebuild(settings, self.catalog, lambda *_: here)
        judge(settings, self.catalog, lambda *_: here)
        return {table.name: self._counted(table) for table in (*SILVER, DECISIONS)}

    def _counted(self, table: Any) -> Counter[Any]:
        return Counter((row["cluster"], row[CHAPTER], repr(row)) for row in self.rows(table))

    def rows(self, table: Any) -> list[dict[str, Any]]:
        """All rows, with their chapter."""
        return lake.scan(self.catalog, table, tuple(table.stored)).to_pylist()

    @property
    def since(self) -> dict[str, int]:
        """By cluster, its first chapter that is kept."""
        first: dict[str, int] = {}
        for each in Ledger(self.catalog, self.settings).entries("rebuild"):
            if each.state == KEPT:
                name, begin = each.key
                first[name] = min(begin, first.get(name, begin))
        return first


@pytest.fixture(scope="module", autouse=True)
def _short() -> Iterator[None]:
    """Captures are of a minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chapters, "OVERLAP_MS", 2_000)
        patch.setattr(chapters, "LATEST_MS", 500)
        yield


@pytest.fixture(scope="module")
def site(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    home = tmp_path_factory.mktemp("window")
    loaded = [load(captures / name / "fencepost.toml") for name in CAPTURES]
    settings = replace(
        loaded[0],
        lake=Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}"),
        clusters=tuple(cluster for each in loaded for cluster in each.clusters),
        chapter_ms=CHAPTER_MS,
        longest_chapter_ms=None,
    )
    catalog = ensure(settings.lake)
    capture(settings, catalog, lambda size, what: TaskEngine(catalog), "run")
    return Site(settings, catalog)


@pytest.fixture(scope="module")
def whole(site: Site) -> tuple[Rows, list[dict[str, Any]]]:
    """The rows of a run without a window, and its episodes."""
    return site.run(None), site.rows(EPISODES)


def test_what_is_kept_is_what_it_would_be_without_a_window(
    site: Site, whole: tuple[Rows, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where each chapter is committed alone, as large ones are; the other tests commit all at once."""
    monkeypatch.setattr(silver_writer, "HELD_BYTES", 0)
    found, since = site.run(WINDOW_MS), site.since
    assert set(since) == set(CAPTURES) and all(since.values())
    of_decisions = found.pop(DECISIONS.name), whole[0][DECISIONS.name]
    for name, rows in found.items():
        expected = [each for each in whole[0][name].elements() if each[1] >= since[each[0]]]
        assert rows == Counter(expected), name
    assert 100 < of_decisions[0].total() < of_decisions[1].total()
    assert of_decisions[0] <= of_decisions[1]


def test_a_window_says_nothing_that_all_evidence_denies(
    site: Site, whole: tuple[Rows, list[dict[str, Any]]]
) -> None:
    site.run(WINDOW_MS)
    since = site.since
    unmet = [row for row in whole[1] if row["verdict"] == "violated"]
    found = {row["verdict_id"] for row in site.rows(EPISODES) if row["verdict"] == "violated"}
    assert found <= {row["verdict_id"] for row in unmet}
    inside = {row["verdict_id"] for row in unmet if row[CHAPTER] >= since[row["cluster"]]}
    assert 0 < len(inside) < len(unmet) and found == inside
    said = {row["cluster"]: row["since"] for row in site.rows(VERDICT_COVERAGE)}
    assert {name: int(1000 * each.timestamp()) for name, each in said.items()} == since


def test_a_window_moves_on_without_a_rebuild(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """With evidence that only the last chapter reads. A run that was killed meanwhile is repeated."""
    newest = kept(site.catalog, (), None).newest
    site.run(WINDOW_MS)
    before = site.since
    now = retention._newest(site.catalog, set(CAPTURES))
    monkeypatch.setattr(retention, "_newest", lambda *_: {name: ms + CHAPTER_MS for name, ms in now.items()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(silver_writer.SilverWriter, "commit", _is_killed)
        with pytest.raises(KeyboardInterrupt):
            site.run(WINDOW_MS)
    revisions = {each.key: each.revision for each in Ledger(site.catalog, site.settings).entries("rebuild")}
    site.run(WINDOW_MS)
    after = site.since
    assert newest == {} and all(after[name] > before[name] for name in CAPTURES)
    for table in (*SILVER, DECISIONS):
        for row in site.rows(table):
            assert row[CHAPTER] >= after[row["cluster"]]
    entries = Ledger(site.catalog, site.settings).entries("rebuild")
    last = {name: max(each.key[1] for each in entries if each.cluster == name) for name in CAPTURES}
    for each in entries:
        name, begin = each.key
        assert (each.state == DROPPED) == (begin < after[name])
        assert begin == last[name] or each.revision == revisions[each.key]


def _is_killed(*_: Any) -> Any:
    raise KeyboardInterrupt


def test_the_newest_evidence_and_no_clock_tells_the_window(site: Site) -> None:
    newest: dict[str, int] = {}
    for table, dated_by, where in (
        (REQUESTS, "logged_at_ms", None),
        (BATCHES, "max_timestamp_ms", [{"topic": METADATA_TOPIC}]),
    ):
        for cluster, ms in tuples(lake.scan(site.catalog, table, ("cluster", dated_by), where)):
            newest[cluster] = max(ms, newest.get(cluster, ms))
    plan = chapters.chapters({name: [0, ms - 3_000, ms - 2_000, ms - 1_000] for name, ms in newest.items()})
    assert kept(site.catalog, plan, None).newest == newest
    assert kept(site.catalog, plan, None).since == {}
    for window_ms, begin in ((900, 1_000), (1_000, 1_000), (1_001, 2_000), (2_999, 3_000)):
        since = {name: ms - begin for name, ms in newest.items()}
        assert kept(site.catalog, plan, window_ms).since == since
    assert kept(site.catalog, plan, 3_001).since == {}
