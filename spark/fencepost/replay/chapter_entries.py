"""The ledger's entries of chapters: which of them stand, and which have to be rebuilt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from uuid import uuid4

from fencepost.ledger import DROPPED, KEPT, Entry, Key, Ledger
from fencepost.replay.chapters import FIRST, Chapter
from fencepost.replay.retention import Kept


class ChapterEntries:
    """The entries of a plan's chapters. ``noted``: those that an earlier run has left."""

    def __init__(self, plan: Sequence[Chapter], keeps: Kept, noted: Mapping[Key, Entry]) -> None:
        self.plan, self.keeps = plan, keeps
        self.planned = {(name, each.begin): until for each in plan for name, until in each.until_ms.items()}
        self._noted = noted
        self._made: dict[Key, Entry] = {}

    def changed(self, ledger: Ledger, stored: Collection[Key]) -> dict[str, int]:
        """By cluster, the chapter from which on it has to be rebuilt: the first one whose rows in silver are
        missing or not what a rebuild would make now, or the newest one before it whose snapshot is
        ``stored``. These chapters get another revision. Clusters in which nothing has changed are left out.
        """
        first, last = ledger.changed_evidence(self.planned), dict(self.planned.keys())
        for (name, begin), each in self._noted.items():
            if each.state == KEPT and not self.keeps.has(name, begin):
                # its rows are deleted with the next commit
                first.setdefault(name, last[name])
        begins = defaultdict[str, list[int]](list)
        for name, begin in self.planned:
            begins[name].append(begin)
        first = {
            name: max(
                (begin for begin in begins[name] if begin <= each and (name, begin) in stored), default=FIRST
            )
            for name, each in first.items()
        }
        self._noted = {
            key: each for key, each in self._noted.items() if key[1] < first.get(key[0], key[1] + 1)
        }
        return first

    def before(self, first: Mapping[str, int]) -> Iterator[Entry]:
        """The entries of chapters that begin before these, by cluster; those of clusters that are not named
        all. Each is true when silver has the chapter's rows.
        """
        for key, until in self.planned.items():
            name, begin = key
            if begin < first.get(name, begin + 1):
                state = KEPT if self.keeps.has(name, begin) else DROPPED
                yield replace(self._entry(key), until=until, state=state)

    def all(self) -> Iterator[Entry]:
        """The entries of all chapters."""
        return self.before({})

    def _entry(self, key: Key) -> Entry:
        if key in self._noted:
            return self._noted[key]
        return self._made.setdefault(key, Entry(cluster=key[0], chapter=key[1], revision=uuid4().hex))
