"""A step is done once on the same evidence, settings and code, and again whenever one of them is another."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.ledger import Entry, Ledger, UnfinishedError, book
from fencepost.ledger.states import read_by
from fencepost.opening import ensure
from fencepost.protocols import protocols
from fencepost.settings import Settings
from fencepost.tables import BRONZE, CLEANED, COMPACTED_LOGS, FILES, VERDICT_COVERAGE, Table

SILVER = protocols()[0].tables[0]
Work = Callable[[], dict[str, int]]


@pytest.fixture
def settings(empty_lake: Callable[[], Settings]) -> Settings:
    return empty_lake()


@pytest.fixture
def catalog(settings: Settings) -> Catalog:
    return ensure(settings.lake)


def step(name: str, settings: Settings, catalog: Catalog, work: Work) -> dict[str, int]:
    """A step in a run of its own, as a pipeline runs it."""
    ledger = Ledger(catalog, settings)
    if (said := ledger.summary(name)) is not None:
        return said
    ledger.begin(name)
    said = work()
    ledger.done(name, (), said)
    return said


def test_a_step_is_done_again_only_if_something_has_changed(
    settings: Settings, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def runs(name: str, settings: Settings = settings) -> bool:
        before = len(done)
        assert step(name, settings, catalog, lambda: _work(name)) == {"times": done.count(name)}
        return len(done) > before

    def _work(name: str) -> dict[str, int]:
        done.append(name)
        return {"times": done.count(name)}

    def commit(table: Table) -> None:
        lake.append(catalog, table, table.rows([[None] * len(table.columns)]))

    assert runs("rebuild")
    assert not runs("rebuild")
    assert not runs("rebuild", replace(settings, in_process_mb=1, run_on="spark", spark={}))
    commit(CLEANED)  # evidence
    assert runs("rebuild")
    assert not runs("rebuild")
    commit(SILVER)  # what it wrote is not what it was
    assert runs("rebuild")
    assert runs("judge")
    assert not runs("judge")
    commit(SILVER)
    assert runs("judge")
    commit(VERDICT_COVERAGE)
    assert runs("judge")
    assert runs("judge", replace(settings, severities={"a": "info"}))
    assert runs("judge")
    assert not runs("judge")
    monkeypatch.setattr(book, "made_by", lambda *_: "another release")
    assert runs("judge")
    assert not runs("judge")


def _fails() -> dict[str, int]:
    raise KeyboardInterrupt


def test_a_step_that_failed_is_done_again(settings: Settings, catalog: Catalog) -> None:
    with pytest.raises(KeyboardInterrupt):
        step("marts", settings, catalog, _fails)
    assert step("marts", settings, catalog, lambda: {"models": 3}) == {"models": 3}
    assert step("marts", settings, catalog, _fails) == {"models": 3}


def test_what_follows_waits_for_a_step_that_was_begun(settings: Settings, catalog: Catalog) -> None:
    """Tables of two runs side by side would be judged as if they were of one."""
    with pytest.raises(KeyboardInterrupt):
        step("rebuild", settings, catalog, _fails)
    for name in ("judge", "marts"):
        with pytest.raises(UnfinishedError, match="rebuild was begun"):
            step(name, settings, catalog, dict)
    with pytest.raises(UnfinishedError):
        Ledger(catalog, settings).require_finished("gate")
    step("rebuild", settings, catalog, dict)
    step("judge", settings, catalog, dict)
    Ledger(catalog, settings).require_finished("gate")


def test_a_step_that_was_killed_leaves_the_entries_that_stood_when_it_began(
    settings: Settings, catalog: Catalog
) -> None:
    """Nothing else of an earlier run; and nothing where other code or settings made it."""
    entries = [Entry(cluster="c", chapter=at, until=None, revision="first") for at in (0, 100)]
    ledger = Ledger(catalog, settings)
    ledger.begin("rebuild")
    ledger.done("rebuild", entries, {})
    assert Ledger(catalog, settings).standing("rebuild").keys() == {("c", 0), ("c", 100)}
    Ledger(catalog, settings).begin("rebuild", entries[:1])
    again = Ledger(catalog, settings)
    assert again.standing("rebuild").keys() == {("c", 0)} and not again.is_done("rebuild")
    assert again.changed_evidence({("c", 0): None, ("c", 100): None}) == {"c": 100}
    assert again.changed_evidence({("c", 0): 100}) == {"c": 0}
    lake.append(catalog, CLEANED, CLEANED.rows([["c", *[None] * (len(CLEANED.columns) - 1)]]))
    assert again.changed_evidence({("c", 0): None}) == {"c": 0}
    other = Ledger(catalog, replace(settings, severities={"a": "info"}))
    assert not other.standing("rebuild")
    assert other.changed_evidence({("c", 0): None, ("c", 100): None}) == {"c": 0}


def test_what_an_earlier_release_noted_is_removed_once(
    settings: Settings, catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "fencepost")
    schema = CLEANED.arrow_schema
    for name in ("silver.chapters", "verdicts.judged"):
        catalog.create_table(name, schema)
    with catalog.load_table(FILES.name).transaction() as change:
        change.set_properties({"fencepost.done.judge": "{}", "fencepost.marts": "{}"})
    before_window = {name: -1 if kind == "bigint" else None for name, kind in COMPACTED_LOGS.columns.items()}
    lake.append(catalog, COMPACTED_LOGS, COMPACTED_LOGS.rows([list(before_window.values())]))
    assert step("rebuild", settings, catalog, lambda: {"times": 1}) == {"times": 1}
    assert [each.message for each in caplog.records if "earlier release" in each.message] == [
        "an earlier release has written this lake: everything is rebuilt, once"
    ]
    assert not any(catalog.table_exists(name) for name in ("silver.chapters", "verdicts.judged"))
    assert not [name for name in catalog.load_table(FILES.name).properties if name.startswith("fencepost.")]
    assert lake.count(catalog, COMPACTED_LOGS) == 0
    caplog.clear()
    lake.append(catalog, CLEANED, CLEANED.rows([[None] * len(CLEANED.columns)]))
    step("rebuild", settings, catalog, dict)
    assert not caplog.records


def test_every_table_that_capture_fills_is_looked_at() -> None:
    """What a rebuild has not been told of would never be rebuilt."""
    own = (table for protocol in protocols() for table in protocol.bronze)
    assert {table.name for table in (*BRONZE, *own)} <= set(read_by("rebuild"))
