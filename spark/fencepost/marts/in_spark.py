"""The marts built by dbt on Spark, inside this process, on the session that is already open.

There is one process and one JVM for the whole build. dbt's session method would start a session with another
configuration; here it finds the open one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fencepost.conditions import since_chapters
from fencepost.conditions.sql import in_spark
from fencepost.marts.plan import Plan
from fencepost.marts.project import NOT_IN_A_BUILD, invoke, log_folder, parse
from fencepost.marts.result import MartsError, MartsResult, failure, faults
from fencepost.settings import Settings

# dbt's comment at the head of each statement
_NODE = re.compile(r'"node_id": "([^"]+)"')
_JOB_NAMES = ("spark.job.description", "callSite.short", "callSite.long")
_FAILED = ("error", "fail", "runtime error")


def build_by_spark(
    spark: SparkSession, settings: Settings, plan: Plan, *, small: bool = False
) -> MartsResult:
    """Build and test the models of the plan. ``small``: they read few rows. Raises MartsError."""
    since = {name: in_spark(since_chapters(each)) for name, each in plan.since.items()}
    # of few rows the driver does nearly all: more threads than cores take its caches from each other
    threads = ["--threads", str(min(4, os.cpu_count() or 4))] if small else []
    arguments = ["build", "--select", *plan.build, *NOT_IN_A_BUILD, *threads]
    return run_dbt(spark, settings, arguments, parse(settings), since)


def build_all(spark: SparkSession, settings: Settings) -> MartsResult:
    """Build and test every mart, even if unchanged. Raises MartsError."""
    return run_dbt(spark, settings, ["build", *NOT_IN_A_BUILD])


def run_dbt(
    spark: SparkSession,
    settings: Settings,
    arguments: Sequence[str],
    manifest: Any = None,
    since: Mapping[str, str] = MappingProxyType({}),
) -> MartsResult:
    """Run one dbt command (``build``, ``test --select generated``, ``docs generate``...) on the open session.

    ``manifest`` and ``since`` as for ``invoke``. Raises MartsError.
    """
    with _as_first_session(spark), _same_mode(spark):
        outcome = invoke(settings, arguments, manifest, since)
    return _result(spark, outcome, log_folder(settings))


def _result(spark: SparkSession, outcome: Any, log: str) -> MartsResult:
    results = getattr(outcome.result, "results", None) or []
    failed = [each for each in results if each.status in _FAILED]
    if failed:
        why = {each.node.name: _faults(spark, each) or _message(each) for each in failed}
        raise failure(why, len(results), log)
    if not outcome.success:
        raise MartsError(f"dbt could not run: {outcome.exception} (log: {log}).")
    done = [each for each in results if each.status == "success"]
    return MartsResult(
        models=tuple(each.node.name for each in done if each.node.resource_type == "model"),
        tests=sum(each.status == "pass" for each in results),
        warnings=tuple(f"{each.node.name}: {_message(each)}" for each in results if each.status == "warn"),
        seconds=round(sum(each.execution_time for each in results), 1),
    )


def _faults(spark: SparkSession, result: Any) -> str:
    """The faults that a failed test ``sound`` found; an empty text for any other node."""
    if result.node.resource_type != "test" or not result.node.name.endswith("_sound"):
        return ""
    return faults([row.asDict() for row in spark.sql(result.node.compiled_code).collect()])


def _message(result: Any) -> str:
    # Spark's messages end in a query plan of many screens
    return re.split(r"; line \d+ pos \d+;|\n\s*JVM stacktrace", str(result.message or "no message").strip())[
        0
    ][:2000]


@contextmanager
def _same_mode(spark: SparkSession) -> Iterator[None]:
    """Restore ANSI mode, which dbt-spark turns off in the session that it uses."""
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    try:
        yield
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(ansi))


class _Named(SparkSession):
    """The same session. Spark's pages name its jobs after dbt's nodes (``model.fencepost.fct_incidents``).

    PySpark names a job that collects rows after the line of code, whatever name is set: the pages show the
    description. The name is set because Spark else walks the stack at each RDD to find a line.
    """

    def sql(self, sqlQuery: str, *arguments: Any, **options: Any) -> DataFrame:  # noqa: N803 (Spark's name)
        node = _NODE.search(sqlQuery)
        for each in _JOB_NAMES:
            self.sparkContext.setLocalProperty(each, node[1] if node else "dbt")
        return super().sql(sqlQuery, *arguments, **options)


@contextmanager
def _as_first_session(spark: SparkSession) -> Iterator[None]:
    """Let dbt find this session: it takes the process's first one, which may be of another lake."""
    before = SparkSession._instantiatedSession
    SparkSession._instantiatedSession = _Named(spark.sparkContext, spark._jsparkSession)
    try:
        yield
    finally:
        SparkSession._instantiatedSession = before
        for each in _JOB_NAMES:
            spark.sparkContext.setLocalProperty(each, None)  # type: ignore[arg-type]
