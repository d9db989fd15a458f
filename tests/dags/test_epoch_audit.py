"""The DAG file: what it may import, what every task must have, and how its runs end on real captures."""

from __future__ import annotations

import ast
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fencepost.airflow_env import airflow_environment, run_airflow

if TYPE_CHECKING:
    from conftest import Audited

DAGS = Path(__file__).resolve().parents[2] / "dags"
DAG_FILE = DAGS / "epoch_audit.py"
STEPS = ("capture", "rebuild", "judge", "marts", "gate")
KNOWN_TAGS = {"kafka", "audit"}
TOO_HEAVY_TO_PARSE = {"pyspark", "great_expectations", "dbt", "pandas", "fencepost"}

DESCRIBE = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("dag_file", sys.argv[1])
module = importlib.util.module_from_spec(spec)
before = set(sys.modules)
from airflow.sdk import DAG
airflow = set(sys.modules) - before
spec.loader.exec_module(module)
imported = set(sys.modules) - before - airflow
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(sys.argv[1])
(dag,) = bag.dags.values()
print(json.dumps({
    "imported": sorted({name.split(".")[0] for name in imported}),
    "errors": {str(path): error for path, error in bag.import_errors.items()},
    "id": dag.dag_id, "catchup": dag.catchup, "max_active_runs": dag.max_active_runs, "doc": dag.doc_md,
    "schedule": str(dag.schedule), "tags": sorted(dag.tags), "params": list(dag.params),
    "tasks": {
        task.task_id: {
            "owner": task.owner, "retries": task.retries, "callbacks": bool(task.on_failure_callback),
            "outlets": [asset.name for asset in task.outlets], "after": sorted(task.upstream_task_ids),
        } for task in dag.tasks
    },
}))
"""


@pytest.fixture(scope="module")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Airflow's folder: its database is made once."""
    return tmp_path_factory.mktemp("airflow")


@pytest.fixture(scope="module")
def dag(airflow_home: Path) -> dict[str, Any]:
    """What Airflow makes of the file, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", DESCRIBE, str(DAG_FILE)],
        env=airflow_environment(airflow_home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    described: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return described


def test_parsing_it_is_cheap_and_clean(dag: dict[str, Any]) -> None:
    assert dag["errors"] == {}
    assert not TOO_HEAVY_TO_PARSE & set(dag["imported"])


def test_it_runs_hourly_one_at_a_time_and_never_in_arrears(dag: dict[str, Any]) -> None:
    assert (dag["schedule"], dag["catchup"], dag["max_active_runs"]) == ("@hourly", False, 1)


def test_its_steps_follow_each_other_and_announce_what_they_wrote(dag: dict[str, Any]) -> None:
    layers = ("bronze", "silver", "verdicts", "marts", "gate")
    assert {name: (task["after"], task["outlets"]) for name, task in dag["tasks"].items()} == {
        step: (list(STEPS[max(number - 1, 0) : number]), [f"fencepost_{layer}"])
        for number, (step, layer) in enumerate(zip(STEPS, layers, strict=True))
    }


def test_every_task_is_owned_retried_and_alerts(dag: dict[str, Any]) -> None:
    for name, task in dag["tasks"].items():
        assert task["owner"] != "airflow", name
        assert task["retries"] > 0, name
        assert task["callbacks"], name


def test_the_person_on_call_finds_notes_and_tags(dag: dict[str, Any]) -> None:
    assert "#### Triage notes" in dag["doc"]
    assert all(f"| {step} |" in dag["doc"] for step in STEPS)
    assert set(dag["tags"]) == KNOWN_TAGS
    assert dag["params"] == ["config"]


@pytest.mark.parametrize("file", sorted(DAGS.glob("*.py")), ids=lambda path: path.name)
def test_dag_files_are_thin_and_know_nothing_of_each_other(file: Path) -> None:
    text = file.read_text()
    imports = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert not imports & {other.stem for other in DAGS.glob("*.py")}
    assert len(text.splitlines()) <= 130
    assert not file.stem.startswith("dbt_")  # dbt imports those as plugins


@pytest.mark.slow
def test_a_run_succeeds_on_a_healthy_cluster(captures: Path, airflow_home: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    code, states = ran(captures / "healthy-4.3.1" / "fencepost.toml", lake, airflow_home)
    assert code == 0
    assert states == dict.fromkeys(STEPS, "success")
    assert alerts(lake) == 0


@pytest.mark.slow
def test_a_run_fails_at_the_gate_of_a_troubled_cluster_as_often_as_it_is_run(
    troubled: Audited, airflow_home: Path
) -> None:
    """Its lake was audited before, and nothing is new: the gate is closed all the same, and says so again."""
    before = alerts(troubled.lake)
    code, states = ran(troubled.config, troubled.lake, airflow_home)
    assert code == 1
    assert states == {**dict.fromkeys(STEPS, "success"), "gate": "failed"}
    assert alerts(troubled.lake) == before + 1


def ran(config: Path, lake: Path, home: Path) -> tuple[int, dict[str, str]]:
    """Airflow's exit code for a run of the DAG, and how its tasks ended."""
    environment = dict(os.environ) | {"FENCEPOST_CONFIG": str(config), "FENCEPOST_LAKE": str(lake)}
    code = run_airflow(["dags", "test", "epoch_audit"], home, environment)
    newest = "select run_id from dag_run order by id desc limit 1"
    with closing(sqlite3.connect(home / "airflow.db")) as database:
        return code, dict(
            database.execute(f"select task_id, state from task_instance where run_id = ({newest})")
        )


def alerts(lake: Path) -> int:
    return len(list((lake / "alerts").glob("*.txt")))
