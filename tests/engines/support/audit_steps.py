"""Capture, rebuild and judge, in a process of its own that can be killed, or whose executors can.

    python audit_steps.py CONFIG RUN_ON [NAME=VALUE of Spark's configuration ...]

The lake is that of FENCEPOST_LAKE. However few rows are, tasks do the work.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from fencepost import pipeline
from fencepost.engines import places, tasks
from fencepost.lock import locked
from fencepost.settings import load

STEPS = ("capture", "rebuild", "judge")


def main() -> None:
    """Do the steps; says when each begins."""
    config, run_on, *conf = sys.argv[1:]
    chosen: Any = run_on
    settings = load(Path(config))
    spark = {**settings.spark, **dict(each.split("=", 1) for each in conf)}
    settings = replace(settings, run_on=chosen, spark=spark)
    tasks.SMALL_BYTES, places.FEW_BYTES, tasks.TASK_BYTES = -1, 1 << 10, 1 << 14
    with locked(settings), pipeline.Run(settings) as run:
        for name in STEPS:
            sys.stdout.write(f"{name} begins\n")
            sys.stdout.flush()
            run.step(name)


if __name__ == "__main__":
    main()
