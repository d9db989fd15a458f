"""Bronze of the captures about incarnations, in memory, and what the rebuild makes of it, or of less."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fencepost import lake
from fencepost.capture.run import capture
from fencepost.engines.process import ProcessEngine
from fencepost.lake import Where
from fencepost.protocols.leader_epoch import bronze as own
from fencepost.protocols.leader_epoch.rebuild import rebuild
from fencepost.replay.evidence import Evidence
from fencepost.replay.metadata_log import metadata_log, snapshots
from fencepost.settings import Lake, load
from fencepost.tables import (
    BATCHES,
    CLEANED,
    FILES,
    METADATA_SNAPSHOTS,
    QUARANTINE,
    RECORDS,
    REQUESTS,
    TOPIC_ANSWERS,
    TOPIC_LISTS,
    Table,
)

CLUSTERS = ("incarnations-4.3.1", "incarnations-4.2.1", "incarnations-4.1.2", "incarnations-3.9.2")
TABLES = (
    BATCHES, CLEANED, FILES, METADATA_SNAPSHOTS, QUARANTINE, RECORDS, REQUESTS, TOPIC_ANSWERS, TOPIC_LISTS,
    own.LEADER_EPOCH_CHECKPOINTS, own.PARTITION_FOLDERS,
)  # fmt: skip
TOLERANCE_MS = 25

Bronze = Mapping[str, pa.Table]
Silver = dict[str, list[dict[str, Any]]]
Rebuilt = Callable[[Bronze], Silver]


class InMemory(ProcessEngine):
    """The engine in this process, over tables that are in no lake."""

    def __init__(self, bronze: Bronze) -> None:
        self._bronze = bronze

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> pa.Table:
        rows = self._bronze[table.name]
        for condition in where or ():
            for name, value in condition.items():
                wanted = value if isinstance(value, frozenset) else (value,)
                kind = rows.schema.field(name).type
                rows = rows.filter(pc.is_in(rows[name], pa.array(sorted(wanted), kind)))
        return rows.select(list(columns)) if columns else rows


def silver_of(bronze: Bronze) -> Silver:
    """The rows of silver, by the table's name without its schema."""
    engine = InMemory(bronze)
    logs = {}
    for cluster in sorted(set(bronze[FILES.name]["cluster"].to_pylist())):
        of = {name: rows.filter(pc.equal(rows["cluster"], cluster)) for name, rows in bronze.items()}
        taken = snapshots(of[METADATA_SNAPSHOTS.name])
        logs[cluster] = metadata_log(of[BATCHES.name], of[RECORDS.name], of[QUARANTINE.name], taken)
    given = Evidence(engine, None, logs, {}, TOLERANCE_MS)  # type: ignore[arg-type]
    return {name.removeprefix("silver."): rows.to_pylist() for name, rows in rebuild(given).items()}


@pytest.fixture(scope="session")
def bronze(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Bronze:
    """What was captured of every cluster."""
    home = tmp_path_factory.mktemp("incarnations")
    settings = dataclasses.replace(
        load(captures / CLUSTERS[0] / "fencepost.toml"),
        lake=Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}"),
        clusters=tuple(load(captures / name / "fencepost.toml").clusters[0] for name in CLUSTERS),
    )
    catalog = lake.ensure(settings.lake)
    capture(settings, catalog, lambda size, what: ProcessEngine(catalog), "test")
    return {table.name: lake.scan(catalog, table) for table in TABLES}


@pytest.fixture(scope="session")
def silver(bronze: Bronze) -> Silver:
    """What the rebuild makes of all of it."""
    return silver_of(bronze)


@pytest.fixture(scope="session")
def rebuilt() -> Rebuilt:
    """Call it with tables of bronze for the rows of silver."""
    return silver_of
