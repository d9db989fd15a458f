"""What ``tlasql compile`` made of the specifications: one folder per module, committed beside this file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("compiled")


@dataclass(frozen=True)
class Definition:
    """One marked definition: its mark, where it stands in the specification, and the SQL it became.

    ``kind`` is invariant, step or decision; ``severity`` and ``grain`` are None for a decision.
    """

    module: str
    id: str
    name: str
    kind: str
    severity: str | None
    grain: str | None
    file: str
    line: int
    formula: str
    prose: str
    sql: str


@dataclass(frozen=True)
class Query:
    """What the judge runs: rows of one or several definitions, told apart by the column ``definition``."""

    definitions: tuple[Definition, ...]
    sql: str


@cache
def definitions() -> list[Definition]:
    """Every compiled definition of every module, in the order of the specification."""
    found: list[Definition] = []
    for path in sorted(FOLDER.glob("*/manifest.json")):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        for entry in manifest["definitions"]:
            fields = {name: entry.get(name) for name in Definition.__dataclass_fields__ if name != "sql"}
            fields["module"] = manifest["module"]
            sql = (path.parent / entry["sql"]).read_text(encoding="utf-8")
            found.append(Definition(**fields, sql=sql))
    return found


@cache
def queries() -> list[Query]:
    """Queries that together judge every definition once: several over one table in one pass."""
    found, alone = [], {(each.module, each.id): each for each in definitions()}
    for path in sorted(FOLDER.glob("*/manifest.json")):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        for entry in manifest["passes"]:
            judged = tuple(alone.pop((manifest["module"], each)) for each in entry["definitions"])
            found.append(Query(judged, (path.parent / entry["sql"]).read_text(encoding="utf-8")))
    found += [
        Query((each,), f"SELECT '{each.id}' AS definition, * FROM (\n{each.sql}\n)")
        for each in alone.values()
    ]
    return found


def definition(invariant: str) -> Definition | None:
    """The definition with this id, or None."""
    return next((found for found in definitions() if found.id == invariant), None)
