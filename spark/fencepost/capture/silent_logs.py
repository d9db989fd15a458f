"""Finds brokers of which no request line was ever read.

No other log says who presented which epoch. A broker with default settings writes an empty file as its
request log; a pattern may name another log; none is configured; or the configuration does not name the broker
at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.files import expand, inside, is_folder, names
from fencepost.capture.log_dirs import partition_of
from fencepost.capture.metadata_snapshots import snapshot_of
from fencepost.capture.plan import METADATA_SNAPSHOT, REQUEST_LOG, SEGMENT, Fault
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.metadata_records import REGISTER_BROKER, UNREGISTER_BROKER, metadata_records
from fencepost.settings import Broker, Cluster
from fencepost.tables import FILES, METADATA_SNAPSHOTS, QUARANTINE, RECORDS, REQUEST_IDS

NO_REQUESTS = "no_requests"
"""The reason of these faults."""
_REMEDY = "correct request_logs in the configuration, or switch on DEBUG on kafka.request.logger"
_NOT_NAMED = (
    "the cluster has this broker, by its metadata log, and the configuration does not: name it there, with "
    "its log_dirs and request_logs (if it is gone for good, kafka-cluster.sh unregister)"
)
_CHANGES = frozenset({REGISTER_BROKER, UNREGISTER_BROKER})
_RECORD = ("cluster", "record_offset", "timestamp_ms", "record_type", "decode_status", "value")
_TOLD = "what is wrong with each file is said of it"
_OF_CONTROLLERS = "__cluster_metadata-0"
_NOT_TOLD = (NO_REQUESTS, "torn_tail")
"""Reasons that do not say why no line could be read."""


def silent_logs(
    catalog: Catalog, clusters: Sequence[Cluster], faults: Iterable[Fault], *, is_collector: bool = False
) -> list[Fault]:
    """A fault for each broker without any request line, and one for a cluster where all brokers have none.

    Not for a broker of which this run's ``faults``, or the quarantine, say what is wrong with its request
    log, nor for a node without partitions of topics (a controller) for which no request log is configured.
    Brokers that the configuration does not name are those of _not_named. A
    collector knows nothing of logs that are not on its machine, and tells only of those that it was to read.
    """
    where = [{"kind": REQUEST_LOG, "cluster": frozenset(each.name for each in clusters)}]
    read_badly = lake.scan(catalog, QUARANTINE, ("cluster", "broker_id", "reason"), where).to_pylist()
    told = {(row["cluster"], row["broker_id"]) for row in read_badly if row["reason"] not in _NOT_TOLD}
    told |= {(each.cluster, each.broker_id) for each in faults if each.kind == REQUEST_LOG}
    columns = ("cluster", "broker_id", "entries")
    notes = lake.scan(catalog, FILES, columns, where)
    read = notes.filter(pc.greater(notes["entries"], 0)).group_by(["cluster", "broker_id"]).aggregate([])
    heard = {(row["cluster"], row["broker_id"]) for row in read.to_pylist()}
    faults_found = [
        fault
        for cluster in clusters
        for fault in _of_cluster(catalog, cluster, heard, told, is_collector=is_collector)
    ]
    if is_collector:
        return faults_found
    without_any = {fault.cluster for fault in faults_found if fault.broker_id is None}
    return faults_found + [
        Fault(cluster, broker_id, REQUEST_LOG, "", 0, 0, NO_REQUESTS, _NOT_NAMED)
        for cluster, broker_id in _not_named(catalog, clusters)
        if cluster not in without_any
        and (cluster, broker_id) not in heard
        and not _has_ids(catalog, cluster, broker_id)
    ]


def _of_cluster(
    catalog: Catalog,
    cluster: Cluster,
    heard: Set[tuple[str, int]],
    told: Set[tuple[str, int | None]],
    *,
    is_collector: bool,
) -> Iterator[Fault]:
    silent = [broker for broker in cluster.brokers if (cluster.name, broker.id) not in heard]
    silent = [broker for broker in silent if not _has_ids(catalog, cluster.name, broker.id)]
    if len(silent) == len(cluster.brokers) and not is_collector:
        is_told = any((cluster.name, broker.id) in told for broker in silent)
        detail = (
            "no request log of the cluster has a line of a request that could be read, and no other log says "
            f"who presented which epoch: {_TOLD if is_told else _REMEDY}"
        )
        yield Fault(cluster.name, None, REQUEST_LOG, "", 0, 0, NO_REQUESTS, detail)
        return
    for broker in silent:
        if (cluster.name, broker.id) in told:
            continue
        if broker.request_logs:
            detail = f"no line in it is of a request: {_REMEDY}"
        elif is_collector or _is_controller(catalog, cluster.name, broker):
            continue
        elif broker.log_dirs or broker.server_logs:
            detail = f"none is configured: {_REMEDY}"
        else:
            detail = f"no line of one was collected: where the broker runs, {_REMEDY}"
        file = ", ".join(broker.request_logs)
        yield Fault(cluster.name, broker.id, REQUEST_LOG, file, 0, 0, NO_REQUESTS, detail)


def _not_named(catalog: Catalog, clusters: Sequence[Cluster]) -> list[tuple[str, int]]:
    """Clusters and the ids of their brokers that the configuration does not name: those in the newest
    snapshot of the metadata log, or before its first one in the log.
    """
    names = frozenset(each.name for each in clusters)
    notes = lake.scan(
        catalog, FILES, ("cluster", "file", "entries"), [{"kind": METADATA_SNAPSHOT, "cluster": names}]
    )
    read = notes.filter(pc.greater(notes["entries"], 0))
    newest: dict[str, tuple[int, int]] = {}
    for cluster, file in zip(read["cluster"].to_pylist(), read["file"].to_pylist(), strict=True):
        newest[cluster] = max(snapshot_of(file), newest.get(cluster, (0, 0)))
    images = [
        {"cluster": cluster, "snapshot_offset": offset, "snapshot_epoch": epoch}
        for cluster, (offset, epoch) in newest.items()
    ]
    young = names - newest.keys()
    logs = [{"cluster": young, "topic": METADATA_TOPIC}] if young else []
    brokers: set[tuple[str, int]] = set()
    for table, places in ((METADATA_SNAPSHOTS, images), (RECORDS, logs)):
        if not places:
            continue
        rows = lake.scan(catalog, table, _RECORD, [{**place, "record_type": _CHANGES} for place in places])
        for (cluster,), record in metadata_records(rows, ("cluster",)):
            change = brokers.add if record.type == REGISTER_BROKER else brokers.discard
            change((cluster, record.fields["broker_id"]))
    return sorted(brokers - {(cluster.name, broker.id) for cluster in clusters for broker in cluster.brokers})


def _has_ids(catalog: Catalog, cluster: str, broker_id: int) -> bool:
    """Whether a broker has lines of which none is kept."""
    where = [{"cluster": cluster, "broker_id": broker_id}]
    return bool(lake.scan(catalog, REQUEST_IDS, ("broker_id",), where).num_rows)


def _is_controller(catalog: Catalog, cluster: str, broker: Broker) -> bool:
    """Whether the log directories of a broker have the metadata log, and no other partition; of one whose
    directories are read elsewhere, whether this is what was read of them.
    """
    if not broker.log_dirs:
        where = [{"kind": SEGMENT, "cluster": cluster, "broker_id": broker.id}]
        files = lake.scan(catalog, FILES, ("file",), where)["file"].unique().to_pylist()
        return {partition_of(file) for file in files} == {("__cluster_metadata", 0)}
    found = []
    for pattern in broker.log_dirs:
        for path in expand(pattern):
            try:
                found += [name for name in names(path) if is_folder(inside(path, name))]
            except OSError:
                return False
    return found == [_OF_CONTROLLERS]
