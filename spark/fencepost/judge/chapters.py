"""Which chapters of history have to be judged: those that changed since they were judged last.

The ledger has a *revision* for each chapter of silver, and that of each chapter as it was judged. The
verdicts of chapters whose revisions are the same stand, up to the first chapter whose revisions differ. From
there on all are judged, since a step may begin in the chapter before. Chapters that silver does not keep any
more are only forgotten. A lake without chapters is judged as a whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fencepost.conditions import Condition, Where, Within
from fencepost.ledger import Entry, Key, first_different
from fencepost.tables import CHAPTER, PIECES

_PLACES = pa.schema([("place", pa.string()), *PIECES.schema_of(("cluster", CHAPTER))])


@dataclass(frozen=True)
class Chapters:
    """The chapters of a lake, by what the judge has to do about them.

    ``judged``: the chapters to judge, in order. ``standing``: those whose results stand. ``stale``: those
    that were judged and whose results do not stand.
    """

    judged: Sequence[Key] = ()
    standing: frozenset[Key] = frozenset()
    stale: frozenset[Key] = frozenset()

    @property
    def known(self) -> bool:
        """Whether the history has chapters."""
        return bool(self.judged or self.standing)

    @property
    def several(self) -> bool:
        """Whether any cluster has more than one chapter."""
        clusters = [cluster for cluster, _ in (*self.standing, *self.judged)]
        return len(clusters) > len(set(clusters))

    @property
    def first(self) -> dict[str, int]:
        """By cluster, the first chapter to judge; all that follow are judged, too."""
        return dict(reversed(self.judged))

    @property
    def where_standing(self) -> Where:
        """The condition for the rows of standing chapters: from the first to the last one, since no others
        lie between. Naming each chapter would have Iceberg compare every file with every chapter.
        """
        return [
            {"cluster": cluster, CHAPTER: Within(least=first, below=last + 1)}
            for cluster, (first, last) in self._standing.items()
        ]

    @property
    def where_others(self) -> Where | None:
        """The condition for all other rows; None where no chapter stands."""
        if not self.standing:
            return None
        others: list[Condition] = []
        for cluster in sorted({cluster for cluster, _ in (*self.judged, *self.standing, *self.stale)}):
            if cluster in self._standing:
                first, last = self._standing[cluster]
                both = (Within(below=first), Within(least=last + 1))
                others += [{"cluster": cluster, CHAPTER: each} for each in both]
            else:
                others.append({"cluster": cluster})
        return others

    @property
    def _standing(self) -> Mapping[str, tuple[int, int]]:
        """By cluster, the first and the last chapter that stand."""
        chapters = _by_cluster(self.standing)
        return {cluster: (min(each), max(each)) for cluster, each in chapters.items()}

    @property
    def places(self) -> pa.Table:
        """The chapters to judge, as rows (place, cluster, chapter)."""
        rows = [
            {"place": place(chapter, cluster), "cluster": cluster, CHAPTER: chapter}
            for cluster, chapter in self.judged
        ]
        return pa.Table.from_pylist(rows, schema=_PLACES)

    def entries(self, present: Mapping[Key, str | None], *, judged: bool) -> list[Entry]:
        """The ledger's entries of the chapters that stand, and of those that were ``judged``."""
        keys = (*self.standing, *(self.judged if judged else ()))
        return [
            Entry(cluster=cluster, chapter=at, revision=present[cluster, at]) for cluster, at in sorted(keys)
        ]


WHOLE = Chapters()
"""The Chapters of a lake that has none."""
NO_PLACES = _PLACES.empty_table()
"""The places of clusters that are judged as a whole."""


def place(chapter: int, cluster: str) -> str:
    """The name of a chapter where the judge treats it as a cluster of its own."""
    return f"{chapter} {cluster}"


def compared(
    present: Mapping[Key, str | None], noted: Mapping[Key, str | None], earlier: Iterable[Key] = ()
) -> Chapters:
    """Compares the revisions of chapters that silver has (``present``) with those that were judged
    (``noted``).

    ``earlier``: chapters that other code or settings judged.
    """
    begins = {cluster: min(each) for cluster, each in _by_cluster(present).items()}
    first = first_different(
        {key: each for key, each in noted.items() if key[1] >= begins.get(key[0], 0)}, present
    )
    standing = {key for key in noted if key in present and key[1] < first.get(key[0], key[1] + 1)}
    judged = sorted(present.keys() - standing, key=lambda key: (key[1], key[0]))
    return Chapters(judged, frozenset(standing), frozenset({*noted, *earlier} - standing))


def where(of: Iterable[Key]) -> Where:
    """The condition for the rows of these chapters."""
    return [
        {"cluster": cluster, CHAPTER: frozenset(chapters)}
        for cluster, chapters in sorted(_by_cluster(of).items())
    ]


def _by_cluster(of: Iterable[Key]) -> Mapping[str, set[int]]:
    by_cluster: dict[str, Any] = defaultdict(set)
    for cluster, chapter in of:
        by_cluster[cluster].add(chapter)
    return by_cluster
