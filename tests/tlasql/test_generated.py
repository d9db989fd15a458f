"""What is generated is fresh, complete, and what the tools it is for accept."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tlasql import CompiledModule, compile_module
from tlasql.cli import main
from tlasql.emit import emit

ROOT = Path(__file__).resolve().parents[2]
FRAGMENT = Path(__file__).with_name("fragment")
GOLDEN = Path(__file__).with_name("golden")
COVERAGE = (
    "cluster string, invariant string, severity string, violated bigint, unknown bigint, exercised bigint"
)


@pytest.fixture
def arguments(
    tmp_path: Path, schemas: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """The command line that generates the committed files."""
    monkeypatch.chdir(ROOT)
    path = tmp_path / "schemas.json"
    path.write_text(json.dumps(schemas), encoding="utf-8")
    folder = Path("spec/offset_commit")
    module, mapping = folder / "OffsetCommitProps.tla", folder / "mapping.toml"
    return ["compile", str(module), "--mapping", str(mapping), "--schemas", str(path)]


@pytest.fixture
def of_one_of_each(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line that generates the golden files, of a small module."""
    monkeypatch.chdir(ROOT)
    module, mapping = (path.relative_to(ROOT) for path in (FRAGMENT / "Case.tla", FRAGMENT / "mapping.toml"))
    return ["compile", str(module), "--mapping", str(mapping), "--schemas", str(FRAGMENT / "schemas.json")]


@pytest.mark.parametrize(
    "mapping", sorted(ROOT.glob("spec/*/mapping.toml")), ids=lambda path: path.parent.name
)
def test_committed_files_are_fresh(
    mapping: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Generated again from the specification, nothing differs: else run `make compile`."""
    (module,) = mapping.parent.glob("*Props.tla")
    named = [str(path.relative_to(ROOT)) for path in (module, mapping)]
    command = ["compile", named[0], "--mapping", named[1], *arguments[4:]]
    assert main([*command, "--check"]) == 0, capsys.readouterr().out


def test_stale_missing_and_left_over_files_are_found(
    of_one_of_each: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--check`` exits 1 and lists them; compiling again repairs all three."""
    out = tmp_path / "out"
    assert main([*of_one_of_each, "--out", str(out)]) == 0
    assert main([*of_one_of_each, "--out", str(out), "--check"]) == 0
    sql = out / "sql"
    stale, missing, left = sql / "arithmetic.sql", sql / "early.sql", sql / "once_marked.sql"
    shutil.copy(missing, left)
    missing.unlink()
    stale.write_text(stale.read_text(encoding="utf-8").replace("<=", "<"), encoding="utf-8")
    capsys.readouterr()
    assert main([*of_one_of_each, "--out", str(out), "--check"]) == 1
    said = capsys.readouterr().out
    assert [str(path) in said for path in (stale, missing, left)] == [True, True, True]
    assert main([*of_one_of_each, "--out", str(out)]) == 0
    assert main([*of_one_of_each, "--out", str(out), "--check"]) == 0
    assert not left.exists()


def test_the_mapping_says_where_verdicts_are_kept(
    of_one_of_each: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pages and dbt tests ask there and nowhere else; without it a page has no query, and no dbt test is
    written.
    """
    golden = (FRAGMENT / "mapping.toml").read_text(encoding="utf-8")
    kept = golden[golden.index("[verdicts]") : golden.index("[scope]")]
    mapping = tmp_path / "mapping.toml"
    command = [mapping if each.endswith("mapping.toml") else each for each in of_one_of_each]

    def compiled(text: str) -> int:
        mapping.write_text(text, encoding="utf-8")
        return main([*map(str, command), "--out", str(tmp_path)])

    assert compiled(golden.replace(kept, '[verdicts]\ntable = "lake.findings"\n')) == 0
    assert "FROM lake.findings WHERE" in _read(tmp_path / "pages" / "arithmetic.md")
    assert "{{ ref('findings') }}" in _read(tmp_path / "dbt" / "arithmetic.sql")
    assert compiled(golden.replace(kept, "")) == 2
    assert "dbt tests of what?" in capsys.readouterr().err
    assert compiled(golden.replace(kept, "").replace('dbt_tests = "dbt"\n', "")) == 0
    assert "Where to look" not in _read(tmp_path / "pages" / "arithmetic.md")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_one_of_each_compiles_to_the_golden_files(of_one_of_each: list[str]) -> None:
    """One file for each construct: read the difference, then set UPDATE_GOLDEN=1 to accept it."""
    update = [] if os.environ.get("UPDATE_GOLDEN") else ["--check"]
    assert main([*of_one_of_each, "--out", str(GOLDEN), *update]) == 0


def test_every_definition_has_its_files(compiled: CompiledModule) -> None:
    """SQL and a page for each; an expectation and a dbt test for each but the decisions."""
    outputs = compiled.mapping.outputs
    files = emit(compiled)
    manifest = json.loads(files[f"{outputs['sql']}/manifest.json"])
    ids = [each.mark.id for each in compiled.definitions]
    judged = [each.mark.id for each in compiled.definitions if each.mark.kind != "decision"]
    assert [each["id"] for each in manifest["definitions"]] == ids
    assert {f"{outputs['sql']}/{each}.sql" for each in ids} <= files.keys()
    assert {f"{outputs['pages']}/{each}.md" for each in ids} <= files.keys()
    # what DuckDB runs has each definition once, in a pass or alone
    run = {name.removeprefix(f"{outputs['duckdb']}/") for name in files if outputs["duckdb"] in name}
    passes = {each["sql"]: each["definitions"] for each in manifest["passes"]}
    alone = {f"{each}.sql" for each in set(ids) - set().union(*passes.values())}
    assert run == passes.keys() | alone
    in_spark = dataclasses.replace(compiled.mapping, outputs={"passes": "p"})
    assert emit(dataclasses.replace(compiled, mapping=in_spark)).keys() == {f"p/{each}" for each in passes}
    assert {f"{outputs['dbt_tests']}/{each}.sql" for each in judged} <= files.keys()
    suite = json.loads(files[outputs["suite"]])
    assert [each["meta"]["invariant"] for each in suite["expectations"]] == judged
    pages = {name: text for name, text in files.items() if name.startswith(outputs["pages"])}
    assert [name for name, text in pages.items() if "## On call" not in text] == []


def test_great_expectations_judges_by_the_suite(spark: SparkSession, compiled: CompiledModule) -> None:
    """The suite fails for the violated invariant alone, with its severity and its page.

    Three of its expectations, all of one form: each costs several Spark jobs.
    """
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    import great_expectations as gx

    text = json.loads(emit(compiled)[compiled.mapping.outputs["suite"]])
    ids = ["epoch_order", "member_epoch_never_falls", "no_owner_refused"]
    text["expectations"] = [each for each in text["expectations"] if each["meta"]["invariant"] in ids]
    rows = [("c", each, "critical", 3 if each == "epoch_order" else 0, 0, 9) for each in ids]
    rows.append(("d", "epoch_order", "critical", 0, 0, 9))
    context = gx.get_context(mode="ephemeral")
    batch = (
        context.data_sources.add_spark("verdicts")
        .add_dataframe_asset("coverage")
        .add_batch_definition_whole_dataframe("whole")
        .get_batch({"dataframe": spark.createDataFrame(rows, COVERAGE).coalesce(1)})
    )
    result = batch.validate(gx.ExpectationSuite(**text))
    failed = [each for each in result.results if not each.success]
    assert [each.expectation_config.meta["invariant"] for each in failed] == ["epoch_order"]
    assert not any(each.exception_info.get("raised_exception") for each in result.results)
    assert failed[0].expectation_config.severity == "critical"
    assert failed[0].result["unexpected_count"] == 1
    assert (ROOT / failed[0].expectation_config.meta["page"]).is_file()
    assert len(result.results) == len(ids)


def test_a_line_of_comment_changes_few_files(
    schemas: dict[str, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of lines stand in the manifest alone; the prose and the formula of a definition also on its
    page and in the suite.
    """
    monkeypatch.chdir(tmp_path)
    source = (ROOT / "spec/lag_report/LagReportProps.tla").read_text(encoding="utf-8")

    def generated(text: str) -> dict[str, str]:
        folder = Path("spec/lag_report")
        shutil.copytree(ROOT / folder, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("traces"))
        (folder / "LagReportProps.tla").write_text(text, encoding="utf-8")
        return emit(compile_module(folder / "LagReportProps.tla", folder / "mapping.toml", schemas))

    before = generated(source)

    def changed(below: str) -> set[str]:
        """The files that differ with one more line of comment above the one that begins so."""
        after = generated(source.replace(f"\n{below}", f"\n    \\* One line more.\n{below}", 1))
        assert after.keys() == before.keys()
        return {Path(name).name for name in before if before[name] != after[name]}

    assert changed("IsSentinel(r) ==") == {"manifest.json"}
    of_one = {"manifest.json", "assigned_directory_exists.md", "lag_report.json"}
    assert changed('\\* @invariant("assigned_directory_exists"') == of_one
    assert changed("    \\A a \\in assignedTasks :") == of_one
