"""Reads the checkpoints of log directories: how far the log cleaner has cleaned, and where logs began.

What is noted in bronze is read after segments were. A checkpoint that is missing says nothing; one that
Kafka would refuse is set aside as a whole, and is missing evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
REPLICATED = "replication-offset-checkpoint"
_BEGUN = "log-start-offset-checkpoint"
CHECKPOINTS = (_CLEANED, FLUSHED, REPLICATED, _BEGUN)
"""Files of OffsetCheckpointFile."""
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
_ENTRY = re.compile(r"(\S+)\s+(\d{1,10})\s+(-?\d{1,19})", re.ASCII)


class DamagedCheckpointError(Exception):
    """A checkpoint that Kafka would refuse, too."""


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
        for file in (inside(path, FLUSHED), inside(path, REPLICATED)):
            for topic, partition, offset in entries(file):
                yield cluster, broker_id, path, topic, partition, offset


def unreadable_checkpoints(clusters: Sequence[Cluster]) -> list[Fault]:
    """A fault for each checkpoint that is there and cannot be read: what it says must not count as not
    said.
    """
    faults = []
    for cluster, broker_id, path in log_dirs(clusters):
        for name in (*CHECKPOINTS, CLEAN_SHUTDOWN):
            file = inside(path, name)
            try:
                if is_file(file):
                    read = content(file)
                    if name in CHECKPOINTS:
                        entries_in(read)
            except OSError as error:
                detail = f"cannot be read ({error.strerror}): check its permissions"
                faults.append(Fault(cluster, broker_id, SEGMENT, file, 0, 0, "unreadable", detail))
            except DamagedCheckpointError as error:
                faults.append(
                    Fault(cluster, broker_id, SEGMENT, file, 0, len(read), "bad_record", str(error))
                )
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


def entries(file: str) -> Iterable[tuple[str, int, int]]:
    """The topics, partitions and offsets of a checkpoint; none if it is not there or cannot be read."""
    try:
        return entries_in(content(file))
    except (OSError, DamagedCheckpointError):
        return ()


def entries_in(data: bytes) -> list[tuple[str, int, int]]:
    """The lines ``topic partition offset``, which follow the version and their number
    (OffsetCheckpointFile); none if nothing was written yet. Raises DamagedCheckpointError.
    """
    try:
        version, count, *lines = data.decode().splitlines() or ("0", "0")
    except ValueError as error:
        raise DamagedCheckpointError("the checkpoint is cut or damaged") from error
    found = [(match[1], int(match[2]), int(match[3])) for match in map(_ENTRY.fullmatch, lines) if match]
    # Kafka ends every line
    if data and not data.endswith(b"\n"):
        raise DamagedCheckpointError("the checkpoint is cut")
    if version.strip() != "0":
        raise DamagedCheckpointError(f"the checkpoint has the version {version[:20]!r}, which is not known")
    if len(found) != len(lines) or count.strip() != str(len(found)):
        raise DamagedCheckpointError(f"the checkpoint promises {count[:20]!r} entries and has {len(found)}")
    if any(partition >= 2**31 or not -(2**63) <= offset < 2**63 for _, partition, offset in found):
        raise DamagedCheckpointError("a number in the checkpoint is larger than Kafka's")
    return found


def _topic_id(log_dir: str, topic: str, partition: int) -> str | None:
    """Kafka forgets the checkpoint of a log that is deleted: it is of the folder that is there."""
    try:
        return topic_id_of(inside(log_dir, f"{topic}-{partition}"), topic)
    except OSError:
        return None
