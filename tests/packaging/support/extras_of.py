"""What an extra of the package requires, from pyproject.toml and the metadata of what is installed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[3]


def requirements(extra: str) -> list[Requirement]:
    """What the package requires with an extra ("" without), as pyproject.toml has it, extras resolved."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = [Requirement(each) for each in project["optional-dependencies"][extra]] if extra else []
    found += [Requirement(each) for each in project["dependencies"]]
    others = [name for each in found if each.name == "fencepost" for name in each.extras]
    return [
        *(each for each in found if each.name != "fencepost"),
        *(each for name in others for each in requirements(name)),
    ]


def closure(wanted: Sequence[Requirement]) -> Iterator[str]:
    """The names of the distributions that these and their own requirements need, here and now."""
    waiting, seen = list(wanted), set[tuple[str, str]]()
    while waiting:
        each = waiting.pop()
        for extra in ("", *each.extras):
            if (each.name, extra) in seen:
                continue
            seen.add((each.name, extra))
            yield each.name
            for text in distribution(each.name).requires or ():
                needed = Requirement(text)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    waiting.append(needed)
