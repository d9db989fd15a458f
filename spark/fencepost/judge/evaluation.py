"""Evaluates queries over silver: decisions, and the pieces that episodes and counts are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from fencepost.conditions import Where
from fencepost.definitions import RESULT, Query, definitions
from fencepost.judge.chapters import NO_PLACES, Chapters, where
from fencepost.judge.earlier_rows import with_earlier_rows
from fencepost.judge.rules import keep_intervals, rule
from fencepost.settings import Settings
from fencepost.tables import CHAPTER, DECISIONS, PIECES

if TYPE_CHECKING:
    from fencepost.judge.engine import Engine

_COLUMNS = {
    # the outcome of one decision is a truth value, that of another a word: text can hold both
    True: "definition, cluster, subject, CAST(outcome AS STRING) AS outcome, reason",
    False: RESULT,
}


@dataclass(frozen=True)
class Given:
    """What queries are evaluated with beside silver. ``windows``: rows of WINDOWS; ``unread``: rows of
    UNREAD.
    """

    settings: Settings
    windows: pa.Table
    unread: pa.Table
    history: Chapters


def give(engine: Engine, given: Given) -> None:
    """Give it to an engine, with no piece yet."""
    engine.give("windows", given.windows)
    engine.give("unread", given.unread)
    engine.give("definitions", _definitions(given.settings))
    engine.give("clusters", pa.table({"cluster": pa.array([each.name for each in given.settings.clusters])}))
    engine.give("no_pieces", PIECES.arrow_schema.empty_table())
    engine.give("no_decisions", DECISIONS.arrow_schema.empty_table())
    engine.add("pieces", "SELECT * FROM no_pieces")


def evaluate_here(
    engine: Engine, over_all_history: Sequence[Query], by_chapter: Sequence[Query], given: Given
) -> None:
    """Evaluate queries on this engine: replace the decisions, and add what others find to the pieces."""
    history = given.history

    def groups(*, decide: bool) -> Iterator[Sequence[Query]]:
        """Groups of queries that decide, or of those that do not; the places are theirs."""
        engine.give("places", NO_PLACES)
        yield from engine.together([each for each in over_all_history if each.decides == decide])
        if history.judged:
            engine.look_at(where(history.judged))
            engine.give("places", history.places)
            chosen = [each for each in by_chapter if each.decides == decide]
            yield from engine.together(with_earlier_rows(engine, chosen, history))
        engine.look_at(None)

    _replace_decisions(engine, groups(decide=True), history)
    for group in groups(decide=False):
        _judge(engine, group)


def replaced_decisions(history: Chapters) -> Where | None:
    """The condition for the decisions that are replaced; None for all."""
    others = history.where_others
    return None if others is None else [*others, {CHAPTER: None}]


def _replace_decisions(engine: Engine, groups: Iterable[Sequence[Query]], history: Chapters) -> None:
    """Replace the decisions of the chapters that were judged by those of these queries."""

    def decisions() -> Iterator[str]:
        yield "SELECT * FROM no_decisions"
        for group in groups:
            engine.view("decided", _union(group))
            yield rule("decisions")

    chosen = replaced_decisions(history)
    if len(history.judged) > 1:
        # rows of one chapter should lie together, so all are sorted before they are written
        for sql in decisions():
            engine.add("decisions", sql)
        engine.replace(DECISIONS, ["SELECT * FROM decisions ORDER BY chapter"], chosen)
        engine.drop("decisions")
    else:
        engine.replace(DECISIONS, decisions(), chosen)


def _judge(engine: Engine, group: Sequence[Query]) -> None:
    """Run these queries over the places, and add what they find to the pieces.

    The places are either all chapters, for definitions that look at one chapter, or whole clusters.
    """
    engine.keep("found", _union(group))
    keep_intervals(engine, judged="SELECT * FROM found", scopes=rule("scopes"), unmet=rule("failing"))
    engine.add("pieces", rule("pieces"))
    engine.drop("found")


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
