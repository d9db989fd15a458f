"""Where Java and Spark's jars are, and what setting up keeps beside them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from fencepost.iceberg.catalog import is_on_s3
from fencepost.settings import Settings

JARS_ENV = "FENCEPOST_JARS"

_RELEASES = range(17, 22)
"""The releases of Java that Spark is started with. Its Hadoop asks for the user by Subject.getSubject, which
newer ones refuse (JEP 486): Iceberg then tries for hours to read a table, without an error. May go with
Hadoop 3.4.3, which asks otherwise.
"""
_NEEDED = f"Spark needs Java {_RELEASES[0]} to {_RELEASES[-1]}."


class SessionError(Exception):
    """Spark cannot be started here; the message says what is missing and how to get it."""


def prepared(jars: list[Path], name: str) -> Path:
    """Where setting up keeps what it has made once for every lake: beside the jars."""
    return jars[0].with_name(name)


def found_prepared(settings: Settings, name: str) -> Path | None:
    """What setting up has made, if it has, and if there are jars: only Spark needs them."""
    try:
        file = prepared(spark_jars(settings), name)
    except SessionError:
        return None
    return file if file.is_file() else None


def require_spark(settings: Settings) -> None:
    """Raise SessionError if Java or the jars are missing."""
    java_version()
    spark_jars(settings)


def spark_jars(settings: Settings) -> list[Path]:
    """The jars Spark needs, from ``FENCEPOST_JARS`` or a folder ``.jars`` nearby: those of every lake, then
    those of this lake's store. Raises SessionError.
    """
    named = os.environ.get(JARS_ENV)
    near = (Path.cwd(), settings.folder, *Path(__file__).resolve().parents[2:3])
    folders = [Path(named)] if named else [folder / ".jars" for folder in near]
    jars = _jars_of("spark", folders)
    if not jars:
        looked = ", ".join(str(folder / "spark") for folder in dict.fromkeys(folders))
        raise SessionError(
            f"No jars of Iceberg and its catalogs in {looked}. Run `make setup`, "
            f"or `python -m fencepost.fetch_jars spark` here, or set {JARS_ENV}."
        )
    if not is_on_s3(settings.lake) or "spark.jars" in settings.spark:
        return jars
    of_s3 = _jars_of("aws", folders)
    if not of_s3:
        looked = ", ".join(str(folder / "aws") for folder in dict.fromkeys(folders))
        raise SessionError(
            f"The warehouse is on S3, and Spark has no jar for it in {looked}. Run `make jars-aws`, "
            "or `python -m fencepost.fetch_jars aws` where .jars is, or name the jars of your store in "
            "spark.jars of the configuration."
        )
    return [*jars, *of_s3]


def _jars_of(name: str, folders: Sequence[Path]) -> list[Path]:
    found = (sorted((folder / name).glob("*.jar")) for folder in folders)
    return [jar.absolute() for jar in next(filter(None, found), [])]


@cache
def java_version() -> tuple[str, int]:
    """The ``java`` of JAVA_HOME or on PATH, and its release. Raises SessionError if it is missing, or too old
    or too new for Spark.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if java is None:
        where = f"in JAVA_HOME ({home})" if home else "on PATH"
        raise SessionError(f"No java {where}. {_NEEDED} Install one (`make setup` does).")
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', printed)
    if version is None or int(version[1]) not in _RELEASES:
        found = f"Java {version[1]}" if version else "of an unknown version"
        raise SessionError(f"{java} is {found}. {_NEEDED} Install one of them, and set JAVA_HOME to it.")
    return java, int(version[1])
