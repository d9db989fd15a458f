"""How tlasql is divided: few packages, each of which uses only those below it.

A room is a package or a module directly below ``tlasql``. All imports count, also those within functions and
for types alone.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "spark" / "tlasql"
MOST_ROOMS, MOST_FLOORS = 15, 10
Uses = Mapping[str, set[str]]


@pytest.fixture(scope="module")
def modules() -> Uses:
    """Module -> the modules of the package that it imports."""
    files = {_name(path): path for path in ROOT.rglob("*.py")}
    return {name: _imported(path, set(files)) - {name} for name, path in files.items()}


@pytest.fixture(scope="module")
def rooms(modules: Uses) -> Uses:
    """The same of rooms."""
    found: dict[str, set[str]] = {_room(name): set() for name in modules}
    for name, used in modules.items():
        found[_room(name)] |= {_room(each) for each in used} - {_room(name)}
    return found


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _imported(path: Path, known: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            inside = {f"{node.module}.{each.name}" for each in node.names}
            found |= (inside & known) or {str(node.module)}
    return found & known


def test_no_module_and_no_room_is_in_a_circle(modules: Uses, rooms: Uses) -> None:
    """The error names the circle."""
    for each in (modules, rooms):
        TopologicalSorter(each).prepare()


def test_rooms_are_few(rooms: Uses) -> None:
    assert len(rooms) <= MOST_ROOMS, sorted(rooms)


def test_floors_are_few(rooms: Uses) -> None:
    """A room stands one floor above the highest that it uses."""
    floors: dict[str, int] = {}
    for room in TopologicalSorter(rooms).static_order():
        floors[room] = 1 + max((floors[each] for each in rooms[room]), default=0)
    assert max(floors.values()) <= MOST_FLOORS, floors
    assert max(floors.values()) > 1
