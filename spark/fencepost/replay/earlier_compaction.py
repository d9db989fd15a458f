"""The compacted logs of an earlier run, and whether they can still replace the past of these logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.conditions import Condition, Where
from fencepost.replay.entities import tuples
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.window import COMPACTED, LOG, SLACK_MS, Cuts
from fencepost.tables import BATCHES, COMPACTED_LOGS, RECORDS

WINDOW = -1
"""Stands for the chapter in rows of compacted logs that lie before the window of an audit."""

OF_WINDOW: Where = [{"chapter": WINDOW}]


class Snapshots(NamedTuple):
    """The snapshots of bronze.batches and bronze.records that a compaction has read."""

    batches: int | None
    records: int | None


@dataclass(frozen=True)
class EarlierCompaction:
    """``cuts``: how far each log was compacted, and the time from which on the rows after it are dated.
    ``others``: clusters without compacted logs.
    """

    cuts: Cuts
    others: frozenset[str] = frozenset()

    def condition(self, dated_by: str) -> list[Condition]:
        """A condition that the rows of coordinators' logs meet that were not compacted, and few
        other rows.
        """
        since: list[Condition] = [
            each for cluster in self.cuts.since_ms for each in self.cuts.condition(cluster, dated_by)
        ]
        since += [{"cluster": cluster} for cluster in self.others]
        return [{"topic": COMPACTED, **each} for each in since]

    def followed_by(self, rows: pa.Table) -> pa.Table:
        """The rows of coordinators' logs that were not compacted."""
        return self.cuts.inside(rows, uncut=True)


def usable_compaction(catalog: Catalog, since_ms: Mapping[str, int]) -> EarlierCompaction | None:
    """The earlier compaction before windows that begin at ``since_ms``; None if logs must be read again.

    They must if a window now begins earlier, or if evidence was captured since that lies in the compacted
    part of a log or is older than the window: a segment that was missing, another replica, a log not seen
    before.
    """
    rows = lake.scan(catalog, COMPACTED_LOGS, (), OF_WINDOW).to_pylist()
    then = {row["cluster"]: row["since_ms"] for row in rows}
    if not rows or any(since_ms.get(cluster, ms - 1) < ms for cluster, ms in then.items()):
        return None
    of_metadata = {row["cluster"] for row in rows if row["topic"] == METADATA_TOPIC}
    without = [
        {"cluster": cluster, "topic": METADATA_TOPIC} for cluster in then if cluster not in of_metadata
    ]
    if without and lake.scan(catalog, BATCHES, ("cluster",), without).num_rows:
        # an earlier release read the metadata log whole
        return None
    offsets = {tuple(row[each] for each in LOG): row["compacted_to"] for row in rows}
    for table, dated_by in ((BATCHES, "max_timestamp_ms"), (RECORDS, "timestamp_ms")):
        (seen,) = {row[f"{table.name.partition('.')[2]}_snapshot"] for row in rows}
        columns = (*LOG, "base_offset", dated_by)
        added = lake.added(catalog, table, columns, [{"topic": COMPACTED}], seen)
        if added is None:
            return None
        found = added.read().group_by(list(LOG)).aggregate([("base_offset", "min"), (dated_by, "min")])
        for *log, first, oldest in tuples(found):
            to = offsets.get(tuple(log))
            if to is None or first < to or oldest < then[log[0]] - SLACK_MS:
                return None
    return EarlierCompaction(Cuts(offsets, {}, then))


def compaction_of_chapters(logs: pa.Table, clusters: Iterable[str]) -> EarlierCompaction:
    """The earlier compaction before chapters of these clusters, from rows of COMPACTED_LOGS."""
    rows = logs.to_pylist()
    offsets = {tuple(row[each] for each in LOG): row["compacted_to"] for row in rows}
    since = {row["cluster"]: row["since_ms"] for row in rows}
    return EarlierCompaction(Cuts(offsets, {}, since), frozenset(clusters) - frozenset(since))
