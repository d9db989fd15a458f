"""``make demo``: the DAG over the logs of a healthy and of a troubled cluster, recorded from real brokers.

It exits with 0 if both end as expected: the healthy run succeeds, the troubled run fails at its gate.
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fencepost import cli, report
from fencepost.airflow_env import airflow_environment
from fencepost.opening import open_lake
from fencepost.page.addresses import address
from fencepost.settings import load

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / ".fencepost" / "demo"
STEPS = ("capture", "rebuild", "judge", "marts", "report", "gate")
CRITICAL = "no_commit_for_anothers_partition"
GROUP = "zombie-current-epoch"
"""The group of the troubled cluster whose epochs are drawn: a zombie's commit is accepted in it."""


@dataclass(frozen=True)
class Act:
    """One cluster of the demo: its configuration ``demo/<name>.toml``, and how its DAG run should end."""

    name: str
    words: str
    fails: bool

    @property
    def config(self) -> Path:
        return ROOT / "demo" / f"{self.name}.toml"


ACTS = (
    Act("healthy", "a healthy cluster: groups join, leave, rebalance and commit", fails=False),
    Act(
        "troubled",
        "two troubled clusters: late commits and zombies; fenced producers and hanging transactions",
        fails=True,
    ),
)


def main() -> int:
    """Run both acts and print the reports; returns 0 if both ended as expected."""
    started = time.monotonic()
    home = WORK / "airflow"
    _migrate(home)
    endings = [_run(act, home) for act in ACTS]
    for act in ACTS:
        settings = load(act.config)
        with open_lake(settings) as lake:
            print(report.screen(lake, settings))
    print()
    for act, (as_expected, words) in zip(ACTS, endings, strict=True):
        print(f"{'as expected' if as_expected else 'NOT AS EXPECTED'}: {act.name}: {words}")
    picture = WORK / f"{GROUP}.svg"
    cli.main(["plot", GROUP, "--config", str(ACTS[-1].config), "--out", str(picture)])
    print(_where_to_look(ACTS[-1]))
    print(f"\n{time.monotonic() - started:.0f} s")
    return 0 if all(as_expected for as_expected, _ in endings) else 1


def _migrate(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    with (home / "migrate.log").open("w") as log:
        done = subprocess.run(
            ["airflow", "db", "migrate"], env=airflow_environment(home), stdout=log, stderr=log, check=False
        )
    if done.returncode:
        sys.exit(f"Airflow's database could not be set up; the reason is at the end of {log.name}.")


def _run(act: Act, home: Path) -> tuple[bool, str]:
    """The DAG run of one act: whether it ended as expected, and its end in words."""
    print(f"\nairflow dags test epoch_audit   on {act.words}", flush=True)
    environment = airflow_environment(home) | {"FENCEPOST_CONFIG": str(act.config), "PYTHONUNBUFFERED": "1"}
    log = WORK / f"{act.name}.log"
    with log.open("w") as out:
        run = subprocess.Popen(
            ["airflow", "dags", "test", "epoch_audit"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert run.stdout is not None
        for line in run.stdout:
            out.write(line)
            if started := re.search(r"\[DAG TEST\] starting task_id=(\w+)", line):
                print(f"  {started[1]} ...", flush=True)
        code = run.wait()
    states = _task_states(home)
    if code == 0:
        return not act.fails and set(states.values()) == {"success"}, f"the DAG run succeeded; log: {log}"
    failed_step = next((step for step in STEPS if states.get(step) == "failed"), None)
    if failed_step is None:
        return False, f"Airflow ended with exit code {code}, but no task failed; log: {log}"
    is_reported = CRITICAL in log.read_text(errors="replace")
    return (
        act.fails and failed_step == "gate" and is_reported,
        f"the DAG run failed at the task {failed_step}{f' on {CRITICAL}' if is_reported else ''}; log: {log}",
    )


def _task_states(home: Path) -> dict[str, str]:
    """The state of each task of the newest run, from Airflow's database; there is a gate for each cluster."""
    with closing(sqlite3.connect(home / "airflow.db")) as database:
        newest = "SELECT run_id FROM dag_run ORDER BY id DESC LIMIT 1"
        tasks = f"SELECT task_id, state FROM task_instance WHERE run_id = ({newest})"
        return dict(database.execute(f"{tasks} ORDER BY state = 'failed'"))


def _where_to_look(act: Act) -> str:
    config = act.config.relative_to(ROOT)
    return f"""
More commands (in this folder):
  .venv/bin/fencepost explain --config {config} <id above>
  .venv/bin/fencepost sql --config {config} "SELECT * FROM marts.fct_policy_comparison"
  .venv/bin/fencepost sql --config {config} "SELECT * FROM marts.fct_false_fencing"
  .venv/bin/fencepost plot --config {config} checkout --out checkout.svg
  .venv/bin/fencepost sql --config {config} "SELECT * FROM marts.fct_fencing_events WHERE cluster = 'fenced'"
  .venv/bin/fencepost plot --config {config} --transactional-id two_instances-busy --out fenced.svg
  docs/invariants/   what each invariant means and what to do

The page, for a browser: {address(load(act.config))}"""


if __name__ == "__main__":
    sys.exit(main())
