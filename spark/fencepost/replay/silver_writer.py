"""Writes the tables of silver while chapters are rebuilt: memory holds few chapters at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow as pa

from fencepost.engines import Engine, Rows
from fencepost.lake import AtLeast, Where
from fencepost.replay.chapters import Chapter
from fencepost.tables import CHAPTER, Table

HELD_BYTES = 256 << 20
"""So much of rows is held before they are put into their tables."""


class SilverWriter:
    """Tables that are replaced from the first changed chapter of each cluster on, in the order of chapters.

    The first commit to a table takes away all that is replaced. A run that is killed leaves the chapters that
    it has committed, and none behind them.
    """

    def __init__(
        self, engine: Engine, tables: Sequence[Table], first: Mapping[str, int], *, whole: bool
    ) -> None:
        """``first``: the begin of the first changed chapter by cluster; ``whole``: there is nothing else."""
        self._engine, self._tables, self._clusters = engine, tables, sorted(first)
        self._where: Where | None = [
            {"cluster": name, CHAPTER: AtLeast(begin)} for name, begin in first.items()
        ]
        if whole:
            self._where = None
        self._parts: defaultdict[str, list[Rows]] = defaultdict(list)
        self._held = 0

    def add(self, rows: Mapping[str, Rows]) -> None:
        """Take the rows of the next chapter, by the table's name."""
        for table in self._tables:
            self._parts[table.name].append(rows[table.name])
            self._held += _bytes(rows[table.name])

    @property
    def is_full(self) -> bool:
        """Whether what is held is enough for a commit."""
        return self._held >= HELD_BYTES

    def commit(self, following: Chapter | None) -> dict[str, int]:
        """Put what was taken into the tables, each in one commit; gives back how many rows each has then.

        ``following``: the chapter that is taken next.
        """
        engine, parts = self._engine, self._parts
        counts = {
            table.name: engine.replace(table, engine.union(parts[table.name]), self._where)
            for table in self._tables
        }
        parts.clear()
        self._held = 0
        if following is not None:
            self._where = [{"cluster": name, CHAPTER: AtLeast(following.begin)} for name in self._clusters]
        return counts


def _bytes(rows: Rows) -> int:
    """How much is held. Rows of Spark are still to be made, and to plan many chapters at once is dear."""
    return rows.nbytes if isinstance(rows, pa.Table) else HELD_BYTES
