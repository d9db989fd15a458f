"""Where the evidence of a chapter begins.

Small tables are read whole: state files, quarantine, the list of files. Lines of request logs from before the
begin are hidden, as if they were not captured. Logs begin where they are cut. A scan that names the metadata
topic or a coordinators' topic also gets the compacted part of the log before the cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa

from fencepost.conditions import Condition, Where, Within, values_of
from fencepost.conditions.arrow import filter_rows
from fencepost.engines import Engine, Rows
from fencepost.replay.compaction import CompactedRows
from fencepost.replay.cuts import COMPACTED, LOG, Cuts
from fencepost.replay.entities import tuples
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.scan import Scan
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
from fencepost.words import counted

LINES = {REQUESTS.name: "logged_at_ms", REQUEST_IDS.name: "first_logged_at_ms"}
"""Tables about lines, and the column by which their rows are chosen."""

_LOGS = {BATCHES.name: COMPACTED_BATCHES, RECORDS.name: COMPACTED_RECORDS}


@dataclass(frozen=True)
class Begins:
    """``since_ms``: cluster -> the time from which on lines are read. ``cuts``: where logs are cut.
    ``compacted``: the compacted logs before the cuts.
    """

    since_ms: Mapping[str, int]
    cuts: Cuts
    compacted: CompactedRows

    def scan(
        self, engine: Engine, read: Scan, table: Table, columns: tuple[str, ...], where: Where | None
    ) -> Rows:
        """Rows of a table from there on, and compacted rows from before; ``read`` reads all rows."""
        if table.name in LINES:
            return read(table, columns, lines(table, self.since_ms, where))
        if table.name in _LOGS:
            return self._of_logs(engine, read, table, columns, where or [{}])
        rows = read(table, columns, where)
        if table is CLEANED and any(TRANSACTIONS_TOPIC in _topics(each) for each in where or ()):
            # how far logs were compacted, as checkpoints of the log cleaner
            logs = engine.map(self.compacted[COMPACTED_LOGS.name], _as_cleaned, CLEANED.arrow_schema)
            return engine.union([rows, logs])
        return rows

    def explain(self, table: Table) -> str | None:
        """Which rows these are."""
        if table.name in LINES:
            return f"{LINES[table.name]} from {times(self.since_ms)} on"
        if table.name in _LOGS:
            cut = f"{counted(len(self.cuts.offsets), 'log')}, each from its cut on"
            return f"{cut}; of {', '.join(sorted(COMPACTED))} before it, if named, what compaction left"
        return None

    def _of_logs(
        self, engine: Engine, read: Scan, table: Table, columns: tuple[str, ...], where: Where
    ) -> Rows:
        needed = tuple(dict.fromkeys((*columns, *LOG, "base_offset")))
        rows = read(table, needed, beyond(table, self.cuts, where))
        # the function is sent to tasks: it must not refer to this object, which has rows of the engine
        cuts = self.cuts
        schema = table.schema_of(columns)
        parts = [engine.map(rows, lambda each: cuts.inside(each).select(list(columns)), schema)]
        if of_compacted := [each for each in where if _topics(each) & COMPACTED]:
            compacted = self.compacted[_LOGS[table.name].name]
            parts.append(engine.map(compacted, partial(_chosen, of_compacted, columns), schema))
        return parts[0] if len(parts) == 1 else engine.union(parts)


def _chosen(where: Where, columns: Sequence[str], rows: pa.Table) -> pa.Table:
    return filter_rows(rows, where).select(list(columns))


def times(ms: Mapping[str, int]) -> str:
    """Moments by cluster, in words."""
    return ", ".join(
        f"{datetime.fromtimestamp(each / 1000, UTC)} ({name})" for name, each in sorted(ms.items())
    )


def lines(table: Table, since_ms: Mapping[str, int], where: Where | None) -> list[Condition]:
    """The condition on rows about lines from there on."""
    return [
        {**each, "cluster": cluster, LINES[table.name]: Within(least=ms)}
        for each in where or [{}]
        for cluster, ms in since_ms.items()
    ]


def beyond(table: Table, cuts: Cuts, where: Where) -> list[Condition]:
    """A condition that the rows of logs beyond their cuts meet, and few other rows."""
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
