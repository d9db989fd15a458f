"""Runs dbt in this process: parses the project, compiles it, and runs any other command of dbt."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fencepost.definitions import definitions, modules
from fencepost.incidents import followed
from fencepost.jars import found_prepared
from fencepost.known_issues import known_issues
from fencepost.marts.result import MartsError
from fencepost.places import project_folder, work_folder
from fencepost.protocols import protocols
from fencepost.reasons import REASONS
from fencepost.report.wording import first_paragraph
from fencepost.settings import Settings

PARSED = "partial_parse.msgpack"
"""dbt's name for the file with the parsed project: with it dbt parses only files that have changed."""

# The generated tests repeat the gate's check for analysts: a violation must not stop the build of marts. What
# dbt's own tests say of a table's rows its test `sound` asks in one query: each alone is one more job of
# Spark. That keys of facts are in dimensions is a matter of code, which this project's own tests check.
NOT_IN_A_BUILD = (
    *("--exclude", "path:tests/generated", "test_type:unit"),
    *("test_name:not_null", "test_name:unique", "test_name:unique_combination_of_columns"),
    "test_name:relationships,fqn:dim_*+",
)
_NO_QUERIES = ("--no-populate-cache", "--no-introspect", "--no-write-json")


def parse(settings: Settings) -> Any:
    """The parsed project (dbt's manifest). Raises MartsError."""
    # the build that follows writes what it found
    return _result(invoke(settings, ["parse", "--no-write-json"]), "read its project")


def compile_all(settings: Settings, manifest: Any, since: Mapping[str, str]) -> list[Any]:
    """All models and their tests, compiled: each node has its SQL. dbt runs no query for that.

    ``manifest`` and ``since`` as for ``invoke``. Raises MartsError.
    """
    outcome = invoke(settings, ["compile", *_NO_QUERIES, *NOT_IN_A_BUILD], manifest, since)
    return [each.node for each in _result(outcome, "compile its models").results]


def invoke(
    settings: Settings,
    arguments: Sequence[str],
    manifest: Any = None,
    since: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """The outcome of a command of dbt. Its files (compiled SQL, logs, run results) go to the folder ``dbt``
    beside the lake. ``manifest``: the parsed project; ``since``: by model that is not built whole, the
    condition of the rows to build.
    """
    from dbt.cli.main import dbtRunner  # 4 s, and only this function needs it

    folder, output = project_folder("dbt"), work_folder(settings, "dbt")
    places = {"--project-dir": folder, "--profiles-dir": folder, "--target-path": output / "target"}
    places["--log-path"] = output / "logs"
    take_parsed(settings, output / "target" / PARSED)
    common = [str(part) for option in places.items() for part in option]
    variables: dict[str, Any] = {
        "marked_definitions": marked_definitions(),
        "violated_definitions": violated_definitions(),
        "unknown_reasons": {name: asdict(reason) for name, reason in REASONS.items()},
        "known_issues": [asdict(each) for each in known_issues()],
        "fencing_protocols": fencing_protocols(folder / "models"),
        "protocols_of_modules": {module: protocol for protocol, module in modules().items()},
        "clock_tables": clock_tables(),
        "followed": [{"invariant": name, "after": before} for name, before in followed().items()],
    }
    if since:
        # set only if the project was parsed before: dbt parses a project again for other variables
        variables["changed_since"] = dict(since)
    quiet = ["--log-level", "none", "--log-level-file", "info", "--no-use-colors"]
    with _same_directory():
        return dbtRunner(manifest).invoke([*arguments, *common, "--vars", json.dumps(variables), *quiet])


def take_parsed(settings: Settings, place: Path) -> None:
    """Copy the project that setting up has parsed to a new lake, if there is one: parsing takes five
    seconds.
    """
    parsed = found_prepared(settings, PARSED)
    if parsed is not None and not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(parsed, place)


def marked_definitions() -> dict[str, str]:
    """``{"<module>.<id>": meaning}`` of every compiled definition."""
    return {f"{each.module}.{each.id}": first_paragraph(each.prose) for each in definitions()}


def violated_definitions() -> dict[str, str]:
    """``{"<module>.<id>": what has happened}`` of every definition whose mark has words for it."""
    return {f"{each.module}.{each.id}": each.violated for each in definitions() if each.violated}


def clock_tables() -> list[str]:
    """The tables of silver with differences of clocks, without their schema."""
    return sorted(each.name.rpartition(".")[2] for protocol in protocols() for each in protocol.clocks)


def fencing_protocols(models: Path) -> list[str]:
    """The protocols that have a model of fencings, which is named after its protocol."""
    names = (each.parent.name for each in models.glob("*/int_*_fencings.sql"))
    return sorted(name for name in names if (models / name / f"int_{name}_fencings.sql").is_file())


def log_folder(settings: Settings) -> str:
    """The folder of dbt's log."""
    return str(work_folder(settings, "dbt") / "logs")


def _result(outcome: Any, what: str) -> Any:
    if not outcome.success:
        raise MartsError(f"dbt could not {what}: {outcome.exception}")
    return outcome.result


@contextmanager
def _same_directory() -> Iterator[None]:
    """Restore the working directory: dbt changes it, and may not change it back."""
    before = Path.cwd()
    try:
        yield
    finally:
        os.chdir(before)
