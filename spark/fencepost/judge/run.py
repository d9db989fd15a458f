"""Judging, step by step, on whichever engine."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from fencepost import lake
from fencepost.definitions import RESULT, Query, definitions, queries
from fencepost.engines import Sessions
from fencepost.judge.chapters import WHOLE, Chapters, chapters, where, whole_places
from fencepost.judge.earlier_rows import with_earlier_rows
from fencepost.judge.engine import Engine, choose, opened
from fencepost.judge.episodes import update_episodes
from fencepost.judge.notes import Notes
from fencepost.judge.rules import keep_intervals, rule
from fencepost.lake import Where
from fencepost.protocols import tables
from fencepost.settings import Settings
from fencepost.tables import CHAPTER, DECISIONS, PIECES, WINDOWS, Table
from tlasql.reach import ALL

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

_COLUMNS = {
    # a truth of one decision, a word of another: text is what all of them can be
    True: "definition, cluster, subject, CAST(outcome AS STRING) AS outcome",
    False: RESULT,
}
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JudgeSummary:
    """How many definitions ended in each status, over all clusters."""

    violated: int
    unknown: int
    holds: int
    not_exercised: int


def judge(settings: Settings, catalog: Catalog, session: Sessions) -> JudgeSummary:
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
    further = [each for each in compiled if not history.known or each.looks_at == ALL]
    noted = Notes(engine, settings, history)
    whole = bool(further) or not history.standing or not noted.finished
    engine.fetch("stale", PIECES, () if whole else where(history.stale))
    noted.forget()
    local = [each for each in compiled if each not in further]
    for decides, found in ((True, _decide), (False, partial(_judge, windowed=windowed))):
        engine.give("places", whole_places(since))
        found(engine, [each for each in further if each.decides == decides])
        if history.parts:
            engine.look_at(where(history.judged))
            engine.give("places", history.places)
            chosen = with_earlier_rows(engine, [each for each in local if each.decides == decides], history)
            found(engine, chosen)
        engine.look_at(None)
        if decides:
            # what is written need not be held
            _replace(engine, DECISIONS, "SELECT * FROM decisions", history, [{CHAPTER: None}])
            engine.drop("decisions")
    update_episodes(engine, history, whole=whole)
    _replace(engine, PIECES, "SELECT * FROM pieces WHERE chapter IS NOT NULL", history)
    noted.finish()
    counted = engine.rows("SELECT status, COUNT(*) AS number FROM coverage GROUP BY status")
    statuses = {row["status"]: row["number"] for row in counted}
    return JudgeSummary(*(statuses.get(name, 0) for name in JudgeSummary.__dataclass_fields__))


def _decide(engine: Engine, compiled: Sequence[Query]) -> None:
    """Add the decisions of these queries, of chapters or of all of history."""
    for group in engine.together(compiled):
        engine.view("decided", _union(group))
        engine.add("decisions", rule("decisions"))


def _judge(engine: Engine, compiled: Sequence[Query], windowed: bool) -> None:
    """Judge chapters, all at once, by definitions that look at nothing else; or, by others, all of history,
    which is no chapter.
    """
    for group in engine.together(compiled):
        engine.keep("found", _union(group))
        judged = rule("in_window") if windowed else "SELECT * FROM found"
        keep_intervals(engine, judged=judged, scopes=rule("scopes"), unmet=rule("failing"))
        engine.add("pieces", rule("pieces"))
        engine.add("ended", rule("ended"))
        engine.drop("found")


def _replace(engine: Engine, table: Table, sql: str, history: Chapters, others: Where = ()) -> None:
    """Write what was found of the chapters that were judged; in order, so that rows of one are together."""
    if len(history.judged) > 1:
        sql = f"{sql} ORDER BY chapter"
    chosen = [*where({*history.judged, *history.stale}), *others] if history.standing else None
    engine.replace(table, sql, chosen)


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
