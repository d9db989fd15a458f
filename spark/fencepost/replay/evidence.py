"""What every rebuild starts from: an engine that reads bronze, and what the metadata logs say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import Engine, Rows, on_engine
from fencepost.replay.compaction import compaction, store, stored
from fencepost.replay.earlier_compaction import EarlierCompaction
from fencepost.replay.entities import tuples
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.log_names import with_current_names
from fencepost.replay.logs import BATCH_COLUMNS
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.metadata_log import MetadataLog, metadata_log
from fencepost.replay.metadata_records import snapshots
from fencepost.replay.table_cache import with_table_cache
from fencepost.replay.time_bounds import PARTITION, Partition
from fencepost.replay.window import Windows, cuts
from fencepost.replay.window_engine import WindowEngine
from fencepost.settings import Settings
from fencepost.tables import BATCHES, COMPACTED_LOGS, METADATA_SNAPSHOTS, QUARANTINE, RECORDS, REQUESTS, Table

_READ = (
    "cluster", "topic", "base_offset", "leader_epoch", "record_type", "decode_status", "is_control",
    "record_offset", "timestamp_ms", "value",
)  # fmt: skip
T = TypeVar("T")


@dataclass(frozen=True)
class Evidence:
    """``logs``: each cluster's metadata log; ``releases``: {broker id: (major, minor)} of each
    cluster's configuration; ``tolerance_ms``: how late a line of a request log may be written. ``before``:
    what the chapter before handed down, by the table's name; ``next_ms``: since when the next chapter reads
    logs, of clusters that have one; ``cuts``: up to which offset each log is what compaction left, by
    cluster, topic and partition.
    """

    engine: Engine
    catalog: Catalog
    logs: Mapping[str, MetadataLog]
    releases: Mapping[str, Mapping[int, tuple[int, int]]]
    tolerance_ms: int
    before: Mapping[str, pa.Table] = field(default_factory=dict)
    next_ms: Mapping[str, int] = field(default_factory=dict)
    cuts: Mapping[Partition, int] = field(default_factory=dict)
    _made: dict[Callable[[Evidence], Any], Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, make: Callable[[Evidence], T]) -> T:
        """What ``make`` makes of the evidence, made once for all protocols that ask for it."""
        if make not in self._made:
            self._made[make] = make(self)
        found: T = self._made[make]
        return found

    @property
    def continued_clusters(self) -> frozenset[str]:
        """The clusters that have a next chapter."""
        return frozenset(self.next_ms)

    def handed_down(self, table: Table) -> Rows | None:
        """The rows of a table that the chapter before handed down; None where there are none."""
        rows = self.before.get(table.name)
        if rows is None or not rows.num_rows:
            return None
        return on_engine(self.engine, table, rows)

    @cached_property
    def metadata(self) -> dict[str, ClusterMetadata]:
        """What each cluster's metadata log says by itself."""
        return {
            cluster: ClusterMetadata.of(log, (), self.releases.get(cluster))
            for cluster, log in self.logs.items()
        }


class MetadataEvidence(NamedTuple):
    """What bronze has of metadata logs beside the logs themselves, of all clusters: what could not be read,
    and snapshots.
    """

    quarantine: pa.Table
    snapshots: pa.Table

    @classmethod
    def of(cls, catalog: Catalog) -> MetadataEvidence:
        """All of it."""
        return cls(lake.scan(catalog, QUARANTINE), lake.scan(catalog, METADATA_SNAPSHOTS))


def metadata_logs(
    engine: Engine, beside: MetadataEvidence, clusters: Iterable[str], ended: Collection[str] = ()
) -> dict[str, MetadataLog]:
    """The metadata log of each of these clusters, and of others that an engine has one of.

    ``ended``: clusters whose log is read up to a moment. Of these only snapshots are taken that lie in it.
    """
    of_log = [{"topic": METADATA_TOPIC}]
    batches = engine.collect(engine.scan(BATCHES, ("cluster", "topic", *BATCH_COLUMNS), of_log))
    records = engine.collect(engine.scan(RECORDS, _READ, of_log))
    found = {}
    for cluster in sorted({*clusters, *pc.unique(batches["cluster"]).to_pylist()}):
        written, of_batches, unread, taken = (
            rows.filter(pc.equal(rows["cluster"], cluster)) for rows in (batches, records, *beside)
        )
        if cluster in ended:
            end = pc.max(written["last_offset"]).as_py()
            taken = taken.filter(pc.less_equal(taken["snapshot_offset"], -1 if end is None else end))
        found[cluster] = metadata_log(written, of_batches, unread, snapshots(taken))
    return found


def evidence(
    engine: Engine,
    catalog: Catalog,
    settings: Settings,
    window: Windows | None = None,
    before: EarlierCompaction | None = None,
) -> Evidence:
    """The evidence of every cluster in bronze, also of those that the configuration no longer names.

    ``window``: what of it is looked at (all of it, if there is none). ``before``: what an earlier run left
    before its window, if it still stands.
    """
    audited, compacted = engine, COMPACTED_LOGS.arrow_schema.empty_table()
    if window and window.since_ms:
        audited = _windowed(engine, catalog, window, before)
        compacted = engine.collect(stored(engine)[COMPACTED_LOGS.name])
    logs = metadata_logs(
        audited, MetadataEvidence.of(catalog), [cluster.name for cluster in settings.clusters]
    )
    size = sum(lake.size(catalog, table) for table in (BATCHES, RECORDS, REQUESTS))
    return Evidence(
        with_table_cache(with_current_names(audited), size),
        catalog,
        logs,
        releases(settings),
        settings.clock_tolerance_ms,
        cuts=cuts_of(compacted),
    )


def cuts_of(compacted: pa.Table) -> dict[Partition, int]:
    """``Evidence.cuts``, of rows of COMPACTED_LOGS."""
    rows = tuples(compacted.select([*PARTITION, "compacted_to"]))
    return {(cluster, topic, partition): to for cluster, topic, partition, to in rows}


def releases(settings: Settings) -> dict[str, dict[int, tuple[int, int]]]:
    """The releases of brokers that the configuration names, by cluster and broker id."""
    return {
        cluster.name: {broker.id: broker.release for broker in cluster.brokers if broker.release is not None}
        for cluster in settings.clusters
    }


def _windowed(
    engine: Engine, catalog: Catalog, window: Windows, before: EarlierCompaction | None
) -> WindowEngine:
    """The engine that reads the window, after what lies before it has been compacted."""
    cut = cuts(engine, window.logs_since_ms)
    carried = (before, stored(engine)) if before else None
    store(engine, catalog, compaction(engine, catalog, cut, carried))
    return WindowEngine(engine, window.since_ms, cut, stored(engine))
