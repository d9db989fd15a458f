"""The way from logs to the gate, in five steps: each is called by the DAG's task of the same name.

A step works on an open session, reads only the tables of the layers before it, and commits what it writes
whole: after a failure the same step is simply run again.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from fencepost.gate import GateFailed, GateResult, run_gate
from fencepost.gate.notify import Sink, task_failed
from fencepost.settings import Settings, SettingsError, load

logger = logging.getLogger(__name__)

Summary = dict[str, Any]


@contextmanager
def session(settings: Settings) -> Iterator[SparkSession]:
    """A session on the configured lake with every table in place; stopped at the end, come what may."""
    from fencepost import lake
    from fencepost.session import spark_session

    logging.getLogger("py4j").setLevel(logging.WARNING)
    spark = spark_session(settings)
    try:
        lake.ensure(spark)
        yield spark
    finally:
        spark.stop()


def audit(
    spark: SparkSession, settings: Settings, run_id: str | None = None, sinks: Sequence[Sink] = ()
) -> GateResult:
    """All five steps in one session. A closed gate is a result here (``passed`` is false), no exception."""
    run_id = run_id or new_run_id()
    for name in ("capture", "rebuild", "judge", "marts"):
        started = time.monotonic()
        logger.info("%s ...", name)
        summary = STEPS[name](spark, settings, run_id)
        logger.info("%s: %s (%.1f s)", name, _in_words(summary), time.monotonic() - started)
    try:
        return run_gate(spark, settings, sinks)
    except GateFailed as failed:
        return failed.result


def run_step(name: str, config: str | None = None, run_id: str | None = None) -> Summary:
    """One step in a session of its own, for a scheduler: ``config`` is the path of the configuration.

    Gives back its summary in plain values. Raises what the step raises; GateFailed when the gate is closed.
    """
    settings = load(Path(config) if config else None)
    with session(settings) as spark:
        return STEPS[name](spark, settings, run_id or new_run_id())


def report_failure(step: str, error: BaseException | None, config: str | None, run_id: str) -> None:
    """Alert that a step broke. A closed gate is left out: it alerts where it knows what it found."""
    if isinstance(error, GateFailed):
        return
    text = f"{type(error).__name__}: {error}" if error else "no exception was reported"
    try:
        settings = load(Path(config) if config else None)
    except SettingsError:
        logger.error("run %s: %s failed before a configuration was read: %s", run_id, step, text)
        return
    task_failed(settings, step, run_id, text)


def new_run_id() -> str:
    """An id for a run that no scheduler has named."""
    return f"manual-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"


def _capture(spark: SparkSession, settings: Settings, run_id: str) -> Summary:
    from fencepost.capture import capture

    return dataclasses.asdict(capture(spark, settings, run_id))


def _rebuild(spark: SparkSession, settings: Settings, run_id: str) -> Summary:
    from fencepost.rebuild import rebuild

    return dict(rebuild(spark, settings, run_id))


def _judge(spark: SparkSession, settings: Settings, run_id: str) -> Summary:
    from fencepost.judge import judge
    from fencepost.judge.iceberg import open_catalog

    return dataclasses.asdict(judge(settings, open_catalog(settings), lambda: spark))


def _marts(spark: SparkSession, settings: Settings, run_id: str) -> Summary:
    from fencepost.marts import build

    result = build(spark, settings)
    return {"models": len(result.models), "tests": result.tests, "warnings": list(result.warnings)}


def _gate(spark: SparkSession, settings: Settings, run_id: str) -> Summary:
    result = run_gate(spark, settings)
    return {"summary": result.summary(), "data_docs": str(result.data_docs)}


STEPS: dict[str, Callable[[SparkSession, Settings, str], Summary]] = {
    "capture": _capture,
    "rebuild": _rebuild,
    "judge": _judge,
    "marts": _marts,
    "gate": _gate,
}


def _in_words(summary: Summary) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in summary.items())
