"""The compiled definitions: ``tlasql compile`` writes them into the folder ``compiled`` of each protocol.

Each definition is there as Spark's SQL, to be read and run by itself; what the judge runs is in ``duckdb``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fencepost.protocol_folders import protocol_folders

RESULT = (
    "definition, cluster, scope, witness, from_position, to_position, from_time, to_time, verdict, "
    "exercised, failed_conjunct, reason, observed, evidence"
)
"""The columns of what a query says of invariants and steps."""


@dataclass(frozen=True)
class Definition:
    """One marked definition: its mark, and where it stands in the specification.

    ``kind`` is invariant, step or decision; ``severity`` and ``grain`` are None for a decision. ``looks_at``
    is how far it looks (:mod:`tlasql.plan.reach`): row, step, overlap or all, ``because`` why; ``beside``
    names the tables whose rows it looks at beside a row, and the columns that are the same in them.
    ``conjuncts``: what its violations cite, and the places (``file:line``) of the specification where that
    stands. ``violated``: what has happened where it does not hold, in words; None for a decision. ``scope``:
    the columns that are the same in all rows on which one row of its results rests.
    """

    module: str
    id: str
    name: str
    kind: str
    severity: str | None
    grain: str | None
    file: str
    line: int
    conjuncts: dict[str, list[str]]
    formula: str
    prose: str
    violated: str | None
    looks_at: str
    because: str
    beside: dict[str, Any] | None
    scope: tuple[str, ...]

    def cited(self, conjunct: str) -> str:
        """A conjunct with its places; alone, if the definition has changed since it was judged."""
        places = self.conjuncts.get(conjunct)
        return f"{conjunct} ({', '.join(places)})" if places else conjunct


@dataclass(frozen=True)
class Query:
    """What the judge runs: rows of one or several definitions, told apart by the column ``definition``."""

    definitions: tuple[Definition, ...]
    sql: str

    @property
    def tables(self) -> set[str]:
        """The tables of silver that it reads."""
        return tables_in(self.sql)

    @property
    def decides(self) -> bool:
        """Whether its rows are decisions (cluster, subject, outcome, reason), not verdicts."""
        return self.definitions[0].kind == "decision"

    @property
    def looks_at(self) -> str:
        """How far its definitions look, which is equally far."""
        return self.definitions[0].looks_at

    @property
    def scope(self) -> tuple[str, ...]:
        """The columns that are the same in all rows on which one row of its results rests."""
        return self.definitions[0].scope

    @property
    def beside(self) -> dict[str, tuple[str, ...]]:
        """The tables whose rows it looks at beside a row, and of each the columns that both have alike."""
        found = [each.beside for each in self.definitions if each.beside]
        return {table: tuple(each["columns"]) for each in found for table in each["tables"]}


def _manifests() -> Iterator[tuple[Path, dict[str, Any]]]:
    for folder in protocol_folders().values():
        path = folder / "compiled" / "manifest.json"
        if path.is_file():
            yield path, json.loads(path.read_text(encoding="utf-8"))


@cache
def modules() -> dict[str, str]:
    """``{protocol: module}`` of every compiled specification."""
    return {path.parent.parent.name: manifest["module"] for path, manifest in _manifests()}


def tables_in(sql: str) -> set[str]:
    """The tables of silver that ``sql`` names."""
    return set(re.findall(r"\bsilver\.\w+", sql))


@cache
def definitions() -> list[Definition]:
    """Every compiled definition of every module, in the order of the specification.

    Raises ValueError where two have one id: it names an alert, a severity and a page.
    """
    found: list[Definition] = []
    modules: dict[str, str] = {}
    for _, manifest in _manifests():
        for entry in manifest["definitions"]:
            fields = {name: entry.get(name) for name in Definition.__dataclass_fields__}
            fields |= {"module": manifest["module"], "scope": tuple(manifest["scope"])}
            other = modules.setdefault(entry["id"], manifest["module"])
            if other != manifest["module"]:
                raise ValueError(
                    f"{entry['id']} is marked in {other} and in {manifest['module']}: rename one of them"
                )
            found.append(Definition(**fields))
    return found


@cache
def queries() -> list[Query]:
    """Queries for DuckDB that together judge every definition once: several over one table in one pass."""
    found, known = [], {(each.module, each.id): each for each in definitions()}
    for path, manifest in _manifests():
        folder = path.parent / "duckdb"
        alone = {entry["id"]: entry["sql"] for entry in manifest["definitions"]}
        for entry in manifest["passes"]:
            for each in entry["definitions"]:
                del alone[each]
            judged = tuple(known[manifest["module"], each] for each in entry["definitions"])
            found.append(Query(judged, (folder / entry["sql"]).read_text(encoding="utf-8")))
        for each, file in alone.items():
            sql = (folder / file).read_text(encoding="utf-8")
            judged = (known[manifest["module"], each],)
            found.append(Query(judged, f"SELECT '{each}' AS definition, * FROM (\n{sql}\n)"))
    return found


def definition(invariant: str) -> Definition | None:
    """The definition with this id, or None."""
    return next((found for found in definitions() if found.id == invariant), None)
