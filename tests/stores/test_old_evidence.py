"""Evidence that is deleted by its age and names that are replaced, in a lake on PostgreSQL and S3 whose tasks
run on executors: rows are those of a lake on this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from servers import Stores
from spark_cluster import standalone_cluster
from store_audits import rows_of, run

from fencepost.settings import load

pytestmark = pytest.mark.stores

TESTS = Path(__file__).resolve().parents[1]
WRITER = TESTS / "support" / "days_of_logs.py"
GENERATORS = (TESTS / "year", *(TESTS.with_name("bench").glob("*/")))
KEY = "FENCEPOST_PSEUDONYM_KEY"
SETTINGS = f"""
[audit]
chapter = "1d"
window = "1d"
keep_evidence = "1d"

[pseudonyms]
key = "${{{KEY}}}"

[[clusters]]
name = "generated"
"""
ON_EXECUTORS = """
[engine]
run_on = "spark"

[spark]
master = "{}"
"executor.memory" = "1g"
"""


def test_executors_delete_and_replace_what_a_process_does(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a first run and a deletion, and after a run on what came since."""
    with standalone_cluster(_made(tmp_path / "cluster")) as (master, _):
        # executors do not have it
        monkeypatch.setenv(KEY, "a key for tests, long enough")
        lakes = {"local": "", "executors": stores.lake("executors") + ON_EXECUTORS.format(master)}
        logs = tmp_path / "logs"
        configs = {name: _config(_made(tmp_path / name), logs, lake) for name, lake in lakes.items()}
        for days in (13, 14):
            logs.unlink(missing_ok=True)
            logs.symlink_to(_logs(tmp_path / f"{days}-days", days))
            found = {}
            for name, config in configs.items():
                audited = run("audit", config)
                assert audited.returncode in (0, 1, 3), audited.stderr
                maintained = run("maintain", config)
                assert "bronze.requests: deleted" in maintained.stdout, maintained.stdout + maintained.stderr
                found[name] = rows_of(load(config).lake)
            assert found["local"].keys() == found["executors"].keys()
            other = {name for name, rows in found["local"].items() if found["executors"][name] != rows}
            assert other == set(), days
            assert sum(rows.total() for rows in found["local"].values()) > 10_000


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _logs(folder: Path, days: int) -> Path:
    path = os.pathsep.join([*map(str, GENERATORS), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(WRITER), str(folder), str(days)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": path})
    return folder


def _config(folder: Path, logs: Path, lake: str) -> Path:
    path = folder / "fencepost.toml"
    brokers = "".join(
        f"""
[[clusters.brokers]]
id = {broker}
log_dirs = ["{logs}/broker-{broker}/log_dir"]
request_logs = ["{logs}/broker-{broker}/kafka-request.log*"]
timezone = "UTC"
"""
        for broker in (1, 2, 4)
    )
    path.write_text(lake + SETTINGS + brokers)
    return path
