"""Audits of a capture on a lake of its own, and what they left there, less what tells of the runs."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from trees import Tree, put

from fencepost import lake, pipeline
from fencepost.capture import capture
from fencepost.judge import judge
from fencepost.protocols import protocols
from fencepost.replay.run import rebuild
from fencepost.settings import Lake, Settings, load
from fencepost.tables import BRONZE, CHAPTERS, FILES, REQUEST_IDS, VERDICTS, Table

OF_RUN = frozenset({"run_id", "captured_at"})
"""Columns that say which run took a row."""

FOUND_AT = frozenset({"broker_id", "file", "position", "file_begins"})
"""Columns of bronze that say where a row was found first, of all the places where it may stand."""

SILVER = tuple(table for protocol in protocols() for table in protocol.tables)
OF_PROTOCOLS = tuple(table for protocol in protocols() for table in protocol.bronze)

_SEGMENT = re.compile(r"/([^/]+-\d+)(?:\.[0-9a-f]{32}-\w+)?/\d{20}\.log(\.deleted)?$")

Found = Mapping[str, Counter[tuple[Any, ...]]]
"""The rows of each table, by its name."""


class KilledError(Exception):
    """A run ends here, in the middle of its work."""


@dataclass
class Site:
    """A capture's files, where each run finds them, and where lakes are put beside them.

    ``chapters``: the revision of each chapter after the last audit.
    """

    folder: Path
    whole: Tree
    chapters: Mapping[int, str] = field(default_factory=dict)

    @property
    def logs(self) -> Path:
        """The folder of the files."""
        return self.folder / "capture"

    def audited(
        self,
        before: Sequence[Tree] = (),
        *,
        killed: random.Random | None = None,
        chapter_ms: int | None = None,
    ) -> Found:
        """What a lake holds after a run on each of these trees and one on the whole.

        ``killed``: the runs before the last are ended while they write, wherever chance says. ``chapter_ms``:
        silver is rebuilt in each run, in chapters of this length; without it in the last one only.
        """
        put(self.whole, self.logs)
        settings = replace(self._settings, chapter_ms=chapter_ms)
        self._empty_lake()
        for tree in before:
            put(tree, self.logs)
            with _killed_at(killed.randint(1, 40 if chapter_ms else 12) if killed else None):
                _run(settings, rebuilds=chapter_ms is not None)
        put(self.whole, self.logs)
        _run(settings, rebuilds=True)
        with pipeline.Run(settings) as run:
            self.chapters = {
                row["chapter"]: row["revision"] for row in lake.scan(run.catalog, CHAPTERS).to_pylist()
            }
            return _rows(run)

    @property
    def _settings(self) -> Settings:
        place = self.folder / "lake"
        own = Lake(str(place / "warehouse"), f"sqlite:///{place / 'catalog.db'}")
        return replace(load(self.logs / "fencepost.toml"), lake=own)

    def _empty_lake(self) -> None:
        """A lake without rows, made once: where its tables lie is said in them."""
        place, empty = self.folder / "lake", self.folder / "empty"
        shutil.rmtree(place, ignore_errors=True)
        if not empty.exists():
            lake.ensure(self._settings.lake)
            shutil.copytree(place, empty)
        else:
            shutil.copytree(empty, place)

    def judged(self) -> Found:
        """The verdicts on what ``audited`` has left."""
        settings = self._settings
        with pipeline.Run(settings) as run:
            judge(settings, run.catalog, run.spark)
            return {table.name: _counted(run, table, OF_RUN) for table in VERDICTS}


def _run(settings: Settings, *, rebuilds: bool) -> None:
    with pipeline.Run(settings) as run, suppress(KilledError):
        capture(settings, run.catalog, run.engine_for, run.run_id, lambda line: None)
        if rebuilds:
            rebuild(settings, run.catalog, run.engine_for)


@contextmanager
def _killed_at(commit: int | None) -> Iterator[None]:
    """The run is killed before its commit of this number; None: it is not."""
    left = commit

    def until(write: Callable[..., int]) -> Callable[..., int]:
        def write_until(*given: Any, **named: Any) -> int:
            nonlocal left
            if left is not None:
                left -= 1
                if left == 0:
                    raise KilledError
            return write(*given, **named)

        return write_until

    with pytest.MonkeyPatch.context() as patch:
        for name in ("append", "replace"):
            patch.setattr(lake, name, until(getattr(lake, name)))
        yield


def _rows(run: pipeline.Run) -> Found:
    bronze = (*BRONZE, *OF_PROTOCOLS)
    found = {table.name: _counted(run, table, OF_RUN | FOUND_AT - set(table.key)) for table in bronze}
    del found[FILES.name]
    found[REQUEST_IDS.name] = _ids(run)
    return found | {table.name: _counted(run, table, OF_RUN) for table in SILVER}


def _counted(run: pipeline.Run, table: Table, but: Set[str]) -> Counter[tuple[Any, ...]]:
    columns = [name for name in table.columns if name not in but]
    rows = lake.scan(run.catalog, table, columns).to_pylist()
    return Counter(tuple(map(repr, _of_any_replica(row).values())) for row in rows)


def _of_any_replica(row: dict[str, Any]) -> dict[str, Any]:
    """The row; one of a segment stands in that of every replica, and was found in one of them first."""
    if not isinstance(file := row.get("file"), str) or not (segment := _SEGMENT.search(file)):
        return row
    return {**row, "file": segment[1], **({"broker_id": None} if "broker_id" in row else {})}


def _ids(run: pipeline.Run) -> Counter[tuple[Any, ...]]:
    """Each correlation id of each connection once: into how many pieces a log was cut is of the runs."""
    names = ("cluster", "broker_id", "client_id", "connection", "correlation_ids")
    rows = lake.scan(run.catalog, REQUEST_IDS, names)
    found = set()
    for *connection, ranges in zip(*(rows[name].to_pylist() for name in names), strict=True):
        for each in (ranges or "").split():
            first, _, last = each.partition("..")
            found |= {(*connection, number) for number in range(int(first), int(last or first) + 1)}
    return Counter(found)


def differences(found: Found, expected: Found) -> dict[str, tuple[list[Any], list[Any]]]:
    """Of each table that is not as expected, some rows that are too many and some that are missing."""
    return {
        name: (list((found[name] - rows).items())[:3], list((rows - found[name]).items())[:3])
        for name, rows in expected.items()
        if found[name] != rows
    }
