"""The window of an audit: from when on each cluster is looked at, and where its logs are cut.

Evidence alone decides: the newest that a cluster's brokers dated, less the window. The wall clock is never
asked, so the same evidence has the same window whenever it is looked at.
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
from fencepost.engines import Engine
from fencepost.lake import AtLeast, Condition
from fencepost.replay.entities import tuples
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from fencepost.replay.requests import LATEST_MS
from fencepost.settings import Settings
from fencepost.tables import BATCHES, FILES, RECORDS, REQUESTS, WINDOWS

COMPACTED = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, METADATA_TOPIC})
"""The topics whose logs are states: what compaction leaves of them is what was so where they are cut."""
LOG = ("cluster", "topic", "topic_id", "partition")
"""The columns that tell one log from another."""

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
    """By cluster: ``newest`` is the newest time of its evidence, ``since_ms`` when its window begins."""

    newest: Mapping[str, int]
    window_ms: int | None

    @property
    def since_ms(self) -> dict[str, int]:
        """Empty where all of history is audited."""
        if self.window_ms is None:
            return {}
        return {cluster: newest - self.window_ms for cluster, newest in self.newest.items()}

    @property
    def logs_since_ms(self) -> dict[str, int]:
        """When logs begin: a little earlier, because the line of a request is written after the record it
        left.
        """
        return {cluster: since - LATEST_MS for cluster, since in self.since_ms.items()}

    def rows(self) -> pa.Table:
        """Rows of WINDOWS."""
        since = self.since_ms
        return WINDOWS.rows(
            (cluster, _utc(since.get(cluster)), _utc(newest))
            for cluster, newest in sorted(self.newest.items())
        )


SLACK_MS = 3_600_000
"""No date in a log goes back by more than this, but where a clock was set; and no record is older than the
newest one of its batch by more.
"""


@dataclass(frozen=True)
class Cuts:
    """Where each log is cut: ``offsets`` has the first one in the window; a log that is not there has none.

    ``jumbled``: by cluster, the topics with a log whose dates go back and forth, or that has holes; of these
    what is in the window is told by offsets, not by dates.
    """

    offsets: Mapping[LogName, int] = field(default_factory=dict)
    jumbled: Mapping[str, frozenset[str]] = field(default_factory=dict)
    since_ms: Mapping[str, int] = field(default_factory=dict)

    def condition(self, cluster: str, dated_by: str) -> list[Condition]:
        """What rows of a cluster's window meet, and few others; ``dated_by``: the column of their time."""
        oldest = self.since_ms[cluster] - 2 * SLACK_MS
        found: list[Condition] = [{"cluster": cluster, dated_by: AtLeast(oldest)}]
        if topics := self.jumbled.get(cluster):
            first = min(at for log, at in self.offsets.items() if log[0] == cluster and log[1] in topics)
            found.append({"cluster": cluster, "topic": topics, "base_offset": AtLeast(first)})
        return found

    def inside(self, rows: pa.Table, *, uncut: bool = False) -> pa.Table:
        """Those rows of logs that are in the window, and (``uncut``) of logs that have no cut."""
        names = pa.array([_text(log) for log in self.offsets], pa.string())
        cut = pa.array(self.offsets.values(), pa.int64()).take(pc.index_in(log_texts(rows), names))
        return rows.filter(pc.fill_null(pc.greater_equal(rows["base_offset"], cut), uncut))


def windows(catalog: Catalog, settings: Settings) -> Windows:
    """The window of every cluster in bronze: request lines and the metadata log date it. A cluster that has
    neither is dated by its coordinators' logs.
    """
    newest: dict[str, int] = {}
    for cluster in set(lake.scan(catalog, FILES, ("cluster",))["cluster"].to_pylist()):
        ms = lake.greatest(catalog, REQUESTS, "logged_at_ms", [{"cluster": cluster}])
        # of the metadata log, which is long, only files are read that may have something newer
        for topics in (frozenset({METADATA_TOPIC}), COMPACTED - {METADATA_TOPIC}):
            since: Condition = {} if ms is None else {"max_timestamp_ms": AtLeast(ms)}
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
    """How many bytes of evidence there are, by the files that have any."""

    files: Sequence[lake.Extent]

    @classmethod
    def of(cls, catalog: Catalog) -> EvidenceSizes:
        """All files as they are now."""
        return cls([each for table, by in _DATED_BY for each in lake.extents(catalog, table, by)])

    def between(self, since_ms: Mapping[str, int], until_ms: Mapping[str, int | None] | None = None) -> int:
        """The bytes of files that may have evidence of one of these clusters since then, and before
        ``until_ms``.
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
    """Where the logs of all clusters are cut: at their first batch since then."""
    where: list[Condition] = [
        {"cluster": cluster, "max_timestamp_ms": AtLeast(ms - SLACK_MS)} for cluster, ms in since.items()
    ]
    columns = (*LOG, "base_offset", "last_offset", "max_timestamp_ms")
    rows = engine.scan(BATCHES, columns, where)
    found = engine.collect(engine.map(rows, partial(_extents, since), _EXTENTS)).group_by(list(LOG))
    together = found.aggregate(
        [("cut", "min"), ("from_offset", "min"), ("last_offset", "max"), ("offsets", "sum")]
    )
    offsets: dict[LogName, int] = {}
    jumbled: defaultdict[str, set[str]] = defaultdict(set)
    for cluster, topic, topic_id, partition, cut, first, last, count in tuples(together):
        if cut is None:
            continue
        offsets[cluster, topic, topic_id, partition] = cut
        if count != last - first + 1:
            jumbled[cluster].add(topic)
    return Cuts(offsets, {cluster: frozenset(topics) for cluster, topics in jumbled.items()}, since)


def _extents(since_ms: Mapping[str, int], batches: pa.Table) -> pa.Table:
    """Of rows of bronze.batches, by log: the first offset of the window, the first and last of all, and how
    many there are.
    """
    clusters = pa.array(since_ms, pa.string())
    since = pa.array(since_ms.values(), pa.int64()).take(pc.index_in(batches["cluster"], clusters))
    inside = pc.greater_equal(batches["max_timestamp_ms"], since)
    none = pa.scalar(None, pa.int64())
    found = (
        batches.append_column("cut", pc.if_else(inside, batches["base_offset"], none))
        .append_column("offsets", pc.add(pc.subtract(batches["last_offset"], batches["base_offset"]), 1))
        .group_by(list(LOG))
        .aggregate([("cut", "min"), ("base_offset", "min"), ("last_offset", "max"), ("offsets", "sum")])
    )
    names = [*LOG, "cut_min", "base_offset_min", "last_offset_max", "offsets_sum"]
    return found.select(names).rename_columns(_EXTENTS.names).cast(_EXTENTS)


def log_texts(rows: pa.Table) -> pa.ChunkedArray:
    """The name of the log of each row."""
    names = [rows[name].cast(pa.string()) for name in LOG]
    return pc.binary_join_element_wise(*names, "/", null_handling="replace", null_replacement="?")


def _text(log: LogName) -> str:
    return "/".join("?" if each is None else str(each) for each in log)


def _utc(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
