"""The command as other tools call it: exit codes and output formats."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Audited

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# A process that runs a command, and says what it should not have loaded.
LIGHT = """
import sys
from fencepost import cli
code = cli.main(sys.argv[1:])
heavy = {"airflow", "dbt", "great_expectations", "py4j", "pyspark", "sqlalchemy"} & set(sys.modules)
sys.exit(f"loaded {sorted(heavy)}" if heavy else code)
"""


@pytest.fixture(scope="module")
def run(troubled: Audited) -> Run:
    """Runs ``fencepost`` in a process of its own on the audited lake of the troubled capture."""

    def call(
        *arguments: str, config: Path = troubled.config, lake: Path = troubled.lake, java: bool = True
    ) -> subprocess.CompletedProcess[str]:
        program = (
            [str(Path(sys.executable).with_name("fencepost"))] if java else [sys.executable, "-c", LIGHT]
        )
        environment = {**os.environ, "FENCEPOST_LAKE": str(lake)}
        without = {"PATH": str(lake.parent), "FENCEPOST_JARS": str(lake.parent)}
        return subprocess.run(
            [*program, *arguments, "--config", str(config)],
            env=environment if java else {**_no_java(environment), **without},
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )

    return call


def _no_java(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name != "JAVA_HOME"}


def test_nothing_is_created_by_looking(run: Run, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for command in (["report"], ["explain", "x"], ["plot", "x"], ["sql", "SELECT 1"], ["offsets", "x.csv"]):
        done = run(*command, lake=lake, java=False)
        assert done.returncode == 2
        assert "no audit yet. Run: fencepost audit" in done.stderr
    assert not lake.exists()


def test_audit_explain_and_sql(run: Run, troubled: Audited) -> None:
    audited = troubled.said
    assert audited.returncode == 1, audited.stderr
    assert "CRITICAL  no_commit_for_anothers_partition" in audited.stdout
    assert "Owners were refused in " in audited.stdout
    assert "Traceback" not in audited.stderr

    query = """
        SELECT verdict_id, scope, from_time FROM marts.fct_invariant_verdicts
        WHERE invariant = 'no_zombie_accepted' AND verdict = 'violated'
    """
    (row,) = json.loads(run("sql", query, "--format", "json").stdout)
    assert json.loads(row["scope"])["group_id"] == "zombie-current-epoch"

    told = run("explain", row["verdict_id"], "--confirm")
    assert told.returncode == 0, told.stderr
    assert "TLC confirms it: NoZombieAccepted is violated" in told.stdout
    assert "Zombie(c) => ~c.accepted" in told.stdout
    assert "kafka-request.log" in told.stdout

    names = list(csv.reader(io.StringIO(run("sql", "SELECT 1 AS a, 'x,y' AS b", "--format", "csv").stdout)))
    assert names == [["a", "b"], ["1", "x,y"]]


def test_what_an_audit_found_is_read_without_a_jvm(run: Run, tmp_path: Path) -> None:
    """After an audit, where no java can be found: the same words, pictures and rows."""
    reported = run("report", java=False)
    assert reported.returncode == 0, reported.stderr
    assert "CRITICAL  no_commit_for_anothers_partition" in reported.stdout
    assert "Owners were refused in " in reported.stdout

    verdict_id = reported.stdout.rpartition("fencepost explain ")[2].split()[0]
    told = run("explain", verdict_id, java=False)
    assert told.returncode == 0, told.stderr
    assert "The specification says (spec/" in told.stdout

    out = tmp_path / "checkout.svg"
    drawn = run("plot", "checkout", "--out", str(out), java=False)
    assert drawn.returncode == 0, drawn.stderr
    assert out.read_bytes().startswith(b"<?xml")

    query = "SELECT requested_at, count(*) FROM marts.fct_offset_commits GROUP BY ALL ORDER BY ALL"
    by_duckdb = run("sql", query, "--format", "csv", java=False)
    by_spark = run("sql", query, "--format", "csv", "--engine", "spark")
    assert by_duckdb.returncode == by_spark.returncode == 0
    assert by_duckdb.stdout == by_spark.stdout
    assert len(by_duckdb.stdout.splitlines()) > 100


def test_spark_runs_what_duckdb_cannot(run: Run) -> None:
    query = "SELECT count(*) AS commits FROM marts.fct_offset_commits.snapshots"
    refused = run("sql", query, java=False)
    assert refused.returncode == 2
    assert "fencepost sql --engine spark" in refused.stderr
    done = run("sql", query, "--engine", "spark", "--format", "json")
    assert json.loads(done.stdout)[0]["commits"] >= 1


def test_what_does_not_exist_is_bad_usage(run: Run, tmp_path: Path) -> None:
    assert run("audit", config=tmp_path / "none.toml").returncode == 2
    unreadable = tmp_path / "fencepost.toml"
    unreadable.write_text("[[clusters]\n")
    done = run("audit", config=unreadable)
    assert done.returncode == 2
    assert str(unreadable) in done.stderr
    assert run("audit", "--no-such-option").returncode == 2


def test_a_wrong_query_or_verdict_is_bad_usage(run: Run) -> None:
    for query, words in (
        ("SELECT * FROM marts.nothing", "The lake has no table marts.nothing."),
        ("SELECT * FROM marts.fct_offset_commit", "Near: marts.fct_offset_commits"),
        ("SELECT nothing FROM marts.fct_quarantine", "DuckDB, which runs queries here, refused this one"),
        ("SELEC 1 FROM", "sqlglot, which translates Spark's SQL, cannot read this (line 1"),
        ("DROP TABLE marts.fct_quarantine", "one query that reads"),
    ):
        done = run("sql", query, java=False)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    done = run("explain", "ffffffffffffffff", java=False)
    assert done.returncode == 2
    assert "ffffffffffffffff" in done.stderr
