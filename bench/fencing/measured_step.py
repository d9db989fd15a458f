"""Runs a step of a benchmark in its own process, and reports its cost and whether a goal was met."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

missed: list[str] = []
"""The goals that were not met."""


@dataclass(frozen=True)
class Took:
    """The cost of a process with its JVM and their workers; ``peak`` is resident memory in MiB."""

    wall: float
    cpu: float
    peak: float
    steps: dict[str, dict[str, Any]]


def step(script: Path, folder: Path, name: str) -> Took:
    """Run a step of a script that prints its cost as a line of JSON. Raises SystemExit if it fails."""
    begun = time.monotonic()
    with (folder / f"{name}.log").open("w+") as log:
        command = [sys.executable, str(script), str(folder), name]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, env=_environment(), check=False)
        if done.returncode:
            log.seek(0)
            raise SystemExit(f"{name} failed:\n{log.read()[-2000:]}")
    steps = json.loads(done.stdout)
    took = Took(
        time.monotonic() - begun,
        sum(each["cpu"] for each in steps.values()),
        max(each["peak"] for each in steps.values()),
        steps,
    )
    print(f"  {name:8}{took.wall:7.1f} s wall {took.cpu:7.1f} s CPU {took.peak:7,.0f} MiB", flush=True)
    for part, each in steps.items():
        wall, cpu, peak = each["wall"], each["cpu"], each["peak"]
        print(f"    {part:8}{wall:5.1f} s wall {cpu:7.1f} s CPU {peak:7,.0f} MiB", flush=True)
    return took


def _environment() -> dict[str, str]:
    """The environment without options that make short runs of a JVM cheap, since users do not have them."""
    return {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}


def goal(what: str, met: bool, measure: str) -> None:
    """Print a goal, and remember it if it was missed."""
    print(f"  {'met   ' if met else 'MISSED'} {what}{': ' + measure if measure else ''}", flush=True)
    if not met:
        missed.append(what)
