"""Examines this machine: Java, jars, the place of the lake, and what alerts and metrics need."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from fencepost.doctor.checks import OF_MACHINE, Check, Mark
from fencepost.engines import needs_spark
from fencepost.environment import missing
from fencepost.extras import MissingExtraError, require_for_audit
from fencepost.jars import SessionError, java_version, spark_jars
from fencepost.settings import Settings

_LITTLE_BYTES = 1 << 30
_FOR = "Spark, and `fencepost explain --confirm`, need it; an audit in this process does not"


def machine_checks(settings: Settings) -> Iterator[Check]:
    """Checks of Java and its jars, of the disk of the lake, and of what alerts and metrics need."""
    try:
        require_for_audit()
        yield from _spark(settings)
    except MissingExtraError as error:
        yield Check(OF_MACHINE, Mark.NOTE, str(error), "`fencepost collect` does not need it")
    yield from _lake(settings)
    yield from _told(settings)


def _spark(settings: Settings) -> Iterator[Check]:
    missing_mark = Mark.WRONG if needs_spark(settings) else Mark.NOTE
    try:
        java, version = java_version()
        yield Check(OF_MACHINE, Mark.GOOD, f"Java {version} ({java})")
    except SessionError as error:
        yield Check(OF_MACHINE, missing_mark, str(error), _FOR)
    try:
        yield Check(OF_MACHINE, Mark.GOOD, f"{len(spark_jars(settings))} jars for Spark")
    except SessionError as error:
        yield Check(OF_MACHINE, missing_mark, str(error), _FOR)


def _lake(settings: Settings) -> Iterator[Check]:
    folder = settings.lake.folder
    if folder is None:
        return
    what = "the lake" if settings.lake.is_local else "the lake's catalog"
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        remedy = "give this user permission to write there, or give the lake another place ([lake])"
        yield Check(OF_MACHINE, Mark.WRONG, f"{what}, {folder}, cannot be written", remedy)
        return
    free = shutil.disk_usage(there).free
    says = f"{what}, {folder}, has {free / 1e9:,.1f} GB free"
    if free < _LITTLE_BYTES:
        yield Check(OF_MACHINE, Mark.WRONG, says, "free some space, or give the lake another place ([lake])")
    else:
        yield Check(OF_MACHINE, Mark.GOOD, says)


def _told(settings: Settings) -> Iterator[Check]:
    for each in settings.alerts:
        for name in missing(each.url or each.alertmanager or each.webhook or ""):
            says = f"this environment has no {name}, which the address of the alerts to {each.name} needs"
            remedy = "set it where the audit runs, and try `fencepost alerts --test` there"
            yield Check(OF_MACHINE, Mark.NOTE, says, remedy)
    file = settings.metrics_file
    if file is not None and not os.access(file.parent, os.W_OK):
        says = f"the folder of the metrics, {file.parent}, is not there or cannot be written"
        yield Check(OF_MACHINE, Mark.WRONG, says, "make it, or let this user write there ([metrics] file)")
