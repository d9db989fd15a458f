"""Bronze of the captures about incarnations, in memory, and what the rebuild makes of it, or of less."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.run import capture
from fencepost.conditions import Where
from fencepost.conditions.arrow import filter_rows
from fencepost.definitions import queries
from fencepost.engines.tasks import TaskEngine
from fencepost.judge.engine import Engine
from fencepost.opening import ensure
from fencepost.protocols.leader_epoch import bronze as own
from fencepost.protocols.leader_epoch.rebuild import rebuild
from fencepost.protocols.leader_epoch.tables import TABLES as SILVER
from fencepost.replay.evidence import Evidence
from fencepost.replay.metadata_log import metadata_log
from fencepost.replay.metadata_records import snapshots
from fencepost.settings import Lake, load
from fencepost.tables import (
    BATCHES,
    BROKER_SETTINGS,
    CLEANED,
    FILES,
    LOG_DIRS,
    LOG_ENDS,
    METADATA_SNAPSHOTS,
    QUARANTINE,
    RECORDS,
    REQUEST_IDS,
    REQUESTS,
    TOPIC_ANSWERS,
    TOPIC_LISTS,
    Table,
)

sys.path.insert(0, str(Path(__file__).with_name("support")))
# the lab's modules are found by their folder
sys.path.append(str(Path(__file__).parents[2] / "lab"))

CLUSTERS = ("incarnations-4.3.1", "incarnations-4.2.1", "incarnations-4.1.2", "incarnations-3.9.2")
TABLES = (
    BATCHES, BROKER_SETTINGS, CLEANED, FILES, LOG_DIRS, LOG_ENDS, METADATA_SNAPSHOTS, QUARANTINE, RECORDS,
    REQUESTS, REQUEST_IDS, TOPIC_ANSWERS, TOPIC_LISTS,
    own.LEADER_EPOCH_CHECKPOINTS, own.PARTITION_FOLDERS,
)  # fmt: skip
TOLERANCE_MS = 25

Bronze = Mapping[str, pa.Table]
Silver = dict[str, list[dict[str, Any]]]
Rebuilt = Callable[[Bronze], Silver]


class InMemory(TaskEngine):
    """The engine in this process, over tables that are in no lake."""

    def __init__(self, bronze: Bronze) -> None:
        super().__init__(cast(Catalog, None))
        self._bronze = bronze

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> pa.Table:
        rows = filter_rows(self._bronze[table.name], where)
        return rows.select(list(columns)) if columns else rows


def silver_of(bronze: Bronze) -> Silver:
    """The rows of silver, by the table's name without its schema."""
    return {name.removeprefix("silver."): rows.to_pylist() for name, rows in rebuilt_of(bronze).items()}


def rebuilt_of(bronze: Bronze) -> Bronze:
    """The tables of silver, by name; the metadata logs are read here."""
    logs = {}
    for cluster in sorted(set(bronze[FILES.name]["cluster"].to_pylist())):
        of = {name: rows.filter(pc.equal(rows["cluster"], cluster)) for name, rows in bronze.items()}
        taken = snapshots(of[METADATA_SNAPSHOTS.name])
        logs[cluster] = metadata_log(of[BATCHES.name], of[RECORDS.name], of[QUARANTINE.name], taken)
    given = Evidence(InMemory(bronze), None, logs, {}, TOLERANCE_MS)  # type: ignore[arg-type]
    return rebuild(given)


class Judged(NamedTuple):
    """What the definitions say: outcomes of decisions, what does not hold, and every element they are about.

    Keys are definition and element; an element is named as a witness is, or as a decision's subject.
    """

    decided: Mapping[tuple[str, str], Any]
    violated: frozenset[tuple[str, str]]
    unknown: frozenset[tuple[str, str]]
    elements: frozenset[str]


ELEMENTS = {
    "a": ("silver.metadata_answer_partitions", "answer_partition_id"),
    "c": ("silver.committed_offsets", "commit_id"),
    "e": ("silver.leader_epoch_entries", "entry_id"),
    "f": ("silver.fetch_positions", "fetch_position_id"),
}
"""Where the elements are that a variable of a witness names."""


def judged_of(silver: Bronze, scratch: Path) -> Judged:
    """Judge tables of silver."""
    names = {table.name for table in SILVER}
    compiled = [query for query in queries() if query.tables <= names]
    engine = Engine(
        lambda table, columns, _: silver[table.name].select(list(columns)).to_reader(),
        _nowhere,
        scratch,
        compiled,
    )
    decided, found = {}, {False: set[tuple[str, str]](), None: set[tuple[str, str]]()}
    for query in compiled:
        engine.keep("judged", query.sql)
        if query.decides:
            for row in engine.rows("SELECT definition, subject, outcome FROM judged"):
                decided[row["definition"], row["subject"]] = row["outcome"]
            continue
        for row in engine.rows("SELECT definition, witness, verdict FROM judged WHERE verdict IS NOT TRUE"):
            found[row["verdict"]].add((row["definition"], row["witness"] or ""))
    elements = {
        json.dumps({variable: each}, separators=(",", ":"))
        for variable, (table, column) in ELEMENTS.items()
        for each in silver[table][column].to_pylist()
    }
    return Judged(decided, frozenset(found[False]), frozenset(found[None]), frozenset(elements))


def _nowhere(*_: Any) -> None:
    """Nothing is kept."""


def bronze_of(folders: Sequence[Path], home: Path) -> Bronze:
    """What a capture of these clusters' folders finds, with a lake in ``home``."""
    loaded = [load(folder / "fencepost.toml") for folder in folders]
    settings = dataclasses.replace(
        loaded[0],
        lake=Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}"),
        clusters=tuple(cluster for each in loaded for cluster in each.clusters),
    )
    catalog = ensure(settings.lake)
    capture(settings, catalog, lambda size, what: TaskEngine(catalog), "test")
    return {table.name: lake.scan(catalog, table) for table in TABLES}


@pytest.fixture(scope="session")
def jars() -> Path:
    """The folder of all jars, one subfolder per set."""
    return Path(os.environ.get("FENCEPOST_JARS", Path(__file__).parents[3] / ".jars"))


@pytest.fixture(scope="session")
def captured() -> Callable[[Sequence[Path], Path], Bronze]:
    """``bronze_of``."""
    return bronze_of


@pytest.fixture(scope="session")
def bronze(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Bronze:
    """What was captured of every cluster."""
    return bronze_of([captures / name for name in CLUSTERS], tmp_path_factory.mktemp("incarnations"))


@pytest.fixture(scope="session")
def silver(bronze: Bronze) -> Silver:
    """What the rebuild makes of all of it."""
    return silver_of(bronze)


@pytest.fixture(scope="session")
def rebuilt() -> Rebuilt:
    """Call it with tables of bronze for the rows of silver."""
    return silver_of


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Judged]:
    """Call it with tables of bronze for what the definitions say; ``alter`` changes silver before."""
    scratch = tmp_path_factory.mktemp("judged")
    return lambda bronze, alter=lambda silver: silver: judged_of(alter(rebuilt_of(bronze)), scratch)
