"""What every rebuild starts from: an engine that reads bronze, and what the metadata logs say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import Engine
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.metadata import ClusterMetadata, MetadataRecord, metadata_records
from fencepost.settings import Settings
from fencepost.tables import RECORDS

_READ = (
    "cluster", "topic", "record_type", "decode_status", "is_control", "record_offset", "timestamp_ms",
    "value",
)  # fmt: skip


@dataclass(frozen=True)
class Evidence:
    """``records``: of each cluster's metadata log, decoded; ``releases``: {broker id: (major, minor)} of each
    cluster's configuration; ``tolerance_ms``: how late a line of a request log may be written.
    """

    engine: Engine
    catalog: Catalog
    records: Mapping[str, tuple[MetadataRecord, ...]]
    releases: Mapping[str, Mapping[int, tuple[int, int]]]
    tolerance_ms: int

    @property
    def metadata(self) -> dict[str, ClusterMetadata]:
        """What each cluster's metadata log says by itself."""
        return {
            cluster: ClusterMetadata.of(records, (), self.releases.get(cluster))
            for cluster, records in self.records.items()
        }


def evidence(engine: Engine, catalog: Catalog, settings: Settings) -> Evidence:
    """The evidence of every cluster in bronze, also of those that the configuration no longer names."""
    rows = lake.scan(catalog, RECORDS, _READ, [{"topic": METADATA_TOPIC}])
    clusters = {cluster.name for cluster in settings.clusters} | set(pc.unique(rows["cluster"]).to_pylist())
    releases = {
        cluster.name: {broker.id: broker.release for broker in cluster.brokers if broker.release is not None}
        for cluster in settings.clusters
    }
    records = {cluster: tuple(metadata_records(_of(rows, cluster))) for cluster in sorted(clusters)}
    return Evidence(engine, catalog, records, releases, settings.clock_tolerance_ms)


def _of(rows: pa.Table, cluster: str) -> pa.Table:
    return rows.filter(pc.equal(rows["cluster"], cluster))
