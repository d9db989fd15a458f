"""The evidence with which every rebuild starts: an engine that reads bronze, and decoded metadata logs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import Engine, Rows, on_engine
from fencepost.replay.broker_configs import Logged, logged_settings
from fencepost.replay.cuts import LOG, LogName
from fencepost.replay.entities import tuples
from fencepost.replay.group_coordinator.group_replays import GroupReplay
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.line_times import LineTimes
from fencepost.replay.logs import BATCH_COLUMNS
from fencepost.replay.metadata import ClusterMetadata, Sighting
from fencepost.replay.metadata_log import MetadataLog, metadata_log
from fencepost.replay.metadata_records import snapshots
from fencepost.replay.view import with_current_names
from fencepost.settings import Settings
from fencepost.tables import (
    BATCHES,
    BROKER_SETTINGS,
    HIGH_WATERMARKS,
    LOG_DIRS,
    LOG_ENDS,
    METADATA_SNAPSHOTS,
    QUARANTINE,
    RECORDS,
    REQUESTS,
    Table,
)

_READ = (
    "cluster", "topic", "base_offset", "leader_epoch", "record_type", "decode_status", "is_control",
    "record_offset", "timestamp_ms", "value",
)  # fmt: skip
_LOGGED = ("cluster", "broker_id", "settings", "logged_at_ms")
WITH_ZOOKEEPER = 0
"""MetaPropertiesVersion.V0."""
T = TypeVar("T")


@dataclass(frozen=True)
class Evidence:
    """``logs``: cluster -> its metadata log. ``releases``: cluster -> {broker id: (major, minor)} of the
    configuration. ``tolerance_ms``: how late a line of a request log may be written. ``line_times``: what
    times of lines are worth. ``before``: table's name -> the rows that the chapter before
    handed down. ``next_ms``: cluster -> the time from which on its next chapter reads logs, for clusters that
    have one. ``cuts``: (cluster, topic, topic id, partition) -> the offset below which the log is compacted.
    ``group_replays``: the replays of all protocols over group coordinators' logs.
    """

    engine: Engine
    catalog: Catalog
    logs: Mapping[str, MetadataLog]
    releases: Mapping[str, Mapping[int, tuple[int, int]]]
    tolerance_ms: int
    line_times: LineTimes = field(default_factory=LineTimes)
    before: Mapping[str, pa.Table] = field(default_factory=dict)
    next_ms: Mapping[str, int] = field(default_factory=dict)
    cuts: Mapping[LogName, int] = field(default_factory=dict)
    group_replays: Sequence[GroupReplay] = ()
    _results: dict[Callable[[Evidence], Any], Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, make: Callable[[Evidence], T]) -> T:
        """The result of ``make`` for this evidence, computed once for all protocols."""
        if make not in self._results:
            self._results[make] = make(self)
        result: T = self._results[make]
        return result

    def state(self, table: Table) -> Rows:
        """The rows of a table (of ``Protocol.states``) with which the rebuild begins."""
        nothing = table.arrow_schema.empty_table()
        return on_engine(self.engine, table, self.before.get(table.name, nothing))

    @cached_property
    def in_zookeeper(self) -> frozenset[str]:
        """The clusters that kept their metadata in ZooKeeper whenever their log directories were read."""
        log_dirs = self.engine.collect(self.engine.scan(LOG_DIRS, ("cluster", "version")))
        versions: dict[str, set[int | None]] = {}
        for cluster, version in tuples(log_dirs):
            versions.setdefault(cluster, set()).add(version)
        return frozenset(cluster for cluster, found in versions.items() if found == {WITH_ZOOKEEPER})

    @cached_property
    def log_ends(self) -> pa.Table:
        """All rows of ``bronze.log_ends``."""
        return self.engine.collect(self.engine.scan(LOG_ENDS))

    @cached_property
    def high_watermarks(self) -> pa.Table:
        """All rows of ``bronze.high_watermarks``."""
        return self.engine.collect(self.engine.scan(HIGH_WATERMARKS))

    @cached_property
    def metadata(self) -> dict[str, ClusterMetadata]:
        """Cluster -> what its metadata log says, and its brokers of their configurations."""
        return {cluster: self.metadata_of(cluster) for cluster in self.logs}

    def metadata_of(self, cluster: str, seen: Iterable[Sighting] = ()) -> ClusterMetadata:
        """The same of one cluster; ``seen`` as Topics takes it."""
        log = self.logs.get(cluster, MetadataLog())
        return ClusterMetadata.of(log, seen, self.releases.get(cluster), self._logged.get(cluster))

    @cached_property
    def _logged(self) -> Mapping[str, Mapping[int, Sequence[Logged]]]:
        rows = self.engine.collect(self.engine.scan(BROKER_SETTINGS, _LOGGED))
        return logged_settings(rows.to_pylist())


class MetadataEvidence(NamedTuple):
    """Bronze's evidence about metadata logs beyond the logs themselves, for all clusters: what could not be
    read, and snapshots.
    """

    quarantine: pa.Table
    snapshots: pa.Table

    @classmethod
    def of(cls, catalog: Catalog) -> MetadataEvidence:
        """All rows of both tables."""
        return cls(lake.scan(catalog, QUARANTINE), lake.scan(catalog, METADATA_SNAPSHOTS))


def metadata_logs(
    engine: Engine, beside: MetadataEvidence, clusters: Iterable[str], ended: Collection[str] = ()
) -> dict[str, MetadataLog]:
    """The metadata logs of these clusters, and of others that have one in bronze.

    ``ended``: clusters whose log is read up to a moment. For these only snapshots inside that part count.
    """
    of_log = [{"topic": METADATA_TOPIC}]
    batches = engine.collect(engine.scan(BATCHES, ("cluster", "topic", *BATCH_COLUMNS), of_log))
    records = engine.collect(engine.scan(RECORDS, _READ, of_log))
    logs = {}
    for cluster in sorted({*clusters, *pc.unique(batches["cluster"]).to_pylist()}):
        batches_of_cluster, records_of_cluster, unread, snapshots_of_cluster = (
            rows.filter(pc.equal(rows["cluster"], cluster)) for rows in (batches, records, *beside)
        )
        if cluster in ended:
            end = pc.max(batches_of_cluster["last_offset"]).as_py()
            snapshots_of_cluster = snapshots_of_cluster.filter(
                pc.less_equal(snapshots_of_cluster["snapshot_offset"], -1 if end is None else end)
            )
        logs[cluster] = metadata_log(
            batches_of_cluster, records_of_cluster, unread, snapshots(snapshots_of_cluster)
        )
    return logs


def evidence(
    engine: Engine, catalog: Catalog, settings: Settings, group_replays: Sequence[GroupReplay]
) -> Evidence:
    """The evidence of every cluster in bronze, also of those that the configuration no longer names."""
    logs = metadata_logs(
        engine, MetadataEvidence.of(catalog), [cluster.name for cluster in settings.clusters]
    )
    size = sum(lake.size(catalog, table) for table in (BATCHES, RECORDS, REQUESTS))
    view = with_current_names(engine).with_line_times(settings.clock_tolerance_ms).with_cache(size)
    return Evidence(
        view,
        catalog,
        logs,
        releases(settings),
        settings.clock_tolerance_ms,
        view.line_times,
        group_replays=group_replays,
    )


def cuts_of(compacted: pa.Table) -> dict[LogName, int]:
    """``Evidence.cuts`` from rows of COMPACTED_LOGS."""
    rows = tuples(compacted.select([*LOG, "compacted_to"]))
    return {(cluster, topic, topic_id, partition): to for cluster, topic, topic_id, partition, to in rows}


def releases(settings: Settings) -> dict[str, dict[int, tuple[int, int]]]:
    """Cluster -> broker id -> the release that the configuration gives."""
    return {
        cluster.name: {broker.id: broker.release for broker in cluster.brokers if broker.release is not None}
        for cluster in settings.clusters
    }
