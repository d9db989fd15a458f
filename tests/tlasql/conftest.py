"""The real module, compiled once; the support modules beside this file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).with_name("support")))
os.environ.setdefault("FENCEPOST_JARS", str(ROOT / ".jars"))


@pytest.fixture(scope="session")
def schemas() -> dict[str, dict[str, str]]:
    """The tables of the lake, as the command line gets them."""
    from fencepost.protocols import schemas_json

    found: dict[str, dict[str, str]] = json.loads(schemas_json())
    return found


@pytest.fixture(scope="session")
def case_schemas() -> dict[str, dict[str, str]]:
    """The tables of the module with one of each construct."""
    path = Path(__file__).with_name("fragment") / "schemas.json"
    found: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="session")
def one_of_each(case_schemas: dict[str, dict[str, str]]) -> object:
    """A module with one of each construct of the fragment."""
    from tlasql import compile_module

    folder = Path(__file__).with_name("fragment")
    return compile_module(folder / "Case.tla", folder / "mapping.toml", case_schemas)


@pytest.fixture(scope="session")
def compiled(schemas: dict[str, dict[str, str]]) -> object:
    """The marked definitions of offset-commit fencing."""
    from tlasql import compile_module

    folder = ROOT / "spec" / "offset_commit"
    return compile_module(folder / "OffsetCommitProps.tla", folder / "mapping.toml", schemas)
