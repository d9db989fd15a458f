"""The steps of a run of the judge."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fencepost import lake
from fencepost.definitions import Query, queries
from fencepost.judge.chapters import WHOLE, Chapters, compared, where
from fencepost.judge.engine import Engine
from fencepost.judge.episodes import update_episodes
from fencepost.judge.evaluation import Given, evaluate_here, give
from fencepost.judge.unread import UNREAD, unread_by_module
from fencepost.ledger import Ledger
from fencepost.protocols import tables
from fencepost.settings import Settings
from fencepost.tables import PIECES, WINDOWS
from tlasql.plan.reach import ALL

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

LARGEST = 1_000_000
"""How many rows of silver one process judges where the size decides."""

EngineFor = Callable[[int, str, int, str], Any]
"""Chooses where work is done, by its size, its name, what one process does, and the unit of both."""

Evaluate = Callable[[Engine, Sequence[Query], Sequence[Query], Given], None]
"""As ``evaluate_here``."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JudgeSummary:
    """How many definitions ended in each status, over all clusters."""

    violated: int
    holds: int
    holds_partly: int
    unknown: int
    not_exercised: int


def judge(
    settings: Settings, catalog: Catalog, engine_for: EngineFor, ledger: Ledger | None = None
) -> JudgeSummary:
    """Evaluate every marked definition over silver, and write the results to ``verdicts.*``.

    Definitions that look at one chapter are evaluated only over chapters that changed, and their results for
    other chapters stand; all other definitions are evaluated over all of history. ``engine_for`` chooses
    where they are evaluated. Severities that the configuration overrides are written as overridden.
    """
    compiled = queries()
    names = set().union(*(query.tables for query in compiled))
    sizes = {table.name: lake.count(catalog, table) for table in tables() if table.name in names}
    where_to = engine_for(sum(sizes.values()), "judge", LARGEST, "rows of silver")
    apart: Evaluate | None = None
    if not where_to.is_here:
        from fencepost.judge.tasks import TaskEvaluation

        apart = TaskEvaluation(where_to, catalog, sizes).evaluate
    with Engine.over(settings.lake, catalog) as engine:
        return judge_changes(
            ledger or Ledger(catalog, settings),
            partial(
                run,
                engine,
                settings,
                compiled,
                lake.scan(catalog, WINDOWS),
                unread=unread_by_module(catalog),
                evaluate=apart,
            ),
        )


def judge_changes(ledger: Ledger, judged: Callable[..., JudgeSummary]) -> JudgeSummary:
    """Judge what has changed since the ledger's entries; ``judged`` is ``run`` on an engine."""
    present, noted, finished = ledger.history, ledger.standing("judge"), ledger.is_done("judge")
    history = compared(
        present,
        {key: each.revision for key, each in noted.items()},
        [each.key for each in ledger.entries("judge")],
    )
    if history.known:
        log.info("%d chapters stand, %d are judged", len(history.standing), len(history.judged))
    ledger.begin("judge", history.entries(present, judged=False))
    summary = judged(history=history, finished=finished)
    ledger.done("judge", history.entries(present, judged=True), asdict(summary))
    return summary


def run(
    engine: Engine,
    settings: Settings,
    compiled: Sequence[Query],
    windows: pa.Table | None = None,
    history: Chapters = WHOLE,
    *,
    finished: bool = True,
    unread: pa.Table | None = None,
    evaluate: Evaluate | None = None,
) -> JudgeSummary:
    """Judge on this engine. Results of rows are computed once, for both the episodes and the counts.

    ``windows``: rows of WINDOWS; of each cluster what its coverage says of the window. ``finished``: whether
    the lake has what the last run has found, which was not killed. ``unread``: rows of UNREAD; None if all
    evidence could be read. ``evaluate`` evaluates the queries; None: this engine does.
    """
    given = Given(
        settings,
        WINDOWS.arrow_schema.empty_table() if windows is None else windows,
        UNREAD.empty_table() if unread is None else unread,
        history,
    )
    give(engine, given)
    over_all_history = [each for each in compiled if not history.known or each.looks_at == ALL]
    whole = bool(over_all_history) or not history.standing or not finished
    engine.fetch("stale", PIECES, () if whole else where(history.stale))
    by_chapter = [each for each in compiled if each not in over_all_history]
    (evaluate or evaluate_here)(engine, over_all_history, by_chapter, given)
    update_episodes(engine, history, whole=whole)
    # in order, so that rows of one chapter lie together
    order = " ORDER BY chapter" if len(history.judged) > 1 else ""
    pieces = f"SELECT * FROM pieces WHERE chapter IS NOT NULL{order}"
    engine.replace(PIECES, [pieces], history.where_others)
    counted = engine.rows("SELECT status, COUNT(*) AS number FROM coverage GROUP BY status")
    statuses = {row["status"]: row["number"] for row in counted}
    return JudgeSummary(*(statuses.get(name, 0) for name in JudgeSummary.__dataclass_fields__))
