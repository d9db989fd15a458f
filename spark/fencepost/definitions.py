"""What the specification says, for people: the marked definitions as ``tlasql compile`` committed them.

The judge's own module of compiled definitions has the SQL beside it, and is imported with Spark.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "judge" / "compiled"


@dataclass(frozen=True)
class Definition:
    """One marked definition: ``name`` in the specification, where it stands, its formula and its prose."""

    id: str
    name: str
    file: str
    line: int
    formula: str
    prose: str


def definition(invariant: str) -> Definition | None:
    """The definition with this id, or None."""
    return _definitions().get(invariant)


@cache
def _definitions() -> dict[str, Definition]:
    found: dict[str, Definition] = {}
    for path in sorted(_FOLDER.glob("*/manifest.json")):
        for entry in json.loads(path.read_text(encoding="utf-8"))["definitions"]:
            fields = {name: entry.get(name) for name in Definition.__dataclass_fields__}
            found.setdefault(entry["id"], Definition(**fields))
    return found
