"""One audit of many clusters: the stored captures, one recorded now, and some with evidence taken away."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from altered import ALTERED, ALTERED_PRODUCERS
from broken import COPIES
from pyspark.sql import SparkSession

from fencepost import pipeline
from fencepost.gate import GateResult
from fencepost.opening import open_lake
from fencepost.reading import rows
from fencepost.session import spark_session
from fencepost.settings import Lake, Settings, load

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = tuple(sorted(path.parent.name for path in ROOT.glob("tests/captures/*/fencepost.toml")))
LIVE = "live-4.3.1"


@dataclass(frozen=True)
class Audit:
    """The audited lake: its settings and session, and the gate's result."""

    settings: Settings
    spark: SparkSession
    gate: GateResult

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Read without Spark, which plans longer than DuckDB reads; test_reading.py compares the two."""
        with open_lake(self.settings, "duckdb") as lake:
            return rows(lake.query(query))

    def commits(self, cluster: str) -> list[dict[str, Any]]:
        return self.rows(f"SELECT * FROM marts.fct_offset_commits WHERE cluster = '{cluster}'")


@dataclass(frozen=True)
class Audited:
    """One stored capture within the audit, and what its driver knows of offset commits."""

    name: str
    audit: Audit
    ground_truth: list[dict[str, Any]]

    @property
    def commits(self) -> list[dict[str, Any]]:
        return self.audit.commits(self.name)


@pytest.fixture(scope="session")
def folders(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each cluster: of the captures, of altered copies of them, and of the live one, which is
    recorded meanwhile from a broker started for it.
    """
    out, altered = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("altered")
    command = [sys.executable, str(ROOT / "tests" / "lab" / "record.py"), "live", "--version", "4.3.1"]
    with ThreadPoolExecutor(1) as meanwhile:
        recorded = meanwhile.submit(subprocess.run, [*command, "--out", str(out)], check=True, timeout=300)
        copies = {name: (copy.whole, copy.make) for name, copy in COPIES.items()}
        copies |= {**ALTERED, **ALTERED_PRODUCERS}
        for name, (whole, alter) in copies.items():
            alter(captures / whole, altered / name)
        recorded.result()
    found = {name: captures / name for name in CAPTURES} | {name: altered / name for name in copies}
    return {**found, LIVE: out / LIVE}


@pytest.fixture(scope="session")
def audit(
    spark: SparkSession, captures: Path, folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Audit:
    os.environ.setdefault("FENCEPOST_HOME", str(ROOT))
    home = tmp_path_factory.mktemp("audit")
    clusters = [
        dataclasses.replace(load(folder / "fencepost.toml").clusters[0], name=name)
        for name, folder in folders.items()
    ]
    settings = dataclasses.replace(
        load(captures / CAPTURES[0] / "fencepost.toml"),
        lake=Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}"),
        clusters=tuple(clusters),
    )
    session = spark_session(settings)
    with pipeline.Run(settings) as run:
        return Audit(settings, session, pipeline.audit(run))


@pytest.fixture(scope="session", params=[*CAPTURES, pytest.param(LIVE, marks=pytest.mark.live)])
def audited(request: pytest.FixtureRequest, folders: dict[str, Path], audit: Audit) -> Audited:
    lines = (folders[request.param] / "ground_truth.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines]
    return Audited(request.param, audit, [row for row in told if "kind" not in row])
