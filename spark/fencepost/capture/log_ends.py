"""Where the logs of brokers ended that were shut down cleanly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.checkpoints import CLEAN_SHUTDOWN, FLUSHED, entries, log_dirs
from fencepost.capture.files import content, inside, is_file
from fencepost.capture.plan import SEGMENT
from fencepost.capture.written_ends import NOTES, Folder, newest_incarnations
from fencepost.engines.new_rows import NewRows
from fencepost.settings import Cluster
from fencepost.tables import FILES, LOG_ENDS


def note_log_ends(catalog: Catalog, clusters: Sequence[Cluster], run_id: str, now: datetime) -> int:
    """Append to ``bronze.log_ends`` the log ends of brokers that were shut down cleanly and have not been
    started since; returns how many rows are new.

    LogManager.shutdown flushes and closes every log, writes the log's end as its recovery point, and finally
    writes the file of a clean shutdown, with the broker's epoch (since Kafka 3.7). A broker that starts
    deletes this file; a copy may still have it, beside recovery points that were written since. A live broker
    flushes a log when it rolls a segment, so some log goes on behind its recovery point: then no end of that
    directory counts.
    """
    closed = [
        (cluster, broker_id, path, epoch)
        for cluster, broker_id, path in log_dirs(clusters)
        if is_file(mark := inside(path, CLEAN_SHUTDOWN)) and (epoch := closed_by(mark)) is not None
    ]
    read_to = _read_to(catalog, {(cluster, broker_id) for cluster, broker_id, *_ in closed})
    rows = []
    for cluster, broker_id, path, epoch in closed:
        ends = list(entries(inside(path, FLUSHED)))
        if all(
            read_to.get((cluster, broker_id, inside(path, f"{topic}-{partition}")), 0) <= end
            for topic, partition, end in ends
        ):
            rows += [(cluster, broker_id, epoch, *each, inside(path, FLUSHED), run_id, now) for each in ends]
    within = [{"cluster": frozenset(cluster.name for cluster in clusters)}]
    return NewRows(catalog, LOG_ENDS, within).append(LOG_ENDS.rows(rows)) if rows else 0


def _read_to(catalog: Catalog, brokers: set[tuple[str, int]]) -> Mapping[Folder, int]:
    """The offset up to which the segments in each folder of these brokers were read."""
    where = [{"kind": SEGMENT, "cluster": cluster, "broker_id": id_} for cluster, id_ in sorted(brokers)]
    notes = lake.scan(catalog, FILES, NOTES, where)
    return {folder: end for folder, _, end, _ in newest_incarnations(notes) if end is not None}


def closed_by(file: str) -> int | None:
    """The epoch of the broker that closed its logs (CleanShutdownFileHandler), or None."""
    try:
        document = json.loads(content(file))
    except (OSError, ValueError, RecursionError):
        return None
    epoch = document.get("brokerEpoch") if isinstance(document, dict) else None
    return epoch if isinstance(epoch, int) and 0 <= epoch < 2**63 else None
