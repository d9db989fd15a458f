"""Judging, step by step, on whichever engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from fencepost import lake
from fencepost.definitions import Query, definitions, queries
from fencepost.judge.chapters import WHOLE, Chapters, Part, chapters, where, whole_places
from fencepost.judge.engine import Engine, choose, opened
from fencepost.judge.steps import beside
from fencepost.protocols import tables
from fencepost.settings import Settings
from fencepost.tables import DECISIONS, EPISODES, PIECES, VERDICT_COVERAGE, WINDOWS, Table
from tlasql.reach import ROW, STEP

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

RULES = Path(__file__).with_name("rules")
_COLUMNS = {
    # a truth of one decision, a word of another: text is what all of them can be
    True: "definition, cluster, subject, CAST(outcome AS STRING) AS outcome",
    False: "definition, cluster, scope, witness, from_position, to_position, from_time, to_time, verdict, "
    "exercised, failed_conjunct, values, evidence",
}
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JudgeSummary:
    """How many definitions ended in each status, over all clusters."""

    violated: int
    unknown: int
    holds: int
    not_exercised: int


def judge(settings: Settings, catalog: Catalog, session: Callable[[], SparkSession]) -> JudgeSummary:
    """Evaluate every marked definition over silver and make ``verdicts.*`` what was found.

    Of definitions that look at a chapter alone, the chapters that changed are judged, and the others stand as
    they were; any other definition is judged over all of history. ``session`` opens Spark and is called only
    where silver is too large for one process. Severities that the configuration overrides are written as
    overridden.
    """
    read = set().union(*(query.tables for query in queries()))
    rows = sum(lake.count(catalog, table) for table in tables() if table.name in read)
    choice = choose(settings, rows)
    log.info("%s judges: %s", choice.engine, choice.reason)
    windows = lake.scan(catalog, WINDOWS)
    history = chapters(catalog, {row["cluster"]: row["since"] for row in windows.to_pylist()})
    if history.known:
        judged = sum(len(part.noted) for part in history.parts)
        log.info("%d chapters stand, %d are judged", len(history.standing), judged)
    with opened(choice, settings, catalog, session) as engine:
        summary = run(engine, settings, queries(engine.dialect), windows, history)
    log.info("judged %d definitions: %s", len(definitions()), summary)
    return summary


def run(
    engine: Engine,
    settings: Settings,
    compiled: Sequence[Query],
    windows: pa.Table | None = None,
    history: Chapters = WHOLE,
) -> JudgeSummary:
    """Judge on this engine. Row-level results are computed once, for the episodes and for the counts.

    ``windows``: rows of WINDOWS; a cluster without one is judged for all of its history.
    """
    windows = WINDOWS.arrow_schema.empty_table() if windows is None else windows
    engine.give("windows", windows)
    engine.give("definitions", _definitions(settings))
    engine.give("clusters", pa.table({"cluster": pa.array([each.name for each in settings.clusters])}))
    engine.give("no_pieces", PIECES.arrow_schema.empty_table())
    engine.give("no_decisions", DECISIONS.arrow_schema.empty_table())
    engine.add("pieces", "SELECT * FROM no_pieces")
    engine.add("decisions", "SELECT * FROM no_decisions")
    engine.add("ended", "SELECT cluster AS place, from_time AS first_end, to_time AS last_end FROM no_pieces")
    since = {row["cluster"]: row["since"] for row in windows.to_pylist()}
    windowed = any(since.values())
    _forget(engine, history)
    local = [each for each in compiled if history.known and each.looks_at in (ROW, STEP)]
    engine.give("places", whole_places(since))
    _judge(engine, [each for each in compiled if each not in local], (), windowed)
    if history.parts:
        engine.look_at(where(history.judged))
        engine.give("places", history.places)
        _judge(engine, beside(engine, local, history), history.parts, windowed)
    if history.standing:
        engine.fetch("standing", PIECES, where(history.standing))
        engine.add("pieces", "SELECT * FROM standing")
    _put_together(engine)
    counted = engine.rows("SELECT status, COUNT(*) AS number FROM coverage GROUP BY status")
    statuses = {row["status"]: row["number"] for row in counted}
    return JudgeSummary(*(statuses.get(name, 0) for name in JudgeSummary.__dataclass_fields__))


def _forget(engine: Engine, history: Chapters) -> None:
    """Take away what was found of chapters that do not stand. First what tells that they were judged: a run
    that is killed leaves no chapter that is noted and has other rows.
    """
    if not history.standing:
        engine.replace(PIECES, "SELECT * FROM no_pieces")
        engine.replace(DECISIONS, "SELECT * FROM no_decisions")
        return
    if history.stale:
        engine.replace(PIECES, "SELECT * FROM no_pieces", where(history.stale))
    if history.gone:
        engine.replace(DECISIONS, "SELECT * FROM no_decisions", where(history.gone))


def _judge(engine: Engine, compiled: Sequence[Query], parts: Sequence[Part], windowed: bool) -> None:
    """Judge chapters, all at once, by definitions that look at nothing else; or, by others, all of history,
    which is no chapter.
    """
    decisions = [each for each in compiled if each.decides]
    if decisions:
        for group in engine.together(decisions):
            engine.view("decided", _union(group))
            engine.add("decisions", rule("decisions"))
        if parts:
            _write(engine, DECISIONS, "decisions", parts)
        else:
            engine.replace(DECISIONS, "SELECT * FROM decisions WHERE chapter IS NULL", [{"chapter": None}])
    for group in engine.together([each for each in compiled if not each.decides]):
        engine.keep("found", _union(group))
        engine.view("judged", rule("in_window") if windowed else "SELECT * FROM found")
        engine.keep("scopes", rule("scopes"))
        engine.keep("unmet", rule("failing"))
        engine.keep("stretches", rule("stretches"))
        engine.keep("met", rule("met"))
        engine.add("pieces", rule("pieces"))
        engine.add("ended", rule("ended"))
    if parts:
        engine.add("pieces", rule("judged_chapters"))
        _write(engine, PIECES, "pieces", parts)


def _write(engine: Engine, table: Table, name: str, parts: Iterable[Part]) -> None:
    """Write what was found of chapters, each in files of its own: they go as a whole when it is replaced."""
    for part in parts:
        engine.replace(table, f"SELECT * FROM {name} WHERE chapter = {part.chapter}", part.where)


def _put_together(engine: Engine) -> None:
    """Make the episodes and the coverage of what was found of all chapters."""
    engine.keep("scopes", rule("whole_scopes"))
    engine.keep("failing", rule("whole_failing"))
    engine.keep("unmet", rule("unmet"))
    engine.keep("stretches", rule("stretches"))
    engine.view("judged", rule("whole_held"))
    engine.keep("met", rule("met"))
    engine.replace(EPISODES, rule("episodes"))
    engine.keep("counts", rule("counts"))
    engine.keep("coverage", rule("coverage"))
    engine.replace(VERDICT_COVERAGE, "SELECT * FROM coverage")


def rule(name: str) -> str:
    """The text of a rule: a query over names that its first line lists, in words that both engines know."""
    return (RULES / f"{name}.sql").read_text(encoding="utf-8")


def _union(group: Iterable[Query]) -> str:
    return "\nUNION ALL\n".join(f"SELECT {_COLUMNS[each.decides]} FROM (\n{each.sql}\n)" for each in group)


def _definitions(settings: Settings) -> pa.Table:
    """Every definition: what it is, and how severe a violation is here."""
    rows = [
        {
            "definition": found.id,
            "module": found.module,
            "kind": found.kind,
            "severity": settings.severities.get(found.id, found.severity),
        }
        for found in definitions()
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in rows[0]]))
