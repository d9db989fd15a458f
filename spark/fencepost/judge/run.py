"""The steps of a run of the judge, on either engine."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
from fencepost.judge.unread import UNREAD, unread_by_module
from fencepost.lake import Where
from fencepost.protocols import tables
from fencepost.settings import Settings
from fencepost.tables import CHAPTER, DECISIONS, PIECES, WINDOWS
from tlasql.reach import ALL

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

_COLUMNS = {
    # the outcome of one decision is a truth value, that of another a word: text can hold both
    True: "definition, cluster, subject, CAST(outcome AS STRING) AS outcome, reason",
    False: RESULT,
}
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JudgeSummary:
    """How many definitions ended in each status, over all clusters."""

    violated: int
    holds: int
    holds_partly: int
    unknown: int
    not_exercised: int


def judge(settings: Settings, catalog: Catalog, session: Sessions) -> JudgeSummary:
    """Evaluate every marked definition over silver, and write the results to ``verdicts.*``.

    Definitions that look at one chapter are evaluated only over chapters that changed, and their results for
    other chapters stand; all other definitions are evaluated over all of history. ``session`` opens Spark and
    is called only where silver is too large for one process. Severities that the configuration overrides are
    written as overridden.
    """
    names = set().union(*(query.tables for query in queries()))
    rows = sum(lake.count(catalog, table) for table in tables() if table.name in names)
    choice = choose(settings, rows)
    log.info("%s judges: %s", choice.engine, choice.reason)
    windows = lake.scan(catalog, WINDOWS)
    history = chapters(catalog, {row["cluster"]: row["since"] for row in windows.to_pylist()})
    if history.known:
        judged = sum(len(part.noted) for part in history.parts)
        log.info("%d chapters stand, %d are judged", len(history.standing), judged)
    with opened(choice, settings, catalog, session) as engine:
        summary = run(
            engine, settings, queries(engine.dialect), windows, history, unread=unread_by_module(catalog)
        )
    log.info("judged %d definitions: %s", len(definitions()), summary)
    return summary


def run(
    engine: Engine,
    settings: Settings,
    compiled: Sequence[Query],
    windows: pa.Table | None = None,
    history: Chapters = WHOLE,
    *,
    unread: pa.Table | None = None,
) -> JudgeSummary:
    """Judge on this engine. Results of rows are computed once, for both the episodes and the counts.

    ``windows``: rows of WINDOWS; a cluster without one is judged for all of its history. ``unread``: rows of
    UNREAD; None if all evidence could be read.
    """
    windows = WINDOWS.arrow_schema.empty_table() if windows is None else windows
    engine.give("windows", windows)
    engine.give("unread", UNREAD.empty_table() if unread is None else unread)
    engine.give("definitions", _definitions(settings))
    engine.give("clusters", pa.table({"cluster": pa.array([each.name for each in settings.clusters])}))
    engine.give("no_pieces", PIECES.arrow_schema.empty_table())
    engine.give("no_decisions", DECISIONS.arrow_schema.empty_table())
    engine.add("pieces", "SELECT * FROM no_pieces")
    engine.add("ended", "SELECT cluster AS place, from_time AS first_end, to_time AS last_end FROM no_pieces")
    since = {row["cluster"]: row["since"] for row in windows.to_pylist()}
    windowed = any(since.values())
    over_all_history = [each for each in compiled if not history.known or each.looks_at == ALL]
    notes = Notes(engine, settings, history)
    whole = bool(over_all_history) or not history.standing or not notes.finished
    engine.fetch("stale", PIECES, () if whole else where(history.stale))
    notes.forget()
    by_chapter = [each for each in compiled if each not in over_all_history]

    def groups(*, decide: bool) -> Iterator[Sequence[Query]]:
        """Groups of queries that decide, or of those that do not; the places are theirs."""
        engine.give("places", whole_places(since))
        yield from engine.together([each for each in over_all_history if each.decides == decide])
        if history.parts:
            engine.look_at(where(history.judged))
            engine.give("places", history.places)
            chosen = [each for each in by_chapter if each.decides == decide]
            yield from engine.together(with_earlier_rows(engine, chosen, history))
        engine.look_at(None)

    _replace_decisions(engine, groups(decide=True), history)
    for group in groups(decide=False):
        _judge(engine, group, windowed=windowed)
    update_episodes(engine, history, whole=whole)
    # in order, so that rows of one chapter lie together
    order = " ORDER BY chapter" if len(history.judged) > 1 else ""
    pieces = f"SELECT * FROM pieces WHERE chapter IS NOT NULL{order}"
    engine.replace(PIECES, [pieces], _replaced_rows(history))
    notes.finish()
    counted = engine.rows("SELECT status, COUNT(*) AS number FROM coverage GROUP BY status")
    statuses = {row["status"]: row["number"] for row in counted}
    return JudgeSummary(*(statuses.get(name, 0) for name in JudgeSummary.__dataclass_fields__))


def _replace_decisions(engine: Engine, groups: Iterable[Sequence[Query]], history: Chapters) -> None:
    """Replace the decisions of the chapters that were judged by those of these queries."""

    def decisions() -> Iterator[str]:
        yield "SELECT * FROM no_decisions"
        for group in groups:
            engine.view("decided", _union(group))
            yield rule("decisions")

    chosen = _replaced_rows(history, [{CHAPTER: None}])
    if len(history.judged) > 1:
        # rows of one chapter should lie together, so all are sorted before they are written
        for sql in decisions():
            engine.add("decisions", sql)
        engine.replace(DECISIONS, ["SELECT * FROM decisions ORDER BY chapter"], chosen)
        engine.drop("decisions")
    else:
        engine.replace(DECISIONS, decisions(), chosen)


def _judge(engine: Engine, group: Sequence[Query], *, windowed: bool) -> None:
    """Run these queries over the places, and add what they find to the pieces.

    The places are either all chapters, for definitions that look at one chapter, or whole clusters.
    """
    engine.keep("found", _union(group))
    judged = rule("in_window") if windowed else "SELECT * FROM found"
    keep_intervals(engine, judged=judged, scopes=rule("scopes"), unmet=rule("failing"))
    engine.add("pieces", rule("pieces"))
    engine.add("ended", rule("ended"))
    engine.drop("found")


def _replaced_rows(history: Chapters, others: Where = ()) -> Where | None:
    """The condition for the rows of the chapters that were judged, and for ``others``; None for all rows."""
    return [*where({*history.judged, *history.stale}), *others] if history.standing else None


def _union(group: Iterable[Query]) -> str:
    return "\nUNION ALL\n".join(f"SELECT {_COLUMNS[each.decides]} FROM (\n{each.sql}\n)" for each in group)


def _definitions(settings: Settings) -> pa.Table:
    """Every definition, with the severity that a violation has under these settings."""
    rows = [
        {
            "definition": definition.id,
            "module": definition.module,
            "kind": definition.kind,
            "severity": settings.severities.get(definition.id, definition.severity),
        }
        for definition in definitions()
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in rows[0]]))
