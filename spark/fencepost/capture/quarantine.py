"""The table ``bronze.quarantine``: one row for every piece of evidence that cannot be read as it is now."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.plan import Fault, Plan
from fencepost.tables import QUARANTINE

# found while looking for files; every run looks again
_OF_LISTING = ("missing", "unreadable")
_OF_RUN = ("run_id", "captured_at")
_ORIGIN = ("cluster", "broker_id", "kind", "file")

Row = dict[str, Any]


def update(
    catalog: Catalog,
    plan: Plan,
    faults: Sequence[Fault],
    clusters: Sequence[str],
    *,
    run_id: str,
    now: datetime,
) -> int:
    """Replace what this run looked at again, in one commit; gives back how many rows there are now.

    Rows of a file that was read from ``start`` on are replaced from there; rows of a renamed file follow it.
    Rows of a log whose name another one has now, and that is nowhere to be found, stay: so do its lines.
    """
    old = lake.scan(catalog, QUARANTINE).to_pylist()
    listed = [row for row in old if row["cluster"] in clusters and row["reason"] in _OF_LISTING]
    looked_again = plan.sources or plan.known or plan.copies or listed
    if not plan.faults and not faults and not (old and looked_again):
        return len(old)
    found = [
        {**dataclasses.asdict(fault), "run_id": run_id, "captured_at": now}
        for fault in (*plan.faults, *faults)
    ]
    rows = _once([*_kept(plan, (row for row in old if row not in listed)), *found])
    if _told(rows) == _told(old):
        return len(old)
    return lake.replace(catalog, QUARANTINE, QUARANTINE.rows([tuple(row.values()) for row in rows]))


def _told(rows: Iterable[Row]) -> set[tuple[Any, ...]]:
    """What rows say, whichever run was the first to say it."""
    return {tuple(value for name, value in row.items() if name not in _OF_RUN) for row in rows}


def _kept(plan: Plan, old: Iterable[Row]) -> Iterator[Row]:
    """The rows of ``old`` that still stand: their file was not read again, or only behind them."""
    changes, found = _changes(plan), _found(plan)
    for row in old:
        cluster, broker_id, kind, file = at = tuple(row[name] for name in _ORIGIN)
        begins = row["file_begins"]
        read_from, now_at = changes.get(at, (None, file))
        if begins is not None and plan.begins.get((cluster, broker_id, kind, now_at)) != begins:
            # another log has the name
            read_from, now_at = found.get((cluster, broker_id, kind, begins)), file
        # a file is read on from its torn end: one before that is of a run that was killed while the file
        # was shorter
        if read_from is None or (row["position"] < read_from and row["reason"] != "torn_tail"):
            yield {**row, "file": now_at}


def _found(plan: Plan) -> dict[tuple[Any, ...], int]:
    """From where each log is read that begins so."""
    return {
        (*source.origin[:3], plan.begins[source.origin]): source.start
        for source in plan.sources
        if plan.begins.get(source.origin) is not None
    }


def _once(rows: Iterable[Row]) -> list[Row]:
    """The rows in the order of the table's columns, the first of each key."""
    first: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row[name] for name in QUARANTINE.key)
        first.setdefault(key, {name: row[name] for name in QUARANTINE.columns})
    return list(first.values())


def _changes(plan: Plan) -> dict[tuple[Any, ...], tuple[int | None, str]]:
    """Of each path whose rows are touched: from where it is read again (None: not at all), its path now."""
    looked_at = [
        *((source, source.start) for source in plan.sources),
        # what is here now was read elsewhere; unless it was moved, that is still there, with its rows
        *((known, None if known.moved_from else 0) for known, _ in plan.known),
    ]
    changes: dict[tuple[Any, ...], tuple[int | None, str]]
    # what could not be read of a log that is there twice is read where it stands
    changes = {origin: (0, origin[-1]) for origin in plan.copies}
    # a path may be read anew while what was there before goes on elsewhere: its rows follow the rename
    for source, start in sorted(looked_at, key=lambda each: each[0].moved_from is not None):
        before = source.moved_from or source.file
        changes[source.cluster, source.broker_id, source.kind, before] = (start, source.file)
    return changes
