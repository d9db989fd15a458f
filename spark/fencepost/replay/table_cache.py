"""An engine that reads each table of a chapter once, for all protocols together.

A chapter has little evidence, so most of its cost is finding and opening files, and each protocol scans the
same lines, batches and records again. A scan that names coordinators' topics also gets the compacted part of
their logs (:mod:`fencepost.replay.window_engine`), so those rows are cached separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pyarrow as pa

from fencepost.conditions import Where, values_of
from fencepost.conditions.arrow import filter_rows
from fencepost.engines import Engine, Rows, tasks
from fencepost.engines.delegating import DelegatingEngine
from fencepost.replay.keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from fencepost.tables import RECORDS, Table

_COORDINATORS = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC})

HELD_BYTES = 32 << 20
"""If a chapter's evidence takes more bytes of files, nothing is cached: then reading it is most
of the work.
"""


class CachingEngine(DelegatingEngine):
    """The rows that it reads are in this process."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._cached: dict[tuple[str, bool], pa.Table] = {}

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        """Rows of a table."""
        of_coordinators = _names_coordinators(where)
        if of_coordinators is None or (table is RECORDS and not of_coordinators):
            return super().scan(table, columns, where)
        key = table.name, of_coordinators
        if key not in self._cached:
            of_topics = [{"topic": _COORDINATORS}] if of_coordinators else None
            self._cached[key] = self.collect(super().scan(table, (), of_topics))
        rows = self._cached[key]
        if not columns:
            return filter_rows(rows, where)
        # only columns that the scan needs are copied
        needed = dict.fromkeys((*columns, *chain.from_iterable(where or ())))
        return filter_rows(rows.select(list(needed)), where).select(list(columns))


def with_table_cache(engine: Engine, size: int) -> Engine:
    """The engine for a chapter whose evidence takes ``size`` bytes of files."""
    return CachingEngine(engine) if size <= (HELD_BYTES if engine.is_here else tasks.TASK_BYTES) else engine


def _names_coordinators(where: Where | None) -> bool | None:
    """True if all conditions name coordinators' topics, False if none names a topic, None otherwise."""
    named = [values_of(each, "topic") for each in where or ()]
    if all(each is None for each in named):
        return False
    return True if all(each is not None and each <= _COORDINATORS for each in named) else None
