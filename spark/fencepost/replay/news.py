"""From which chapter on evidence that was found since the last rebuild matters.

A chapter that evidence cannot have been read for stays as it is. Lines and batches have dates; of everything
else it is not known what it tells of, so all of history is rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.readers import kinds
from fencepost.replay.chapters import FIRST, OVERLAP_MS
from fencepost.replay.entities import tuples
from fencepost.replay.requests import LATEST_MS
from fencepost.tables import (
    BATCHES,
    CLEANED,
    FILES,
    LOG_ENDS,
    QUARANTINE,
    RECORDS,
    REQUEST_IDS,
    TOPIC_ANSWERS,
    TOPIC_LISTS,
    Table,
)

Seen = Mapping[str, int | None]
"""The newest snapshot of each table of bronze that a rebuild has read, by the table's name."""

_DATED_BY = {
    BATCHES.name: "max_timestamp_ms",
    RECORDS.name: "timestamp_ms",
    REQUEST_IDS.name: "first_logged_at_ms",
}
_LINE = "logged_at_ms"
_NAMED_BY_LINES = frozenset({TOPIC_LISTS.name, TOPIC_ANSWERS.name})
"""Tables whose rows matter where a line names them."""


def read_now(catalog: Catalog) -> dict[str, int | None]:
    """The newest snapshot of each table of bronze."""
    return {table.name: lake.snapshot(catalog, table) for table in _read()}


def first_concerned(
    catalog: Catalog, seen: Seen, begins: Mapping[str, Sequence[int]]
) -> dict[str, int | None]:
    """The begin of each cluster's first chapter for which something new may have been read, None where there
    is nothing new.
    """
    found: dict[str, int | None] = dict.fromkeys(begins)
    for cluster, ms in _new(catalog, seen):
        if cluster not in begins:
            continue
        first = _concerned(begins[cluster], ms)
        before = found[cluster]
        found[cluster] = first if before is None else min(first, before)
    return found


def _concerned(begins: Sequence[int], ms: int | None) -> int:
    """The first chapter that reads what is dated so."""
    if ms is None:
        return FIRST
    ends = [*begins[1:], None]
    return next(
        begin
        for begin, until in zip(begins, ends, strict=True)
        if until is None or ms < until + OVERLAP_MS + LATEST_MS
    )


def _new(catalog: Catalog, seen: Seen) -> Iterable[tuple[str, int | None]]:
    """Clusters of which there is something new, and how far back it goes: None, as far as may be."""
    for table in _read():
        if table.name in _NAMED_BY_LINES or table is FILES:
            continue
        dated_by = _LINE if _LINE in table.columns else _DATED_BY.get(table.name)
        columns = ("cluster", *([dated_by] if dated_by else ()))
        read = table.name in seen
        rows = lake.added(catalog, table, columns, None, seen[table.name]) if read else None
        if rows is None:
            names = lake.scan(catalog, table, ("cluster",))["cluster"]
            yield from ((cluster, None) for cluster in pc.unique(names).to_pylist())
        elif dated_by is None:
            yield from ((cluster, None) for cluster in pc.unique(rows["cluster"]).to_pylist())
        else:
            yield from tuples(rows.group_by("cluster").aggregate([(dated_by, "min")]).select([0, 1]))


def _read() -> list[Table]:
    of_kinds = {table.name: table for kind in kinds().values() for table in kind.tables}
    return [*of_kinds.values(), CLEANED, FILES, LOG_ENDS, QUARANTINE]
