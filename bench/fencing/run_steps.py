"""Runs steps of an audit in this process and prints the cost of each, which ``measured_step`` reads."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from meter import Meter

from fencepost import pipeline
from fencepost.settings import load


def run_steps(folder: Path, steps: Mapping[str, Callable[[pipeline.Run], Any]]) -> int:
    """Run the steps over the lake of ``folder``, and print one line of JSON: the cost and the summary of
    each.
    """
    settings = load(folder / "fencepost.toml")
    costs: dict[str, dict[str, Any]] = {}
    meter = Meter()
    meter.start()
    begun = time.monotonic()
    with pipeline.Run(settings, "bench") as run:
        run.catalog  # noqa: B018 (the tables are made)
        costs["start"] = {"wall": time.monotonic() - begun, **meter.read()}
        for name, step in steps.items():
            begun = time.monotonic()
            summary = step(run)
            costs[name] = {"wall": time.monotonic() - begun, **meter.read(), "said": summary}
    sys.stdout.write(json.dumps(costs, default=str))
    return 0
