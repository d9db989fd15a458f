"""A protocol of one folder goes from a request log to a closed gate, without an edit outside that folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TOY = Path(__file__).resolve().parent
LOG = "groups-3.9.2/broker-1/kafka-request.log"


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

    text = (captures / LOG).read_text()
    lines = [line for line in text.splitlines(keepends=True) if '"requestApiKeyName":"HEARTBEAT"' in line]
    assert len(lines) > 20
    broken = lines[-1].replace('"generationId":', '"generationId":-')
    assert broken != lines[-1]
    (tmp_path / "fencepost.toml").write_text(
        '[[clusters]]\nname = "toy"\n[[clusters.brokers]]\nid = 1\nrequest_logs = ["request.log"]\n'
    )
    config = str(tmp_path / "fencepost.toml")
    (tmp_path / "request.log").write_text("".join([*lines[:-1], broken]))
    audited = run("fencepost.cli", "audit", "--config", config, code=code)
    assert audited.returncode == 1, audited.stdout + audited.stderr
    assert f"{len(lines)} heartbeats were heard." in audited.stdout
    assert "CRITICAL  heartbeat_has_a_generation: 1 of" in audited.stdout
    assert "FAILED: heartbeat_has_a_generation in cluster toy" in audited.stdout
