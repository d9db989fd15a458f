"""An engine that delegates to another one, except for what a subclass overrides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from fencepost.conditions import Where
from fencepost.engines import AppendResult, Change, Engine, Replay, Rows, T, Target, Work
from fencepost.tables import Table


class DelegatingEngine:
    """See :class:`fencepost.engines.Engine`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name, self.is_here, self.parallelism = engine.name, engine.is_here, engine.parallelism

    def spread(self, tasks: Sequence[T], work: Work[T], tables: Sequence[Table]) -> Mapping[str, Rows]:
        """The rows that all tasks yield, by the table's name."""
        return self._engine.spread(tasks, work, tables)

    def spread_into(
        self, tasks: Sequence[T], work: Work[T], targets: Sequence[Target], report: Table
    ) -> Iterator[AppendResult]:
        """Append the new rows that all tasks yield; returns those of the table ``report``."""
        return self._engine.spread_into(tasks, work, targets, report)

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        """Rows of a table."""
        return self._engine.scan(table, columns, where)

    def map(self, rows: Rows, change: Change, schema: pa.Schema) -> Rows:
        """The rows that ``change`` makes of these rows."""
        return self._engine.map(rows, change, schema)

    def replay(
        self, evidence: dict[str, list[Rows]], replay: Replay, tables: Sequence[Table]
    ) -> Mapping[str, Rows]:
        """The rows that ``replay`` yields for all entities, by the table's name."""
        return self._engine.replay(evidence, replay, tables)

    def keep(self, rows: Rows) -> Rows:
        """The same rows, computed once however often they are used."""
        return self._engine.keep(rows)

    def union(self, parts: Sequence[Rows]) -> Rows:
        """The rows of all parts."""
        return self._engine.union(parts)

    def replace(self, table: Table, rows: Rows, where: Where | None = None) -> int:
        """Make ``rows`` the content of the table, or of what ``where`` chooses of it."""
        return self._engine.replace(table, rows, where)

    def collect(self, rows: Rows) -> pa.Table:
        """The rows, in this process."""
        return self._engine.collect(rows)
