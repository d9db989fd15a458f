"""Where the parts that are not Python lie, where a run may leave files, and how it writes them."""

from __future__ import annotations

import os
from pathlib import Path

from fencepost.settings import Settings

HOME_ENV = "FENCEPOST_HOME"


class PlaceError(Exception):
    """A folder of the project is not where it was looked for; the message says what to do."""


def project_folder(name: str) -> Path:
    """The folder ``name`` (``dbt``, ``expectations``, ``dags``, ``spec``, ``requirements``) of the project.

    Looked for in ``FENCEPOST_HOME``, else in this package, where a wheel has it (``setup.py``), else in the
    repository that this package is part of, else in the working directory. Raises PlaceError.
    """
    named = os.environ.get(HOME_ENV)
    here = Path(__file__).resolve()
    homes = [Path(named)] if named else [here.with_name("project"), here.parents[2], Path.cwd()]
    for home in homes:
        if (home / name).is_dir():
            return (home / name).absolute()
    looked = ", ".join(str(home / name) for home in homes)
    raise PlaceError(f"No folder {looked}. Set {HOME_ENV} to the folder of the project that holds {name}/.")


def run_folder(settings: Settings) -> Path:
    """Where runs leave files: beside the lake when that is local, else beside the configuration."""
    return settings.lake.folder or settings.folder / ".fencepost"


def work_folder(settings: Settings, name: str) -> Path:
    """A folder for files a run leaves (logs, reports, alerts)."""
    folder = run_folder(settings) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, completely or not at all; a reader never sees a part of it. Raises OSError."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    partial.replace(path)
