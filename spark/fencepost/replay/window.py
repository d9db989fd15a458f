"""The window of an audit: the time from which on each cluster is audited, and where its logs are cut.

Only evidence decides: a window ends with the newest time that the cluster's brokers wrote. The wall clock is
never used, so the same evidence always has the same window.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.conditions import Condition, Within
from fencepost.engines import Engine
from fencepost.replay.entities import tuples
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from fencepost.replay.requests import LATEST_MS
from fencepost.settings import Settings
from fencepost.tables import BATCHES, FILES, RECORDS, REQUESTS, WINDOWS

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


@dataclass(frozen=True)
class Windows:
    """``newest``: cluster -> the newest time of its evidence. ``window_ms``: the length of the window, None
    if all of history is audited.
    """

    newest: Mapping[str, int]
    window_ms: int | None

    @property
    def since_ms(self) -> dict[str, int]:
        """Cluster -> the time when its window begins; empty if all of history is audited."""
        if self.window_ms is None:
            return {}
        return {cluster: newest - self.window_ms for cluster, newest in self.newest.items()}

    @property
    def logs_since_ms(self) -> dict[str, int]:
        """Cluster -> the time from which on logs are read: a little earlier than lines, because the line of a
        request is written after its record.
        """
        return {cluster: since - LATEST_MS for cluster, since in self.since_ms.items()}

    def rows(self) -> pa.Table:
        """The windows as rows of WINDOWS."""
        since = self.since_ms
        return WINDOWS.rows(
            (cluster, _utc(since.get(cluster)), _utc(newest))
            for cluster, newest in sorted(self.newest.items())
        )


SLACK_MS = 3_600_000
"""Dates in a log go back by at most so much, unless a clock was set. A record is at most so much older than
the newest one of its batch.
"""


@dataclass(frozen=True)
class Cuts:
    """Where each log is cut. ``offsets``: log -> its first offset in the window; a log without one is
    missing.

    ``jumbled``: cluster -> the topics with a log whose dates go back and forth, or that has holes. For these
    the window is applied by offsets, not by dates.
    """

    offsets: Mapping[LogName, int] = field(default_factory=dict)
    jumbled: Mapping[str, frozenset[str]] = field(default_factory=dict)
    since_ms: Mapping[str, int] = field(default_factory=dict)

    def condition(self, cluster: str, dated_by: str) -> list[Condition]:
        """A condition that rows of logs in a cluster's window meet, and few other rows; ``dated_by``: the
        column that has their time.
        """
        oldest = self.since_ms[cluster] - 2 * SLACK_MS
        conditions: list[Condition] = [{"cluster": cluster, dated_by: Within(least=oldest)}]
        if topics := self.jumbled.get(cluster):
            first = min(at for log, at in self.offsets.items() if log[0] == cluster and log[1] in topics)
            conditions.append({"cluster": cluster, "topic": topics, "base_offset": Within(least=first)})
        return conditions

    def inside(self, rows: pa.Table, *, uncut: bool = False) -> pa.Table:
        """The rows of logs that are in the window; with ``uncut`` also all rows of logs without a cut."""
        names = pa.array([_text(log) for log in self.offsets], pa.string())
        cut = pa.array(self.offsets.values(), pa.int64()).take(pc.index_in(log_texts(rows), names))
        return rows.filter(pc.fill_null(pc.greater_equal(rows["base_offset"], cut), uncut))


def windows(catalog: Catalog, settings: Settings) -> Windows:
    """The window of every cluster in bronze. Its newest time is that of request lines and of the metadata
    log; for a cluster that has neither, that of coordinators' logs.
    """
    newest: dict[str, int] = {}
    for cluster in set(lake.scan(catalog, FILES, ("cluster",))["cluster"].to_pylist()):
        ms = lake.greatest(catalog, REQUESTS, "logged_at_ms", [{"cluster": cluster}])
        # the metadata log is long: only files are read that may have a newer time
        for topics in (frozenset({METADATA_TOPIC}), COMPACTED - {METADATA_TOPIC}):
            since: Condition = {} if ms is None else {"max_timestamp_ms": Within(least=ms)}
            where = [{"cluster": cluster, "topic": topics, **since}]
            written = lake.scan(catalog, BATCHES, ("max_timestamp_ms",), where)
            if written.num_rows:
                ms = pc.max(written["max_timestamp_ms"]).as_py()
            if ms is not None:
                newest[cluster] = ms
                break
    return Windows(newest, settings.window_ms)


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
    """For each log in rows of bronze.batches: the first offset in the window, the first and the last offset
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


def _utc(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
