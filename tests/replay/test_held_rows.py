"""What is read for many chapters at once is what each asks for."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.conditions import Where, Within
from fencepost.engines import Engine, Rows
from fencepost.engines.delegating import DelegatingEngine
from fencepost.engines.tasks import TaskEngine
from fencepost.opening import ensure
from fencepost.replay import held_rows
from fencepost.replay.held_rows import HeldRows
from fencepost.settings import Settings
from fencepost.tables import CLEANED, REQUESTS, Table

DAYS = 40
OF_DAY = 10
DAY_MS = 1_000
COLUMNS = ("cluster", "line_digest", "logged_at_ms")


class Counted(DelegatingEngine):
    """Counts how often the lake is read."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.reads = 0

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        self.reads += 1
        return super().scan(table, columns, where)


@pytest.fixture(scope="module")
def catalog(empty_lake: Callable[[], Settings]) -> Catalog:
    """Lines of forty days of two clusters, in three files, none in order."""
    found = ensure(empty_lake().lake)
    chance = random.Random(1)
    days = list(range(DAYS * OF_DAY))
    chance.shuffle(days)
    for part in range(3):
        rows = [
            {
                "cluster": chance.choice("ab"),
                "line_digest": str(each),
                "logged_at_ms": each * DAY_MS // OF_DAY,
            }
            for each in days[part::3]
        ]
        lake.append(found, REQUESTS, pa.Table.from_pylist(rows, schema=REQUESTS.arrow_schema))
    cleaned = [{"cluster": "a", "topic": "t", "partition": each, "cleaned_to": each} for each in range(3)]
    lake.append(found, CLEANED, pa.Table.from_pylist(cleaned, schema=CLEANED.arrow_schema))
    return found


def asked() -> Iterator[Where | None]:
    """What chapters of a day ask for, one after the other: a day with half of the ones before and after, by
    one condition or two, and what the chapter before asked for.
    """
    yield [{"cluster": "a", "logged_at_ms": Within(below=DAY_MS)}]
    for day in range(1, DAYS - 1):
        since, until = int((day - 0.5) * DAY_MS), int((day + 1.5) * DAY_MS)
        yield [{"cluster": each, "logged_at_ms": Within(least=since, below=until)} for each in "ab"]
        yield [{"logged_at_ms": Within(least=since - DAY_MS, below=until), "cluster": frozenset("b")}]
        yield [{"logged_at_ms": Within(least=until), "line_digest": None}] if day % 7 == 0 else []
    yield [{"logged_at_ms": Within(least=(DAYS - 2) * DAY_MS)}]
    yield None


def test_each_chapter_finds_what_the_lake_has(catalog: Catalog) -> None:
    engine = Counted(TaskEngine(catalog))
    read = HeldRows(engine, catalog, (REQUESTS, CLEANED))
    questions = list(asked())
    for where in questions:
        found = read.scan(REQUESTS, COLUMNS, where)
        assert _sorted(found) == _sorted(lake.scan(catalog, REQUESTS, COLUMNS, where)), where
    assert engine.reads - questions.count([]) < len(questions) / 4


def test_what_has_no_dates_is_read_once(catalog: Catalog) -> None:
    engine = Counted(TaskEngine(catalog))
    read = HeldRows(engine, catalog, (REQUESTS, CLEANED))
    for where in (None, [{"partition": 1}], [{"partition": 5}]):
        assert _sorted(read.scan(CLEANED, (), where)) == _sorted(lake.scan(catalog, CLEANED, (), where))
    assert engine.reads == 1


def test_what_is_too_much_is_not_held(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_rows, "FILES_BYTES", 0)
    engine = Counted(TaskEngine(catalog))
    read = HeldRows(engine, catalog, (REQUESTS, CLEANED))
    where: Where = [{"logged_at_ms": Within(least=DAY_MS, below=2 * DAY_MS)}]
    assert [read.scan(REQUESTS, COLUMNS, where).num_rows for _ in range(2)] == [OF_DAY, OF_DAY]
    assert engine.reads == 2


def _sorted(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))
