"""Capture, rebuild and judge as ``fencepost audit`` does, in a process that can be killed, or its executors.

    python audit_steps.py CONFIG RUN_ON [NAME=VALUE of Spark's configuration ...]

The lake is that of FENCEPOST_LAKE. However few rows are, tasks do the work.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import replace

from fencepost import cli, commands, pipeline
from fencepost.engines import places, tasks
from fencepost.lock import locked
from fencepost.settings import Settings

STEPS = ("capture", "rebuild", "judge")


def main() -> int:
    """Do the steps; says when each begins, and when all are done."""
    config, run_on, *conf = sys.argv[1:]
    tasks.SMALL_BYTES, places.FEW_BYTES, tasks.TASK_BYTES = -1, 1 << 10, 1 << 14

    def audit(settings: Settings, arguments: Namespace) -> int:
        spark = {**settings.spark, **dict(each.split("=", 1) for each in conf)}
        settings = replace(settings, run_on=arguments.run_on, spark=spark)
        with locked(settings), pipeline.Run(settings) as run:
            for name in STEPS:
                sys.stdout.write(f"{name} begins\n")
                sys.stdout.flush()
                run.step(name)
        sys.stdout.write("all is done\n")
        sys.stdout.flush()
        return 0

    commands.audit = audit
    return cli.main(["audit", "--config", config, "--run-on", run_on])


if __name__ == "__main__":
    sys.exit(main())
