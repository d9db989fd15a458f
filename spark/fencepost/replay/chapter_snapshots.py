"""The snapshots with which chapters begin, while they are rebuilt one after the other.

Each is given what the one before left, which is here. In the lake are the begins of the newest chapters, from
which later runs may go on, and of the newest one whose rows are in silver, from which a run goes on that
follows one that was killed.
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
from fencepost.engines import Engine
from fencepost.formats.arrow_stream import read, written
from fencepost.lake import AtLeast, Below, Where
from fencepost.replay.chapters import FIRST, Chapter
from fencepost.replay.compaction import TABLES as COMPACTED
from fencepost.replay.compaction import Left, store, stored
from fencepost.replay.entities import tuples
from fencepost.tables import HANDED_DOWN

First = Mapping[str, int]
"""The begin of the first chapter of each cluster that is rebuilt."""

KEPT = 8
"""Of so many chapters of a cluster what they begin with is in the lake, after a run."""

HandedDown = dict[str, pa.Table]
"""By the table's name, rows of all clusters."""


@dataclass
class _Begin:
    clusters: list[str] = field(default_factory=list)
    handed_down: HandedDown = field(default_factory=dict)
    left: Left = field(default_factory=dict)
    is_stored: bool = False


class ChapterSnapshots:
    """What the chapters of a plan begin with, from the first changed ones on."""

    def __init__(self, engine: Engine, catalog: Catalog, plan: Sequence[Chapter], first: First) -> None:
        self._engine, self._catalog, self._first = engine, catalog, first
        self._newest = _newest(plan)
        self._made: defaultdict[int, _Begin] = defaultdict(_Begin)
        for begin, rows in _handed_down_to(catalog, first).items():
            self._made[begin].handed_down = rows

    def handed_down(self, begin: int) -> HandedDown:
        """What was handed down to the chapters that begin then."""
        return self._made[begin].handed_down

    def hand_down(self, begin: int, rows: Mapping[str, pa.Table], clusters: Sequence[str]) -> None:
        """Take what chapters of these clusters that begin then begin with. Clusters that have other chapters
        before the same one hand down to it, too.
        """
        made = self._made[begin]
        made.clusters += clusters
        for name, each in rows.items():
            before = made.handed_down.get(name)
            made.handed_down[name] = each if before is None else pa.concat_tables([before, each])

    def compacted(self, chapter: Mapping[str, int]) -> Left:
        """What compaction left before a chapter of each cluster."""
        parts: list[Left] = []
        for begin in sorted(set(chapter.values())):
            clusters = {name for name, each in chapter.items() if each == begin}
            here = self._made[begin] if begin in self._made else _Begin()
            if known := clusters & set(here.clusters):
                every = known == set(here.clusters)
                parts.append(here.left if every else _of_clusters(self._engine, here.left, known))
            if others := clusters - set(here.clusters):
                of_others = [{"cluster": frozenset(others), "chapter": begin}]
                parts.append(stored(self._engine, of_others))
        if len(parts) == 1:
            return parts[0]
        return {table.name: self._engine.union([each[table.name] for each in parts]) for table in COMPACTED}

    def keep_compacted(self, begin: int, left: Left) -> None:
        """Take what compaction leaves before the chapters that were handed something down then."""
        made = self._made[begin]
        made.left = {name: self._engine.keep(rows) for name, rows in left.items()}
        if begin in self._newest:
            self.store(begin)

    def store(self, begin: int) -> None:
        """Store what the chapters begin with that begin then, but for what an earlier run has stored."""
        made = self._made[begin]
        if made.is_stored or not made.left:
            return
        where = [{"cluster": frozenset(made.clusters), "chapter": begin}]
        store(self._engine, self._catalog, made.left, where)
        # that this is there says that all of it is
        _store_handed_down(self._catalog, begin, made, where)
        made.is_stored = True

    def release(self, but: set[int]) -> None:
        """No chapter follows any more but those that begin later than these, or follow them."""
        for begin in [each for each in self._made if each < max(but) and each not in but]:
            del self._made[begin]


def delete_later_snapshots(catalog: Catalog, first: First) -> None:
    """Take away what an earlier run stored for chapters behind the first that are rebuilt."""
    _delete(catalog, [{"cluster": name, "chapter": AtLeast(begin + 1)} for name, begin in first.items()])


def delete_old_snapshots(catalog: Catalog, plan: Sequence[Chapter]) -> None:
    """Keep what the newest chapters begin with, no more: evidence that concerns older ones is rare, and has
    all of history rebuilt.
    """
    old = [
        {"cluster": name, "chapter": Below(begins[-KEPT], FIRST + 1)}
        for name, begins in _begins(plan).items()
        if len(begins) > KEPT
    ]
    if old:
        _delete(catalog, old)


def stored_snapshots(catalog: Catalog) -> set[tuple[str, int]]:
    """Of which chapters, by cluster and begin, the lake has what they begin with."""
    kept = lake.scan(catalog, HANDED_DOWN, ("cluster", "chapter"))
    return set(tuples(kept.group_by(["cluster", "chapter"]).aggregate([])))


def _delete(catalog: Catalog, where: Where) -> None:
    for table in (HANDED_DOWN, *COMPACTED):
        lake.delete(catalog, table, where)


def _begins(plan: Sequence[Chapter]) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for chapter in plan:
        for name in chapter.until_ms:
            found[name].append(chapter.begin)
    return found


def _newest(plan: Sequence[Chapter]) -> set[int]:
    return {begin for begins in _begins(plan).values() for begin in begins[-KEPT:]}


def _of_clusters(engine: Engine, left: Left, clusters: set[str]) -> Left:
    names = pa.array(sorted(clusters), pa.string())
    return {
        table.name: engine.map(left[table.name], partial(_named, names), table.arrow_schema)
        for table in COMPACTED
    }


def _named(clusters: pa.Array, rows: pa.Table) -> pa.Table:
    return rows.filter(pc.is_in(rows["cluster"], clusters))


def _store_handed_down(catalog: Catalog, begin: int, made: _Begin, where: Where) -> None:
    packed = [
        (cluster, begin, name, written(each.filter(pc.equal(each["cluster"], cluster)), compressed=True))
        for cluster in made.clusters
        for name, each in made.handed_down.items()
    ]
    lake.replace(catalog, HANDED_DOWN, HANDED_DOWN.rows(packed), where)


def _handed_down_to(catalog: Catalog, first: First) -> dict[int, HandedDown]:
    """What an earlier run handed down to the first chapters that are rebuilt, by begin."""
    where = [{"cluster": name, "chapter": begin} for name, begin in first.items()]
    found: defaultdict[int, defaultdict[str, list[pa.Table]]] = defaultdict(lambda: defaultdict(list))
    for row in lake.scan(catalog, HANDED_DOWN, (), where).to_pylist():
        found[row["chapter"]][row["table_name"]].append(read(row["rows"]))
    return {
        begin: {name: pa.concat_tables(parts) for name, parts in tables.items()}
        for begin, tables in found.items()
    }
