"""Writes the tables of silver while chapters are rebuilt, so that memory has only few chapters at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.conditions import Where, since_chapters
from fencepost.engines import Engine, Rows
from fencepost.replay.chapters import Chapter
from fencepost.replay.retention import Kept
from fencepost.tables import CHAPTER, Table

HELD_BYTES = 256 << 20
"""Rows are written to their tables when there are so many bytes of them."""


class SilverWriter:
    """Replaces tables from the first changed chapter of each cluster on, in the order of chapters.

    The first commit to a table deletes all rows that are replaced. If a run is killed, the tables have the
    chapters that it has committed, and none after them.
    """

    def __init__(
        self,
        engine: Engine,
        tables: Sequence[Table],
        first: Mapping[str, int],
        keeps: Kept,
        *,
        whole: bool,
    ) -> None:
        """``first``: cluster -> the begin of its first changed chapter; ``whole``: all rows are replaced.
        ``keeps``: the chapters whose rows the tables have; rows of others are deleted.
        """
        self._engine, self._tables, self._clusters, self._keeps = engine, tables, sorted(first), keeps
        self._where: Where | None = None if whole else [*since_chapters(first), *keeps.others]
        self._parts: defaultdict[str, list[Rows]] = defaultdict(list)
        self._held = 0

    def add(self, chapter: Chapter, rows: Mapping[str, Rows]) -> None:
        """Add the rows of the next chapter; ``rows``: table's name -> rows."""
        names = [name for name in chapter.until_ms if self._keeps.has(name, chapter.begin)]
        only = None if len(names) == len(chapter.until_ms) else pa.array(names, pa.string())
        for table in self._tables if names else ():
            change = partial(_of_chapter, chapter.begin, only)
            of_chapter = self._engine.map(rows[table.name], change, table.stored_schema)
            self._parts[table.name].append(of_chapter)
            self._held += _bytes(of_chapter)

    @property
    def is_full(self) -> bool:
        """Whether enough rows wait for a commit."""
        return bool(self._parts) and self._held >= HELD_BYTES

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


def _of_chapter(begin: int, clusters: pa.Array | None, rows: pa.Table) -> pa.Table:
    if clusters is not None:
        rows = rows.filter(pc.is_in(rows["cluster"], clusters))
    return rows.append_column(CHAPTER, pa.repeat(pa.scalar(begin, pa.int64()), rows.num_rows))


def _bytes(rows: Rows) -> int:
    """The bytes of rows: those in files do not fill memory, but they are lost if the run is killed."""
    return int(rows.nbytes if isinstance(rows, pa.Table) else rows.bytes)
