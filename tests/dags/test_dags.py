"""The DAG files: what they may import, what every task must have, and how runs end on real captures."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import dropwhile, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fencepost.airflow_env import airflow_environment

if TYPE_CHECKING:
    from conftest import Audited

DAGS = Path(__file__).resolve().parents[2] / "dags"
DAG_FILE = DAGS / "epoch_audit.py"
SPEC = DAGS.with_name("spec")
LAYERS = {"capture": "bronze", "rebuild": "silver", "judge": "verdicts", "marts": "marts", "report": "report"}
TASKS = (*LAYERS, "gate")
KNOWN_TAGS = {"kafka", "audit"}
TOO_HEAVY_TO_PARSE = {"pyspark", "great_expectations", "dbt", "pandas", "pyarrow", "pyiceberg", "duckdb"}

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
    "schedule": dag.timetable.timetable.expression,
    "assets": [asset.name for asset in dag.timetable.asset_condition.objects],
    "deadline": dag.deadline[0].callback.path, "tags": sorted(dag.tags),
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
RUN_BEGINS, GATE_BEGINS = (
    r"\[DAG TEST\] starting task_id=(capture|maintain|check)",
    r"\[DAG TEST\] starting task_id=(gate|check)",
)
RUNS = "select run_id from dag_run order by id"
EVENTS = """
select asset.name, asset_event.extra from asset_event join asset on asset.id = asset_event.asset_id
where source_run_id = ?
"""
STATES = """
select case when map_index < 0 then task_id else task_id || ' ' || rendered_map_index end, state
from task_instance where run_id = ?
"""
LINKS = """
select task_id || ' ' || rendered_map_index, json_extract(xcom.value, '$')
from xcom join task_instance using (run_id, task_id, map_index) where key = '_link_PageLink' and run_id = ?
"""


@dataclass(frozen=True)
class Ended:
    """How a run of the DAG ended: the command's error, the states of its tasks, how many alerts it wrote.

    Tasks of a cluster are called by the task and the cluster.
    """

    error: str | None
    states: dict[str, str]
    new_alerts: int
    gates: list[str]
    """The lines of the logs of its gates."""
    events: dict[str, Any]
    """By asset: what the event of it says."""
    links: dict[str, str]
    """By task: where its link to the page leads."""


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
    """A run on the logs of a healthy cluster, which nobody audited, beside a folder that is not Kafka's; a
    run that lets it pass; and a run on the logs of a troubled cluster.
    """
    half = tmp_path_factory.mktemp("half") / "fencepost.toml"
    healthy = (captures / "healthy-4.3.1" / "fencepost.toml").read_text()
    healthy = re.sub(
        r'"(broker-\d/)', rf'"{captures}/healthy-4.3.1/\1', healthy[healthy.index("[[clusters]]") :]
    )
    blind = '[[clusters]]\nname = "blind/1"\n[[clusters.brokers]]\nid = 1\nlog_dirs = ["."]\n'
    half.write_text(f'[report]\nurl = "https://audit.example.com/"\n{healthy}\n{blind}')
    tolerant = half.with_name("tolerant.toml")
    tolerant.write_text(f'[gate]\nnot_judged = "pass"\n{half.read_text()}')
    configs = {"half": half, "tolerant": tolerant, "troubled": troubled.config}
    lakes = {"half": half.parent / "lake", "tolerant": half.parent / "lake", "troubled": troubled.lake}
    environments = [
        ("epoch_audit", {"FENCEPOST_CONFIG": str(configs[name]), "FENCEPOST_LAKE": str(lakes[name])})
        for name in lakes
    ]
    environments.append(("lake_maintenance", environments[0][1]))
    lakes["maintained"] = lakes["half"]
    spec = tmp_path_factory.mktemp("home") / "spec"
    shutil.copytree(SPEC / "offset_commit", spec / "offset_commit")
    manifest = json.loads((SPEC / "offset_commit" / "manifest.json").read_text())
    manifest["runs"] = [each for each in manifest["runs"] if each["name"] == "MemberlessCommit"]
    (spec / "offset_commit" / "manifest.json").write_text(json.dumps(manifest))
    for name in ("checked", "checked again"):
        environments.append(("model_check", {"FENCEPOST_HOME": str(spec.parent)}))
        lakes[name] = lakes["half"]
    alerts_before = [alerts(lake) for lake in lakes.values()]
    environment, errors = airflow_environment(airflow_home), airflow_home / "errors.json"
    python = partial(subprocess.run, env=environment, text=True, check=True)
    python([sys.executable, "-m", "fencepost.airflow_env", "version"])
    said = python(
        [sys.executable, "-c", RUN, str(errors)], input=json.dumps(environments), stdout=subprocess.PIPE
    ).stdout.splitlines()
    begins = [number for number, line in enumerate(said) if re.search(RUN_BEGINS, line)]
    gates = [
        list(dropwhile(lambda line: not re.search(GATE_BEGINS, line), said[begin:end]))
        for begin, end in pairwise([*begins, None])
    ]
    with closing(sqlite3.connect(airflow_home / "airflow.db")) as database:
        ids = database.execute(RUNS).fetchall()
        states = [dict(database.execute(STATES, run_id)) for run_id in ids]
        events = [
            {asset: json.loads(extra) for asset, extra in database.execute(EVENTS, run_id)} for run_id in ids
        ]
        links = [dict(database.execute(LINKS, run_id)) for run_id in ids]
    new_alerts = [alerts(lake) - before for lake, before in zip(lakes.values(), alerts_before, strict=True)]
    endings = zip(json.loads(errors.read_text()), states, new_alerts, gates, events, links, strict=True)
    return {name: Ended(*end) for name, end in zip(lakes, endings, strict=True)}


def alerts(lake: Path) -> int:
    return len(list((lake / "alerts").glob("*.txt")))


def test_parsing_it_is_cheap_and_clean(dag: dict[str, Any]) -> None:
    assert dag["errors"] == {}
    assert not TOO_HEAVY_TO_PARSE & set(dag["imported"])


def test_it_runs_hourly_one_at_a_time_and_never_in_arrears(dag: dict[str, Any]) -> None:
    assert (dag["schedule"], dag["catchup"], dag["max_active_runs"]) == ("0 * * * *", False, 1)
    assert dag["assets"] == ["fencepost_collected"]


def test_a_late_run_sends_an_alert(dag: dict[str, Any]) -> None:
    """Airflow imports it only when a deadline is missed."""
    module, _, name = dag["deadline"].rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))


def test_its_steps_follow_each_other_and_announce_what_they_wrote(dag: dict[str, Any]) -> None:
    layers = (*LAYERS.values(), "gates")
    assert {name: (task["after"], task["outlets"]) for name, task in dag["tasks"].items()} == {
        name: (list(TASKS[max(number - 1, 0) : number]), [f"fencepost_{layer}"])
        for number, (name, layer) in enumerate(zip(TASKS, layers, strict=True))
    }


def test_every_task_is_owned_retried_and_alerts(dag: dict[str, Any]) -> None:
    for name, task in dag["tasks"].items():
        assert task["owner"] != "airflow", name
        assert task["retries"] > 0, name
        # report has told already what closes a gate
        assert task["callbacks"] or name == "gate", name


def test_the_person_on_call_finds_notes_and_tags(dag: dict[str, Any]) -> None:
    assert "#### Triage notes" in dag["doc"]
    assert all(f"| {name} |" in dag["doc"] for name in TASKS)
    assert set(dag["tags"]) == KNOWN_TAGS


@pytest.mark.parametrize("file", sorted(DAGS.glob("*.py")), ids=lambda path: path.name)
def test_its_form_may_be_sent_as_it_is(file: Path) -> None:
    """Airflow's form asks for every parameter that may not be null."""
    params = [
        (ast.literal_eval(call.args[0]), {each.arg: each.value for each in call.keywords})
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Param")
    ]
    assert [(default, ast.literal_eval(named["type"])) for default, named in params] == [
        (None, ["null", "string"])
    ]


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
    assert len(text.splitlines()) <= 140
    assert not file.stem.startswith("dbt_")  # dbt imports those as plugins


@pytest.mark.slow
@pytest.mark.dags
def test_a_gate_closes_for_one_cluster_and_not_for_others(runs: dict[str, Ended]) -> None:
    """Nothing could be judged of one cluster; the other has an event of its asset, with counts and page."""
    half = runs["half"]
    assert half.error == "DagRun failed"
    assert half.states == dict.fromkeys(LAYERS, "success") | {
        "gate blind/1": "failed",
        "gate healthy-4.3.1": "success",
    }
    assert half.new_alerts == 1
    assert half.events["fencepost_bronze"]["files"] > 0
    page = "https://audit.example.com/index.html"
    assert half.events["fencepost_report"]["page"] == page
    gates = {name: event for name, event in half.events.items() if name.startswith("fencepost_gate/")}
    assert gates.keys() == {"fencepost_gate/healthy-4.3.1"}
    (event,) = gates.values()
    assert (event["result"], event["violated"], event["page"]) == ("PASSED", 0, page)
    assert event["holds"] > 0
    assert half.links == {"gate blind/1": page, "gate healthy-4.3.1": page}


@pytest.mark.slow
@pytest.mark.dags
def test_a_run_succeeds_if_all_gates_are_open(runs: dict[str, Ended]) -> None:
    tolerant = runs["tolerant"]
    assert tolerant.error is None
    assert tolerant.states == runs["half"].states | {"gate blind/1": "success"}


@pytest.mark.slow
@pytest.mark.dags
def test_a_run_fails_at_the_gate_of_a_troubled_cluster_as_often_as_it_is_run(runs: dict[str, Ended]) -> None:
    """Its lake was audited before, and nothing is new: the gate is closed all the same, without an alert."""
    troubled = runs["troubled"]
    assert troubled.error == "DagRun failed"
    assert troubled.states == dict.fromkeys(LAYERS, "success") | {"gate troubled-4.2.1": "failed"}
    assert troubled.new_alerts == 0
    assert troubled.links == {"gate troubled-4.2.1": ""}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("troubled", "FAILED: no_commit_for_anothers_partition in cluster troubled-4.2.1 (4 of 556)"),
        ("half", "NOT JUDGED: cluster blind/1: no request log has a line of a request"),
    ],
)
@pytest.mark.dags
def test_the_log_of_a_closed_gate_ends_with_what_closed_it(
    runs: dict[str, Ended], name: str, last: str
) -> None:
    """Below it is only what Airflow itself says: a line about the exit code, and that it does not retry."""
    log = runs[name].gates
    *_, at = (number for number, line in enumerate(log) if last in line)
    assert "Task exited" in log[at + 1]
    assert any("the gate is closed" in line for line in log[at + 2 : at + 8])
    assert not any("Traceback" in line or "FileIO" in line for line in log)


@pytest.mark.slow
@pytest.mark.dags
def test_the_lake_is_maintained(runs: dict[str, Ended]) -> None:
    maintained = runs["maintained"]
    assert (maintained.error, maintained.states) == (None, {"maintain": "success"})


@pytest.mark.slow
@pytest.mark.dags
def test_a_specification_is_checked_until_it_changes(runs: dict[str, Ended]) -> None:
    first, second = runs["checked"], runs["checked again"]
    assert first.states == second.states == {"check": "success"}
    assert first.events == second.events
    assert first.events["fencepost_specifications"].keys() == {"offset_commit"}
    assert sum("TLC runs 1 models" in line for line in first.gates + second.gates) == 1
