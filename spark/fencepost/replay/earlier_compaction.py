"""What an earlier run compacted of coordinators' logs, and whether it can still stand for their past."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.lake import Condition, Where
from fencepost.replay.entities import tuples
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.window import COMPACTED, LOG, SLACK_MS, Cuts
from fencepost.tables import BATCHES, COMPACTED_LOGS, RECORDS

WINDOW = -1
"""The chapter of what lies before the window of an audit."""

OF_WINDOW: Where = [{"chapter": WINDOW}]


class Snapshots(NamedTuple):
    """Which snapshots of bronze.batches and bronze.records a compaction has seen."""

    batches: int | None
    records: int | None


@dataclass(frozen=True)
class EarlierCompaction:
    """``cuts``: how far each log was compacted, and from when on what follows is dated; ``others``: clusters
    of which nothing was left.
    """

    cuts: Cuts
    others: frozenset[str] = frozenset()

    def condition(self, dated_by: str) -> list[Condition]:
        """What rows of coordinators' logs that were not compacted meet, and few others."""
        since: list[Condition] = [
            each for cluster in self.cuts.since_ms for each in self.cuts.condition(cluster, dated_by)
        ]
        since += [{"cluster": cluster} for cluster in self.others]
        return [{"topic": COMPACTED, **each} for each in since]

    def followed_by(self, rows: pa.Table) -> pa.Table:
        """Those rows of coordinators' logs that were not compacted."""
        return self.cuts.inside(rows, uncut=True)


def usable_compaction(catalog: Catalog, since_ms: Mapping[str, int]) -> EarlierCompaction | None:
    """What was left before windows that begin then; None where all of it has to be read again.

    So it is where a window has grown, and where evidence was found that lies before what was compacted, or is
    older than it: a segment that was missing, a replica, a log that nobody knew.
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
        found = added.group_by(list(LOG)).aggregate([("base_offset", "min"), (dated_by, "min")])
        for *log, first, oldest in tuples(found):
            to = offsets.get(tuple(log))
            if to is None or first < to or oldest < then[log[0]] - SLACK_MS:
                return None
    return EarlierCompaction(Cuts(offsets, {}, then))


def compaction_of_chapters(logs: pa.Table, clusters: Iterable[str]) -> EarlierCompaction:
    """What was left before chapters of these clusters, as rows of COMPACTED_LOGS tell it."""
    rows = logs.to_pylist()
    offsets = {tuple(row[each] for each in LOG): row["compacted_to"] for row in rows}
    since = {row["cluster"]: row["since_ms"] for row in rows}
    return EarlierCompaction(Cuts(offsets, {}, since), frozenset(clusters) - frozenset(since))
