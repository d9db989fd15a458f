"""What dbt has to build: from Iceberg's files alone, on tables as silver has them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import AlwaysTrue

from fencepost import lake
from fencepost.conditions import since_chapters
from fencepost.definitions import definitions, modules
from fencepost.ledger import Ledger
from fencepost.marts.models import Model
from fencepost.marts.plan import Inputs, Plan
from fencepost.marts.tables import create, fit
from fencepost.opening import ensure
from fencepost.protocols import tables
from fencepost.settings import Settings
from fencepost.tables import CHAPTER, DECISIONS, WINDOWS, Table

MODELS = Path(__file__).resolve().parents[2] / "dbt" / "models"
ROWS = pa.schema([("name", pa.string())])
MART = Model("fct", "marts.fct", "shared", True, "", {"name": "string"}, {}, frozenset({"silver.rows"}))
GROUPS = next(table for table in tables() if table.name == "silver.consumer_groups")
IN_CHAPTERS = dataclasses.replace(
    MART,
    columns={"cluster": "string", CHAPTER: "bigint"},
    sources=frozenset({GROUPS.name, DECISIONS.name}),
    stored_by=("cluster", CHAPTER),
)


@dataclass
class Site:
    """A lake with a table that has a row."""

    settings: Settings
    catalog: Catalog

    def inputs(self, *models: Model) -> Inputs:
        return Inputs(self.catalog, models, Ledger(self.catalog, self.settings))

    def plan(self, *models: Model) -> Plan:
        return self.inputs(*models).plan()

    def built(self, *models: Model) -> None:
        """As if dbt had built them from what there is."""
        ledger = Ledger(self.catalog, self.settings)
        ledger.begin("marts", ledger.marts.values())
        for each in models:
            create(self.catalog, each)
        ledger.done("marts", Inputs(self.catalog, models, ledger).entries(), {})


@pytest.fixture
def site(empty_lake: Callable[[], Settings]) -> Site:
    settings = empty_lake()
    site = Site(settings, ensure(settings.lake))
    site.catalog.create_table("silver.rows", ROWS)
    _append(site.catalog)
    return site


@pytest.fixture
def catalog(site: Site) -> Catalog:
    return site.catalog


def _append(catalog: Catalog) -> None:
    catalog.load_table("silver.rows").append(pa.table({"name": ["a"]}))


def test_a_mart_is_built_when_what_it_reads_has_changed(site: Site, catalog: Catalog) -> None:
    assert site.plan(MART).build == ("fct",), "it was never built"
    site.built(MART)
    assert site.plan(MART) == Plan((), (), 1)
    _append(catalog)
    assert site.plan(MART).build == ("fct",)


def test_a_mart_has_the_columns_of_its_contract(catalog: Catalog) -> None:
    """Rows stay as long as they fit."""
    fit(catalog, MART)
    catalog.load_table(MART.relation).append(pa.table({"name": ["a"]}))
    fit(catalog, dataclasses.replace(MART, doc="Better said."))
    table = catalog.load_table(MART.relation)
    assert (table.properties["comment"], table.scan().count()) == ("Better said.", 1)
    for other in (
        dataclasses.replace(MART, columns={"name": "string", "at": "timestamp", "parts": "array<string>"}),
        dataclasses.replace(MART, columns={"name": "string"}, stored_by=("name",)),
    ):
        fit(catalog, other)
        table = catalog.load_table(MART.relation)
        assert [field.name for field in table.schema().fields] == list(other.columns)
        assert tuple(each.name for each in table.spec().fields) == other.stored_by
        assert table.scan().count() == 0
        fit(catalog, other)
        assert catalog.load_table(MART.relation).metadata.table_uuid == table.metadata.table_uuid


def test_a_mart_whose_rows_should_be_gone_is_built(site: Site, catalog: Catalog) -> None:
    site.built(MART)
    catalog.load_table("silver.rows").delete(AlwaysTrue())
    assert site.plan(MART).build == ("fct",)


def test_a_mart_is_built_where_other_code_would_build_it(site: Site, catalog: Catalog) -> None:
    site.built(MART)
    assert site.plan(MART).kept == 1
    other = Site(dataclasses.replace(site.settings, severities={"epoch_order": "info"}), catalog)
    assert other.plan(MART).build == ("fct",)
    more = dataclasses.replace(MART, sources=frozenset({"silver.rows", "silver.windows"}))
    assert site.plan(more).build == ("fct",)


def test_a_mart_that_is_not_what_was_built_is_built(site: Site, catalog: Catalog) -> None:
    site.built(MART)
    catalog.load_table("marts.fct").append(pa.table({"name": ["of somebody else"]}))
    assert site.plan(MART).build == ("fct",)
    site.built(dataclasses.replace(MART, relation="marts.other"))
    catalog.drop_table("marts.other")
    assert site.plan(MART).build == ("fct",)


def test_a_table_that_began_anew_is_another(site: Site, catalog: Catalog) -> None:
    site.built(MART)
    catalog.drop_table("silver.rows")
    catalog.create_table("silver.rows", ROWS)
    _append(catalog)
    assert site.plan(MART).build == ("fct",)


def _rows(table: Table, *chapters: tuple[str, int | None]) -> pa.Table:
    rows = [{"cluster": cluster, CHAPTER: chapter} for cluster, chapter in chapters]
    return pa.Table.from_pylist(rows, schema=table.stored_schema)


@pytest.fixture
def in_chapters(site: Site, catalog: Catalog) -> Catalog:
    """A lake with chapters, of which a mart was built."""
    lake.append(catalog, GROUPS, _rows(GROUPS, ("a", 0), ("a", 100), ("a", 200), ("b", 0), ("b", 100)))
    lake.append(catalog, DECISIONS, _rows(DECISIONS, ("a", 0)))
    lake.append(catalog, DECISIONS, _rows(DECISIONS, ("a", 100), ("b", 100)))
    site.built(IN_CHAPTERS)
    return catalog


def _replace(catalog: Catalog, table: Table, cluster: str, since: int, *chapters: int) -> None:
    rows = _rows(table, *((cluster, each) for each in chapters))
    lake.replace(catalog, table, rows, since_chapters({cluster: since}))


def test_a_mart_in_chapters_is_built_from_the_first_that_changed_on(site: Site, in_chapters: Catalog) -> None:
    assert site.plan(IN_CHAPTERS).kept == 1
    _replace(in_chapters, GROUPS, "a", 200, 200, 300)
    plan = site.plan(IN_CHAPTERS)
    assert (plan.build, plan.since) == (("fct",), {"fct": {"a": 200}})
    _replace(in_chapters, GROUPS, "a", 100, 300)
    _replace(in_chapters, GROUPS, "b", 100)
    assert site.plan(IN_CHAPTERS).since == {"fct": {"a": 100, "b": 100}}


@pytest.mark.parametrize("changed", ["no chapter", "no snapshot", "another source", "another mart"])
def test_a_mart_in_chapters_is_built_whole_where_it_is_not_told_what_changed(
    site: Site, in_chapters: Catalog, changed: str
) -> None:
    _replace(in_chapters, GROUPS, "a", 200, 200)
    model = IN_CHAPTERS
    if changed == "no chapter":
        lake.append(in_chapters, DECISIONS, _rows(DECISIONS, ("a", None)))
    elif changed == "no snapshot":
        table = in_chapters.load_table(GROUPS.name)
        table.maintenance.expire_snapshots().by_ids(
            [each.snapshot_id for each in table.snapshots()[:-1]]
        ).commit()
    elif changed == "another source":
        model = dataclasses.replace(model, sources=model.sources | {WINDOWS.name})
    else:
        in_chapters.load_table("marts.fct").append(_rows(GROUPS, ("a", 0)).select(["cluster", CHAPTER]))
    plan = site.plan(model)
    assert (plan.build, plan.since) == (("fct",), {})


def test_what_the_specification_says_of_other_protocols_changes_nothing(site: Site, catalog: Catalog) -> None:
    decisions = frozenset({DECISIONS.name})
    streams = dataclasses.replace(MART, folder="lag_report", sources=decisions)
    commits = dataclasses.replace(streams, name="of_commits", relation="marts.c", folder="offset_commit")
    of_all = dataclasses.replace(streams, name="of_all", relation="marts.a", folder="shared")
    assert {each.name for each in site.plan(streams, commits).empty} == {
        "fct",
        "of_commits",
    }
    site.built(streams, commits, of_all)
    lake.append(
        catalog, DECISIONS, DECISIONS.rows([("OffsetCommitProps", "strict", "c", "1", "true", None, None)])
    )
    plan = site.plan(streams, commits, of_all)
    assert plan.build == ("of_commits", "of_all")


def test_models_of_a_protocol_read_what_its_own_specification_says() -> None:
    """So what another one says is no input of theirs."""
    ids = {(each.module, each.id) for each in definitions()}
    for file in MODELS.rglob("*.sql"):
        text, module = file.read_text(), modules().get(file.parent.name)
        if module is None or ("'verdicts'" not in text and "decided(" not in text):
            continue
        named = set(re.findall(r"'(\w+)'", text))
        own = {id_ for of, id_ in ids if of == module}
        assert named & {id_ for _, id_ in ids} <= own, file.name
        assert re.search(r"decided\(|where[^;]*\b(?:decision|invariant)\b|\bwhere\s+\w+\.invariant", text), (
            file.name
        )
