"""The five steps from logs to what the gate finds. The DAG's task of the same name runs each of them.

A step reads only tables of earlier layers. After a failure the same step is simply run again, whatever it had
committed before.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pyiceberg.catalog import Catalog

from fencepost import alerts, engines, extras
from fencepost.jars import require_spark
from fencepost.lock import identity, locked
from fencepost.opening import ensure
from fencepost.settings import Settings, SettingsError, load
from fencepost.words import counted, printable

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from fencepost.engines.backends import Backend
    from fencepost.engines.scratch import Scratches
    from fencepost.gate import GateResult
    from fencepost.ledger import Ledger
    from fencepost.maintenance import MaintenanceSummary
    from fencepost.tables import Table

logger = logging.getLogger(__name__)

Summary = dict[str, Any]

_COLLECTOR_HOLDS, _COLLECTOR_WRITES = 8 << 20, 8 << 20
"""So many bytes of new rows a collector has in memory, and writes at a time."""


class Run:
    """One run on the configured lake. Its catalog, its processes and Spark are opened when a step first needs
    them.

    To be used as a context manager: what the run started is always stopped at the end.
    ``run_id`` names the run in every table that it writes. ``tables``: those that it needs, if not all.
    """

    def __init__(
        self, settings: Settings, run_id: str | None = None, tables: Sequence[Table] | None = None
    ) -> None:
        self.settings, self._tables = settings, tables
        self.run_id = run_id or f"manual-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"
        self._backends: dict[str, Backend] = {}
        self._started: SparkContext | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._backends.values():
            each.stop()
        if self._started is not None:
            _stop(self._started)
        # now that no task runs; also what a killed run has left, if this one had nothing to do
        if "catalog" in self.__dict__:
            self._scratches.remove()

    @cached_property
    def catalog(self) -> Catalog:
        """The lake's catalog; tables that are missing are created."""
        return ensure(self.settings.lake, self._tables)

    @cached_property
    def ledger(self) -> Ledger:
        """What the steps of earlier runs have made; this run must hold the lake's lock."""
        from fencepost.ledger import Ledger

        return Ledger(self.catalog, self.settings)

    def spark(self, *, small: bool = True) -> SparkSession:
        """A Spark session on the lake: that of the process if it has one, otherwise one that ends with this
        run.

        ``small``: as in ``spark_session``.
        """
        from fencepost.session import spark_session

        self.spark_context(small=small)
        return spark_session(self.settings, small=small)

    def spark_context(self, *, small: bool = True) -> SparkContext:
        """The process's Spark context, or one that ends with this run; ``small``: as in ``spark_session``."""
        from pyspark import SparkContext

        from fencepost.session import spark_context

        is_first = SparkContext._active_spark_context is None
        context = spark_context(self.settings, small=small)
        if is_first:
            self._started = context
        return context

    def step(self, name: str) -> Summary:
        """Do a step's work, unless it is done already. Returns its summary."""
        if name == "capture":
            from fencepost import audit_runs

            audit_runs.begin(self.catalog, self.run_id)
            self.ledger.keep_unread()
            return STEPS[name](self)
        if name == "report":
            self.ledger.require_finished("gate")
            return STEPS[name](self)
        if name == "marts":
            from fencepost.waivers import note_waivers

            note_waivers(self.settings, self.catalog)
        if (summary := self.ledger.summary(name)) is not None:
            logger.info("%s: nothing has changed since it was done", name)
            return summary
        return STEPS[name](self)

    def engine_for(
        self, size: int, what: str, limit: int | None = None, unit: str = "bytes of evidence"
    ) -> engines.Engine:
        """The engine for work of this size; ``what``: its name, for the log; ``limit``: what one process does
        where the size decides, ``[engine] in_process_mb`` by default.
        """
        limit = self.settings.in_process_mb << 20 if limit is None else limit
        choice = engines.choose(self.settings, size, limit, unit)
        parts = 1 + size // engines.PART_BYTES
        from fencepost.engines.tasks import TaskEngine

        level = logging.DEBUG if choice.run_on == "process" else logging.INFO
        logger.log(level, "%s: by %s, because %s", what, choice.run_on, choice.reason)
        return TaskEngine(self.catalog, parts, self._backend(choice.run_on), self._scratches)

    @cached_property
    def _scratches(self) -> Scratches:
        from fencepost.engines.scratch import Scratches

        return Scratches(self.catalog, identity(self.settings))

    def _backend(self, run_on: str) -> Backend:
        if run_on not in self._backends:
            if run_on == "spark":
                from fencepost.engines.executors import Executors

                self._backends[run_on] = Executors(self.spark_context)
            elif run_on == "processes":
                from fencepost.engines.processes import Processes

                self._backends[run_on] = Processes()
            else:
                from fencepost.engines.this_process import ThisProcess

                self._backends[run_on] = ThisProcess()
        return self._backends[run_on]


def _stop(context: SparkContext) -> None:
    from py4j.protocol import Py4JError

    # a JVM that was killed cannot be stopped
    with suppress(Py4JError, OSError):
        context.stop()


def audit(run: Run, *, alert_to_log: bool = True) -> GateResult:
    """Run all five steps. A closed gate is a result here (``passed`` is false), not an exception. Its alert
    goes to a file, and to the log (``alert_to_log``).

    Waits while another run writes to the lake. Raises what the steps raise, and LockError.
    """
    # the marts need it, after minutes on much evidence
    extras.require_for_audit()
    if engines.needs_spark(run.settings):
        require_spark(run.settings)
    from fencepost.gate import GateFailed, log_sink, run_gate

    with locked(run.settings):
        for name in ("capture", "rebuild", "judge", "marts"):
            started = time.monotonic()
            logger.info("%s ...", name)
            summary = run.step(name)
            logger.info("%s: %s (%.1f s)", name, _in_words(summary), time.monotonic() - started)
        try:
            return run_gate(run.settings, (log_sink,) if alert_to_log else (), run.catalog, run.run_id)
        except GateFailed as failed:
            return failed.result


def collect(settings: Settings, at_most: int | None = None) -> Summary:
    """Read what is new in the logs of this machine into the lake, without JVM; an audit elsewhere then needs
    no path of it; of at most so many bytes (``at_most``), if that is given. Waits while another run writes to
    the lake. Raises LockError, and SettingsError if no logs are configured.
    """
    import pyarrow as pa

    from fencepost.capture import capture
    from fencepost.capture.collectors import collecting_run, on_this_machine
    from fencepost.engines import intake, piece_files
    from fencepost.protocols import collected

    # the machine has other work; Arrow's own pool gives back less of what it had
    intake.HELD_BYTES, piece_files.PIECE_BYTES = _COLLECTOR_HOLDS, _COLLECTOR_WRITES
    pa.set_memory_pool(pa.system_memory_pool())
    here = on_this_machine(dataclasses.replace(settings, run_on="process"))
    run_id = collecting_run(settings)
    with locked(settings), Run(here, run_id, collected()) as run:
        run.ledger.keep_unread()
        result = capture(run.settings, run.catalog, run.engine_for, run.run_id, at_most=at_most)
    pa.default_memory_pool().release_unused()
    waiting = {"waiting": result.waiting} if result.waiting else {}
    rows = sum(result.added.values())
    return {"files": result.files, "rows": rows, "quarantined": result.quarantined, **waiting}


def run_step(name: str, config: str | None = None, run_id: str | None = None) -> Summary:
    """Run one step, for a scheduler; ``config``: the path of the configuration. The step is done on Spark if
    the configuration does not say otherwise.

    Returns its summary as plain values. Waits while another run writes to the lake. Raises what the step
    raises, and LockError. A closed gate is a result here, as in ``audit``.
    """
    settings = load(Path(config) if config else None, services=name == _FIRST)
    settings = dataclasses.replace(settings, run_on=settings.run_on or "spark")
    # two lines for each table that it opens
    logging.getLogger("pyiceberg").setLevel(logging.WARNING)
    with locked(settings), Run(settings, run_id) as run:
        return run.step(name)


def maintain(settings: Settings) -> MaintenanceSummary:
    """Delete files of the lake that no table needs any more, and evidence that is older than the settings
    want. Waits while a run writes to the lake. Raises LockError.
    """
    from fencepost import maintenance

    with locked(settings):
        return maintenance.maintain(ensure(settings.lake), settings)


def run_maintenance(config: str | None = None) -> Summary:
    """``maintain``, for a scheduler; ``config``: the path of the configuration. Raises SettingsError, too."""
    settings = load(Path(config) if config else None, services=False)
    return dataclasses.asdict(maintain(settings))


def report_failure(step: str, error: BaseException | None, config: str | None, run_id: str) -> None:
    """Send an alert that a step of an audit failed, or a task beside the audits, or that the configuration
    cannot be read.
    """
    error = getattr(error, "__cause__", None) or error
    text = f"{type(error).__name__}: {error}" if error else "no exception was reported"
    from fencepost.gate.notify import task_failed

    try:
        settings = load(Path(config) if config else None)
    except SettingsError as unreadable:
        logger.error("run %s: %s failed before a configuration was read: %s", run_id, step, text)
        alerts.configuration_failed(Path(config) if config else None, unreadable)
        return
    of_audit = step in STEPS
    task_failed(settings, step, run_id, text, of_audit=of_audit)
    if of_audit:
        alerts.audit_failed(settings, step, error)
    else:
        alerts.task_failed(settings, step, error)


def _capture(run: Run) -> Summary:
    from fencepost import audit_runs
    from fencepost.capture import capture

    result = capture(run.settings, run.catalog, run.engine_for, run.run_id)
    audit_runs.captured(run.catalog, run.run_id, sum(result.added.values()))
    return {
        "files": result.files,
        **result.added,
        "skipped": result.skipped,
        "too_late": result.too_late,
        "quarantined": result.quarantined,
    }


def _rebuild(run: Run) -> Summary:
    from fencepost.replay.run import rebuild

    return rebuild(run.settings, run.catalog, run.engine_for, run.ledger)


def _judge(run: Run) -> Summary:
    from fencepost.judge import judge

    return dataclasses.asdict(judge(run.settings, run.catalog, run.engine_for, run.ledger))


def _marts(run: Run) -> Summary:
    from fencepost.marts import build

    return build(run.settings, run.catalog, run.spark, run.ledger).summary


def _report(run: Run) -> Summary:
    """``gates``: what closes the gate of each cluster, or None, and what was found there."""
    from fencepost.gate import GateFailed, run_gate

    try:
        result = run_gate(run.settings, catalog=run.catalog, run_id=run.run_id)
    except GateFailed as failed:
        result = failed.result
    gates = [
        {
            "cluster": printable(each.cluster),
            "closed": result.closed(each),
            "page": result.page,
            "found": {"result": each.headline, **each.counts},
        }
        for each in result.clusters
    ]
    return {"summary": result.summary(), "page": result.page, "gates": gates}


STEPS: dict[str, Callable[[Run], Summary]] = {
    "capture": _capture,
    "rebuild": _rebuild,
    "judge": _judge,
    "marts": _marts,
    "report": _report,
}
_TABLES_NAMED = 3
_FIRST = next(iter(STEPS))
"""The step that tells of every mistake in the configuration before there is any work."""


def _in_words(summary: Summary) -> str:
    """What there is some of. Of tables, which are many, the largest are named: the ledger has all."""
    rows = {name: int(value) for name, value in summary.items() if "." in name and value}
    parts = [
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
        for name, value in summary.items()
        if name not in rows and value not in (0, [])
    ]
    if rows:
        largest = sorted(rows, key=lambda name: (-rows[name], name))[:_TABLES_NAMED]
        named = ", ".join(f"{name} {rows[name]:,}" for name in largest)
        rest = ", ..." if len(rows) > len(largest) else ""
        parts.insert(
            1, f"{counted(sum(rows.values()), 'row')} of {counted(len(rows), 'table')} ({named}{rest})"
        )
    return ", ".join(parts) or "nothing"
