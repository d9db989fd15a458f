"""The compiled dbt project: the SQL of each model and each test, and the models that they depend on.

It depends on the code alone. So it is stored, with a digest of the code, beside the lake and among the files
that setting up prepares. A run that finds it there does not import dbt, which takes longer than building
small marts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from fencepost.jars import found_prepared
from fencepost.ledger import code
from fencepost.marts.models import Model, models
from fencepost.marts.project import compile_all, parse
from fencepost.places import work_folder
from fencepost.reading import QueryError
from fencepost.reading.translation import Translation
from fencepost.settings import Settings

COMPILED = "marts.json"
"""The name of the file."""

_projects: dict[str, Project] = {}
"""The projects that this process has read or compiled, by the digest of the code."""


@dataclass(frozen=True)
class Node:
    """A model that is not ephemeral, or a test. ``depends_on``: the names of the models that it reads;
    ``only_warns``: a test whose failure is only a warning. ``duckdb``: its SQL for DuckDB; None if that
    cannot run it.
    """

    name: str
    is_test: bool
    sql: str
    depends_on: frozenset[str]
    only_warns: bool = False
    duckdb: Translation | None = None


@dataclass(frozen=True)
class Project:
    """All models, and all nodes. In their SQL, ``rows_built`` stands for the condition that chooses the rows
    to build.
    """

    models: tuple[Model, ...]
    nodes: tuple[Node, ...]

    def chosen(self, names: Collection[str]) -> list[Node]:
        """The models of these names, and their tests."""
        return [
            each
            for each in self.nodes
            if (each.depends_on & set(names) if each.is_test else each.name in names)
        ]


def rows_built(model: str) -> str:
    """The text that stands for the condition of the rows of a model that are built, in Spark's SQL and in
    DuckDB's.
    """
    return f"ROWS_BUILT('{model}')"


def project(settings: Settings) -> Project:
    """The stored project, or else the one that dbt compiles now. Raises MartsError."""
    digest = code(dbt=True)
    if digest not in _projects:
        _projects[digest] = _stored_project(settings, digest) or _compile_and_store(settings, digest)
    return _projects[digest]


def _stored_project(settings: Settings, digest: str) -> Project | None:
    for file in (work_folder(settings, "dbt") / COMPILED, found_prepared(settings, COMPILED)):
        if file is not None and file.is_file() and (stored := json.loads(file.read_text()))["code"] == digest:
            return _from_json(stored)
    return None


def _compile_and_store(settings: Settings, digest: str) -> Project:
    compiled_project = _compiled(settings)
    place = work_folder(settings, "dbt") / COMPILED
    # a run that is killed leaves no incomplete file
    partial = place.with_name(f"{COMPILED}.{os.getpid()}")
    partial.write_text(json.dumps({"code": digest, **asdict(compiled_project)}, default=sorted))
    partial.replace(place)
    return compiled_project


def _from_json(stored: Mapping[str, Any]) -> Project:
    models_stored = [Model(**each) for each in stored["models"]]
    return Project(
        tuple(
            replace(each, sources=frozenset(each.sources), stored_by=tuple(each.stored_by))
            for each in models_stored
        ),
        tuple(
            Node(
                **{
                    **each,
                    "depends_on": frozenset(each["depends_on"]),
                    "duckdb": each["duckdb"] and _translation_from_json(**each["duckdb"]),
                }
            )
            for each in stored["nodes"]
        ),
    )


def _translation_from_json(
    sql: str, tables: Sequence[str], words: Sequence[str] | None, parameters: Sequence[str]
) -> Translation:
    return Translation(sql, tuple(tables), None if words is None else frozenset(words), frozenset(parameters))


def _compiled(settings: Settings) -> Project:
    manifest = parse(settings)
    all_models = models(manifest)
    marks = {each.name: rows_built(each.name) for each in all_models if each.in_chapters}
    nodes = [each for each in compile_all(settings, manifest, marks) if not _is_part(each)]
    return Project(
        tuple(all_models),
        tuple(
            Node(
                name=each.name,
                is_test=each.resource_type == "test",
                sql=each.compiled_code,
                depends_on=frozenset(_dependencies(each, manifest)),
                only_warns=str(each.config.get("severity", "")).lower() == "warn",
                duckdb=_translation(each.compiled_code),
            )
            for each in nodes
        ),
    )


def _translation(sql: str) -> Translation | None:
    from fencepost.reading import translate

    try:
        return translate.translated(sql)
    except QueryError:
        return None


def _is_part(node: Any) -> bool:
    return bool(node.config.materialized == "ephemeral")


def _dependencies(node: Any, manifest: Any) -> Iterator[str]:
    for name in node.depends_on.nodes:
        upstream = manifest.nodes.get(name)
        if upstream is not None and _is_part(upstream):
            yield from _dependencies(upstream, manifest)
        elif upstream is not None:
            yield upstream.name
