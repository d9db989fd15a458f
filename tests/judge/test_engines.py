"""The same tables of silver are judged alike, by tasks or not, and in any order; ids are made of evidence
alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest
from judge_silver import CLUSTERS, Row, Tables, in_chapters, ordered, random_silver, settings

from fencepost import lake
from fencepost.definitions import definitions
from fencepost.engines import Engine
from fencepost.engines.backends import Backend
from fencepost.engines.scratch import Scratches
from fencepost.engines.tasks import TaskEngine
from fencepost.iceberg.catalog import open_catalog
from fencepost.judge import JudgeSummary, cuts, judge
from fencepost.ledger import KEPT, Entry, Ledger
from fencepost.protocols import tables
from fencepost.settings import Settings
from fencepost.tables import DECISIONS, EPISODES, UNKNOWN_REASONS, VERDICT_COVERAGE

VERDICTS = (EPISODES, VERDICT_COVERAGE, UNKNOWN_REASONS, DECISIONS)
Verdicts = Callable[..., dict[str, list[Row]]]


@pytest.fixture(scope="module")
def silver() -> Tables:
    return random_silver(7)


@pytest.fixture(scope="module")
def found(silver: Tables, verdicts: Verdicts) -> dict[str, list[Row]]:
    """The verdicts on it, as definitions and settings are."""
    return verdicts(silver)


def test_random_silver_exercises_what_is_to_be_compared(found: dict[str, list[Row]]) -> None:
    """Else the comparisons below would compare little."""
    judged = {each.id for each in definitions() if each.kind != "decision"}
    said = {row["invariant"] for row in found[EPISODES.name] if row["verdict"] != "unknown"}
    assert len(said) > 0.8 * len(judged), " ".join(sorted(judged - said))
    assert {row["verdict"] for row in found[EPISODES.name]} == {"holds", "violated", "unknown"}
    outcomes = {row["outcome"] for row in found[DECISIONS.name]}
    assert outcomes > {"true", "false", "NONE", "PRODUCER_FENCED", None}


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_rows_changes_nothing(
    seed: int, silver: Tables, verdicts: Verdicts, found: dict[str, list[Row]]
) -> None:
    chance = random.Random(seed)

    def shuffled(rows: pa.Table) -> pa.Table:
        return rows.take(chance.sample(range(rows.num_rows), rows.num_rows))

    assert verdicts({name: shuffled(rows) for name, rows in silver.items()}) == found


def ids(found: dict[str, list[Row]]) -> set[str]:
    """The ids of all episodes, which are distinct."""
    named = {row["verdict_id"] for row in found[EPISODES.name]}
    assert len(named) == len(found[EPISODES.name])
    return named


def test_a_severity_changes_no_id(silver: Tables, verdicts: Verdicts, found: dict[str, list[Row]]) -> None:
    overridden = verdicts(silver, settings(epoch_order="info"))
    severities = {row["severity"] for row in overridden[EPISODES.name] if row["invariant"] == "epoch_order"}
    assert severities == {"info"}
    assert ids(overridden) == ids(found)


@pytest.mark.usefixtures("all_by_tasks")
@pytest.mark.parametrize("where", ["processes", "spark"])
def test_tasks_write_the_same_rows(
    where: str,
    silver: Tables,
    empty_lake: Callable[[], Settings],
    backend_for: Callable[[str], Backend],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of history in chapters, of which tasks have to judge the last; Spark's have few scopes each."""
    if where == "spark":
        monkeypatch.setattr(cuts, "AT_ONCE", 20)
    chosen = replace(empty_lake(), clusters=settings().clusters)
    catalog = open_catalog(chosen.lake)
    known = {table.name: table for table in tables()}
    begins = (0, 20)
    for name, rows in in_chapters(silver, begins).items():
        lake.append(catalog, known[name], rows)

    def rebuilt(revision: str) -> None:
        revisions = {(each, begin): revision if begin else "first" for each in CLUSTERS for begin in begins}
        entries = [
            Entry(cluster=name, chapter=at, state=KEPT, revision=of) for (name, at), of in revisions.items()
        ]
        ledger = Ledger(catalog, chosen)
        ledger.begin("rebuild")
        ledger.done("rebuild", entries, {})

    rebuilt("first")

    def judged(engine: Engine) -> tuple[JudgeSummary, dict[str, list[Row]]]:
        summary = judge(chosen, catalog, lambda *_: engine)
        found = {each.name: catalog.load_table(each.name).scan().to_arrow() for each in VERDICTS}
        return summary, {name: ordered(rows) for name, rows in found.items()}

    here = judged(TaskEngine(catalog))
    assert here == judged(TaskEngine(catalog))
    rebuilt(where)
    summary, found = judged(TaskEngine(catalog, 3, backend_for(where), Scratches(catalog)))
    assert summary == here[0]
    for table in VERDICTS:
        assert found[table.name] == here[1][table.name]
