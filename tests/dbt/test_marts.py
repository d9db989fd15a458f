"""The marts, built by either engine from the tables of ``golden/input``, against ``golden/expected``."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession
from sqlglot import exp

from fencepost import lake, marts, protocols, views
from fencepost.conditions import Where, since_chapters
from fencepost.definitions import definitions
from fencepost.iceberg.catalog import open_catalog
from fencepost.jars import JARS_ENV
from fencepost.ledger import Ledger
from fencepost.ledger.files import changed_since
from fencepost.marts import page
from fencepost.marts.compiled import rows_built
from fencepost.marts.in_spark import run_dbt
from fencepost.marts.plan import Inputs
from fencepost.marts.tables import create
from fencepost.opening import ensure, open_lake
from fencepost.places import work_folder
from fencepost.protocols.offset_commit.report import POLICIES
from fencepost.reading import QueryError, translate
from fencepost.session import spark_session
from fencepost.settings import Broker, Cluster, Lake, Settings
from fencepost.tables import CHAPTER

TWIN = "twin"
MARTS = ("fct_", "dim_")
"""How the names of tables begin that people read."""
LATE = ("silver.local_bumps", "silver.task_directories")
"""Tables whose rows of the twin are not there when the marts are built first."""
GROWN = ("silver.offset_commits", "silver.offset_commit_states")
"""Tables of which every other one is there, in a chapter that is made anew then."""
LATER = 86_400_000
"""The chapter of the twin's rows."""
DIGESTS = (
    "request_id", "commit_id", "verdict_id", "marker_id", "partition_transaction_id",
    "caused_by_request_id", "subject", "answer_partition_id", "fetch_position_id", "next_fetch_position_id",
    "origin_commit_id", "local_bump_id", "fencing_id", "created_request_id", "removed_request_id",
    "addition_id", "claim_id", "lag_report_id", "assigned_task_id", "deletion_id", "restore_id",
    "group_task_id", "removed_commit_id", "first_request_id", "redelivery_id",
)  # fmt: skip
_DIGEST = re.compile(r'("(?:request_id|commit_id|fencing_id)": ?"[^"]*)')
GOLDEN = Path(__file__).with_name("golden")
TWINS: dict[str, str] = json.loads(GOLDEN.with_name("twins.json").read_text())
"""Fingerprints, which are digests of the cluster and more, and those of the twin."""
ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "dbt"
SOURCES = sorted(path for part in ("models", "macros") for path in (PROJECT / part).rglob("*.sql"))
MODEL_FILES = sorted((PROJECT / "models").rglob("*.yml"))
MODELS = {
    model["name"]: model
    for file in MODEL_FILES
    for model in yaml.load(file.read_text(), yaml.CSafeLoader).get("models", [])
    # others read such a model as a part of their own query
    if model.get("config", {}).get("materialized") != "ephemeral"
}
VIEWS = sorted(
    name for name, model in MODELS.items() if model.get("config", {}).get("materialized") == "view"
)


SPARK = pytest.param("spark", marks=pytest.mark.engines)


@pytest.fixture(scope="module", params=["duckdb", SPARK])
def filled(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[SparkSession, Settings]:
    """A lake of its own with the golden input, not yet built; an engine builds it."""
    folder = tmp_path_factory.mktemp(f"marts-{request.param}")
    settings = Settings(
        path=folder / "fencepost.toml",
        lake=Lake(str(folder / "warehouse"), f"sqlite:///{folder / 'catalog.db'}"),
        clusters=(Cluster("prod", (Broker(1),)),),
        run_on="spark" if request.param == "spark" else None,
    )
    catalog = ensure(settings.lake)
    _made_otherwise(catalog)
    session = spark_session(settings)
    for path in sorted((GOLDEN / "input").glob("*.json")):
        rows, twins = _input(path.stem)
        there = {**dict.fromkeys(LATE, 0), **dict.fromkeys(GROWN, len(twins) // 2)}.get(path.stem, len(twins))
        _write(catalog, path.stem, [*rows, *twins[:there]])
    return session, settings


def _made_otherwise(catalog: Catalog) -> None:
    """An earlier version made a view of what is a table now, and a table of what is a view."""
    columns = pa.schema([("cluster", pa.string())])
    views.replace(catalog, "marts.fct_offset_resets", columns, "SELECT 'prod' AS cluster", "")
    catalog.create_table("marts.fct_delivery_anomalies", columns)


def _input(name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of a table, and the twin's."""
    rows = [{**row, CHAPTER: 0} for row in json.loads((GOLDEN / "input" / f"{name}.json").read_text())]
    return rows, _twins(rows)


def _twins(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the twin; none of what is of no one cluster."""
    return [_twin(row) for row in rows if "cluster" in row]


def _write(catalog: Catalog, name: str, rows: list[dict[str, Any]], where: Where | None = None) -> None:
    """Append rows, or make them what ``where`` chooses."""
    table = next(table for table in protocols.tables() if table.name == name)
    schema = table.stored_schema
    typed = pa.table([_column([row.get(each.name) for row in rows], each.type) for each in schema], schema)
    if where is None:
        lake.append(catalog, table, typed)
    else:
        lake.replace(catalog, table, typed, where)


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values as JSON has them: a moment is a text, and so may a number be."""
    if pa.types.is_list(kind):
        return pa.array(values, kind)
    texts = pa.array(
        [each if each is None or isinstance(each, str) else json.dumps(each) for each in values], "string"
    )
    return texts.cast(pa.timestamp("us")).cast(kind) if pa.types.is_timestamp(kind) else texts.cast(kind)


@pytest.fixture(scope="module")
def first(filled: tuple[SparkSession, Settings]) -> marts.MartsResult:
    """The build of a first run, before the twin's rows of LATE are there."""
    session, settings = filled
    opened = list[dict[str, Any]]()

    def open_session(**options: Any) -> SparkSession:
        opened.append(options)
        return session

    result = marts.build(settings, open_catalog(settings.lake), open_session)
    assert bool(opened) == (settings.run_on == "spark")
    return result


@pytest.fixture(scope="module")
def second(filled: tuple[SparkSession, Settings], first: marts.MartsResult) -> marts.MartsResult:
    """The build of the next run, which finds them."""
    session, settings = filled
    catalog = open_catalog(settings.lake)
    for name in LATE:
        _write(catalog, name, _input(name)[1])
    for name in GROWN:
        _write(catalog, name, _input(name)[1], since_chapters({TWIN: LATER}))
    return marts.build(settings, catalog, lambda **_: session)


@pytest.fixture(scope="module")
def built(
    filled: tuple[SparkSession, Settings], first: marts.MartsResult, second: marts.MartsResult
) -> tuple[SparkSession, marts.MartsResult]:
    """All rows are there, whichever build made them."""
    return filled[0], first


def _twin(row: dict[str, Any]) -> dict[str, Any]:
    """The row in a second cluster: every name is the same there, but for what is a digest of the cluster."""
    digests = {name: f"{row[name]} of twin" for name in DIGESTS if row.get(name) is not None}
    if row.get("source_mart", "fct_leader_epochs") != "fct_leader_epochs":
        digests["source_id"] = f"{row['source_id']} of twin"
    texts = {name: _DIGEST.sub(r"\1 of twin", value) for name, value in row.items() if isinstance(value, str)}
    chapter = {CHAPTER: LATER} if CHAPTER in row else {}
    named = {name: TWINS.get(row[name][:16], row[name]) for name in ("fingerprint",) if name in row}
    begin = row.get("incident")
    if begin is not None:
        named["incident"] = next(other[:8] for each, other in TWINS.items() if each.startswith(begin))
    return {**row, **texts, **digests, **chapter, **named, "cluster": TWIN}


def _plain(value: Any) -> Any:
    """As JSON has it; a moment is one of UTC, which its text does not say."""
    plain = value is None or isinstance(value, bool | int | str | list)
    return value if plain else str(value).removesuffix("+00:00")


@pytest.mark.parametrize("mart", sorted(path.stem for path in (GOLDEN / "expected").glob("*.json")))
def test_mart_has_the_expected_rows(filled: tuple[SparkSession, Settings], built: object, mart: str) -> None:
    """All rows with all columns, and the same of a second cluster in which everything has the same name."""
    names = [column["name"] for column in MODELS[mart]["columns"]]
    _, settings = filled
    with open_lake(settings, settings.run_on or "duckdb") as reader:
        found = reader.scan(f"marts.{mart}").to_pylist()
    rows = [{name: _plain(row[name]) for name in names} for row in found]
    path = GOLDEN / "expected" / f"{mart}.json"
    if os.environ.get("FENCEPOST_UPDATE"):
        kept = sorted((row for row in rows if row.get("cluster") != TWIN), key=repr)
        lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in kept)
        path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    expected = json.loads(path.read_text(encoding="utf-8"))
    assert sorted(rows, key=repr) == sorted((*expected, *_twins(expected)), key=repr)
    # no build tests a view
    grain = page.grain(MODELS[mart])
    assert len({tuple(row[name] for name in grain) for row in rows}) == len(rows)


def test_every_mart_has_expected_rows() -> None:
    marts_ = {name for name in MODELS if name.startswith(MARTS)}
    assert {path.stem for path in (GOLDEN / "expected").glob("*.json")} == marts_


def test_every_mart_is_built_and_tested(built: tuple[SparkSession, marts.MartsResult]) -> None:
    _, result = built
    assert set(result.models) == set(MODELS)
    assert result.tests > len(MODELS) - len(VIEWS)
    assert result.warnings == ()


def test_only_what_reads_something_new_is_built_again(
    filled: tuple[SparkSession, Settings], first: marts.MartsResult, second: marts.MartsResult
) -> None:
    """The next run's rows are compared above: here, that it made no others."""
    of_commits = {"fct_offset_commits", "int_commit_states_agreed", "int_commit_answers_counted"}
    of_commits |= {
        "fct_policy_comparison",
        "fct_false_fencing",
        "fct_false_fencing_cost",
        "fct_fencing_events",
        "dim_group",
        "fct_orphaned_offsets",
        "fct_commits_without_leader_epoch",
        "fct_delivery_anomalies",
        "fct_offset_resets",
    }
    assert set(second.models) == {"fct_local_bumps", "fct_directory_locks"} | of_commits
    assert second.kept == len(MODELS) - len(second.models)
    session, settings = filled
    third = marts.build(settings, open_catalog(settings.lake), lambda **_: session)
    assert (third.models, third.kept) == ((), len(MODELS))


def test_of_a_mart_in_chapters_only_those_that_changed_are_written(
    filled: tuple[SparkSession, Settings], second: marts.MartsResult
) -> None:
    mart = open_catalog(filled[1].lake).load_table("marts.fct_offset_commits")
    before, _ = [each.snapshot_id for each in mart.snapshots()]
    assert changed_since(mart, before) == {TWIN: LATER}


def test_a_mart_in_chapters_reads_the_rows_of_its_chapters_alone(
    filled: tuple[SparkSession, Settings],
) -> None:
    """So no files of others are opened."""
    project = marts.project(filled[1])
    in_chapters = {each.relation for each in project.models if each.in_chapters}
    in_chapters |= {each.name for each in protocols.tables() if CHAPTER in each.stored_by}
    nodes = {each.name: each for each in project.nodes}
    marked = set()
    for model in (each for each in project.models if each.in_chapters):
        condition = rows_built(model.name)
        for node in (nodes[model.name], nodes.get(f"{model.name}_sound")):
            for table in translate.parsed(node.sql).find_all(exp.Table) if node else ():
                if not table.db:
                    continue
                assert f"{table.db}.{table.name}" in in_chapters, (node, table)
                if model.is_table:
                    select = table.find_ancestor(exp.Select)
                    assert select.args["where"].this.sql("spark").lower() == condition.lower(), (node, table)
                    marked.add(model.name)
        others = (each for each in project.nodes if not each.name.startswith(model.name))
        assert not [each.name for each in others if condition in each.sql]
    assert marked == {each.name for each in project.models if each.in_chapters and each.is_table}


def test_what_dbts_own_tests_say_a_build_asks_in_one_query(filled: tuple[SparkSession, Settings]) -> None:
    nodes = {each.name: each.sql for each in marts.project(filled[1]).nodes}
    for name, model in MODELS.items():
        if sound := nodes.get(f"{name}_sound"):
            unique = [", ".join(each)] if (each := page.grain(model)) else []
            assert re.findall(r"'(.*) occurs twice'", sound) == unique
            for column in model["columns"]:
                is_never_null = "not_null" in column.get("data_tests", ())
                assert is_never_null == (f"'{column['name']} is null'" in sound), (name, column["name"])


# neither engine builds anything here, and both are asked
@pytest.mark.parametrize("filled", [SPARK], indirect=True)
def test_a_mart_of_tables_without_rows_has_none(
    filled: tuple[SparkSession, Settings], built: object, empty_lake: Callable[[], Settings]
) -> None:
    """Such a mart is created, not built: its query says the same, and gives the columns that were created."""
    project = marts.project(filled[1])
    compiled = {each.name: re.sub(r"ROWS_BUILT\('\w+'\)", "true", each.sql) for each in project.nodes}
    settings = empty_lake()
    catalog = open_catalog(settings.lake)
    plan = Inputs(catalog, project.models, Ledger(catalog, settings)).plan()
    assert {each.name for each in plan.empty} == MODELS.keys() - set(VIEWS)
    for mart in plan.empty:
        create(catalog, mart)
    with open_lake(settings) as reader, open_lake(settings, "spark") as spark:
        for mart in plan.empty:
            for view in VIEWS:
                schema = MODELS[view]["config"].get("schema", "marts")
                compiled[mart.name] = compiled[mart.name].replace(f"{schema}.{view}", f"({compiled[view]})")
            try:
                found = reader.query(compiled[mart.name])
            except QueryError:
                # DuckDB has no word for it
                found = spark.query(compiled[mart.name])
            assert (mart.name, found.num_rows) == (mart.name, 0)
            created = catalog.load_table(mart.relation).schema().fields
            assert found.column_names == [field.name for field in created]


def test_every_column_of_every_mart_is_typed_and_described(
    built: tuple[SparkSession, marts.MartsResult],
) -> None:
    for name, model in MODELS.items():
        if not name.startswith(MARTS):
            continue
        assert "Grain: " in model["description"]
        declared = [(column["name"], column["data_type"]) for column in model["columns"]]
        assert built[0].table(f"marts.{name}").dtypes == declared
        assert all(column["description"].strip() for column in model["columns"])


@pytest.mark.parametrize(
    ("mart", "columns"),
    [
        (
            "fct_fencing_events",
            "cluster, protocol, occurred_at, victim, victim_kind, scope, cause, error, victim_epoch, "
            "current_epoch, in_flight, evidence, group_id, transactional_id, producer_id, topic, "
            "partition, broker_id, client_id, host, caused_by_client_id, caused_by_host, "
            "caused_by_principal, caused_at, request_id, unknown_reason",
        ),
        (
            "fct_dangling_transactions",
            "cluster, topic, partition, producer_id, producer_epoch, transactional_id, first_offset, "
            "last_stable_offset, log_end_offset, since, age_s, remedy, coordinator_outcome, "
            "unknown_reason",
        ),
    ],
)
def test_marts_that_other_tools_read_keep_their_columns(mart: str, columns: str) -> None:
    assert [column["name"] for column in MODELS[mart]["columns"]] == columns.split(", ")


def test_columns_of_json_are_json(built: tuple[SparkSession, marts.MartsResult]) -> None:
    for row in built[0].table("marts.fct_fencing_events").collect():
        assert isinstance(json.loads(row["scope"]), dict)
        # a broker is fenced by a record, and told nothing
        told = {"caused_position"} if row["error"] is None else {"file", "position", "request_id"}
        assert json.loads(row["evidence"]).keys() >= told
        assert row["in_flight"] is None or isinstance(json.loads(row["in_flight"]), list)


def test_a_remedy_is_a_command_of_a_shell(built: tuple[SparkSession, marts.MartsResult]) -> None:
    rows = built[0].table("marts.fct_dangling_transactions").collect()
    assert any("'" in row["topic"] for row in rows)
    for row in rows:
        words = shlex.split(row["remedy"].replace(" --topic=", " --topic "))
        assert words[4:] == [
            *("--topic", row["topic"]),
            *("--partition", str(row["partition"])),
            *("--start-offset", str(row["first_offset"])),
        ]


def test_an_orphaned_offset_is_reset_by_a_command_of_a_shell(
    built: tuple[SparkSession, marts.MartsResult],
) -> None:
    rows = built[0].table("marts.fct_orphaned_offsets").where("remedy is not null").collect()
    assert any("'" in row["group_id"] and "'" in row["topic"] for row in rows)
    for row in rows:
        words = shlex.split(row["remedy"].replace(" --topic=", " --topic ").replace(" --group=", " --group "))
        assert words[3:7] == ["--group", row["group_id"], "--topic", f"{row['topic']}:{row['partition']}"]
        assert words[7:] == ["--reset-offsets", "--to-earliest", "--execute"]


# Spark runs them, whoever has built the marts
@pytest.mark.parametrize("filled", [SPARK], indirect=True)
def test_unit_tests_of_the_models(filled: tuple[SparkSession, Settings]) -> None:
    session, settings = filled
    unit_tests = sum(
        len(yaml.load(file.read_text(), yaml.CSafeLoader).get("unit_tests", [])) for file in MODEL_FILES
    )
    before = max(_job_names(session), default=-1)
    assert run_dbt(session, settings, ["test", "--select", "test_type:unit"]).tests == unit_tests > 0
    names = [name for job, name in _job_names(session).items() if job > before]
    assert names and all(each.startswith("Some(unit_test.fencepost.") for each in names), names


def _job_names(session: SparkSession) -> dict[int, str]:
    """What Spark's pages call its jobs, by their numbers."""
    spark = session.sparkContext._jsc.sc()
    spark.listenerBus().waitUntilEmpty()
    jobs = spark.statusStore().jobsList(None)
    found = (jobs.apply(each) for each in range(jobs.size()))
    return {each.jobId(): each.description().toString() for each in found}


def test_no_condition_needs_a_clock_that_is_never_set_back() -> None:
    """Programs log such times one after the other: an audit would end wherever a clock was corrected."""
    conditions = {
        (name, each): condition
        for name, model in MODELS.items()
        for test in model.get("data_tests", ())
        if isinstance(test, dict) and "sound" in test
        for each, condition in test["sound"].get("arguments", {}).get("conditions", {}).items()
    }
    assert conditions
    ordered = re.compile(r"\b(\w+_at) <=? (\w+_at)\b")
    assert [place for place, condition in conditions.items() if ordered.search(condition)] == []


@pytest.mark.parametrize("filled", [SPARK], indirect=True)
def test_dbts_pages_have_every_mart_and_column(filled: tuple[SparkSession, Settings], built: object) -> None:
    session, settings = filled
    run_dbt(session, settings, ["docs", "generate", "--static", "--no-compile"])
    target = work_folder(settings, "dbt") / "target"
    page_of_all = (target / "static_index.html").read_text(encoding="utf-8")
    assert "Fencepost: epochs and fencing of Apache Kafka" in page_of_all
    catalog = json.loads((target / "catalog.json").read_text())
    manifest = json.loads((target / "manifest.json").read_text())
    assert catalog["errors"] is None
    for name, model in MODELS.items():
        unique_id = f"model.fencepost.{name}"
        node = manifest["nodes"][unique_id]
        described = {each["name"] for each in node["columns"].values() if each["description"].strip()}
        assert node["description"].strip() and node["group"]
        assert described == {each["name"] for each in model["columns"]}
        # dbt-spark asks tables for their columns; of a view dbt has what its YAML says
        if name not in VIEWS:
            assert catalog["nodes"][unique_id]["columns"].keys() == described, name


EXPOSED = {
    "epoch_timelines": ["protocols/*/plot/reading.py"],
    "audit_report": ["report/*.py", "protocols/*/report.py", "incidents.py"],
    "incident_page": ["page/*.py", "incidents.py", "outcomes.py"],
    "incident_alerts": ["incidents.py", "gate/notify.py"],
}
"""What the project says of who reads the marts, and the modules that do."""


@pytest.mark.parametrize("name", EXPOSED)
def test_an_exposure_names_the_marts_that_are_read(name: str) -> None:
    exposures = yaml.safe_load((PROJECT / "models" / "shared" / "exposures.yml").read_text())["exposures"]
    (said,) = (each["depends_on"] for each in exposures if each["name"] == name)
    modules = [file for pattern in EXPOSED[name] for file in (ROOT / "spark" / "fencepost").glob(pattern)]
    read = {mart for file in modules for mart in re.findall(r"marts\.(fct_\w+)", file.read_text())}
    assert read and {f"ref('{mart}')" for mart in read} <= set(said)


def test_a_failing_node_is_named(filled: tuple[SparkSession, Settings], built: object) -> None:
    session, settings = filled
    catalog = open_catalog(settings.lake)
    mart = catalog.load_table("marts.fct_fencing_events").metadata.current_snapshot_id
    commits = next(table for table in protocols.tables() if table.name == "silver.offset_commits")
    again = lake.scan(catalog, commits, tuple(commits.stored), [{"commit_id": "own"}])
    lake.append(catalog, commits, again)
    with pytest.raises(marts.MartsError, match=r"fct_offset_commits_sound: commit_id occurs twice \(1 row\)"):
        marts.build(settings, catalog, lambda **_: session)
    now = catalog.load_table("marts.fct_fencing_events").metadata.current_snapshot_id
    assert now == mart, "what rests on it is not built"


def test_a_new_lake_takes_what_was_parsed_when_setting_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars" / "spark").mkdir(parents=True)
    (tmp_path / "jars" / "spark" / "iceberg.jar").touch()
    monkeypatch.setenv(JARS_ENV, str(tmp_path / "jars"))
    settings = Settings(
        path=tmp_path / "fencepost.toml",
        lake=Lake(str(tmp_path / "warehouse"), f"sqlite:///{tmp_path / 'catalog.db'}"),
        clusters=(),
    )
    place = tmp_path / "target" / marts.PARSED
    marts.take_parsed(settings, place)
    assert not place.exists(), "setting up has parsed nothing"
    parsed = tmp_path / "jars" / "spark" / marts.PARSED
    parsed.write_text("as set up")
    marts.take_parsed(settings, place)
    assert place.read_text() == "as set up"
    place.write_text("of the last run")
    marts.take_parsed(settings, place)
    assert place.read_text() == "of the last run"


def test_sources_are_the_tables_of_the_lake(tmp_path: Path) -> None:
    """`make compile` writes them; without the toy protocol, which only the tests know."""
    subprocess.run([sys.executable, "-m", "fencepost.protocols", "sources", tmp_path], check=True)
    assert _sources(PROJECT / "models") == _sources(tmp_path)


def _sources(models: Path) -> dict[Path, str]:
    return {file.relative_to(models): file.read_text() for file in models.rglob("sources.yml")}


def test_names_are_lower_case_and_no_python_lies_in_the_project() -> None:
    files = [path for path in PROJECT.rglob("*") if path.suffix in (".sql", ".yml", ".py")]
    assert len(files) > len(MODELS)
    assert [path for path in files if path.suffix == ".py" or path.name != path.name.lower()] == []


def test_constants_and_policies_stand_in_one_place() -> None:
    """What the project says twice is what the specification says, and no model says it again."""
    project = yaml.safe_load((PROJECT / "dbt_project.yml").read_text())["vars"]
    mapping = tomllib.loads((ROOT / "spec" / "producer_epoch" / "mapping.toml").read_text())["constants"]
    assert (project["max_epoch"], project["max_sequence"]) == (mapping["MaxEpoch"], mapping["MaxSequence"])
    decisions = {
        each.id for each in definitions() if each.kind == "decision" and each.module == "OffsetCommitProps"
    }
    assert {*project["policies"], "broker_rule", "proposed_error", "shipped_error", "truth"} == decisions
    assert tuple(project["policies"]) == POLICIES
    written = re.compile(r"\b(?:32766|32767|2147483647)\b|'member_revocation', *'")
    assert [path.name for path in SOURCES if written.search(path.read_text())] == []


# what the specification compares, and the errors that its decisions give
_FACTS = (
    r"(?:(?:member|assignment|revocation|partition_revocation)_epoch|owned_at_client_epoch|uninterrupted|"
    r"reassigned_since|member_known|group_known|instance_fenced|owned_by_self|owned_by_another)"
)
_RULE = re.compile(
    rf"\b{_FACTS}\s*(?:and\b|or\b|=|<|>)|(?:\b(?:and|or|not|when|where)\b|=|<|>)\s*(?:\w+\.)?{_FACTS}\b|"
    r"'(?:ILLEGAL_GENERATION|UNKNOWN_MEMBER_ID|STALE_MEMBER_EPOCH|FENCED_\w+|REBALANCE_IN_PROGRESS)'"
)


def test_no_model_decides_what_the_specification_decides() -> None:
    """Who owns what, who is a zombie, what is refused with which error: marts read what was compiled."""
    assert _RULE.search("case when owned_at_client_epoch and reassigned_since then 'zombie' end")
    assert _RULE.search("where client_epoch < states.member_epoch")
    found = {path.name: _RULE.findall(path.read_text()) for path in SOURCES}
    assert {name: matches for name, matches in found.items() if matches} == {}


@pytest.mark.parametrize(
    ("rule", "said_by"),
    [
        (r"\bnot (?:\w+\.)?listed\b", "dangling"),
        (r"\bfirst_sequence *(?:=|<>) *expected|expected_sequence *(?:=|<>)|\bpmod\(", "no_sequence_gap"),
        (r"\bproducer_epoch *< *epoch_before", "no_write_after_fence"),
        (r"'INVALID_TXN_STATE'|'TRANSACTION_ABORTABLE'", "shipped_end_txn"),
    ],
)
def test_what_a_definition_says_no_mart_says_again(rule: str, said_by: str) -> None:
    """A mart that speaks of it reads what the compiled definition gave."""
    assert said_by in {each.id for each in definitions()}
    models = {path.name: path.read_text() for path in (PROJECT / "models").rglob("*.sql")}
    assert [name for name, text in models.items() if re.search(rule, text)] == []
    assert [name for name, text in models.items() if f"'{said_by}'" in text]


def test_sql_is_formatted() -> None:
    linted = subprocess.run(
        [Path(sys.executable).with_name("sqlfluff"), "lint", "models", "--disable-progress-bar"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert linted.returncode == 0, linted.stdout
