"""All parts of Airflow on loopback, as ``make airflow`` starts them, and its API."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil
import pytest
from ports import free_ports

from fencepost.airflow_env import PASSWORDS, airflow_environment

READY_S = 180
Call = Callable[..., Any]
"""Method, path of Airflow's API and body -> the answer."""


@contextmanager
def airflow(home: Path, variables: Mapping[str, str]) -> Iterator[tuple[int, Call]]:
    """The process that all its processes are below, and how to call the API, once it knows the DAG. All have
    ended afterwards, tasks that were running too.

    ``variables``: of the environment, beside those that every Airflow here has.
    """
    (port,) = free_ports(1)
    environment = airflow_environment(home) | {
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__API__PORT": str(port),
        **variables,
    }
    home.mkdir()
    with (home / "said").open("wb") as said:
        started = subprocess.Popen(
            [sys.executable, "-m", "fencepost.airflow_env", "standalone"],
            env=environment, stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield started.pid, _ready(f"http://127.0.0.1:{port}", home / PASSWORDS)
    finally:
        tree = psutil.Process(started.pid).children(recursive=True)
        started.terminate()
        started.wait(60)
        for each in tree:
            with suppress(psutil.NoSuchProcess):
                each.kill()


def _ready(address: str, passwords: Path) -> Call:
    """How to call the API, once it knows the DAG."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        try:
            login = {"username": "admin", "password": json.loads(passwords.read_text())["admin"]}
            token = _answer(address, "POST", "/auth/token", login)["access_token"]
            found = _answer(address, "GET", "/api/v2/dags", None, token)["dags"]
        except (OSError, ValueError, KeyError):
            found = []
        if any(dag["dag_id"] == "epoch_audit" for dag in found):
            return lambda method, path, body=None: _answer(address, method, f"/api/v2/{path}", body, token)
        time.sleep(1)
    pytest.fail("Airflow does not answer")


def _answer(address: str, method: str, path: str, body: object = None, token: str = "") -> Any:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(address + path, data, headers, method=method)) as answer:
        return json.load(answer)
