"""dbt's project: parsed, compiled, or handed to any other command of dbt, inside this process."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fencepost.changed import Since
from fencepost.definitions import definitions
from fencepost.marts.result import MartsError
from fencepost.places import project_folder, work_folder
from fencepost.report import first_paragraph
from fencepost.session import prepared, spark_jars
from fencepost.settings import Settings

PARSED = "partial_parse.msgpack"
"""dbt's own name for the project as it has parsed it: it reads again only the files that differ."""

# The generated tests repeat the gate's question for analysts: a violation must not hold the marts back.
NOT_IN_A_BUILD = ("--exclude", "path:tests/generated", "test_type:unit")


def parse(settings: Settings) -> Any:
    """The project as dbt reads it (its manifest). Raises MartsError."""
    return _result(invoke(settings, ["parse"]), "read its project")


def compiled(
    settings: Settings, project: Any, models: Sequence[str], since: Mapping[str, Since]
) -> list[Any]:
    """Some models and their tests, as dbt has compiled them: each node has its SQL. No query is run for it.

    ``project`` and ``since`` as for ``invoke``. Raises MartsError.
    """
    chosen = ["compile", "--no-populate-cache", "--no-introspect", "--select", *models, *NOT_IN_A_BUILD]
    outcome = invoke(settings, chosen, project, since)
    return [each.node for each in _result(outcome, "compile its models").results]


def invoke(
    settings: Settings,
    arguments: Sequence[str],
    project: Any = None,
    since: Mapping[str, Since] = MappingProxyType({}),
) -> Any:
    """What dbt says to a command. Its files (compiled SQL, logs, run results) go to the folder ``dbt`` beside
    the lake. ``project``: as it was parsed; ``since``: models that are built from a chapter on.
    """
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


def log_folder(settings: Settings) -> str:
    """Where dbt writes its log."""
    return str(work_folder(settings, "dbt") / "logs")


def _result(outcome: Any, what: str) -> Any:
    if not outcome.success:
        raise MartsError(f"dbt could not {what}: {outcome.exception}")
    return outcome.result


@contextmanager
def _same_directory() -> Iterator[None]:
    """dbt changes into its project and may stay there."""
    before = Path.cwd()
    try:
        yield
    finally:
        os.chdir(before)
