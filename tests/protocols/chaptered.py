"""Captures whose history is rebuilt as one, and chapter by chapter: with all that a run does, but for some
protocols only.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.run import capture
from fencepost.engines.tasks import TaskEngine
from fencepost.ledger import Ledger
from fencepost.opening import ensure
from fencepost.protocols import protocols
from fencepost.replay import run
from fencepost.settings import Lake, Settings, load
from fencepost.tables import Table

Row = tuple[tuple[str, Any], ...]
"""Columns with their values, as text."""


class Audit(NamedTuple):
    """A capture in a lake, and the rows of each table as one rebuild of all of its history has them."""

    settings: Settings
    catalog: Catalog
    protocols: Collection[str]
    whole: Mapping[str, Counter[Row]]

    @classmethod
    def of(cls, capture_folder: Path, home: Path, protocols: Collection[str]) -> Audit:
        """Capture into a new lake, and rebuild it."""
        of_lake = Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}")
        settings = dataclasses.replace(load(capture_folder / "fencepost.toml"), lake=of_lake)
        catalog = ensure(of_lake)
        engine = TaskEngine(catalog)
        capture(settings, catalog, lambda size, what: engine, "run")
        audit = cls(settings, catalog, protocols, {})
        return audit._replace(whole=audit.rebuilt(None))

    @property
    def tables(self) -> list[Table]:
        """Those of silver that are rebuilt."""
        return [table for each in protocols() if each.name in self.protocols for table in each.tables]

    @property
    def ledger(self) -> Ledger:
        """What its steps have noted."""
        return Ledger(self.catalog, self.settings)

    @property
    def chapters(self) -> int:
        """How many there are."""
        return len(self.ledger.entries("rebuild"))

    def rebuilt(self, chapter_ms: int | None, protocol: str | None = None) -> dict[str, Counter[Row]]:
        """The rows of each table, cut into chapters of this length, each as often as it is there."""
        names = self.protocols if protocol is None else [protocol]
        settings = dataclasses.replace(self.settings, chapter_ms=chapter_ms, longest_chapter_ms=None)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run, "protocols", lambda: [each for each in protocols() if each.name in names])
            run.rebuild(settings, self.catalog, lambda size, what: TaskEngine(self.catalog))
        return {
            table.name: Counter(map(_row, lake.scan(self.catalog, table, tuple(table.columns)).to_pylist()))
            for table in self.tables
        }


def _row(values: Mapping[str, Any]) -> Row:
    return tuple((name, repr(value)) for name, value in values.items())
