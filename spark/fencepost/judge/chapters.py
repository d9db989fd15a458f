"""Which chapters of history have to be judged: those that changed since they were judged last.

Silver has a *revision* for each of its chapters (``silver.chapters``). ``verdicts.judged`` notes, for each
chapter that was judged, its revision, the code and the window. The verdicts of chapters whose notes still
fit stand, up to the first chapter whose note does not. From there on all are judged, since a step may begin
in the chapter before. A lake without chapters is judged as a whole.
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
from fencepost.conditions import Where, Within
from fencepost.tables import CHAPTERS, JUDGED
from fencepost.unchanged import code

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

Chapter = tuple[str, int]
"""A cluster, and when the chapter begins, in milliseconds."""
Since = Mapping[str, datetime | None]
"""By cluster, when its window begins; None, or a cluster that is missing: at the beginning of its history."""
Noted = tuple[str, datetime | None]
"""The note on a judged chapter: its revision, and when the window began (None: without a window)."""

_PLACES = pa.schema([("place", pa.string()), *JUDGED.schema_of(("cluster", "chapter", "revision", "since"))])


@dataclass(frozen=True)
class Part:
    """The chapters of several clusters that begin at the same moment."""

    chapter: int
    noted: Mapping[str, Noted]


@dataclass(frozen=True)
class Chapters:
    """The chapters of a lake, by what the judge has to do about them.

    ``parts``: the chapters to judge, in order. ``standing``: those whose results stand. ``stale``: those that
    were judged and whose results do not stand. ``gone``: those of ``stale`` that no longer exist.
    """

    parts: tuple[Part, ...] = ()
    standing: frozenset[Chapter] = frozenset()
    stale: frozenset[Chapter] = frozenset()
    gone: frozenset[Chapter] = frozenset()

    @property
    def known(self) -> bool:
        """Whether the history has chapters."""
        return bool(self.parts or self.standing)

    @property
    def judged(self) -> list[Chapter]:
        """The chapters to judge, those of all parts."""
        return [(cluster, part.chapter) for part in self.parts for cluster in part.noted]

    @property
    def several(self) -> bool:
        """Whether any cluster has more than one chapter."""
        clusters = [cluster for cluster, _ in (*self.standing, *self.judged)]
        return len(clusters) > len(set(clusters))

    @property
    def first(self) -> dict[str, int]:
        """By cluster, the first chapter to judge; all that follow are judged, too."""
        return {cluster: part.chapter for part in reversed(self.parts) for cluster in part.noted}

    @property
    def where_standing(self) -> Where:
        """The condition for the rows of standing chapters: those up to the last one, since no others lie
        before it. Naming each chapter would have Iceberg compare every file with every chapter.
        """
        last: dict[str, int] = {}
        for cluster, chapter in self.standing:
            last[cluster] = max(chapter, last.get(cluster, chapter))
        return [
            {"cluster": cluster, "chapter": Within(below=each + 1)} for cluster, each in sorted(last.items())
        ]

    @property
    def places(self) -> pa.Table:
        """The chapters to judge and note, as rows (place, cluster, chapter, revision, since)."""
        return _places(
            (place(part.chapter, cluster), cluster, part.chapter, *noted)
            for part in self.parts
            for cluster, noted in sorted(part.noted.items())
        )


WHOLE = Chapters()
"""The Chapters of a lake that has none."""


def place(chapter: int, cluster: str) -> str:
    """The name of a chapter where the judge treats it as a cluster of its own."""
    return f"{chapter} {cluster}"


def whole_places(since: Since) -> pa.Table:
    """The places of clusters that are judged as a whole: their names are those of the clusters."""
    return _places((cluster, cluster, None, None, begin) for cluster, begin in sorted(since.items()))


def _places(rows: Iterable[Sequence[Any]]) -> pa.Table:
    named = [dict(zip(_PLACES.names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(named, schema=_PLACES)


def chapters(catalog: Catalog, since: Since) -> Chapters:
    """The chapters of a lake, compared with the notes on those that were judged."""
    noted = lake.scan(catalog, JUDGED).to_pylist()
    return compared(_present(catalog), noted, since)


def compared(present: Mapping[Chapter, str], noted: Iterable[Mapping[str, Any]], since: Since) -> Chapters:
    """Compares chapters with notes. ``present``: the revision of each chapter; ``noted``: rows of JUDGED."""
    judged = [row for row in noted if row["cluster"] is not None]
    counted = Counter((row["cluster"], row["chapter"]) for row in judged)
    unchanged = {
        each
        for row in judged
        if counted[each := (row["cluster"], row["chapter"])] == 1
        and present.get(each) == row["revision"]
        and _extent(row, row["since"]) == _extent(row, since.get(row["cluster"]))
    }
    first: dict[str, int] = {}
    for cluster, chapter in (present.keys() | counted.keys()) - unchanged:
        first[cluster] = min(chapter, first.get(cluster, chapter))
    standing = {(cluster, each) for cluster, each in unchanged if each < first.get(cluster, each + 1)}
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
    """The condition for the rows of these chapters."""
    by_cluster: dict[str, set[int]] = defaultdict(set)
    for cluster, chapter in of:
        by_cluster[cluster].add(chapter)
    return [
        {"cluster": cluster, "chapter": frozenset(chapters)}
        for cluster, chapters in sorted(by_cluster.items())
    ]


def _extent(judged: Mapping[str, Any], since: datetime | None) -> datetime | bool:
    """How much of a judged chapter a window that begins ``since`` has: all results (True), only those
    without an end (False), or those that end after that moment (the moment). The results end between the
    chapter's ``first_end`` and ``last_end``.
    """
    first, last = judged["first_end"], judged["last_end"]
    if since is None or first is None or since <= first:
        return True
    return False if since > last else since


def _present(catalog: Catalog) -> dict[Chapter, str]:
    """The revision of each chapter, which covers its rows and the code that judges them."""
    return {
        (row["cluster"], row["chapter"]): hashlib.sha256(f"{row['revision']} {code()}".encode()).hexdigest()
        for row in lake.scan(catalog, CHAPTERS, ("cluster", "chapter", "revision")).to_pylist()
    }
