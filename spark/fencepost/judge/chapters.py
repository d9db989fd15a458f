"""Which chapters of history have to be judged: those that are not what they were when they were judged last.

Silver says of each of its chapters a *revision* (``silver.chapters``), ``verdicts.judged`` on which revision
a chapter was judged, by what code, and for which window. What fits stands, up to the first chapter that does
not; from there on all are judged, since a step may begin in the one before. A lake without chapters is judged
whole.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fencepost import lake
from fencepost.lake import Below, Where
from fencepost.tables import CHAPTERS, JUDGED
from fencepost.unchanged import code

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

Chapter = tuple[str, int]
"""A cluster and the begin of a chapter, in ms."""
Since = Mapping[str, datetime | None]
"""By cluster, when its window begins; None, or no cluster: with its history."""
Noted = tuple[str, datetime | None]
"""What is noted of a chapter that was judged: on what revision, and for a window that begins when."""

_PLACES = pa.schema([("place", pa.string()), *JUDGED.schema_of(("cluster", "chapter", "revision", "since"))])


@dataclass(frozen=True)
class Part:
    """Chapters of several clusters that begin at one moment."""

    chapter: int
    noted: Mapping[str, Noted]


@dataclass(frozen=True)
class Chapters:
    """``parts`` are to be judged, in order; what is in ``standing`` stands. What is ``stale`` was judged, and
    does not stand; of that, ``gone`` is no chapter any more.
    """

    parts: tuple[Part, ...] = ()
    standing: frozenset[Chapter] = frozenset()
    stale: frozenset[Chapter] = frozenset()
    gone: frozenset[Chapter] = frozenset()

    @property
    def known(self) -> bool:
        """Whether history has chapters."""
        return bool(self.parts or self.standing)

    @property
    def judged(self) -> list[Chapter]:
        """The chapters of all parts."""
        return [(cluster, part.chapter) for part in self.parts for cluster in part.noted]

    @property
    def several(self) -> bool:
        """Whether any cluster has more than one."""
        clusters = [cluster for cluster, _ in (*self.standing, *self.judged)]
        return len(clusters) > len(set(clusters))

    @property
    def first(self) -> dict[str, int]:
        """The first chapter of each cluster that is to be judged; so are all that follow."""
        return {cluster: part.chapter for part in reversed(self.parts) for cluster in part.noted}

    @property
    def where_standing(self) -> Where:
        """What chooses the rows of what stands. Nothing else lies before the last chapter that does, and
        Iceberg would compare each file with every chapter that is named.
        """
        last: dict[str, int] = {}
        for cluster, chapter in self.standing:
            last[cluster] = max(chapter, last.get(cluster, chapter))
        return [{"cluster": cluster, "chapter": Below(each + 1)} for cluster, each in sorted(last.items())]

    @property
    def places(self) -> pa.Table:
        """What is to be judged and noted: rows (place, cluster, chapter, revision, since)."""
        return _places(
            (place(part.chapter, cluster), cluster, part.chapter, *noted)
            for part in self.parts
            for cluster, noted in sorted(part.noted.items())
        )


WHOLE = Chapters()
"""Of a lake that has no chapters."""


def place(chapter: int, cluster: str) -> str:
    """What a chapter is called where it is judged as though it were a cluster by itself."""
    return f"{chapter} {cluster}"


def whole_places(since: Since) -> pa.Table:
    """The places of clusters that are judged whole, which are called as they are."""
    return _places((cluster, cluster, None, None, begin) for cluster, begin in sorted(since.items()))


def _places(rows: Iterable[Sequence[Any]]) -> pa.Table:
    named = [dict(zip(_PLACES.names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(named, schema=_PLACES)


def chapters(catalog: Catalog, since: Since) -> Chapters:
    """The chapters of a lake as they are, beside those that were judged."""
    noted = lake.scan(catalog, JUDGED).to_pylist()
    return compared(_present(catalog), noted, since)


def compared(present: Mapping[Chapter, str], noted: Iterable[Mapping[str, Any]], since: Since) -> Chapters:
    """``present``: the revision of each chapter. ``noted``: rows of JUDGED."""
    judged = [row for row in noted if row["cluster"] is not None]
    counted = Counter((row["cluster"], row["chapter"]) for row in judged)
    fitting = {
        each
        for row in judged
        if counted[each := (row["cluster"], row["chapter"])] == 1
        and present.get(each) == row["revision"]
        and _seen(row, row["since"]) == _seen(row, since.get(row["cluster"]))
    }
    first: dict[str, int] = {}
    for cluster, chapter in (present.keys() | counted.keys()) - fitting:
        first[cluster] = min(chapter, first.get(cluster, chapter))
    standing = {(cluster, each) for cluster, each in fitting if each < first.get(cluster, each + 1)}
    parts: dict[int, dict[str, Noted]] = defaultdict(dict)
    for (cluster, chapter), revision in present.items():
        if (cluster, chapter) not in standing:
            parts[chapter][cluster] = revision, since.get(cluster)
    return Chapters(
        tuple(Part(chapter, of) for chapter, of in sorted(parts.items())),
        frozenset(standing),
        frozenset(counted.keys() - standing),
        frozenset(counted.keys() - present.keys()),
    )


def where(of: Iterable[Chapter]) -> Where:
    """What chooses the rows of these chapters."""
    by_cluster: dict[str, set[int]] = defaultdict(set)
    for cluster, chapter in of:
        by_cluster[cluster].add(chapter)
    return [
        {"cluster": cluster, "chapter": frozenset(found)} for cluster, found in sorted(by_cluster.items())
    ]


def _seen(judged: Mapping[str, Any], since: datetime | None) -> datetime | bool:
    """What a window that begins ``since`` shows of a chapter whose results end between two times: all of it,
    what has no end, or what follows that moment.
    """
    first, last = judged["first_end"], judged["last_end"]
    if since is None or first is None or since <= first:
        return True
    return False if since > last else since


def _present(catalog: Catalog) -> dict[Chapter, str]:
    """The revision of each chapter: of its rows, and of the code that judges them."""
    return {
        (row["cluster"], row["chapter"]): hashlib.sha256(f"{row['revision']} {code()}".encode()).hexdigest()
        for row in lake.scan(catalog, CHAPTERS, ("cluster", "chapter", "revision")).to_pylist()
    }
