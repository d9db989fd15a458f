"""A protocol of one folder goes from a request log to a closed gate, without an edit outside that folder. The
log arrives in two parts, each a chapter.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TOY = Path(__file__).resolve().parent
BROKER = "groups-3.9.2/broker-1"
METADATA_LOG = "log_dir/__cluster_metadata-0"


def run(*command: str, code: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(code), str(ROOT / "spark")])}
    environment |= {"FENCEPOST_HOME": str(ROOT), "FENCEPOST_JARS": str(ROOT / ".jars")}
    return subprocess.run(
        [sys.executable, "-m", *command],
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        cwd=code.parent,
    )


def test_from_a_log_to_a_closed_gate(captures: Path, tmp_path: Path) -> None:
    shutil.copytree(TOY / "spec", tmp_path / "spec")
    shutil.copytree(TOY / "code", tmp_path / "code")
    code = tmp_path / "code"
    schemas = run("fencepost.protocols", code=code).stdout
    assert '"silver.heartbeats"' in schemas
    module = str(tmp_path / "spec" / "HeartbeatProps.tla")
    mapping = str(tmp_path / "spec" / "mapping.toml")
    compiled = run(
        "tlasql", "compile", module, "--mapping", mapping, "--schemas", "-", code=code, stdin=schemas
    )
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr

    text = (captures / BROKER / "kafka-request.log").read_text().splitlines(keepends=True)
    lines = [line for line in text if '"requestApiKeyName":"HEARTBEAT"' in line]
    asked = [line for line in text if '"requestApiKeyName":"FIND_COORDINATOR"' in line]
    of_groups = sum('"keyType":0' in line for line in asked)
    assert len(lines) > 20
    assert 0 < of_groups < len(asked)
    shutil.copytree(captures / BROKER / METADATA_LOG, tmp_path / METADATA_LOG)
    broken = lines[-1].replace('"generationId":', '"generationId":-')
    assert broken != lines[-1]
    (tmp_path / "fencepost.toml").write_text(
        '[[clusters]]\nname = "toy"\n[[clusters.brokers]]\nid = 1\n'
        'log_dirs = ["log_dir"]\nrequest_logs = ["request.log"]\n'
    )
    config = str(tmp_path / "fencepost.toml")
    half = len(lines) // 2
    parts = [[*asked, *lines[:half]], [_two_days_later(each) for each in (*lines[half:-1], broken)]]
    for part, exit_code in zip(parts, (0, 1), strict=True):
        with (tmp_path / "request.log").open("a") as log:
            log.writelines(part)
        audited = run("fencepost.cli", "audit", "--config", config, code=code)
        assert audited.returncode == exit_code, audited.stdout + audited.stderr
    assert "FAILED: heartbeat_has_a_generation in cluster toy" in audited.stdout
    page = re.search(r"Page: (\S+)", audited.stdout)
    assert (
        page is not None
        and Path(page[1]).with_name("invariants").joinpath("heartbeat_has_a_generation.html").is_file()
    )
    reported = run("fencepost.cli", "report", "--all", "--config", config, code=code)
    assert f"{len(lines)} heartbeats were heard." in reported.stdout
    state = json.loads((tmp_path / METADATA_LOG / "quorum-state").read_text())
    assert f"{of_groups} lines ask for a coordinator." in reported.stdout
    assert f"The controllers' epoch is {state['leaderEpoch']}." in reported.stdout
    assert "CRITICAL  heartbeat_has_a_generation: 1 of" in reported.stdout
    # of the last heartbeats of the first chapter the second one knows by its state alone
    query = "SELECT to_position FROM silver.heartbeats WHERE date(to_time) > date(from_time)"
    told = run("fencepost.cli", "sql", query, "--config", config, code=code)
    assert len(told.stdout.splitlines()) > 1, told.stdout + told.stderr


def _two_days_later(line: str) -> str:
    """A line of a request log, dated two days later."""
    written = dt.date.fromisoformat(line[1:11])
    return f"[{written + dt.timedelta(days=2)}{line[11:]}"
