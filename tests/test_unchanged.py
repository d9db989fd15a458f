"""A step is done once on the same evidence, settings and code, and again whenever one of them is another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fencepost import lake, unchanged
from fencepost.opening import ensure
from fencepost.protocols import protocols
from fencepost.settings import Settings
from fencepost.tables import BRONZE, CLEANED, VERDICT_COVERAGE, Table

SILVER = protocols()[0].tables[0]


def test_a_step_is_done_again_only_if_something_has_changed(
    empty_lake: Callable[[], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = empty_lake()
    catalog = ensure(settings.lake)
    done: list[str] = []

    def runs(step: str, settings: Settings = settings) -> bool:
        before = len(done)
        summary = unchanged.unless_done(step, settings, catalog, lambda: _work(step))
        assert summary == {"times": done.count(step)}
        return len(done) > before

    def _work(step: str) -> dict[str, int]:
        done.append(step)
        return {"times": done.count(step)}

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
    monkeypatch.setattr(unchanged, "code", lambda **_: "another release")
    assert runs("judge")
    assert not runs("judge")


def test_a_step_that_failed_is_done_again(empty_lake: Callable[[], Settings]) -> None:
    settings = empty_lake()
    catalog = ensure(settings.lake)

    def fails() -> dict[str, int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unchanged.unless_done("marts", settings, catalog, fails)
    assert unchanged.unless_done("marts", settings, catalog, lambda: {"models": 3}) == {"models": 3}
    assert unchanged.unless_done("marts", settings, catalog, fails) == {"models": 3}


def test_what_follows_waits_for_a_step_that_was_begun(empty_lake: Callable[[], Settings]) -> None:
    """Tables of two runs side by side would be judged as if they were of one."""
    settings = empty_lake()
    catalog = ensure(settings.lake)

    def is_killed() -> dict[str, int]:
        lake.append(catalog, SILVER, SILVER.rows([[None] * len(SILVER.columns)]))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unchanged.unless_done("rebuild", settings, catalog, is_killed)
    for step in ("judge", "marts"):
        with pytest.raises(unchanged.UnfinishedError, match="rebuild was begun"):
            unchanged.unless_done(step, settings, catalog, dict)
    with pytest.raises(unchanged.UnfinishedError):
        unchanged.require_finished("gate", catalog)
    unchanged.unless_done("rebuild", settings, catalog, dict)
    unchanged.unless_done("judge", settings, catalog, dict)
    unchanged.require_finished("gate", catalog)


def test_every_table_that_capture_fills_is_looked_at() -> None:
    """What a rebuild has not been told of would never be rebuilt."""
    own = (table for protocol in protocols() for table in protocol.bronze)
    assert {table.name for table in (*BRONZE, *own)} <= set(unchanged._captured())
