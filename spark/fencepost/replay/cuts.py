"""Where logs are cut: at the offset from which on a chapter reads them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.conditions import Condition, Within
from fencepost.engines import Engine
from fencepost.replay.entities import tuples
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from fencepost.tables import BATCHES, RECORDS, REQUESTS

COMPACTED = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, METADATA_TOPIC})
"""The topics whose logs describe a state: compacting them up to a cut gives the state there."""
LOG = ("cluster", "topic", "topic_id", "partition")
"""The columns that name a log."""

LogName = tuple[str, str, str | None, int]

_EXTENTS = pa.schema(
    [
        *((name, BATCHES.arrow_schema.field(name).type) for name in LOG),
        ("cut", pa.int64()),
        ("from_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("offsets", pa.int64()),
    ]
)


_DATED_BY = ((BATCHES, "max_timestamp_ms"), (RECORDS, "timestamp_ms"), (REQUESTS, "logged_at_ms"))

SLACK_MS = 3_600_000
"""Dates in a log go back by at most so much, unless a clock was set. A record is at most so much older than
the newest one of its batch.
"""


@dataclass(frozen=True)
class Cuts:
    """Where each log is cut. ``offsets``: log -> the first offset that is read; a log without one is
    missing.

    ``jumbled``: cluster -> the topics with a log whose dates go back and forth, or that has holes. For these
    rows are chosen by offsets, not by dates.
    """

    offsets: Mapping[LogName, int] = field(default_factory=dict)
    jumbled: Mapping[str, frozenset[str]] = field(default_factory=dict)
    since_ms: Mapping[str, int] = field(default_factory=dict)

    def condition(self, cluster: str, dated_by: str) -> list[Condition]:
        """A condition that the rows of a cluster's logs beyond the cuts meet, and few other rows;
        ``dated_by``: the column that has their time.
        """
        oldest = self.since_ms[cluster] - 2 * SLACK_MS
        conditions: list[Condition] = [{"cluster": cluster, dated_by: Within(least=oldest)}]
        if topics := self.jumbled.get(cluster):
            first = min(at for log, at in self.offsets.items() if log[0] == cluster and log[1] in topics)
            conditions.append({"cluster": cluster, "topic": topics, "base_offset": Within(least=first)})
        return conditions

    def inside(self, rows: pa.Table, *, uncut: bool = False) -> pa.Table:
        """The rows of logs beyond their cuts; with ``uncut`` also all rows of logs without a cut."""
        names = pa.array([_text(log) for log in self.offsets], pa.string())
        cut = pa.array(self.offsets.values(), pa.int64()).take(pc.index_in(log_texts(rows), names))
        return rows.filter(pc.fill_null(pc.greater_equal(rows["base_offset"], cut), uncut))


@dataclass(frozen=True)
class EvidenceSizes:
    """The sizes of the files with evidence."""

    files: Sequence[lake.Extent]

    @classmethod
    def of(cls, catalog: Catalog) -> EvidenceSizes:
        """All files that bronze has now."""
        return cls([each for table, by in _DATED_BY for each in lake.extents(catalog, table, by)])

    def between(self, since_ms: Mapping[str, int], until_ms: Mapping[str, int | None] | None = None) -> int:
        """The bytes of the files that may have evidence from ``since_ms`` on and before ``until_ms``; both by
        cluster.
        """
        dated = [(ms - SLACK_MS, (until_ms or {}).get(name)) for name, ms in since_ms.items()]
        return sum(
            file.size
            for file in self.files
            if any(
                file.last >= since and (until is None or file.first < until + SLACK_MS)
                for since, until in dated
            )
        )


def cuts(engine: Engine, since: Mapping[str, int]) -> Cuts:
    """Where the logs of all clusters are cut: at their first batch from ``since`` on."""
    where: list[Condition] = [
        {"cluster": cluster, "max_timestamp_ms": Within(least=ms - SLACK_MS)} for cluster, ms in since.items()
    ]
    columns = (*LOG, "base_offset", "last_offset", "max_timestamp_ms")
    rows = engine.scan(BATCHES, columns, where)
    extents = engine.collect(engine.map(rows, partial(_extents, since), _EXTENTS)).group_by(list(LOG))
    of_logs = extents.aggregate(
        [("cut", "min"), ("from_offset", "min"), ("last_offset", "max"), ("offsets", "sum")]
    )
    offsets: dict[LogName, int] = {}
    jumbled: defaultdict[str, set[str]] = defaultdict(set)
    for cluster, topic, topic_id, partition, cut, first, last, count in tuples(of_logs):
        if cut is None:
            continue
        offsets[cluster, topic, topic_id, partition] = cut
        if count != last - first + 1:
            jumbled[cluster].add(topic)
    return Cuts(offsets, {cluster: frozenset(topics) for cluster, topics in jumbled.items()}, since)


def _extents(since_ms: Mapping[str, int], batches: pa.Table) -> pa.Table:
    """For each log in rows of bronze.batches: the first offset that is read, the first and the last offset
    of all, and the number of offsets.
    """
    clusters = pa.array(since_ms, pa.string())
    since = pa.array(since_ms.values(), pa.int64()).take(pc.index_in(batches["cluster"], clusters))
    inside = pc.greater_equal(batches["max_timestamp_ms"], since)
    none = pa.scalar(None, pa.int64())
    extents = (
        batches.append_column("cut", pc.if_else(inside, batches["base_offset"], none))
        .append_column("offsets", pc.add(pc.subtract(batches["last_offset"], batches["base_offset"]), 1))
        .group_by(list(LOG))
        .aggregate([("cut", "min"), ("base_offset", "min"), ("last_offset", "max"), ("offsets", "sum")])
    )
    names = [*LOG, "cut_min", "base_offset_min", "last_offset_max", "offsets_sum"]
    return extents.select(names).rename_columns(_EXTENTS.names).cast(_EXTENTS)


def log_texts(rows: pa.Table) -> pa.ChunkedArray:
    """The name of each row's log as a text."""
    names = [rows[name].cast(pa.string()) for name in LOG]
    return pc.binary_join_element_wise(*names, "/", null_handling="replace", null_replacement="?")


def _text(log: LogName) -> str:
    return "/".join("?" if each is None else str(each) for each in log)
