"""Reads the checkpoints of log directories: how far the log cleaner has cleaned, and where logs began.

What is noted in bronze is read after segments were. A checkpoint that is missing or does not parse is
ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from pyiceberg.catalog import Catalog

from fencepost.capture.files import content, expand, inside, is_file
from fencepost.capture.log_dirs import topic_id_of
from fencepost.capture.plan import SEGMENT, Fault
from fencepost.engines.new_rows import NewRows
from fencepost.settings import Cluster
from fencepost.tables import CLEANED, LOG_STARTS, Table

_CLEANED = "cleaner-offset-checkpoint"
FLUSHED = "recovery-point-offset-checkpoint"
_REPLICATED = "replication-offset-checkpoint"
_BEGUN = "log-start-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
_CHECKED = (_CLEANED, FLUSHED, _REPLICATED, _BEGUN, CLEAN_SHUTDOWN)


def note_cleaned(catalog: Catalog, clusters: Sequence[Cluster], run_id: str, now: datetime) -> int:
    """Append the new entries of the cleaner's checkpoints to ``bronze.cleaned``; returns how many are new.

    Below its checkpoint a log keeps only the last record of each key. All records that the cleaner has
    removed from segments were below it.
    """
    return _note_offsets(catalog, CLEANED, clusters, run_id, now, file_name=_CLEANED)


def note_log_starts(catalog: Catalog, clusters: Sequence[Cluster], run_id: str, now: datetime) -> int:
    """Append the new entries of the checkpoints of log starts to ``bronze.log_starts``; returns how many are
    new.

    LogManager writes it each minute, and when it shuts down: of the logs that begin within their first
    segment, because records were deleted (DeleteRecords) and not only whole segments.
    """
    return _note_offsets(catalog, LOG_STARTS, clusters, run_id, now, file_name=_BEGUN)


def _note_offsets(
    catalog: Catalog,
    table: Table,
    clusters: Sequence[Cluster],
    run_id: str,
    now: datetime,
    *,
    file_name: str,
) -> int:
    rows = [
        (cluster, broker_id, topic, _topic_id(path, topic, partition), partition, to, file, run_id, now)
        for cluster, broker_id, path in log_dirs(clusters)
        for file in [inside(path, file_name)]
        for topic, partition, to in entries(file)
        if to > 0
    ]
    within = [{"cluster": frozenset(cluster.name for cluster in clusters)}]
    return NewRows(catalog, table, within).append(table.rows(rows)) if rows else 0


def flushed_or_replicated(clusters: Sequence[Cluster]) -> Iterator[tuple[str, int, str, str, int, int]]:
    """Each recovery point and high watermark that is noted in a log directory: cluster, broker, log
    directory, topic, partition and offset. The log ends there or later.
    """
    for cluster, broker_id, path in log_dirs(clusters):
        for file in (inside(path, FLUSHED), inside(path, _REPLICATED)):
            for topic, partition, offset in entries(file):
                yield cluster, broker_id, path, topic, partition, offset


def unreadable_checkpoints(clusters: Sequence[Cluster]) -> list[Fault]:
    """A fault for each checkpoint that is there and may not be read: what it says must not count as not
    said.
    """
    faults = []
    for cluster, broker_id, path in log_dirs(clusters):
        for file in (inside(path, name) for name in _CHECKED):
            try:
                if is_file(file):
                    content(file)
            except OSError as error:
                detail = f"cannot be read ({error.strerror}): check its permissions"
                faults.append(Fault(cluster, broker_id, SEGMENT, file, 0, 0, "unreadable", detail))
    return faults


def have_checkpoints(cluster: Cluster) -> bool:
    """Whether there are log directories here, and each has checkpoint files, as Kafka's own have after a
    minute: without the cleaner's, nothing in it was compacted.
    """
    here = [path for *_, path in log_dirs([cluster])]
    return bool(here) and all(
        is_file(inside(path, _CLEANED)) or is_file(inside(path, FLUSHED)) for path in here
    )


def log_dirs(clusters: Sequence[Cluster]) -> Iterator[tuple[str, int, str]]:
    for cluster in clusters:
        for broker in cluster.brokers:
            for pattern in broker.log_dirs:
                for path in expand(pattern):
                    yield cluster.name, broker.id, path


def entries(file: str) -> Iterator[tuple[str, int, int]]:
    """The lines ``topic partition offset``, which follow the version and their number
    (OffsetCheckpointFile). None of a file that was copied in part: its last number may be cut.
    """
    try:
        _, count, *lines = content(file).decode().split("\n")
    except (OSError, ValueError):
        return
    # each line ends with a line end, so an empty one is last
    if lines[-1:] != [""] or not count.isdecimal() or int(count) != len(lines) - 1:
        return
    for line in lines[:-1]:
        topic, _, numbers = line.partition(" ")
        partition, _, offset = numbers.partition(" ")
        if topic and partition.isdecimal() and offset.isdecimal():
            yield topic, int(partition), int(offset)


def _topic_id(log_dir: str, topic: str, partition: int) -> str | None:
    """Kafka forgets the checkpoint of a log that is deleted: it is of the folder that is there."""
    try:
        return topic_id_of(inside(log_dir, f"{topic}-{partition}"), topic)
    except OSError:
        return None
