"""Tasks rebuild what one process does, of every protocol: from logs of real brokers and applications, and
of a generated group whose records are large.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fencepost import lake, pipeline
from fencepost.capture import capture
from fencepost.engines import tasks
from fencepost.protocols import protocols
from fencepost.replay.run import rebuild
from fencepost.settings import Settings, load

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "fencing"))
sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "rebalances"))

from rebalance_files import generate
from rebalance_group import Size

CAPTURES = ("ends-4.0.2", "incarnations-4.1.2", "lags-3.9.2")
TABLES = {protocol.name: protocol.tables for protocol in protocols()}
Silver = dict[str, list[str]]


@pytest.fixture(scope="module")
def rebuilt(
    captures: Path,
    empty_lake: Callable[[], Settings],
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Silver]:
    """The rows of each table of silver, by where they were made."""
    generated = tmp_path_factory.mktemp("generated")
    generate(generated, Size(members=110, partitions=160, rebalances=10, logged=2))
    folders = [*(captures / name for name in CAPTURES), generated]
    clusters = [each for folder in folders for each in load(folder / "fencepost.toml").clusters]
    here = replace(empty_lake(), clusters=tuple(clusters))
    with pipeline.Run(here) as run:
        capture(here, run.catalog, run.engine_for, run.run_id, lambda line: None)
    silver = {"process": _silver(here)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "SMALL_BYTES", -1)
        patch.setattr(tasks, "TASK_BYTES", 1 << 14)
        return silver | {name: _silver(replace(here, run_on=name)) for name in ("processes", "spark")}


def _silver(settings: Settings) -> Silver:
    with pipeline.Run(settings) as run:
        rebuild(settings, run.catalog, run.engine_for)
        tables = [table for of_protocol in TABLES.values() for table in of_protocol]
        return {table.name: sorted(map(repr, lake.scan(run.catalog, table).to_pylist())) for table in tables}


@pytest.mark.parametrize("protocol", TABLES)
def test_tasks_rebuild_the_same_rows(rebuilt: dict[str, Silver], protocol: str) -> None:
    here = rebuilt["process"]
    names = [table.name for table in TABLES[protocol]]
    for found in rebuilt.values():
        assert [name for name in names if found[name] != here[name]] == []
    assert sum(bool(here[name]) for name in names) > 0.6 * len(names)
