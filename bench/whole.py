"""A whole audit of the demo's healthy cluster, and the commands on its lake: CPU of the whole process tree.

python bench/whole.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "demo" / "healthy.toml"
SECONDS = {"audit": 75.0, "report": 3.0, "sql": 3.0, "plot": 3.0, "second audit": 75.0}
"""The goals, in CPU seconds."""
BEFORE = {"audit": 325.0, "report": 99.0, "sql": 15.5, "plot": 25.9, "second audit": 325.0}
"""The CPU seconds before the replay was introduced, measured on a busy machine."""
_PAUSE = 0.1


@dataclass
class Cost:
    """The cost of a command with all processes that it started."""

    cpu: float
    wall: float


def main() -> int:
    """Print each command's cost and its goal; returns 1 if a goal was missed."""
    missed = False
    with tempfile.TemporaryDirectory() as lake:
        picture = str(Path(lake) / "group.svg")
        commands = {
            "audit": ("audit",),
            "report": ("report",),
            "sql": ("sql", "SELECT truth, count(*) FROM marts.fct_offset_commits GROUP BY truth"),
            "plot": ("plot", "warehouse", "--out", picture),
            "second audit": ("audit",),
        }
        for name, command in commands.items():
            cost = _run([*command, "--config", str(CONFIG)], lake)
            met = cost.cpu <= SECONDS[name]
            missed |= not met
            goal = f"(goal {SECONDS[name]:.0f}, before {BEFORE[name]:.0f})"
            took = f"{cost.cpu:7.1f} CPU s {goal} {cost.wall:7.1f} s wall"
            print(f"  {'met   ' if met else 'MISSED'} {name:14}{took}", flush=True)
    return int(missed)


def _run(arguments: list[str], lake: str) -> Cost:
    begun = time.monotonic()
    environment = {**os.environ, "FENCEPOST_LAKE": lake}
    with subprocess.Popen(
        [sys.executable, "-m", "fencepost.cli", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        seconds = _watched(process)
        assert process.stderr is not None
        errors = process.stderr.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}:\n{errors[-2000:]}")
    return Cost(seconds, time.monotonic() - begun)


def _watched(process: subprocess.Popen[str]) -> float:
    """The CPU seconds of the process with all processes that it started, until its end."""
    root = psutil.Process(process.pid)
    seconds: dict[int, float] = {}
    while process.poll() is None:
        try:
            family = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            break
        for each in family:
            try:
                times = each.cpu_times()
            except psutil.NoSuchProcess:
                continue
            seconds[each.pid] = times.user + times.system
        time.sleep(_PAUSE)
    return sum(seconds.values())


if __name__ == "__main__":
    sys.exit(main())
