"""How far Kafka's log cleaner has been: below that offset a log keeps the last record of each key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from pyiceberg.catalog import Catalog

from fencepost.capture.plan import expand
from fencepost.engines.process import ProcessEngine
from fencepost.settings import Cluster
from fencepost.tables import CLEANED

CHECKPOINT = "cleaner-offset-checkpoint"

Row = tuple[str, int, str, int, int, str, str, datetime]


def note_cleaned(catalog: Catalog, clusters: Sequence[Cluster], run_id: str, now: datetime) -> int:
    """Append to ``bronze.cleaned`` what the checkpoints say that is not there yet; gives back how many rows.

    To be called after segments were read: whatever the cleaner has taken from them lies below. A checkpoint
    that is missing or does not parse tells nothing.
    """
    rows = [
        (cluster.name, broker.id, topic, partition, offset, str(file), run_id, now)
        for cluster in clusters
        for broker in cluster.brokers
        for pattern in broker.log_dirs
        for path in expand(pattern)
        for file in [Path(path, CHECKPOINT)]
        for topic, partition, offset in _entries(file)
    ]
    within = [{"cluster": frozenset(cluster.name for cluster in clusters)}]
    return ProcessEngine(catalog).append_new(CLEANED, CLEANED.rows(rows), within) if rows else 0


def _entries(file: Path) -> Iterator[tuple[str, int, int]]:
    """``topic partition offset`` lines behind the version and their number (OffsetCheckpointFile)."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()[2:]
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        topic, _, numbers = line.partition(" ")
        partition, _, offset = numbers.partition(" ")
        if topic and partition.isdecimal() and offset.isdecimal() and int(offset) > 0:
            yield topic, int(partition), int(offset)
