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
from pyiceberg.catalog import Catalog
from trees import CUTS, Tree, put

from fencepost import lake
from fencepost.capture import capture
from fencepost.engines.tasks import TaskEngine
from fencepost.expiry import expire
from fencepost.judge import judge
from fencepost.ledger import Ledger
from fencepost.opening import ensure
from fencepost.protocols import protocols
from fencepost.protocols.leader_epoch.bronze import PARTITION_FOLDERS
from fencepost.replay.run import rebuild
from fencepost.settings import Lake, Settings, load
from fencepost.tables import BRONZE, FILES, HIGH_WATERMARKS, REQUEST_IDS, VERDICT_COVERAGE, VERDICTS, Table

_CONFIG = "fencepost.toml"

OF_RUN = frozenset({"run_id", "captured_at"})
"""Columns that say which run took a row."""

MARTS_OF_RUNS = frozenset({"marts.fct_audit_runs", "marts.fct_incidents"})

FOUND_AT = frozenset({"broker_id", "file", "position", "file_begins"})
"""Columns of bronze that say where a row was found first, of all the places where it may stand."""

SILVER = tuple(table for protocol in protocols() for table in protocol.tables)
OF_PROTOCOLS = tuple(table for protocol in protocols() for table in protocol.bronze)

_REPLICA = re.compile(r'"file":"[^"]*/log_dir/(?=[^"/]+-\d+/\d{20}\.log")')
"""What stands before a segment that a verdict's evidence names."""

_SEGMENT = re.compile(r"/([^/]+-\d+)(?:\.[0-9a-f]{32}-\w+)?/\d{20}\.log(\.deleted)?$")

Found = Mapping[str, Counter[tuple[Any, ...]]]
"""The rows of each table, by its name."""


AuditedAtOnce = Callable[..., tuple["Site", Found]]
"""See the fixture."""

_KILLED = 0.25
"""How often the runs of a case are killed while they write."""
_JUDGED = 0.125
"""How often they judge, too: verdicts are made of silver alone."""


class KilledError(Exception):
    """A run ends here, in the middle of its work."""


@dataclass(frozen=True)
class Audit:
    """One run: on which files, with which settings, and how far it goes. ``clusters``: the configured ones,
    None for all.
    """

    tree: Tree
    chapter_ms: int | None = None
    window_ms: int | None = None
    clusters: frozenset[str] | None = None
    rebuilds: bool = True
    judges: bool = False
    keep_evidence_ms: int | None = None
    """Evidence that is older is deleted after the run."""

    def changed(self, settings: Settings) -> Settings:
        """The settings of this run."""
        names = self.clusters or {each.name for each in settings.clusters}
        return replace(
            settings,
            chapter_ms=self.chapter_ms,
            longest_chapter_ms=None if self.chapter_ms is None else 4 * self.chapter_ms,
            window_ms=self.window_ms,
            keep_evidence_ms=self.keep_evidence_ms,
            clusters=tuple(each for each in settings.clusters if each.name in names),
        )


@dataclass
class Site:
    """A capture's files, where each run finds them, and where lakes are put beside them.

    ``chapter_ms``: silver is rebuilt in chapters of this length, in each run; without it in the last one.
    ``chapters``: the revision of each cluster's chapters after the last audit.
    """

    folder: Path
    whole: Tree
    chapter_ms: int | None = None
    chapters: Mapping[tuple[str, int], str | None] = field(default_factory=dict)

    @property
    def logs(self) -> Path:
        """The folder of the files."""
        return self.folder / "capture"

    def audited(
        self, before: Sequence[Tree] = (), *, killed: random.Random | None = None, judges: bool = False
    ) -> Found:
        """What a lake holds after a run on each of these trees and one on the whole.

        ``killed``: the runs before the last are ended while they write, wherever chance says. ``judges``: all
        of them judge what they have rebuilt.
        """
        rebuilds = self.chapter_ms is not None
        parts = [
            Audit(tree, self.chapter_ms, rebuilds=rebuilds, judges=rebuilds and judges) for tree in before
        ]
        return self.after([*parts, Audit(self.whole, self.chapter_ms, judges=judges)], killed=killed)

    def audited_in_pieces(self, name: str, way: str, seed: int) -> Found:
        """What a lake holds when the files of this capture have arrived in a way."""
        chance = random.Random(f"{name} {way} {seed}")
        before = CUTS[way](self.whole, chance)
        killed = chance if chance.random() < _KILLED else None
        return self.audited(before, killed=killed, judges=chance.random() < _JUDGED)

    def found_before(self, way: str, seed: int) -> Found:
        """What one audit finds of the files that there were at some moment before all had arrived."""
        chance = random.Random(f"{self.folder.name}{way}{seed}")
        tree = chance.choice(CUTS[way](self.whole, chance))
        return self.after([Audit({**tree, _CONFIG: self.whole[_CONFIG]}, judges=True)])

    def after(self, audits: Sequence[Audit], *, killed: random.Random | None = None) -> Found:
        """What a lake holds after these audits; ``killed`` as for ``audited``."""
        put(self.whole, self.logs)
        self._empty_lake()
        settings = self._settings
        # one catalog for all: what each of them read to open one is the same
        catalog = ensure(settings.lake)
        for number, each in enumerate(audits, start=1):
            put(each.tree, self.logs)
            may_end = killed if number < len(audits) else None
            with _killed_at(may_end.randint(1, 40 if each.rebuilds else 12) if may_end else None):
                _run(each, each.changed(settings), catalog, f"run-{number}")
        put(self.whole, self.logs)
        entries = Ledger(catalog, settings).entries("rebuild")
        self.chapters = {each.key: each.revision for each in entries}
        return rows_in(catalog, verdicts=audits[-1].judges)

    @property
    def lake(self) -> Lake:
        """The lake of the last audits."""
        place = self.folder / "lake"
        return Lake(str(place / "warehouse"), f"sqlite:///{place / 'catalog.db'}")

    @property
    def _settings(self) -> Settings:
        return replace(load(self.logs / "fencepost.toml"), lake=self.lake)

    def _empty_lake(self) -> None:
        """A lake without rows, made once: where its tables lie is said in them."""
        place, empty = self.folder / "lake", self.folder / "empty"
        shutil.rmtree(place, ignore_errors=True)
        if not empty.exists():
            ensure(self._settings.lake)
            shutil.copytree(place, empty)
        else:
            shutil.copytree(empty, place)


def _run(audit: Audit, settings: Settings, catalog: Catalog, run_id: str) -> None:
    here = TaskEngine(catalog)
    with suppress(KilledError):
        capture(settings, catalog, lambda *_: here, run_id, lambda line: None)
        if audit.rebuilds:
            rebuild(settings, catalog, lambda *_: here)
        if audit.judges:
            judge(settings, catalog, lambda *_: here)
        if audit.keep_evidence_ms is not None:
            ledger = Ledger(catalog, settings)
            ledger.begin("marts")
            ledger.done("marts", (), {})
            expire(catalog, settings)


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
        for name in ("append", "append_files", "delete", "replace", "replace_by_batches"):
            patch.setattr(lake, name, until(getattr(lake, name)))
        yield


def rows_in(catalog: Catalog, *, verdicts: bool) -> Found:
    """The rows of a lake, less what tells of the runs; ``verdicts``: those of verdicts, too."""
    bronze = (*BRONZE, *OF_PROTOCOLS)
    found = {table.name: _counted(catalog, table, OF_RUN | FOUND_AT - set(table.key)) for table in bronze}
    # what was read of files, and when brokers had written them, is as it was at the newest run
    del found[FILES.name], found[HIGH_WATERMARKS.name]
    found[REQUEST_IDS.name] = _ids(catalog)
    found[PARTITION_FOLDERS.name] = _folders(catalog)
    later = (*SILVER, *VERDICTS) if verdicts else SILVER
    return found | {table.name: _counted(catalog, table, OF_RUN) for table in later}


def marts_in(catalog: Catalog) -> Found:
    """The rows of all marts but those that tell of the runs."""
    names = sorted(set(map(".".join, catalog.list_tables("marts"))) - MARTS_OF_RUNS)
    rows = {name: catalog.load_table(name).scan().to_arrow().to_pylist() for name in names}
    return {name: Counter(tuple(map(repr, row.values())) for row in rows[name]) for name in names}


def _counted(catalog: Catalog, table: Table, but: Set[str]) -> Counter[tuple[Any, ...]]:
    columns = [name for name in table.columns if name not in but]
    rows = lake.scan(catalog, table, columns).to_pylist()
    return Counter(tuple(map(repr, _of_any_replica(row).values())) for row in rows)


def _of_any_replica(row: dict[str, Any]) -> dict[str, Any]:
    """The row; one of a segment stands in that of every replica, and was found in one of them first."""
    if isinstance(evidence := row.get("evidence"), str):
        return {**row, "evidence": _REPLICA.sub('"file":"', evidence)}
    if not isinstance(file := row.get("file"), str) or not (segment := _SEGMENT.search(file)):
        return row
    return {**row, "file": segment[1], **({"broker_id": None} if "broker_id" in row else {})}


def _folders(catalog: Catalog) -> Counter[tuple[Any, ...]]:
    """The folders of partitions in their last state: whether a run came before a deletion is of the runs."""
    states = lake.scan(catalog, PARTITION_FOLDERS, PARTITION_FOLDERS.key).to_pylist()
    last: dict[tuple[Any, ...], str] = {}
    for *folder, state in sorted((tuple(row.values()) for row in states), key=repr):
        last[tuple(folder)] = state if state != "live" else last.get(tuple(folder), state)
    return Counter(last.items())


def _ids(catalog: Catalog) -> Counter[tuple[Any, ...]]:
    """Each correlation id of each connection once: into how many pieces a log was cut is of the runs."""
    names = ("cluster", "broker_id", "client_id", "connection", "correlation_ids")
    rows = lake.scan(catalog, REQUEST_IDS, names)
    found = set()
    for *connection, ranges in zip(*(rows[name].to_pylist() for name in names), strict=True):
        for each in (ranges or "").split():
            first, _, last = each.partition("..")
            found |= {(*connection, number) for number in range(int(first), int(last or first) + 1)}
    return Counter(found)


def violations(found: Found) -> dict[str, int]:
    """How often each definition is violated, by its name."""
    columns = [name for name in VERDICT_COVERAGE.columns if name not in OF_RUN]
    name, count = columns.index("invariant"), columns.index("violated")
    return {row[name]: int(row[count]) for row in found[VERDICT_COVERAGE.name]}


def differences(found: Found, expected: Found) -> dict[str, tuple[list[Any], list[Any]]]:
    """Of each table that is not as expected, some rows that are too many and some that are missing."""
    return {
        name: (list((rows - expected[name]).items())[:3], list((expected[name] - rows).items())[:3])
        for name, rows in found.items()
        if rows != expected[name]
    }
