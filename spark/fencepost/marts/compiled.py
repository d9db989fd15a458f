"""What dbt makes of its project, once: of each model and each test the SQL, and what it rests on.

That follows from the code alone. So it is kept, by a digest of the code, beside the lake and where setting up
has left it: a run that has it does without dbt, whose import takes longer than all marts of few rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from fencepost.jars import prepared, spark_jars
from fencepost.marts.project import compile_all, parse
from fencepost.places import work_folder
from fencepost.settings import Settings
from fencepost.stale import Model, models
from fencepost.unchanged import code

COMPILED = "marts.json"
"""The name of the file."""

_known: dict[str, Project] = {}
"""What this process has read or compiled, by the digest of the code."""


@dataclass(frozen=True)
class Node:
    """A model that is no part of others, or a test. ``rests_on``: the names of the models that it reads;
    ``only_warns``: a test that holds nothing up.
    """

    name: str
    is_test: bool
    sql: str
    rests_on: frozenset[str]
    only_warns: bool = False


@dataclass(frozen=True)
class Project:
    """All models, and all nodes; in SQL ``rows_built`` stands for the condition of rows that are built."""

    models: tuple[Model, ...]
    nodes: tuple[Node, ...]

    def chosen(self, names: Collection[str]) -> list[Node]:
        """The models of these names, and their tests."""
        return [
            each
            for each in self.nodes
            if (each.rests_on & set(names) if each.is_test else each.name in names)
        ]


def rows_built(model: str) -> str:
    """What stands for the condition of the rows of a model that are built."""
    return f"rows_built('{model}')"


def project(settings: Settings) -> Project:
    """The project as it is kept, or as dbt compiles it now. Raises MartsError."""
    digest = code(dbt=True)
    if digest not in _known:
        _known[digest] = _kept(settings, digest) or _made(settings, digest)
    return _known[digest]


def _kept(settings: Settings, digest: str) -> Project | None:
    for file in (work_folder(settings, "dbt") / COMPILED, prepared(spark_jars(settings), COMPILED)):
        if file.is_file() and (kept := json.loads(file.read_text()))["code"] == digest:
            return _read(kept)
    return None


def _made(settings: Settings, digest: str) -> Project:
    made = _compiled(settings)
    place = work_folder(settings, "dbt") / COMPILED
    # a run that is killed leaves no half of it
    half = place.with_name(f"{COMPILED}.{os.getpid()}")
    half.write_text(json.dumps({"code": digest, **asdict(made)}, default=sorted))
    half.replace(place)
    return made


def _read(kept: Mapping[str, Any]) -> Project:
    found = [Model(**each) for each in kept["models"]]
    nodes = [Node(**each) for each in kept["nodes"]]
    return Project(
        tuple(
            replace(each, sources=frozenset(each.sources), stored_by=tuple(each.stored_by)) for each in found
        ),
        tuple(replace(each, rests_on=frozenset(each.rests_on)) for each in nodes),
    )


def _compiled(settings: Settings) -> Project:
    manifest = parse(settings)
    found = models(manifest)
    marks = {each.name: rows_built(each.name) for each in found if each.in_chapters}
    nodes = [each for each in compile_all(settings, manifest, marks) if not _is_part(each)]
    return Project(
        tuple(found),
        tuple(
            Node(
                name=each.name,
                is_test=each.resource_type == "test",
                sql=each.compiled_code,
                rests_on=frozenset(_rests_on(each, manifest)),
                only_warns=str(each.config.get("severity", "")).lower() == "warn",
            )
            for each in nodes
        ),
    )


def _is_part(node: Any) -> bool:
    return bool(node.config.materialized == "ephemeral")


def _rests_on(node: Any, manifest: Any) -> Iterator[str]:
    for name in node.depends_on.nodes:
        upstream = manifest.nodes.get(name)
        if upstream is not None and _is_part(upstream):
            yield from _rests_on(upstream, manifest)
        elif upstream is not None:
            yield upstream.name
