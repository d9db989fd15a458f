"""An engine that reads only what the window of the audit needs: every protocol scans bronze through it.

Small tables are read whole: state files, quarantine, the list of files. Lines of request logs from before the
window are hidden, as if they were not captured. Logs begin where they are cut. A scan that names the metadata
topic or a coordinators' topic also gets the compacted part of the log before the cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from fencepost.conditions import Condition, Where, Within, values_of
from fencepost.conditions.arrow import filter_rows
from fencepost.engines import Engine, Rows
from fencepost.engines.delegating import DelegatingEngine
from fencepost.replay.compaction import CompactedRows
from fencepost.replay.cuts import COMPACTED, LOG, Cuts
from fencepost.replay.entities import tuples
from fencepost.replay.keys import TRANSACTIONS_TOPIC
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
"""Tables about lines, and the column by which the window takes their rows."""

_LOGS = {BATCHES.name: COMPACTED_BATCHES, RECORDS.name: COMPACTED_RECORDS}


class WindowEngine(DelegatingEngine):
    """``since_ms``: cluster -> the time from which on lines are read. ``cuts``: where logs are cut.
    ``compacted``: the compacted logs before the cuts.
    """

    def __init__(
        self, engine: Engine, since_ms: Mapping[str, int], cuts: Cuts, compacted: CompactedRows
    ) -> None:
        super().__init__(engine)
        self._since_ms, self._cuts, self._compacted = since_ms, cuts, compacted

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        """Rows of a table that are in the window, and compacted rows from before it."""
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
        if of_compacted := [each for each in where if _topics(each) & COMPACTED]:
            rows = self._compacted[_LOGS[table.name].name]
            change = partial(_chosen, of_compacted, columns)
            parts.append(self._engine.map(rows, change, table.schema_of(columns)))
        return parts[0] if len(parts) == 1 else self._engine.union(parts)

    def _since_cut(self, table: Table, columns: tuple[str, ...], where: Where) -> Rows:
        needed = tuple(dict.fromkeys((*columns, *LOG, "base_offset")))
        rows = self._engine.scan(table, needed, in_window(table, self._cuts, where))
        # the function is sent to tasks: it must not refer to this object, which has rows of the engine
        cuts = self._cuts
        return self._engine.map(
            rows, lambda each: cuts.inside(each).select(list(columns)), table.schema_of(columns)
        )

    def _compacted_to(self) -> Rows:
        """How far logs were compacted, as checkpoints of the log cleaner."""
        return self._engine.map(self._compacted[COMPACTED_LOGS.name], _as_cleaned, CLEANED.arrow_schema)


def _chosen(where: Where, columns: Sequence[str], rows: pa.Table) -> pa.Table:
    return filter_rows(rows, where).select(list(columns))


def lines(table: Table, since_ms: Mapping[str, int], where: Where | None) -> list[Condition]:
    """The condition on rows about lines that are in the window."""
    return [
        {**each, "cluster": cluster, LINES[table.name]: Within(least=ms)}
        for each in where or [{}]
        for cluster, ms in since_ms.items()
    ]


def in_window(table: Table, cuts: Cuts, where: Where) -> list[Condition]:
    """A condition that the rows of logs in the window meet, and few other rows."""
    dated_by = "max_timestamp_ms" if table is BATCHES else "timestamp_ms"
    conditions: list[Condition] = []
    for each in where:
        for cluster in cuts.since_ms:
            for condition in cuts.condition(cluster, dated_by):
                topics = _topics(each) & condition.get("topic", _topics(each))
                if topics or not _topics(each):
                    conditions.append({**condition, **each, **({"topic": topics} if topics else {})})
    return conditions


def _topics(condition: Condition) -> frozenset[Any]:
    """The topics that a condition names; empty if it names none, which means all topics."""
    return (values_of(condition, "topic") or frozenset()) - {None}


def _as_cleaned(logs: pa.Table) -> pa.Table:
    rows = filter_rows(logs, [{"topic": TRANSACTIONS_TOPIC, "whole": True}])
    checkpoints = [
        {**dict(zip(LOG, log, strict=True)), "cleaned_to": to}
        for *log, to in tuples(rows.select([*LOG, "compacted_to"]))
    ]
    return pa.Table.from_pylist(checkpoints, schema=CLEANED.arrow_schema)
