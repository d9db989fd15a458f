"""Examines this machine: Java, jars, the place of the lake, and what alerts and metrics need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from fencepost.alerts.secrets import missing
from fencepost.doctor.checks import Check, Mark
from fencepost.jars import SessionError, spark_jars
from fencepost.settings import Settings

_OF = "this machine"
_OLDEST_JAVA = 17
_LITTLE_BYTES = 1 << 30
_FOR = "Spark, and `fencepost explain --confirm`, need it; an audit in this process does not"


def machine_checks(settings: Settings) -> Iterator[Check]:
    """Checks of Java and its jars, of the disk of the lake, and of what alerts and metrics need."""
    yield _java(is_needed=settings.run_on == "spark")
    try:
        yield Check(_OF, Mark.GOOD, f"{len(spark_jars(settings))} jars for Spark")
    except SessionError as error:
        yield Check(_OF, Mark.NOTE, str(error), _FOR)
    yield from _lake(settings)
    yield from _told(settings)


def _java(*, is_needed: bool) -> Check:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    mark = Mark.WRONG if is_needed else Mark.NOTE
    if java is None:
        where = f"in JAVA_HOME ({home})" if home else "on PATH"
        return Check(_OF, mark, f"no java {where}", f"install Java {_OLDEST_JAVA} or newer: {_FOR}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        told = said.splitlines()[0] if said else "it did not tell its version"
        return Check(_OF, mark, f"{java}: {told}", f"install Java {_OLDEST_JAVA} or newer: {_FOR}")
    return Check(_OF, Mark.GOOD, f"Java {version[1]} ({java})")


def _lake(settings: Settings) -> Iterator[Check]:
    folder = settings.lake.folder
    if folder is None:
        yield Check(
            _OF, Mark.NOTE, f"the lake's catalog is of type {settings.lake.catalog}: not examined here"
        )
        return
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not os.access(there, os.W_OK):
        remedy = "give this user permission to write there, or give the lake another place ([lake])"
        yield Check(_OF, Mark.WRONG, f"the lake, {folder}, cannot be written", remedy)
        return
    free = shutil.disk_usage(there).free
    says = f"the lake, {folder}, has {free / 1e9:,.1f} GB free"
    if free < _LITTLE_BYTES:
        yield Check(_OF, Mark.WRONG, says, "free some space, or give the lake another place ([lake])")
    else:
        yield Check(_OF, Mark.GOOD, says)


def _told(settings: Settings) -> Iterator[Check]:
    for each in settings.alerts:
        for name in missing(each.url or each.alertmanager or each.webhook or ""):
            says = f"this environment has no {name}, which the address of the alerts to {each.name} needs"
            remedy = "set it where the audit runs, and try `fencepost alerts --test` there"
            yield Check(_OF, Mark.NOTE, says, remedy)
    file = settings.metrics_file
    if file is not None and not os.access(file.parent, os.W_OK):
        says = f"the folder of the metrics, {file.parent}, is not there or cannot be written"
        yield Check(_OF, Mark.WRONG, says, "make it, or let this user write there ([metrics] file)")
