"""Compares the brokers of the configuration with those that are registered in the metadata log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from fencepost.capture.files import size
from fencepost.capture.metadata_snapshots import rows, snapshot_of
from fencepost.capture.plan import METADATA_SNAPSHOT, Source
from fencepost.doctor.checks import Check, Mark
from fencepost.replay.metadata_records import REGISTER_BROKER, metadata_records
from fencepost.settings import Cluster
from fencepost.tables import METADATA_SNAPSHOTS
from fencepost.words import counted

_REMEDY = (
    "name each here, with its log_dirs and request_logs, unless this configuration collects only what is on "
    "this machine (if one is gone for good, kafka-cluster.sh unregister)"
)


def registration_checks(cluster: Cluster, sources: Sequence[Source]) -> Iterator[Check]:
    """A check of a cluster with brokers that the configuration does not name, by its newest metadata
    snapshot. A cluster has none in its first hour.
    """
    snapshots = [each for each in sources if each.kind == METADATA_SNAPSHOT]
    try:
        newest = max(snapshots, key=lambda each: snapshot_of(each.file), default=None)
        registered = set() if newest is None else _registered(newest)
    except OSError:
        return  # that it cannot be read is a check of its own
    missing = sorted(registered - {broker.id for broker in cluster.brokers})
    if missing:
        ids = ", ".join(map(str, missing))
        says = (
            f"the metadata log has {counted(len(missing), 'broker')} that the configuration does not: {ids}"
        )
        yield Check(f"cluster {cluster.name}", Mark.NOTE, says, _REMEDY)


def _registered(snapshot: Source) -> set[int]:
    whole = replace(snapshot, end=size(snapshot.file))
    parts = [part for table, part in rows(whole) if table == METADATA_SNAPSHOTS]
    if not parts:
        return set()
    records = metadata_records(pa.Table.from_batches(parts))
    return {record.fields["broker_id"] for _, record in records if record.type == REGISTER_BROKER}
