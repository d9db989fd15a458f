"""The DAG files: what they may import, what every task must have, and how runs end on real captures."""

from __future__ import annotations

import ast
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fencepost.airflow_env import airflow_environment

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

# A process that runs DAGs, each in its environment: to start Airflow takes longer than an
# audit. It writes what `airflow dags test` ended with: null, or the error that is printed before exit code 1.
RUN = """
import json, os, sys
from airflow.__main__ import main

file, errors = sys.argv[1], []
for dag, environment in json.load(sys.stdin):
    sys.argv = ["airflow", "dags", "test", dag]
    os.environ.update(environment)
    try:
        errors.append(main())
    except SystemExit as end:
        errors.append(end.code)
with open(file, "w") as out:
    json.dump(errors, out)
"""
GATE_STARTS, GATE_ENDS = (rf"\[DAG TEST\] {each} task_id=gate" for each in ("starting", "end task"))
RUNS = "select run_id from dag_run order by id"
EVENTS = """
select asset.name, asset_event.extra from asset_event join asset on asset.id = asset_event.asset_id
where source_run_id = ?
"""
STATES = "select task_id, state from task_instance where run_id = ?"


@dataclass(frozen=True)
class Ended:
    """How a run of the DAG ended: the command's error, the states of its tasks, how many alerts it wrote."""

    error: str | None
    states: dict[str, str]
    new_alerts: int
    gate: list[str]
    """The lines of the gate's log."""
    events: dict[str, Any]
    """By asset: what the event of it says."""


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


@pytest.fixture(scope="module")
def runs(
    captures: Path, troubled: Audited, airflow_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Ended]:
    """A run on the logs of a healthy cluster, which nobody audited, one on those of a troubled one, and one
    on a folder that is not Kafka's.
    """
    blind = tmp_path_factory.mktemp("blind")
    (blind / "fencepost.toml").write_text(
        '[[clusters]]\nname = "blind"\n[[clusters.brokers]]\nid = 1\nlog_dirs = ["."]\n'
    )
    configs = {
        "healthy": captures / "healthy-4.3.1" / "fencepost.toml",
        "troubled": troubled.config,
        "blind": blind / "fencepost.toml",
    }
    lakes = {"healthy": tmp_path_factory.mktemp("lake"), "troubled": troubled.lake, "blind": blind / "lake"}
    environments = [
        ("epoch_audit", {"FENCEPOST_CONFIG": str(configs[name]), "FENCEPOST_LAKE": str(lakes[name])})
        for name in lakes
    ]
    environments.append(("lake_maintenance", environments[-1][1]))
    lakes["maintained"] = lakes["blind"]
    alerts_before = [alerts(lake) for lake in lakes.values()]
    environment, errors = airflow_environment(airflow_home), airflow_home / "errors.json"
    python = partial(subprocess.run, env=environment, text=True, check=True)
    python([sys.executable, "-m", "fencepost.airflow_env", "version"])
    said = python(
        [sys.executable, "-c", RUN, str(errors)], input=json.dumps(environments), stdout=subprocess.PIPE
    ).stdout.splitlines()
    starts = [number for number, line in enumerate(said) if re.search(GATE_STARTS, line)]
    ends = [number for number, line in enumerate(said) if re.search(GATE_ENDS, line)]
    # the maintenance has none
    gates = [*(said[start:end] for start, end in zip(starts, ends, strict=True)), []]
    with closing(sqlite3.connect(airflow_home / "airflow.db")) as database:
        ids = database.execute(RUNS).fetchall()
        states = [dict(database.execute(STATES, run_id)) for run_id in ids]
        events = [
            {asset: json.loads(extra) for asset, extra in database.execute(EVENTS, run_id)} for run_id in ids
        ]
    new_alerts = [alerts(lake) - before for lake, before in zip(lakes.values(), alerts_before, strict=True)]
    endings = zip(json.loads(errors.read_text()), states, new_alerts, gates, events, strict=True)
    return {name: Ended(*end) for name, end in zip(lakes, endings, strict=True)}


def alerts(lake: Path) -> int:
    return len(list((lake / "alerts").glob("*.txt")))


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
def test_a_run_succeeds_on_a_healthy_cluster(runs: dict[str, Ended]) -> None:
    healthy = runs["healthy"]
    assert healthy.error is None
    assert healthy.states == dict.fromkeys(STEPS, "success")
    assert healthy.new_alerts == 0
    # what Airflow shows of the assets: rows, and the page to open
    assert healthy.events["fencepost_bronze"]["files"] > 0
    page = healthy.events["fencepost_gate"]["page"]
    assert page.endswith("/page/index.html")
    assert Path(page).is_file()


@pytest.mark.slow
def test_a_run_fails_at_the_gate_of_a_troubled_cluster_as_often_as_it_is_run(runs: dict[str, Ended]) -> None:
    """Its lake was audited before, and nothing is new: the gate is closed all the same, without an alert."""
    troubled = runs["troubled"]
    assert troubled.error == "DagRun failed"
    assert troubled.states == {**dict.fromkeys(STEPS, "success"), "gate": "failed"}
    assert troubled.new_alerts == 0


@pytest.mark.slow
def test_a_run_fails_at_the_gate_where_nothing_could_be_judged(runs: dict[str, Ended]) -> None:
    blind = runs["blind"]
    assert blind.error == "DagRun failed"
    assert blind.states == {**dict.fromkeys(STEPS, "success"), "gate": "failed"}
    assert blind.new_alerts == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("troubled", "FAILED: no_commit_for_anothers_partition in cluster troubled-4.2.1 (4 of 556)"),
        ("blind", "Fencepost: NOT JUDGED: cluster blind: no request log has a line of a request"),
    ],
)
def test_the_log_of_a_closed_gate_ends_with_what_closed_it(
    runs: dict[str, Ended], name: str, last: str
) -> None:
    """Below it is only what Airflow itself says: a line about the exit code, and that it does not retry."""
    log = runs[name].gate
    (at,) = (number for number, line in enumerate(log) if last in line)
    assert "Task exited" in log[at + 1]
    assert "the gate is closed" in "".join(log[at + 2 :])
    assert len(log) - at < 8
    assert not any("Traceback" in line or "FileIO" in line for line in log)


@pytest.mark.slow
def test_the_lake_is_maintained(runs: dict[str, Ended]) -> None:
    maintained = runs["maintained"]
    assert (maintained.error, maintained.states) == (None, {"maintain": "success"})
