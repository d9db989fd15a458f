"""Rows from the ``meta.properties`` of log directories: whether a broker keeps its metadata in ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from fencepost.capture.files import content, inside, is_readable
from fencepost.capture.identities import log_dirs
from fencepost.capture.kinds import Kind
from fencepost.capture.plan import META_PROPERTIES_FILE, Fault, Source
from fencepost.capture.rows import OUTCOME, Rows, arrow_rows, outcome_of_content
from fencepost.formats.properties import META_PROPERTIES, properties_in
from fencepost.settings import Cluster
from fencepost.tables import LOG_DIRS


def find_meta_properties(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """The file of each log directory; none where there is none, as in a copy without it. No faults."""
    sources = (
        Source(cluster.name, broker.id, META_PROPERTIES_FILE, inside(path, META_PROPERTIES), in_place=True)
        for broker in cluster.brokers
        for path in log_dirs(broker)
    )
    return [source for source in sources if is_readable(source.file)], []


def rows(source: Source) -> Rows:
    """The file as it is now, and the outcome of reading it. One that says nothing has no row."""
    data = content(source.file)
    says = _properties(data)
    columns = {
        "cluster": source.cluster,
        "broker_id": source.broker_id,
        "version": int(version) if (version := says.get("version", "")) in {"0", "1"} else None,
        "cluster_id": says.get("cluster.id"),
        "directory_id": says.get("directory.id"),
        "file": source.file,
        "captured_at": datetime.now(UTC),
    }
    count = 1 if says else 0
    yield LOG_DIRS, arrow_rows(LOG_DIRS, count, columns)
    yield OUTCOME, outcome_of_content(source, data, count)


def _properties(data: bytes) -> Mapping[str, str]:
    try:
        return properties_in(data)
    except UnicodeDecodeError:
        return {}


META_PROPERTIES_FILES = Kind(
    META_PROPERTIES_FILE, rows, (LOG_DIRS,), find=find_meta_properties, in_place=True
)
