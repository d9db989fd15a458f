"""Writes the tables of silver while chapters are rebuilt, so that memory has only few chapters at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow as pa

from fencepost.conditions import since_chapters
from fencepost.engines import Engine, Rows
from fencepost.replay.chapters import Chapter
from fencepost.tables import Table

HELD_BYTES = 256 << 20
"""Rows are written to their tables when there are so many bytes of them."""


class SilverWriter:
    """Replaces tables from the first changed chapter of each cluster on, in the order of chapters.

    The first commit to a table deletes all rows that are replaced. If a run is killed, the tables have the
    chapters that it has committed, and none after them.
    """

    def __init__(
        self, engine: Engine, tables: Sequence[Table], first: Mapping[str, int], *, whole: bool
    ) -> None:
        """``first``: cluster -> the begin of its first changed chapter; ``whole``: all rows are replaced."""
        self._engine, self._tables, self._clusters = engine, tables, sorted(first)
        self._where = None if whole else since_chapters(first)
        self._parts: defaultdict[str, list[Rows]] = defaultdict(list)
        self._held = 0

    def add(self, rows: Mapping[str, Rows]) -> None:
        """Add the rows of the next chapter; ``rows``: table's name -> rows."""
        for table in self._tables:
            self._parts[table.name].append(rows[table.name])
            self._held += _bytes(rows[table.name])

    @property
    def is_full(self) -> bool:
        """Whether enough rows wait for a commit."""
        return self._held >= HELD_BYTES

    def commit(self, following: Chapter | None) -> dict[str, int]:
        """Write the added rows to the tables, each in one commit. Returns how many rows each table has then.

        ``following``: the chapter that is added next.
        """
        engine, parts = self._engine, self._parts
        counts = {
            table.name: engine.replace(table, engine.union(parts[table.name]), self._where)
            for table in self._tables
        }
        parts.clear()
        self._held = 0
        if following is not None:
            self._where = since_chapters(dict.fromkeys(self._clusters, following.begin))
        return counts


def _bytes(rows: Rows) -> int:
    """The bytes of rows: those in files do not fill memory, but they are lost if the run is killed."""
    return int(rows.nbytes if isinstance(rows, pa.Table) else rows.bytes)
