"""``make airflow``: what it starts, who can read the password, and that it leaves nothing running."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

# in place of Airflow, whose start takes a minute: it notes its arguments and never ends
PART = """#!/bin/sh
printf '%s\\n' "$*" > "$AIRFLOW_HOME/started-$1"
exec sleep 600
"""
START = """
import os, sys
from pathlib import Path
from fencepost.airflow_env import _standalone
sys.exit(_standalone(Path(os.environ["AIRFLOW_HOME"]), dict(os.environ)))
"""


def test_all_parts_end_with_it_and_none_serves_logs(tmp_path: Path) -> None:
    (tmp_path / "airflow").write_text(PART)
    (tmp_path / "airflow").chmod(0o755)
    passwords = tmp_path / "simple_auth_manager_passwords.json.generated"
    passwords.write_text("{}")
    passwords.chmod(0o644)  # as Airflow makes it
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "AIRFLOW_HOME": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", START], env=environment, stdout=subprocess.PIPE) as started:
        while len(parts := sorted(tmp_path.glob("started-*"))) < 4 or not all(
            part.stat().st_size for part in parts
        ):
            assert started.poll() is None
            time.sleep(0.02)
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
        started.send_signal(signal.SIGTERM)
        said, _ = started.communicate(timeout=60)
    assert started.returncode == 0
    assert [part.read_text().strip() for part in parts] == [
        "api-server", "dag-processor", "scheduler --skip-serve-logs", "triggerer --skip-serve-logs",
    ]  # fmt: skip
    assert len(children) == 4
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    assert stat.S_IMODE(passwords.stat().st_mode) == 0o600
    assert str(passwords).encode() in said and b"paused" in said
