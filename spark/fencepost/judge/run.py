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
from fencepost.judge.engine import Engine, choose, opened
from fencepost.protocols import tables
from fencepost.settings import Settings
from fencepost.tables import DECISIONS, EPISODES, VERDICT_COVERAGE, WINDOWS

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
    """Evaluate every marked definition over silver and replace ``verdicts.*`` with what was found.

    ``session`` opens Spark and is called only where silver is too large for one process. Severities that the
    configuration overrides are written as overridden.
    """
    read = set().union(*(query.tables for query in queries()))
    rows = sum(lake.count(catalog, table) for table in tables() if table.name in read)
    choice = choose(settings, rows)
    log.info("%s judges: %s", choice.engine, choice.reason)
    with opened(choice, settings, catalog, session) as engine:
        summary = run(engine, settings, queries(engine.dialect), lake.scan(catalog, WINDOWS))
    log.info("judged %d definitions: %s", len(definitions()), summary)
    return summary


def run(
    engine: Engine, settings: Settings, compiled: Sequence[Query], windows: pa.Table | None = None
) -> JudgeSummary:
    """Judge on this engine. Row-level results are computed once, for the episodes and for the counts.

    ``windows``: rows of WINDOWS; a cluster without one is judged for all of its history.
    """
    engine.give("windows", WINDOWS.arrow_schema.empty_table() if windows is None else windows)
    engine.give("definitions", _definitions(settings))
    engine.give("clusters", pa.table({"cluster": pa.array([each.name for each in settings.clusters])}))
    engine.view("decided", _union([each for each in compiled if each.decides]))
    engine.replace(DECISIONS, rule("decisions"))
    for group in engine.together([each for each in compiled if not each.decides]):
        engine.view("found", _union(group))
        engine.keep("judged", rule("in_window"))
        for name in ("scopes", "unmet", "stretches", "met"):
            engine.keep(name, rule(name))
        engine.add("episodes", rule("episodes"))
        engine.add("counts", rule("counts"))
    engine.replace(EPISODES, "SELECT * FROM episodes")
    engine.keep("coverage", rule("coverage"))
    engine.replace(VERDICT_COVERAGE, "SELECT * FROM coverage")
    counted = engine.rows("SELECT status, COUNT(*) AS number FROM coverage GROUP BY status")
    statuses = {row["status"]: row["number"] for row in counted}
    return JudgeSummary(*(statuses.get(name, 0) for name in JudgeSummary.__dataclass_fields__))


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
