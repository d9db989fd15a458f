"""Every target of the Makefile starts: ``make targets`` calls each once, at its smallest size."""

from __future__ import annotations

import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[1]
SMALLEST = {
    "demo": (),
    "compile": (),
    "arrivals": ("CASES=1",),
    "models": (),
    "bench": ("BENCH=--smallest",),
    "captures": ("RECORD=idempotent --version 4.3.1 --out {folder}",),
    "faults": ("KILLS=1", "PYTEST_ADDOPTS=-k 'processes or collectors'"),
    "dags": (),
    "engines": (),
    "wheel": (),
    "year": ("DAYS=2", "RUNS_A_DAY=1"),
    "diff": ("TIMES=1",),
    "stores": ("PYTEST_ADDOPTS=-k 'postgresql_and_s3 or alert'",),
    "search": ("SECONDS_OF_SEARCH=5",),
    "plays": ("PLAYS=1",),
    "mutations": ("MUTATIONS=200",),
}
"""The targets that are started here, and the variables of their smallest size."""
ELSEWHERE = {
    "airflow": "a test of its own below, since it does not end",
    "test": "what CI starts itself",
    "targets": "these tests",
    "check": "a part of `make test`",
    "format": "would change the sources; `make test` says what it would do",
    "large": "hours",
    "lock": "changes what is pinned",
    "clean": "removes what the others need",
    "setup": "every other target calls it",
    "help": "its output is what the test below reads",
}
AIRFLOW, AIRFLOW_S = "http://127.0.0.1:8080/api/v2/monitor/health", 180


def test_every_target_is_started_or_has_a_reason_not_to_be() -> None:
    said = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = set(re.findall(r"^  make ([a-z-]+) ", said, re.M))
    assert targets == SMALLEST.keys() | ELSEWHERE.keys()
    assert not SMALLEST.keys() & ELSEWHERE.keys()


@pytest.mark.targets
@pytest.mark.parametrize("target", SMALLEST)
def test_a_target_runs_at_its_smallest_size(target: str, tmp_path: Path) -> None:
    variables = [each.format(folder=tmp_path) for each in SMALLEST[target]]
    done = subprocess.run(
        ["make", target, *variables],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=_environment(),
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]


@pytest.mark.targets
def test_airflow_starts_and_is_healthy(tmp_path: Path) -> None:
    config = ROOT / "tests" / "captures" / "healthy-4.2.1" / "fencepost.toml"
    environment = {**_environment(), "AIRFLOW_HOME": str(tmp_path), "FENCEPOST_CONFIG": str(config)}
    with _started(["make", "airflow"], environment, tmp_path / "said") as process:
        deadline = time.monotonic() + AIRFLOW_S
        while not _is_healthy():
            said = (tmp_path / "said").read_text()[-4_000:]
            assert process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(1)


def _environment() -> dict[str, str]:
    """This process's environment without what pytest and make added to it."""
    added = ("PYTEST_", "MAKE", "MFLAGS")
    return {name: value for name, value in os.environ.items() if not name.startswith(added)}


def _is_healthy() -> bool:
    try:
        with urllib.request.urlopen(AIRFLOW, timeout=5) as answer:
            return b'"status":"healthy"' in answer.read()
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def _started(
    command: list[str], environment: dict[str, str], said: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A command that runs until the block ends, with all that it has started."""
    with (
        said.open("wb") as out,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out) as process,
    ):
        try:
            yield process
        finally:
            parent = psutil.Process(process.pid)
            for each in (*parent.children(recursive=True), parent):
                each.kill()
