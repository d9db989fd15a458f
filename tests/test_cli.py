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

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def run(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs ``fencepost`` in a process of its own on the troubled capture."""
    lake = tmp_path_factory.mktemp("cli") / "lake"
    environment = {**os.environ, "FENCEPOST_LAKE": str(lake)}
    config = captures / "troubled-4.2.1" / "fencepost.toml"

    def call(*arguments: str, config: Path = config) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("fencepost")), *arguments, "--config", str(config)]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=900
        )

    return call


def test_nothing_is_created_by_looking(run: Run) -> None:
    done = run("report")
    assert done.returncode == 2
    assert "no audit yet" in done.stderr


def test_audit_explain_and_sql(run: Run) -> None:
    audited = run("audit")
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


def test_what_does_not_exist_is_bad_usage(run: Run, tmp_path: Path) -> None:
    assert run("audit", config=tmp_path / "none.toml").returncode == 2
    unreadable = tmp_path / "fencepost.toml"
    unreadable.write_text("[[clusters]\n")
    done = run("audit", config=unreadable)
    assert done.returncode == 2
    assert str(unreadable) in done.stderr
    assert run("audit", "--no-such-option").returncode == 2


def test_a_wrong_query_or_verdict_is_bad_usage(run: Run) -> None:
    assert run("sql", "SELECT * FROM marts.nothing").returncode == 2
    done = run("explain", "ffffffffffffffff")
    assert done.returncode == 2
    assert "ffffffffffffffff" in done.stderr
