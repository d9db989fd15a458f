"""The marts: runs dbt inside this process, on the Spark session that is already open.

One process and one JVM for the whole build. dbt's own session method would start a session of its own
configuration; here it finds ours.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from fencepost.changed import Since
from fencepost.definitions import definitions
from fencepost.places import project_folder, work_folder
from fencepost.report import first_paragraph
from fencepost.session import prepared, spark_jars, spark_session
from fencepost.settings import Settings, SettingsError, load
from fencepost.stale import Inputs, models
from fencepost.unchanged import made_by

logger = logging.getLogger(__name__)

# The generated tests repeat the gate's question for analysts: a violation must not hold the marts back.
_NOT_IN_A_BUILD = ("--exclude", "path:tests/generated", "--exclude-resource-type", "unit_test")
_CODEGEN = "spark.sql.codegen.factoryMode"
_FAILED = ("error", "fail", "runtime error")

COMPILED_FROM = 1_000_000
"""Rows read from which on it pays that Spark compiles the expressions of a query."""

PARSED = "partial_parse.msgpack"
"""dbt's own name for the project as it has parsed it: it reads again only the files that differ."""


class MartsError(Exception):
    """dbt failed; the message lists each failing node and why."""


@dataclass(frozen=True)
class MartsResult:
    """``models``: tables and views built; ``tests``: data tests passed; ``warnings``: ``node: message``;
    ``empty``: marts created without rows; ``kept``: models that are as they would be built.
    """

    models: tuple[str, ...]
    tests: int
    warnings: tuple[str, ...]
    seconds: float
    empty: int = 0
    kept: int = 0


def build(spark: SparkSession, settings: Settings, catalog: Catalog) -> MartsResult:
    """Build and test every mart that may have other rows than it has. Raises MartsError."""
    project = parse(settings)
    inputs = Inputs(catalog, models(project), made_by("marts", settings))
    plan = inputs.plan()
    for mart in plan.empty:
        inputs.create(mart)
    result = MartsResult((), 0, (), 0.0)
    if plan.build:
        with _compiling(spark, settings, inputs.rows):
            chosen = ["build", "--select", *plan.build, *_NOT_IN_A_BUILD]
            result = run_dbt(spark, settings, chosen, project, plan.since)
    inputs.note()
    return replace(result, empty=len(plan.empty), kept=plan.kept)


def build_all(spark: SparkSession, settings: Settings, *, select: str | None = None) -> MartsResult:
    """Build and test every mart, or those that dbt's ``select`` names, even unchanged. Raises MartsError."""
    chosen = ("--select", select) if select else ()
    return run_dbt(spark, settings, ["build", *chosen, *_NOT_IN_A_BUILD])


def parse(settings: Settings) -> Any:
    """The project as dbt reads it (its manifest). Raises MartsError."""
    outcome = _invoke(settings, ["parse"])
    if not outcome.success:
        raise MartsError(f"dbt could not read its project: {outcome.exception}")
    return outcome.result


def run_dbt(
    spark: SparkSession,
    settings: Settings,
    arguments: Sequence[str],
    project: Any = None,
    since: Mapping[str, Since] | None = None,
) -> MartsResult:
    """Run one dbt command (``build``, ``test --select generated``, ``docs generate``...) on the open session.

    dbt's files (compiled SQL, logs, run results) go to the folder ``dbt`` beside the lake. ``project``: as it
    was parsed; ``since``: models that are built from a chapter on. Raises MartsError.
    """
    with _ours(spark), _same_mode(spark):
        outcome = _invoke(settings, arguments, project, since or {})
    return _result(spark, outcome, work_folder(settings, "dbt"))


def _invoke(
    settings: Settings,
    arguments: Sequence[str],
    project: Any = None,
    since: Mapping[str, Since] = MappingProxyType({}),
) -> Any:
    from dbt.cli.main import dbtRunner  # 4 s, and only this function needs it

    folder, output = project_folder("dbt"), work_folder(settings, "dbt")
    places = {"--project-dir": folder, "--profiles-dir": folder, "--target-path": output / "target"}
    places["--log-path"] = output / "logs"
    take_parsed(settings, output / "target" / PARSED)
    common = [str(part) for option in places.items() for part in option]
    variables: dict[str, Any] = {
        "marked_definitions": marked_definitions(),
        "fencing_protocols": fencing_protocols(folder / "models"),
    }
    if since:
        # of a project that was parsed already: with other variables dbt would parse it again
        variables["changed_since"] = {name: list(each.items()) for name, each in since.items()}
    quiet = ["--log-level", "none", "--log-level-file", "info", "--no-use-colors"]
    with _same_directory():
        return dbtRunner(project).invoke([*arguments, *common, "--vars", json.dumps(variables), *quiet])


def take_parsed(settings: Settings, place: Path) -> None:
    """Give a new lake the project as setting up has parsed it, if it has: parsing takes dbt five seconds."""
    parsed = prepared(spark_jars(settings), PARSED)
    if parsed.is_file() and not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(parsed, place)


def marked_definitions() -> dict[str, str]:
    """``{"<module>.<id>": what it means}`` of every compiled definition."""
    return {f"{each.module}.{each.id}": first_paragraph(each.prose) for each in definitions()}


def fencing_protocols(models: Path) -> list[str]:
    """The protocols that have a model of their fencings, which is named after them."""
    found = (each.parent.name for each in models.glob("*/int_*_fencings.sql"))
    return sorted(name for name in found if (models / name / f"int_{name}_fencings.sql").is_file())


def _result(spark: SparkSession, outcome: Any, output: Path) -> MartsResult:
    results = getattr(outcome.result, "results", None) or []
    failed = [each for each in results if each.status in _FAILED]
    if failed:
        lines = "\n".join(f"  {each.node.name}: {_faults(spark, each) or _message(each)}" for each in failed)
        raise MartsError(
            f"dbt: {len(failed)} of {len(results)} nodes failed (log: {output / 'logs'}).\n{lines}"
        )
    if not outcome.success:
        raise MartsError(f"dbt could not run: {outcome.exception} (log: {output / 'logs'}).")
    done = [each for each in results if each.status == "success"]
    return MartsResult(
        models=tuple(each.node.name for each in done if each.node.resource_type == "model"),
        tests=sum(each.status == "pass" for each in results),
        warnings=tuple(f"{each.node.name}: {_message(each)}" for each in results if each.status == "warn"),
        seconds=round(sum(each.execution_time for each in results), 1),
    )


def _faults(spark: SparkSession, result: Any) -> str:
    """What a failed test ``sound`` found; nothing of any other node."""
    if result.node.resource_type != "test" or not result.node.name.endswith("_sound"):
        return ""
    found = spark.sql(result.node.compiled_code).collect()
    return "; ".join(f"{row.fault} ({row.faulty_rows} rows)" for row in found)


def _message(result: Any) -> str:
    # Spark's messages end in a query plan of many screens
    return re.split(r"; line \d+ pos \d+;|\n\s*JVM stacktrace", str(result.message or "no message").strip())[
        0
    ][:2000]


@contextmanager
def _compiling(spark: SparkSession, settings: Settings, rows: int) -> Iterator[None]:
    """Expressions are compiled where rows are many, unless the configuration says otherwise. Whole stages
    are not: their code is so large that compiling it took more than it saved.
    """
    before = spark.conf.get(_CODEGEN)
    if rows >= COMPILED_FROM and _CODEGEN not in settings.spark:
        spark.conf.set(_CODEGEN, "FALLBACK")
    try:
        yield
    finally:
        spark.conf.set(_CODEGEN, str(before))


@contextmanager
def _same_mode(spark: SparkSession) -> Iterator[None]:
    """dbt-spark turns ANSI mode off in the session that it is given; what runs after it must not notice."""
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    try:
        yield
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(ansi))


@contextmanager
def _ours(spark: SparkSession) -> Iterator[None]:
    """dbt takes the process's first session; where a process has several lakes, that may be another one's."""
    before = SparkSession._instantiatedSession
    SparkSession._instantiatedSession = spark
    try:
        yield
    finally:
        SparkSession._instantiatedSession = before


@contextmanager
def _same_directory() -> Iterator[None]:
    """dbt changes into its project and may stay there."""
    before = Path.cwd()
    try:
        yield
    finally:
        os.chdir(before)


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m fencepost.marts [--config FILE] <dbt command...>``: dbt on the configured lake."""
    parser = argparse.ArgumentParser(
        prog="python -m fencepost.marts", description=main.__doc__, allow_abbrev=False
    )
    parser.add_argument("--config", type=Path)
    options, command = parser.parse_known_args(arguments)
    try:
        settings = load(options.config)
        spark = spark_session(settings)
        try:
            result = run_dbt(spark, settings, command) if command else build_all(spark, settings)
        finally:
            spark.stop()
    except (SettingsError, MartsError) as error:
        sys.stderr.write(f"{error}\n")
        return 1 if isinstance(error, MartsError) else 2
    sys.stdout.write(f"{len(result.models)} models, {result.tests} tests passed, {result.seconds} s\n")
    sys.stdout.writelines(f"warning: {line}\n" for line in result.warnings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
