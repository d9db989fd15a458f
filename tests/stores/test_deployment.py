"""From the logs of three brokers to an alert: a collector on each, a lake on PostgreSQL and S3, a standalone
cluster of Spark, and Airflow with its metadata on PostgreSQL, a scheduler and several workers. All servers
are real.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from airflow_server import Call, airflow
from configurations import broker_logs
from servers import PASSWORD, USER, Stores
from spark_cluster import standalone_cluster
from web_server import listening

pytestmark = pytest.mark.stores

CAPTURE, BROKERS = "unclean-4.3.1", (1, 2, 3)
ALONE = (
    'for other; do mount -t tmpfs none "$other"; done; exec "$0" -m fencepost.cli collect --config "$CONFIG"'
)
"""In a mount namespace of its own a collector sees nothing of the other hosts."""
RUN_S = 900
TASKS = ("capture", "rebuild", "judge", "marts", "report")


def test_from_the_logs_of_three_brokers_to_an_alert(stores: Stores, captures: Path, folder: Path) -> None:
    """The event of the collectors' asset starts a run, whose gate fails, and the alert arrives. A backfill is
    refused.
    """
    lake = stores.lake("lake")
    for broker in BROKERS:
        logs = folder / f"host-{broker}" / "logs"
        shutil.copytree(captures / CAPTURE / f"broker-{broker}", logs)
    for broker in BROKERS:
        host = folder / f"host-{broker}"
        _collect(folder, broker, _configuration(host, lake, [broker_logs(broker, host / "logs")]))
    (folder / "spark").mkdir()
    with listening() as web, standalone_cluster(folder / "spark") as (master, workers):
        audit = _configuration(
            folder / "audit", lake, [f"[[clusters.brokers]]\nid = {id_}\n" for id_ in BROKERS]
        )
        with audit.open("a") as file:
            file.write(f'[[alerts]]\nname = "on call"\nwebhook = "{web.address}/alert"\n')
            file.write(f'[spark]\nmaster = "{master}"\n"executor.memory" = "1g"\n')
        with _airflow(stores, folder / "airflow", audit) as call:
            call("PATCH", "dags/epoch_audit", {"is_paused": False})
            (collected,) = (
                asset["id"]
                for asset in call("GET", "assets")["assets"]
                if asset["name"] == "fencepost_collected"
            )
            call("POST", "assets/events", {"asset_id": collected, "extra": {"brokers": list(BROKERS)}})
            states = _ended(call, "asset_triggered")
            assert states == dict.fromkeys(TASKS, "success") | {"gate": "failed"}
            day = "2026-01-01T00:00:00Z"
            call("POST", "backfills", {"dag_id": "epoch_audit", "from_date": day, "to_date": day})
            assert _ended(call, "backfill")["capture"] == "failed"
    assert len(list((folder / "spark").glob("127.0.0.*/app-*"))) >= len(workers)
    ((_, alert),) = web.taken()
    assert {event["cluster"] for event in alert["events"]} == {CAPTURE}
    assert any(event["severity"] == "critical" for event in alert["events"])


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that users other than pytest's can look into."""
    made = Path("/tmp") / f"deployment-{os.getpid()}"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(mode=0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def _collect(folder: Path, broker: int, config: Path) -> None:
    """Collect one broker's logs, where nobody sees those of the others."""
    others = [str(folder / f"host-{each}") for each in BROKERS if each != broker]
    namespace = ["unshare", "--map-root-user", "--mount", "sh", "-c", ALONE, sys.executable, *others]
    environment = {**os.environ, "CONFIG": str(config)}
    done = subprocess.run(namespace, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _configuration(folder: Path, lake: str, brokers: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "fencepost.toml"
    path.write_text(f'{lake}\n[[clusters]]\nname = "{CAPTURE}"\n{"".join(brokers)}')
    return path


@contextmanager
def _airflow(stores: Stores, home: Path, config: Path) -> Iterator[Call]:
    """All parts of Airflow, with its metadata in PostgreSQL and four workers."""
    stores.lake("airflow")
    login = f"{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{stores.database.port}/airflow"
    variables = {
        "FENCEPOST_CONFIG": str(config),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg://{login}",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": f"postgresql+psycopg_async://{login}",
        "AIRFLOW__CORE__PARALLELISM": "4",
    }
    with airflow(home, variables) as (_, call):
        yield call


def _ended(call: Call, run_type: str) -> dict[str, str]:
    """The states of the tasks of a run of this type, once it has ended."""
    deadline = time.monotonic() + RUN_S
    while time.monotonic() < deadline:
        for run in call("GET", "dags/epoch_audit/dagRuns")["dag_runs"]:
            if run["run_type"] == run_type and run["state"] in ("success", "failed"):
                tasks = call("GET", f"dags/epoch_audit/dagRuns/{run['dag_run_id']}/taskInstances")
                return {each["task_id"]: each["state"] for each in tasks["task_instances"]}
        time.sleep(2)
    pytest.fail(f"no run of the type {run_type} has ended")
