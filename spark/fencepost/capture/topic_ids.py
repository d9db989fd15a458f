"""Rows of partitions that were taken without the id of their topic, or with another one's.

A folder is copied file by file, and ``partition.metadata`` may come last. Whatever was taken of a partition
with an id that is now known to be none, or wrong, is deleted before the files that it came from are read
again. It is looked for in the tables themselves: a run that was killed has noted nothing of what it took.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from datetime import datetime
from functools import cache
from typing import Any

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture import readers
from fencepost.capture.plan import Partition, Plan, Source
from fencepost.tables import FILES, Table

_NAMED = ("cluster", "topic", "partition")


def delete_misnamed(catalog: Catalog, plan: Plan, run_id: str, now: datetime) -> None:
    """Delete rows of partitions that have the wrong id or none, and plan to read again all that they may
    have come from.

    Of the files that are read again although their own id has not changed it is noted first that nothing
    was read: a run that is killed behind that is repeated.
    """
    present: defaultdict[Partition, list[Source]] = defaultdict(list)
    for source in plan.of_partitions:
        present[source.cluster, source.topic, source.partition].append(source)
    named = {source.file for source in plan.of_partitions if source.topic_id}
    misnamed = plan.misnamed | {
        (*partition, None)
        for *partition, file in _unnamed(catalog, {name for name, _, _ in present})
        if file in named
    }
    again = [
        source
        for sources in present.values()
        for source in sources
        if (source.cluster, source.topic, source.partition, source.topic_id) in misnamed
    ]
    if again:
        plan.read_again(again)
        lake.append(catalog, FILES, FILES.rows(_as_unread(source, run_id, now) for source in again))
    if misnamed:
        where = [
            {**dict(zip(_NAMED, partition, strict=True)), "topic_id": topic_id}
            for *partition, topic_id in sorted(misnamed, key=repr)
        ]
        for table in _tables():
            lake.delete(catalog, table, where)


@cache
def _tables() -> tuple[Table, ...]:
    every = {table.name: table for kind in readers.kinds().values() for table in kind.tables}
    needed = {*_NAMED, "topic_id", "file"}
    return tuple(table for table in every.values() if needed <= set(table.columns))


def _unnamed(catalog: Catalog, clusters: Set[str]) -> set[tuple[Any, ...]]:
    """The partitions, and the files, of which there are rows without an id. Where there is none, statistics
    tell, and nothing is read.
    """
    columns, where = (*_NAMED, "file"), [{"cluster": frozenset(clusters), "topic_id": None}]
    found = (lake.scan(catalog, table, columns, where) for table in _tables())
    return {row for rows in found for row in zip(*(each.to_pylist() for each in rows.columns), strict=True)}


def _as_unread(source: Source, run_id: str, now: datetime) -> tuple[object, ...]:
    """A row of FILES."""
    named = {
        **dict.fromkeys(FILES.columns),
        **{name: getattr(source, name) for name in ("cluster", "broker_id", "kind", "file")},
        **{"head_digest": "", "size": -1, "consumed_to": 0, "entries": 0, "skipped": 0},
        **{"topic_id": source.topic_id or "", "run_id": run_id, "captured_at": now},
    }
    return tuple(named[name] for name in FILES.columns)
