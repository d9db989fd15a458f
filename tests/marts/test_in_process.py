"""Models and tests as dbt compiles them, built without dbt and Spark."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog

from fencepost.ledger import Ledger
from fencepost.marts import MartsError, MartsResult, build, compiled
from fencepost.marts.compiled import Node, Project, rows_built
from fencepost.marts.models import Model
from fencepost.opening import ensure
from fencepost.reading import iceberg
from fencepost.settings import Settings
from fencepost.tables import CHAPTER

ROWS = "silver.rows"
COLUMNS = {"cluster": "string", "n": "int", CHAPTER: "bigint"}
MART = Model(
    "fct", "marts.fct", "shared", True, "What it is.", COLUMNS, {}, frozenset({ROWS}), ("cluster", CHAPTER)
)
ABOVE = dataclasses.replace(
    MART, name="above", relation="marts.above", columns={"total": "bigint"}, stored_by=()
)
VIEW = dataclasses.replace(MART, name="view", relation="marts.view", is_table=False)
NODES = (
    Node("above", False, "SELECT sum(n) AS total FROM marts.view", frozenset({"view"})),
    Node("fct_sound", True, "SELECT * FROM marts.fct WHERE n > 5", frozenset({"fct"})),
    Node("view", False, "SELECT * FROM marts.fct", frozenset({"fct"})),
    Node("fct", False, f"SELECT * FROM {ROWS} WHERE {rows_built('fct')}", frozenset()),
)


class SparkStartedError(Exception):
    """Instead of a session."""


def no_session(**_: bool) -> None:
    raise SparkStartedError


@pytest.fixture
def made(empty_lake: Callable[[], Settings]) -> tuple[Settings, Catalog]:
    """A lake with a table of one row in each of two chapters."""
    settings = empty_lake()
    catalog = ensure(settings.lake)
    catalog.create_table(ROWS, MART.table.arrow_schema, properties={})
    with catalog.load_table(ROWS).update_spec() as spec:
        spec.add_identity("cluster").add_identity(CHAPTER)
    for chapter in (0, 7):
        _append(catalog, 1, chapter)
    return settings, catalog


def _append(catalog: Catalog, n: int, chapter: int) -> None:
    catalog.load_table(ROWS).append(MART.table.rows([("prod", n, chapter)]))


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes these nodes the project, in place of those of the same name."""

    def replaced(*nodes: Node) -> None:
        named = {each.name: each for each in (*NODES, *nodes)}
        made = Project((MART, ABOVE, VIEW), tuple(named.values()))
        monkeypatch.setattr(compiled, "project", lambda _: made)

    return replaced


def _build(made: tuple[Settings, Catalog]) -> MartsResult:
    return build(*made, no_session)  # type: ignore[arg-type]


def _rows(catalog: Catalog, name: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = catalog.load_table(name).scan().to_arrow().to_pylist()
    return found


def test_models_are_built_in_order_and_tested(
    made: tuple[Settings, Catalog], project: Callable[..., None]
) -> None:
    project()
    result = _build(made)
    assert (result.models, result.tests) == (("fct", "view", "above"), 1)
    assert _rows(made[1], "marts.above") == [{"total": 2}]
    assert made[1].load_table("marts.fct").properties["comment"] == "What it is."
    assert _build(made).kept == 3


def test_only_changed_chapters_are_written(
    made: tuple[Settings, Catalog], project: Callable[..., None]
) -> None:
    project()
    _build(made)
    first = {task.file.file_path for task in made[1].load_table("marts.fct").scan("chapter = 0").plan_files()}
    _append(made[1], 3, 7)
    _build(made)
    mart = made[1].load_table("marts.fct")
    assert {task.file.file_path for task in mart.scan("chapter = 0").plan_files()} == first
    assert sorted((row[CHAPTER], row["n"]) for row in _rows(made[1], "marts.fct")) == [(0, 1), (7, 1), (7, 3)]
    assert _rows(made[1], "marts.above") == [{"total": 5}]


def test_files_of_other_chapters_are_not_opened(
    made: tuple[Settings, Catalog], project: Callable[..., None]
) -> None:
    project()
    _build(made)
    for (task,) in (made[1].load_table(ROWS).scan("chapter = 0").plan_files(),):
        Path(task.file.file_path.removeprefix("file://")).unlink()
    _append(made[1], 3, 7)
    _build(made)
    assert sorted((row[CHAPTER], row["n"]) for row in _rows(made[1], "marts.fct")) == [(0, 1), (7, 1), (7, 3)]


def test_rows_that_do_not_fit_into_memory_are_written_a_piece_at_a_time(
    made: tuple[Settings, Catalog], project: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg, "BATCH", 1)
    monkeypatch.setattr(iceberg, "PIECE_BYTES", 1)
    made[1].load_table(ROWS).append(MART.table.rows([("prod", n, 7) for n in range(2, 6)]))
    project()
    _build(made)
    found = sorted((row[CHAPTER], row["n"]) for row in _rows(made[1], "marts.fct"))
    assert found == [(0, 1), *((7, n) for n in range(1, 6))]
    assert _rows(made[1], "marts.above") == [{"total": 16}]


def test_what_rests_on_a_failure_is_left_out(
    made: tuple[Settings, Catalog], project: Callable[..., None]
) -> None:
    project()
    _append(made[1], 6, 7)
    with pytest.raises(
        MartsError, match=r"1 of 4 models .*\n  fct_sound: rows that are not as they should be: 1$"
    ):
        _build(made)
    assert not made[1].table_exists("marts.above")
    assert not Ledger(made[1], made[0]).marts, "it is built again"
    project(dataclasses.replace(NODES[1], only_warns=True))
    assert _build(made).warnings == ("fct_sound: rows that are not as they should be: 1",)


def test_columns_are_those_of_the_contract(
    made: tuple[Settings, Catalog], project: Callable[..., None]
) -> None:
    project(dataclasses.replace(NODES[0], sql="SELECT cast(1 AS int) AS total"))
    with pytest.raises(MartsError, match="above: its contract has total int64, its query gives total int32"):
        _build(made)


def test_spark_builds_what_duckdb_refuses(
    made: tuple[Settings, Catalog], project: Callable[..., None]
) -> None:
    project(dataclasses.replace(NODES[0], sql="SELECT of_spark_alone(1) AS total"))
    with pytest.raises(SparkStartedError):
        _build(made)


def test_spark_builds_what_duckdb_refuses_after_many_rows(
    made: tuple[Settings, Catalog], project: Callable[..., None]
) -> None:
    many = [("prod", 1, 7)] * 200_000
    made[1].load_table(ROWS).append(MART.table.rows([*many, ("prod", 2, 7)]))
    sql = f"SELECT cluster, cast(if(n = 2, 'no number', '1') AS int) AS n, {CHAPTER} FROM {ROWS}"
    project(dataclasses.replace(NODES[3], sql=f"{sql} WHERE {rows_built('fct')}"))
    with pytest.raises(SparkStartedError):
        _build(made)
    assert not made[1].table_exists("marts.fct") or not _rows(made[1], "marts.fct")
