"""Engines over tables that a test makes; the support module beside this file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost.definitions import queries
from fencepost.judge.engine import Engine
from fencepost.judge.run import run
from fencepost.settings import Settings

sys.path.insert(0, str(Path(__file__).with_name("support")))

if TYPE_CHECKING:
    from judge_silver import Row, Tables


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """DuckDB without a table."""
    from judge_silver import Lakeless

    lake = Lakeless({})
    return Engine(lake.read, lake.write, tmp_path, [])


@pytest.fixture(scope="session")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, list[Row]]]:
    """Call it with tables of silver for the rows of ``verdicts.*``, sorted."""
    from judge_silver import Lakeless, ordered, settings

    spilled = tmp_path_factory.mktemp("spilled")

    def judged(silver: Tables, chosen: Settings | None = None) -> dict[str, list[Row]]:
        lake = Lakeless(silver)
        run(Engine(lake.read, lake.write, spilled, queries()), chosen or settings(), queries())
        return {name: ordered(rows) for name, rows in lake.written.items()}

    return judged
