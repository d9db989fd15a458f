"""The high watermarks that brokers noted of Kafka's own topics, and when they noted them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture import stores
from fencepost.capture.checkpoints import REPLICATED, entries, log_dirs
from fencepost.capture.collectors import collector
from fencepost.capture.files import inside, modified, names
from fencepost.capture.log_dirs import topic_id_of
from fencepost.capture.plan import READ_WHOLE
from fencepost.settings import Cluster
from fencepost.tables import HIGH_WATERMARKS

_OF_COLLECTORS = timedelta(minutes=5)

_NO_TIME = (OSError, OverflowError, ValueError)
"""A file cannot be read, or has a time that is no date."""

Row = tuple[Any, ...]


def note_high_watermarks(catalog: Catalog, clusters: Sequence[Cluster], run_id: str, now: datetime) -> int:
    """Put into ``bronze.high_watermarks`` what is newer than the rows there (of a collector, which comes each
    minute: newer by some minutes); returns how many rows are new.

    A live broker writes the checkpoint every five seconds (ReplicaManager), whether anything has changed or
    not. So its time tells until when a log had not gone on behind its high watermark. Objects of a store
    have the time at which they were put there, which tells nothing.
    """
    columns = list(HIGH_WATERMARKS.columns)
    where = [{"cluster": frozenset(cluster.name for cluster in clusters)}]
    rows = lake.scan(catalog, HIGH_WATERMARKS, columns, where).to_pylist()
    newest = {_key(row): row for row in rows}
    spare = timedelta(0) if collector(run_id) is None else _OF_COLLECTORS
    new: dict[Row, dict[str, Any]] = {}
    for values in _noted(clusters):
        row = dict(zip(columns, (*values, run_id, now), strict=True))
        known = new.get(_key(row), newest.get(_key(row)))
        if known is None or known["written_at"] + spare < row["written_at"]:
            new[_key(row)] = row
    if new:
        # only these brokers': another one's collector writes at the same time
        of_brokers = {(row["cluster"], row["broker_id"]) for row in new.values()}
        newest = {key: row for key, row in newest.items() if key[:2] in of_brokers} | new
        lake.replace(
            catalog,
            HIGH_WATERMARKS,
            HIGH_WATERMARKS.rows([tuple(row[name] for name in columns) for row in newest.values()]),
            [{"cluster": cluster, "broker_id": broker_id} for cluster, broker_id in sorted(of_brokers)],
        )
    return len(new)


def _key(row: dict[str, Any]) -> Row:
    return tuple(row[name] for name in HIGH_WATERMARKS.key)


def _noted(clusters: Sequence[Cluster]) -> Iterator[Row]:
    """The rows of what is in the log directories, without run_id and captured_at."""
    for cluster, broker_id, path in log_dirs(clusters):
        file = inside(path, REPLICATED)
        try:
            # the content may be newer than the time, but never older
            written_at = None if stores.is_object(file) else _written_at(file)
        except _NO_TIME:
            continue
        for topic, partition, offset in entries(file) if written_at else ():
            if topic in READ_WHOLE and offset > 0:
                for topic_id, segment in _newest_segment(path, topic, partition):
                    yield cluster, broker_id, topic, topic_id, partition, offset, written_at, segment, file


def _newest_segment(log_dir: str, topic: str, partition: int) -> list[tuple[str | None, datetime]]:
    """The id of a topic, and when the newest segment of its partition was written last, if there is one."""
    folder = inside(log_dir, f"{topic}-{partition}")
    try:
        newest = [name for name in names(folder) if name.endswith(".log")][-1:]
        return [(topic_id_of(folder, topic), _written_at(inside(folder, name))) for name in newest]
    except _NO_TIME:
        return []


def _written_at(file: str) -> datetime:
    return datetime.fromtimestamp(modified(file), UTC)
