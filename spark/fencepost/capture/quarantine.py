"""The table ``bronze.quarantine``: one row for every piece of evidence that cannot be read as it is now."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.collectors import collector
from fencepost.capture.plan import ORIGIN, OTHER_WRITERS, REQUEST_LOG, SEGMENT, Fault, Plan, named_on
from fencepost.capture.server_logs import SERVER_LOG, SETTINGS_LOG
from fencepost.capture.silent_logs import NO_REQUESTS
from fencepost.settings import Broker, Cluster
from fencepost.tables import QUARANTINE

# faults found while listing files, or after all were read; a run that looks for the same files finds them
# again
_OF_LISTING = ("missing", "unreadable", NO_REQUESTS)
_OF_RUN = ("run_id", "captured_at")

Row = dict[str, Any]


def update(
    catalog: Catalog,
    plan: Plan,
    faults: Sequence[Fault],
    clusters: Sequence[Cluster],
    *,
    run_id: str,
    now: datetime,
) -> int:
    """Replace the rows of files that this run has read or looked for again, in one commit; returns how many
    rows there are now.

    For a file that was read from ``start``, the rows from there are replaced; rows of a renamed file get its
    new name. If a log is gone and another log has its name, its rows stay, as its lines in bronze do.
    """
    old = lake.scan(catalog, QUARANTINE).to_pylist()
    has_strangers = any(row["reason"] in OTHER_WRITERS for row in old)
    listed = [row for row in old if row["reason"] in _OF_LISTING and _is_looked_for(row, clusters, run_id)]
    looked_again = plan.sources or plan.renamed or plan.copies or listed or has_strangers
    if not plan.faults and not faults and not (old and looked_again):
        return len(old)
    kept = list(_still_valid(plan, (row for row in old if row not in listed)))
    strangers = [row for row in kept if row["reason"] in OTHER_WRITERS]
    # a log of another writer that nobody names any more was no evidence of this broker
    gone = [row for row in strangers if _is_looked_for(row, clusters, run_id) and not _is_named(row, plan)]
    new = [
        {**dataclasses.asdict(fault), "run_id": run_id, "captured_at": now}
        for fault in (*plan.faults, *faults)
    ]
    rows = _first_of_each_key([*(row for row in kept if row not in gone), *new])
    if _contents(rows) == _contents(old):
        return len(old)
    return lake.replace(catalog, QUARANTINE, QUARANTINE.rows([tuple(row.values()) for row in rows]))


def _is_named(row: Row, plan: Plan) -> bool:
    """Whether the configuration still names the file of a row."""
    named = (*plan.sources, *(renamed for renamed, _ in plan.renamed))
    origin = tuple(row[name] for name in ORIGIN)
    return origin in {*plan.begins, *plan.copies, *(source.origin for source in named)}


def _is_looked_for(row: Row, clusters: Sequence[Cluster], run_id: str) -> bool:
    """Whether this run has looked again for what a fault of listing is about: not for files that are read
    elsewhere, which a collector finds missing on its machine.
    """
    cluster = next((each for each in clusters if each.name == row["cluster"]), None)
    if cluster is None or collector(row["run_id"]) == collector(run_id):
        return cluster is not None
    if row["reason"] == NO_REQUESTS:
        return collector(run_id) is None
    if row["broker_id"] is None and row["kind"] == SEGMENT:
        return any(each.log_dirs for each in cluster.brokers)
    if row["broker_id"] is None:
        # other machines' clients may have logs with the same paths
        named = {named_on(client.host, path) for client in cluster.clients for path in client.logs}
        return collector(run_id) is None and row["file"] in named
    brokers = [each for each in cluster.brokers if each.id == row["broker_id"]]
    return any(_places(each, row["kind"]) for each in brokers) if brokers else collector(run_id) is None


def _places(broker: Broker, kind: str) -> Sequence[str]:
    """Where the configuration has the files of a kind."""
    of_text = {
        REQUEST_LOG: broker.request_logs,
        **dict.fromkeys((SERVER_LOG, SETTINGS_LOG), broker.server_logs),
    }
    return of_text.get(kind, broker.log_dirs)


def _contents(rows: Iterable[Row]) -> set[tuple[Any, ...]]:
    """The values of rows, without the run that was the first to have them."""
    return {tuple(value for name, value in row.items() if name not in _OF_RUN) for row in rows}


def _still_valid(plan: Plan, old: Iterable[Row]) -> Iterator[Row]:
    """The rows of ``old`` that are still valid: their file was not read again, or only after
    their position.
    """
    changes, starts = _changes(plan), _starts_by_first_entry(plan)
    for row in old:
        cluster, broker_id, kind, file = origin = tuple(row[name] for name in ORIGIN)
        begins = row["file_begins"]
        read_from, now_at = changes.get(origin, (None, file))
        if begins is not None and plan.begins.get((cluster, broker_id, kind, now_at)) != begins:
            # another log has the name
            read_from, now_at = starts.get((cluster, broker_id, kind, begins)), file
        # reading continues at a file's torn end, so a torn end before that was noted by a run that was killed
        # while the file was shorter
        if read_from is None or (row["position"] < read_from and row["reason"] != "torn_tail"):
            yield {**row, "file": now_at}


def _starts_by_first_entry(plan: Plan) -> dict[tuple[Any, ...], int]:
    """The position from which each log is read, by its broker and first entry."""
    return {
        (*source.origin[:3], plan.begins[source.origin]): source.start
        for source in plan.sources
        if plan.begins.get(source.origin) is not None
    }


def _first_of_each_key(rows: Iterable[Row]) -> list[Row]:
    """The rows in the order of the table's columns, the first of each key."""
    first: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row[name] for name in QUARANTINE.key)
        first.setdefault(key, {name: row[name] for name in QUARANTINE.columns})
    return list(first.values())


def _changes(plan: Plan) -> dict[tuple[Any, ...], tuple[int | None, str]]:
    """By path whose rows may change: the position from which it is read again (None: it is not), and its new
    path.
    """
    looked_at = [
        *((source, source.start) for source in plan.sources),
        # this file was read under another path; if it was not moved from there, that file keeps its rows
        *((renamed, None if renamed.moved_from else 0) for renamed, _ in plan.renamed),
    ]
    changes: dict[tuple[Any, ...], tuple[int | None, str]]
    # faults of a copy are found again in the log that is read
    changes = {origin: (0, origin[-1]) for origin in plan.copies}
    # a new file may have the path of a renamed one, whose rows must get its new name
    for source, start in sorted(looked_at, key=lambda each: each[0].moved_from is not None):
        before = source.moved_from or source.name
        changes[source.cluster, source.broker_id, source.kind, before] = (start, source.name)
    return changes
