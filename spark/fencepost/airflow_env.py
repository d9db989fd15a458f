"""Airflow on the embedded default: SQLite, local executor, this project's DAGs and no others.

``python -m fencepost.airflow_env standalone`` and the like run any Airflow command in that environment; the
one place that says what it is. In production, set the same variables where Airflow is deployed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from fencepost.extras import missing
from fencepost.places import project_folder

PARTS = (
    ("scheduler", "--skip-serve-logs"),
    ("dag-processor",),
    ("api-server",),
    ("triggerer", "--skip-serve-logs"),
)
"""Airflow, without its servers of logs: they listen on every address, and all logs are on this disk."""
PASSWORDS = "simple_auth_manager_passwords.json.generated"
SECONDS_TO_END = 20


def airflow_environment(home: Path) -> dict[str, str]:
    """The environment of this process with what Airflow needs; ``home`` is its AIRFLOW_HOME.

    Whatever the caller has set already is kept, except AIRFLOW_HOME and PATH.
    """
    ours = {
        "AIRFLOW__CORE__DAGS_FOLDER": str(project_folder("dags")),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        # a Spark session takes what the machine has: one task at a time
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    }
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    # `airflow standalone` starts its parts by name, from PATH
    return {**ours, **os.environ, "AIRFLOW_HOME": str(home.absolute()), "PATH": path}


def main() -> NoReturn:
    """``python -m fencepost.airflow_env <command...>`` in AIRFLOW_HOME, else in .fencepost/airflow."""
    if find_spec("airflow") is None:
        sys.exit(missing("airflow", "Airflow"))
    home = Path(os.environ.get("AIRFLOW_HOME") or ".fencepost/airflow")
    environment = airflow_environment(home)
    if code := _migrate(home, environment):
        sys.exit(code)
    if sys.argv[1:] == ["standalone"]:
        sys.exit(_standalone(home.absolute(), environment))
    # in place of this process, so that a signal to it reaches Airflow
    os.execvpe("airflow", ["airflow", *sys.argv[1:]], environment)


def _standalone(home: Path, environment: dict[str, str]) -> int:
    """Run all parts of Airflow until one of them or this process is ended, and then end all."""
    passwords = home / PASSWORDS
    # Airflow would make a file that everybody can read
    passwords.touch(mode=0o600)
    passwords.chmod(0o600)
    port = environment.get("AIRFLOW__API__PORT", "8080")
    sys.stdout.write(
        f"Airflow starts on http://localhost:{port} (user admin, password in {passwords}).\n"
        "Its DAGs start paused: switch them on there. Ctrl-C ends it.\n"
    )
    sys.stdout.flush()
    started: list[subprocess.Popen[bytes]] = []
    asked: list[int] = []
    _on_signals(lambda number, _: asked.append(number))
    try:
        for part in PARTS:
            # in a session of its own: Ctrl-C reaches it through this process only
            started.append(subprocess.Popen(["airflow", *part], env=environment, start_new_session=True))
        # not before all are known: a part that is just being started would be forgotten
        _on_signals(signal.default_int_handler)
        if asked:
            return 0
        ended, _ = os.wait()
        name = next(part[0] for part, of in zip(PARTS, started, strict=True) if of.pid == ended)
        sys.stderr.write(f"airflow {name} has ended; see the lines above.\n")
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        _on_signals(signal.SIG_IGN)
        _end(started)


def _on_signals(handler: Any) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, handler)


def _end(started: list[subprocess.Popen[bytes]]) -> None:
    for process in started:
        process.terminate()
    for process in started:
        try:
            process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _migrate(home: Path, environment: dict[str, str]) -> int:
    """Create the database, or bring it up to date; silent unless it fails."""
    home.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["airflow", "db", "migrate"], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
    return done.returncode


if __name__ == "__main__":
    main()
