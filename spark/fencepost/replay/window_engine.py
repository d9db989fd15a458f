"""An engine that reads what the window of the audit needs: every protocol scans bronze through it.

What is small or names things stays whole: state files, quarantine, the list of files. Lines of request logs
before the window were not captured, for all that a rebuild sees. Logs begin where they are cut. Who asks for
the metadata log or a coordinators' topic by its name is given, before the cut, what compaction left of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from fencepost.engines import Engine, Rows
from fencepost.engines.delegating import DelegatingEngine
from fencepost.lake import AtLeast, Condition, Where
from fencepost.replay.compaction import Left
from fencepost.replay.entities import tuples
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.row_filter import filter_rows
from fencepost.replay.window import COMPACTED, LOG, Cuts
from fencepost.tables import (
    BATCHES,
    CLEANED,
    COMPACTED_BATCHES,
    COMPACTED_LOGS,
    COMPACTED_RECORDS,
    RECORDS,
    REQUEST_IDS,
    REQUESTS,
    Table,
)

LINES = {REQUESTS.name: "logged_at_ms", REQUEST_IDS.name: "first_logged_at_ms"}
"""By which column the window takes rows about lines."""

_LOGS = {BATCHES.name: COMPACTED_BATCHES, RECORDS.name: COMPACTED_RECORDS}


class WindowEngine(DelegatingEngine):
    """``since_ms``: of lines, by cluster; ``cuts``: of logs; ``left``: what compaction left before them."""

    def __init__(self, engine: Engine, since_ms: Mapping[str, int], cuts: Cuts, left: Left) -> None:
        super().__init__(engine)
        self._since_ms, self._cuts, self._left = since_ms, cuts, left

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        """Rows of a table that are in the window, and what was left before it."""
        if table.name in LINES:
            return self._engine.scan(table, columns, lines(table, self._since_ms, where))
        if table.name in _LOGS:
            return self._of_logs(table, tuple(columns) or tuple(table.columns), where or [{}])
        rows = self._engine.scan(table, columns, where)
        if table is CLEANED and any(TRANSACTIONS_TOPIC in _topics(each) for each in where or ()):
            return self._engine.union([rows, self._compacted_to()])
        return rows

    def _of_logs(self, table: Table, columns: tuple[str, ...], where: Where) -> Rows:
        parts = [self._since_cut(table, columns, where)]
        if compacted := [each for each in where if _topics(each) & COMPACTED]:
            left = self._left[_LOGS[table.name].name]
            change = partial(_chosen, compacted, columns)
            parts.append(self._engine.map(left, change, table.schema_of(columns)))
        return parts[0] if len(parts) == 1 else self._engine.union(parts)

    def _since_cut(self, table: Table, columns: tuple[str, ...], where: Where) -> Rows:
        needed = tuple(dict.fromkeys((*columns, *LOG, "base_offset")))
        rows = self._engine.scan(table, needed, in_window(table, self._cuts, where))
        # what is sent to tasks must not name the rows beside it: they are the engine's
        cuts = self._cuts
        return self._engine.map(
            rows, lambda each: cuts.inside(each).select(list(columns)), table.schema_of(columns)
        )

    def _compacted_to(self) -> Rows:
        """Where compaction has been, as the log cleaner would say it."""
        return self._engine.map(self._left[COMPACTED_LOGS.name], _as_cleaned, CLEANED.arrow_schema)


def _chosen(where: Where, columns: Sequence[str], rows: pa.Table) -> pa.Table:
    return filter_rows(rows, where).select(list(columns))


def lines(table: Table, since_ms: Mapping[str, int], where: Where | None) -> list[Condition]:
    """The condition on rows about lines that are in the window."""
    return [
        {**each, "cluster": cluster, LINES[table.name]: AtLeast(ms)}
        for each in where or [{}]
        for cluster, ms in since_ms.items()
    ]


def in_window(table: Table, cuts: Cuts, where: Where) -> list[Condition]:
    """A condition that rows of logs in the window meet, and few others."""
    dated_by = "max_timestamp_ms" if table is BATCHES else "timestamp_ms"
    found: list[Condition] = []
    for each in where:
        for cluster in cuts.since_ms:
            for condition in cuts.condition(cluster, dated_by):
                topics = _topics(each) & condition.get("topic", _topics(each))
                if topics or not _topics(each):
                    found.append({**condition, **each, **({"topic": topics} if topics else {})})
    return found


def _topics(condition: Condition) -> frozenset[Any]:
    """The topics that a condition names; none where it names none, and so asks for all."""
    named = condition.get("topic")
    if named is None:
        return frozenset()
    return named if isinstance(named, frozenset) else frozenset({named})


def _as_cleaned(logs: pa.Table) -> pa.Table:
    rows = filter_rows(logs, [{"topic": TRANSACTIONS_TOPIC, "whole": True}])
    found = [
        {"cluster": cluster, "topic": topic, "partition": partition, "cleaned_to": to}
        for cluster, topic, partition, to in tuples(
            rows.select(["cluster", "topic", "partition", "compacted_to"])
        )
    ]
    return pa.Table.from_pylist(found, schema=CLEANED.arrow_schema)
