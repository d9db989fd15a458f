"""Deletes rows of partitions that were captured without the id of their topic, or with the id of another
topic.

A folder is copied file by file, and ``partition.metadata`` may come last. Rows that have no id or a wrong one
are deleted before the files from which they came are read again. They are searched in the tables themselves,
since a run that was killed has noted nothing about rows that it had added.
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
from fencepost.capture.progress import unread_note
from fencepost.tables import FILES, Table

_PARTITION = ("cluster", "topic", "partition")


def delete_misnamed(catalog: Catalog, plan: Plan, run_id: str, now: datetime) -> None:
    """Delete rows of partitions that have the wrong id or none, and plan to read all files again from which
    they may have come.

    Before that, files whose own id has not changed are noted as not read: if the run is killed after the
    deletion, the next one reads them again.
    """
    present: defaultdict[Partition, list[Source]] = defaultdict(list)
    for source in plan.of_partitions:
        present[source.cluster, source.topic, source.partition].append(source)
    files_with_id = {source.file for source in plan.of_partitions if source.topic_id}
    misnamed = plan.misnamed | {
        (*partition, None)
        for *partition, file in _without_id(catalog, {name for name, _, _ in present})
        if file in files_with_id
    }
    to_read_again = [
        source
        for sources in present.values()
        for source in sources
        if (source.cluster, source.topic, source.partition, source.topic_id) in misnamed
    ]
    if to_read_again:
        plan.read_again(to_read_again)
        lake.append(catalog, FILES, FILES.rows(unread_note(source, run_id, now) for source in to_read_again))
    if misnamed:
        where = [
            {**dict(zip(_PARTITION, partition, strict=True)), "topic_id": topic_id}
            for *partition, topic_id in sorted(misnamed, key=repr)
        ]
        for table in _tables():
            lake.delete(catalog, table, where)


@cache
def _tables() -> tuple[Table, ...]:
    by_name = {table.name: table for kind in readers.kinds().values() for table in kind.tables}
    needed = {*_PARTITION, "topic_id", "file"}
    return tuple(table for table in by_name.values() if needed <= set(table.columns))


def _without_id(catalog: Catalog, clusters: Set[str]) -> set[tuple[Any, ...]]:
    """The partitions, and the files, that have rows without an id. If there are none, the tables' statistics
    show that and nothing is read.
    """
    columns, where = (*_PARTITION, "file"), [{"cluster": frozenset(clusters), "topic_id": None}]
    tables = (lake.scan(catalog, table, columns, where) for table in _tables())
    return {row for rows in tables for row in zip(*(each.to_pylist() for each in rows.columns), strict=True)}
