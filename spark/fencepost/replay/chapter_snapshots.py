"""The snapshots with which chapters begin: rows handed down by the chapter before, and compacted logs.

While chapters are rebuilt one after the other, the snapshots are in memory. The lake has those of the newest
chapters and days, from which later runs may continue, and that of the newest chapter whose rows are in
silver, from which the next run continues if this one is killed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.conditions import Where, since_chapters
from fencepost.engines import Engine
from fencepost.formats.arrow_stream import read, written
from fencepost.replay.chapters import FIRST, Chapter
from fencepost.replay.compaction import TABLES as COMPACTED
from fencepost.replay.compaction import CompactedRows, store, stored
from fencepost.settings.values import DAY_MS
from fencepost.tables import HANDED_DOWN

First = Mapping[str, int]
"""Cluster -> the begin of its first chapter that is rebuilt."""

KEPT = 8
"""After a run the lake has the snapshots of so many chapters of each cluster, the newest ones, and of the
first chapter on each of so many days, the newest ones with a chapter.
"""

HandedDown = dict[str, pa.Table]
"""Table's name -> the rows of all clusters."""


@dataclass
class _Snapshot:
    clusters: list[str] = field(default_factory=list)
    handed_down: HandedDown = field(default_factory=dict)
    compacted_rows: CompactedRows = field(default_factory=dict)
    is_stored: bool = False


class ChapterSnapshots:
    """The snapshots of a plan's chapters, from the first changed ones on."""

    def __init__(self, engine: Engine, catalog: Catalog, plan: Sequence[Chapter], first: First) -> None:
        self._engine, self._catalog, self._first = engine, catalog, first
        self._kept = _kept_begins(plan)
        self._snapshots: defaultdict[int, _Snapshot] = defaultdict(_Snapshot)
        for begin, rows in _handed_down_to(catalog, first).items():
            self._snapshots[begin].handed_down = rows

    def handed_down(self, begin: int) -> HandedDown:
        """The rows that were handed down to the chapters that begin at ``begin``."""
        return self._snapshots[begin].handed_down

    def hand_down(self, begin: int, rows: Mapping[str, pa.Table], clusters: Sequence[str]) -> None:
        """Add rows for the chapters of these clusters that begin at ``begin``. This may be called more than
        once for a begin, because the chapters before it may differ from cluster to cluster.
        """
        snapshot = self._snapshots[begin]
        snapshot.clusters += clusters
        for name, each in rows.items():
            before = snapshot.handed_down.get(name)
            snapshot.handed_down[name] = each if before is None else pa.concat_tables([before, each])

    def compacted(self, chapter: Mapping[str, int]) -> CompactedRows:
        """The compacted logs before a chapter of each cluster; ``chapter``: cluster -> the
        chapter's begin.
        """
        parts: list[CompactedRows] = []
        for begin in sorted(set(chapter.values())):
            clusters = {name for name, each in chapter.items() if each == begin}
            snapshot = self._snapshots[begin] if begin in self._snapshots else _Snapshot()
            if known := clusters & set(snapshot.clusters):
                every = known == set(snapshot.clusters)
                parts.append(
                    snapshot.compacted_rows
                    if every
                    else _of_clusters(self._engine, snapshot.compacted_rows, known)
                )
            if others := clusters - set(snapshot.clusters):
                of_others = [{"cluster": frozenset(others), "chapter": begin}]
                parts.append(stored(self._engine, of_others))
        if len(parts) == 1:
            return parts[0]
        return {table.name: self._engine.union([each[table.name] for each in parts]) for table in COMPACTED}

    def keep_compacted(self, begin: int, compacted_rows: CompactedRows) -> None:
        """Keep the compacted logs before the chapters that begin at ``begin``."""
        snapshot = self._snapshots[begin]
        snapshot.compacted_rows = {name: self._engine.keep(rows) for name, rows in compacted_rows.items()}
        if any((name, begin) in self._kept for name in snapshot.clusters):
            self.store(begin)

    def store(self, begin: int) -> None:
        """Store the snapshots of the chapters that begin at ``begin``, unless they are stored already."""
        snapshot = self._snapshots[begin]
        if snapshot.is_stored or not snapshot.compacted_rows:
            return
        where = [{"cluster": frozenset(snapshot.clusters), "chapter": begin}]
        store(self._engine, self._catalog, snapshot.compacted_rows, where)
        # stored last: if the lake has these rows, the snapshot is complete
        _store_handed_down(self._catalog, begin, snapshot, where)
        snapshot.is_stored = True

    def release(self, but: set[int]) -> None:
        """Free the snapshots of chapters before the newest of these begins (``but``), except of these."""
        for begin in [each for each in self._snapshots if each < max(but) and each not in but]:
            del self._snapshots[begin]


def delete_later_snapshots(catalog: Catalog, first: First) -> None:
    """Delete the snapshots that an earlier run stored for chapters after the first ones that are rebuilt."""
    later = {name for name, begin in stored_snapshots(catalog) if begin > first.get(name, begin)}
    if later:
        _delete(catalog, since_chapters({name: first[name] + 1 for name in later}))


def delete_old_snapshots(catalog: Catalog, plan: Sequence[Chapter]) -> None:
    """Delete the snapshots of all but the newest chapters and days. New evidence about older ones is rare;
    then all of history is rebuilt.
    """
    kept, old = _kept_begins(plan), defaultdict[str, set[int]](set)
    for name, begin in stored_snapshots(catalog):
        if (name, begin) not in kept and begin != FIRST:
            old[name].add(begin)
    if old:
        _delete(catalog, [{"cluster": name, "chapter": frozenset(begins)} for name, begins in old.items()])


def stored_snapshots(catalog: Catalog) -> set[tuple[str, int]]:
    """The chapters, as (cluster, begin), whose snapshots are in the lake."""
    return {(cluster, chapter) for cluster, chapter in lake.partitions(catalog, HANDED_DOWN)}


def _delete(catalog: Catalog, where: Where) -> None:
    # HANDED_DOWN first: snapshots are found by its partitions, so the rest of a deleted one is not read
    for table in (HANDED_DOWN, *COMPACTED):
        lake.delete(catalog, table, where)


def _begins(plan: Sequence[Chapter]) -> dict[str, list[int]]:
    begins: defaultdict[str, list[int]] = defaultdict(list)
    for chapter in plan:
        for name in chapter.until_ms:
            begins[name].append(chapter.begin)
    return begins


def _kept_begins(plan: Sequence[Chapter]) -> set[tuple[str, int]]:
    """The chapters, as (cluster, begin), whose snapshots later runs may need."""
    kept: set[tuple[str, int]] = set()
    for name, begins in _begins(plan).items():
        first_of_day = {each // DAY_MS: each for each in reversed(begins)}
        kept |= {(name, each) for each in (*begins[-KEPT:], *list(first_of_day.values())[:KEPT])}
    return kept


def _of_clusters(engine: Engine, compacted_rows: CompactedRows, clusters: set[str]) -> CompactedRows:
    names = pa.array(sorted(clusters), pa.string())
    return {
        table.name: engine.map(compacted_rows[table.name], partial(_named, names), table.arrow_schema)
        for table in COMPACTED
    }


def _named(clusters: pa.Array, rows: pa.Table) -> pa.Table:
    return rows.filter(pc.is_in(rows["cluster"], clusters))


def _store_handed_down(catalog: Catalog, begin: int, snapshot: _Snapshot, where: Where) -> None:
    packed = [
        (cluster, begin, name, written(each.filter(pc.equal(each["cluster"], cluster)), compressed=True))
        for cluster in snapshot.clusters
        for name, each in snapshot.handed_down.items()
    ]
    lake.replace(catalog, HANDED_DOWN, HANDED_DOWN.rows(packed), where)


def _handed_down_to(catalog: Catalog, first: First) -> dict[int, HandedDown]:
    """Begin -> the rows that an earlier run handed down to the first chapters that are rebuilt."""
    where = [{"cluster": name, "chapter": begin} for name, begin in first.items()]
    handed_down: defaultdict[int, defaultdict[str, list[pa.Table]]] = defaultdict(lambda: defaultdict(list))
    for row in lake.scan(catalog, HANDED_DOWN, (), where).to_pylist():
        handed_down[row["chapter"]][row["table_name"]].append(read(row["rows"]))
    return {
        begin: {name: pa.concat_tables(parts) for name, parts in tables.items()}
        for begin, tables in handed_down.items()
    }
