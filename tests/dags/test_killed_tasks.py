"""Tasks of Airflow that are killed at any moment: its scheduler has them tried again, and in the end the rows
are those of an audit that nobody disturbed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest
from airflow_server import Call, airflow
from audits import Found, differences, marts_in, rows_in
from configurations import local_lake

from fencepost.iceberg.catalog import open_catalog
from fencepost.settings import load

pytestmark = pytest.mark.faults

CAPTURE = "markers-4.3.1"
DAG_FILE = Path(__file__).resolve().parents[2] / "dags" / "epoch_audit.py"
RETRIES = 2
STEPS = ("capture", "rebuild", "judge", "marts", "report")
RUN_S = 900


def test_tasks_that_are_killed(
    captures: Path, tmp_path: Path, seeds: range, played: Callable[[str], None]
) -> None:
    expected = _undisturbed(captures, tmp_path)
    dags = tmp_path / "dags"
    dags.mkdir()
    # as it is, but for how long it waits
    waits = "timedelta(minutes=2)"
    assert DAG_FILE.read_text().count(waits) == 1
    (dags / DAG_FILE.name).write_text(DAG_FILE.read_text().replace(waits, "timedelta(seconds=1)"))
    for seed in seeds:
        config = _config(captures, tmp_path / str(seed))
        variables = {"FENCEPOST_CONFIG": str(config), "AIRFLOW__CORE__DAGS_FOLDER": str(dags)}
        with airflow(tmp_path / f"airflow-{seed}", variables) as (pid, call):
            call("PATCH", "dags/epoch_audit", {"is_paused": False})  # which starts a run
            _kill_some(psutil.Process(pid), call, Random(seed), played)
            for run in _runs(call):
                tasks = call("GET", f"dags/epoch_audit/dagRuns/{run['dag_run_id']}/taskInstances")
                states = {each["task_id"]: each["state"] for each in tasks["task_instances"]}
                assert {states[step] for step in STEPS} == {"success"}, states
        assert differences(_rows(config), expected) == {}, seed


def _kill_some(parts: psutil.Process, call: Call, chance: Random, played: Callable[[str], None]) -> None:
    """Kill processes of tasks until the run has ended: each task as often as it may be tried again."""
    killed, deadline = 0, time.monotonic() + RUN_S
    while not (runs := _runs(call)) or any(run["state"] not in ("success", "failed") for run in runs):
        assert time.monotonic() < deadline
        for task in _running(call):
            if task["try_number"] <= RETRIES and (process := _process(parts, task["id"])):
                time.sleep(chance.uniform(0, 8))
                with suppress(psutil.NoSuchProcess):
                    process.kill()
                    played(f"the task {task['task_id']} of Airflow was killed")
                    killed += 1
        time.sleep(0.5)
    assert killed


def _runs(call: Call) -> list[dict[str, Any]]:
    return list(call("GET", "dags/epoch_audit/dagRuns")["dag_runs"])


def _running(call: Call) -> list[dict[str, Any]]:
    return list(call("GET", "dags/epoch_audit/dagRuns/~/taskInstances?state=running")["task_instances"])


def _process(parts: psutil.Process, task: str) -> psutil.Process | None:
    """The process of a task: a worker forks it, and both have its id in their titles."""
    for each in parts.children(recursive=True):
        with suppress(psutil.Error):
            parent = each.parent()
            if parent and all(task in " ".join(one.cmdline()) for one in (each, parent)):
                return each
    return None


def _config(captures: Path, folder: Path) -> Path:
    """A configuration with a lake in a folder of its own."""
    folder.mkdir()
    given = (captures / CAPTURE / "fencepost.toml").read_text()
    path = folder / "fencepost.toml"
    path.write_text(local_lake(folder) + given.replace('"broker-1/', f'"{captures / CAPTURE}/broker-1/'))
    return path


def _undisturbed(captures: Path, folder: Path) -> Found:
    config = _config(captures, folder / "undisturbed")
    command = [sys.executable, "-m", "fencepost.cli", "audit", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return _rows(config)


def _rows(config: Path) -> Found:
    catalog = open_catalog(load(config).lake)
    return {**rows_in(catalog, verdicts=True), **marts_in(catalog)}
