"""Rows from the ``meta.properties`` of log directories: whether a broker keeps its metadata in ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO

import pyarrow as pa

from fencepost.capture.digests import head_digest
from fencepost.capture.files import content, expand, inside, is_readable
from fencepost.capture.kinds import Kind
from fencepost.capture.plan import META_PROPERTIES_FILE, Fault, Source
from fencepost.capture.rows import OUTCOME, Rows, arrow_rows, outcome
from fencepost.formats.properties import META_PROPERTIES, properties_in
from fencepost.settings import Cluster
from fencepost.tables import LOG_DIRS


def find_meta_properties(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """The file of each log directory; none where there is none, as in a copy without it. No faults."""
    files = (
        (broker.id, inside(path, META_PROPERTIES))
        for broker in cluster.brokers
        for pattern in broker.log_dirs
        for path in expand(pattern)
    )
    sources = [
        Source(cluster.name, broker_id, META_PROPERTIES_FILE, file, in_place=True)
        for broker_id, file in files
        if is_readable(file)
    ]
    return sources, []


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
    yield OUTCOME, _outcome(source, data, count)


def _properties(data: bytes) -> Mapping[str, str]:
    try:
        return properties_in(data)
    except UnicodeDecodeError:
        return {}


def _outcome(source: Source, data: bytes, count: int) -> pa.RecordBatch:
    progress = {
        "head_digest": head_digest(BytesIO(data), len(data)),
        "size": len(data),
        "consumed_to": len(data),
        "entries": count,
        "records": 0,
        "skipped": 0,
    }
    return outcome(source, [], progress)


META_PROPERTIES_FILES = Kind(
    META_PROPERTIES_FILE, rows, (LOG_DIRS,), find=find_meta_properties, in_place=True
)
