"""Where Java and Spark's jars are, and what setting up keeps beside them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from fencepost.settings import Settings

JARS_ENV = "FENCEPOST_JARS"


class SessionError(Exception):
    """Spark cannot be started here; the message says what is missing and how to get it."""


def prepared(jars: list[Path], name: str) -> Path:
    """Where setting up keeps what it has made once for every lake: beside the jars."""
    return jars[0].with_name(name)


def spark_jars(settings: Settings) -> list[Path]:
    """The jars Spark needs, from ``FENCEPOST_JARS`` or a folder ``.jars`` nearby. Raises SessionError."""
    named = os.environ.get(JARS_ENV)
    near = (Path.cwd(), settings.folder, *Path(__file__).resolve().parents[2:3])
    folders = [Path(named)] if named else [folder / ".jars" for folder in near]
    for folder in folders:
        if jars := sorted((folder / "spark").glob("*.jar")):
            return [jar.absolute() for jar in jars]
    looked = ", ".join(str(folder / "spark") for folder in dict.fromkeys(folders))
    raise SessionError(f"No jars of Iceberg and SQLite in {looked}. Run `make setup`, or set {JARS_ENV}.")


@cache
def java_version() -> tuple[str, int]:
    """The ``java`` of JAVA_HOME or on PATH, and its release. Raises SessionError if it is missing or too old
    for Spark.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if java is None:
        where = f"in JAVA_HOME ({home})" if home else "on PATH"
        raise SessionError(f"No java {where}. Spark needs Java 17 or newer: install it (`make setup` does).")
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', printed)
    if version is None or int(version[1]) < 17:
        found = version[1] if version else "an unknown version"
        raise SessionError(
            f"{java} is Java {found}. Spark needs Java 17 or newer: install it or set JAVA_HOME."
        )
    return java, int(version[1])
