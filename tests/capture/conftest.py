"""A cluster of its own for each test of capture, on a lake that the module shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fencepost import lake, pipeline, tables
from fencepost.capture import CaptureSummary, capture
from fencepost.capture.silent_logs import NO_REQUESTS
from fencepost.iceberg.catalog import open_catalog
from fencepost.settings import Broker, Client, Cluster, Settings

Row = dict[str, Any]


@dataclass
class Site:
    """A cluster of its own in the module's lake, its files in a folder that is hostile to globs."""

    settings: Settings
    folder: Path
    cluster: str

    def capture(
        self, *brokers: Broker, clients: tuple[Client, ...] = (), run_id: str = "run"
    ) -> CaptureSummary:
        settings = replace(self.settings, clusters=(Cluster(self.cluster, brokers, clients),))
        with pipeline.Run(settings, run_id) as started:
            return capture(settings, started.catalog, started.engine_for, run_id, lambda line: None)

    def capture_until(self, table: str, *brokers: Broker) -> None:
        """A run that is killed before it appends to this table."""

        class KilledError(Exception):
            pass

        def until(append: Callable[..., int]) -> Callable[..., int]:
            def append_until(catalog: Any, to: tables.Table, rows: Any) -> int:
                if to.name == table:
                    raise KilledError
                return append(catalog, to, rows)

            return append_until

        with pytest.MonkeyPatch.context() as patch, pytest.raises(KilledError):
            for name in ("append", "append_files"):
                patch.setattr(lake, name, until(getattr(lake, name)))
            self.capture(*brokers)

    def rows(self, table: tables.Table) -> list[Row]:
        catalog = open_catalog(self.settings.lake)
        found = lake.scan(catalog, table, where=[{"cluster": self.cluster}]).to_pylist()
        # most of these clusters have no request log, which test_silent_logs.py is about
        return [row for row in found if row.get("reason") != NO_REQUESTS]

    def quarantine(self) -> dict[str, tuple[str, int]]:
        """File name -> (reason, position); one fault per file is what these tests make."""
        found = self.rows(tables.QUARANTINE)
        assert len({row["file"] for row in found}) == len(found)
        return {Path(row["file"]).name: (row["reason"], row["position"]) for row in found}

    def glob(self, *parts: str) -> tuple[str, ...]:
        return (str(Path(str(self.folder).replace("[", "[[]"), *parts)),)


@pytest.fixture(scope="module")
def module_lake(empty_lake: Callable[[], Settings]) -> Settings:
    return empty_lake()


@pytest.fixture
def site(module_lake: Settings, tmp_path: Path, request: pytest.FixtureRequest) -> Site:
    """In this process, or by tasks of a back end, if a test asks for that."""
    folder = tmp_path / "lo'gs [1] ☃"
    folder.mkdir()
    run_on = getattr(request, "param", "process")
    if run_on == "spark":
        request.getfixturevalue("spark")
    if run_on != "process":
        request.getfixturevalue("all_by_tasks")
    return Site(replace(module_lake, run_on=run_on), folder, f'{tmp_path.name} "quo\'ted"\n☃')
