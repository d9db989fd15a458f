"""Where Spark's jars are, and what setting up keeps beside them."""

from __future__ import annotations

import os
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
