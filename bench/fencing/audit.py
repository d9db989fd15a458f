"""Steps of an audit over a generated cluster, in a process of its own that can be measured.

    python bench/fencing/audit.py FOLDER {capture,audit,check}

``audit`` is rebuild and judge, in a session as the product gives it. ``check`` compares every commit with the
cluster's ``ground_truth.parquet``. Prints one line of JSON: what each step took and said.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from coordinator import POLICIES
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from fencepost import lake, pipeline
from fencepost.settings import Settings, load

STEPS = {"capture": ("capture",), "audit": ("rebuild", "judge"), "check": ("check",)}
_PAUSE = 0.25
KEY = ("group_id", "client_id", "correlation_id", "topic", "partition")


def main() -> int:
    """Run the steps."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    settings = load(folder / "fencepost.toml")
    found: dict[str, dict[str, Any]] = {}
    meter = Meter()
    meter.start()
    begun = time.monotonic()
    with pipeline.session(settings) as spark:
        found["session"] = {"wall": time.monotonic() - begun, **meter.read()}
        for step in STEPS[name]:
            begun = time.monotonic()
            said = _step(step)(spark, settings, "bench")
            found[step] = {"wall": time.monotonic() - begun, **meter.read(), "said": said}
    sys.stdout.write(json.dumps(found, default=str))
    return 0


def _step(name: str) -> Callable[[SparkSession, Settings, str], dict[str, Any]]:
    return pipeline.STEPS.get(name, _check)


class Meter(threading.Thread):
    """Watches this process, its JVM and their workers, which may be gone when a step has ended."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._seconds: dict[psutil.Process, float] = {}
        self._before = 0.0
        self._peak = 0

    def run(self) -> None:
        """Sample."""
        while True:
            self._sample()
            time.sleep(_PAUSE)

    def read(self) -> dict[str, float]:
        """CPU seconds and peak memory (MiB) since it was read last."""
        self._sample()
        seconds = sum(self._seconds.values())
        taken = {"cpu": seconds - self._before, "peak": self._peak / 2**20}
        self._before, self._peak = seconds, 0
        return taken

    def _sample(self) -> None:
        held, machine = 0, 0
        me = psutil.Process()
        for each in (me, *me.children(recursive=True)):
            with suppress(psutil.NoSuchProcess), each.oneshot():
                times, memory = each.cpu_times(), each.memory_info().rss
                self._seconds[each] = times.user + times.system
                if each.name() == "java":
                    # one that is about to run another program shares the memory of the first
                    machine = max(machine, memory)
                else:
                    held += memory
        self._peak = max(self._peak, held + machine)


def _check(spark: SparkSession, settings: Settings, run_id: str) -> dict[str, Any]:
    """How many commits there are, and how many answers, truths and decisions are not as they were made."""
    told = spark.read.parquet(str(settings.folder / "ground_truth.parquet"))
    told = told.withColumnsRenamed({name: f"told_{name}" for name in told.columns if name not in KEY})
    commits = spark.table(lake.COMMITS.name).select("commit_id", *KEY, "broker_error", "unknown_reason")
    both = commits.join(told, on=list(KEY), how="full").persist()
    states = both.select("commit_id", "told_truth").join(spark.table(lake.COMMIT_STATES.name), on="commit_id")
    decided = spark.table(lake.DECISIONS.name).select(
        "decision", "outcome", F.col("subject").alias("commit_id")
    )
    expected = F.when(F.col("decision") == "broker_rule", F.col("told_error") == "NONE")
    for policy in POLICIES:
        expected = expected.when(F.col("decision") == policy, F.col(f"told_{policy}"))
    decided = decided.join(both, on="commit_id").withColumn("expected", expected)
    truth = (
        F.when(F.col("client_epoch") < 0, "unfenced")
        .when(F.col("owned_at_client_epoch") & F.col("reassigned_since"), "zombie")
        .when(F.col("owned_at_client_epoch") & F.col("uninterrupted"), "owner")
        .when(F.col("owned_at_client_epoch").isNotNull(), "not_owner")
    )
    wrong = {
        "answers": both.where(~F.col("broker_error").eqNullSafe(F.col("told_error"))),
        "unknown": both.where("unknown_reason is not null"),
        "truths": states.where(~truth.eqNullSafe(F.col("told_truth"))),
        "decisions": decided.where(~F.col("outcome").eqNullSafe(F.col("expected"))),
    }
    counted = {"commits": both.count(), "states": states.count(), "decided": decided.count()}
    return {**counted, "wrong": {name: rows.count() for name, rows in wrong.items()}}


if __name__ == "__main__":
    sys.exit(main())
