"""Whole audits of the stored captures, each run once a session of tests."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fencepost import lake, pipeline
from fencepost.gate import GateResult
from fencepost.session import spark_session
from fencepost.settings import Lake, Settings, load

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Audited:
    """One audited capture: its folder, the lake's settings and session, the gate's result."""

    folder: Path
    settings: Settings
    spark: SparkSession
    gate: GateResult

    def rows(self, query: str) -> list[dict[str, Any]]:
        return [row.asDict(recursive=True) for row in self.spark.sql(query).collect()]

    @property
    def commits(self) -> list[dict[str, Any]]:
        return self.rows("SELECT * FROM marts.fct_offset_commits")

    @property
    def ground_truth(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "ground_truth.jsonl").read_text().splitlines()]

    @property
    def implemented(self) -> str:
        """The policy that this broker version implements for consumer groups."""
        return "strict" if "4.2" in self.folder.name else "assignment_epoch"


@pytest.fixture(scope="session")
def audit_of(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Path], Audited]]:
    """Call it with a capture's folder: audited in a lake of its own, once."""
    done: dict[Path, Audited] = {}

    def audit(folder: Path) -> Audited:
        if folder not in done:
            home = tmp_path_factory.mktemp(folder.name)
            settings = dataclasses.replace(
                load(folder / "fencepost.toml"),
                lake=Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}"),
            )
            session = spark_session(settings)
            lake.ensure(session)
            done[folder] = Audited(folder, settings, session, pipeline.audit(session, settings))
        return done[folder]

    os.environ.setdefault("FENCEPOST_HOME", str(ROOT))
    yield audit


@pytest.fixture(
    scope="session", params=["healthy-4.3.1", "healthy-4.2.1", "troubled-4.3.1", "troubled-4.2.1"]
)
def audited(request: pytest.FixtureRequest, captures: Path, audit_of: Callable[[Path], Audited]) -> Audited:
    return audit_of(captures / request.param)
