"""The second step: every partition of ``__transaction_state``, as its coordinator replays it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import request_rows
from fencepost.protocols.producer_epoch.account import Replayed
from fencepost.protocols.producer_epoch.arrow import Key
from fencepost.protocols.producer_epoch.coordinator_evidence import CoordinatorEvidence
from fencepost.protocols.producer_epoch.coordinator_rows import CoordinatorRows
from fencepost.protocols.producer_epoch.handed_down_ids import handed_down_ids
from fencepost.protocols.producer_epoch.homes import PARTITION
from fencepost.protocols.producer_epoch.refusals import Connection, KnownEpoch
from fencepost.protocols.producer_epoch.tables import CARRIED_IDS
from fencepost.protocols.producer_epoch.transaction_state_manager import TransactionStateManager
from fencepost.replay import logs
from fencepost.replay.clock_steps import ClockSteps
from fencepost.replay.garbage_collection import collection_paused
from fencepost.replay.keys import TRANSACTIONS_TOPIC, topic_key
from fencepost.replay.log_ends import Ends
from fencepost.replay.metadata import ClusterMetadata

LOG = ("cluster", "topic", "partition", "topic_id")

BATCH_COLUMNS = (*LOG, *logs.BATCH_COLUMNS)
"""What is read of ``bronze.batches``."""

RECORD_COLUMNS = (
    *LOG, "base_offset", "leader_epoch", "record_offset", "timestamp_ms", "record_type", "decode_status",
    "is_control", "key", "value",
)  # fmt: skip
"""What is read of ``bronze.records``."""


@dataclass(frozen=True)
class Coordinators:
    """The evidence of some coordinators' logs. Rows of other topics are ignored.

    ``batches``, ``records``, ``quarantine``, ``cleaned``: rows of bronze. ``requests``: rows of
    ``silver.producer_requests`` (request_rows.concerns_coordinators, verifications.committed) and of
    verifications.BEGAN, with a column ``coordinator_partition`` (homes.coordinator_partitions).
    ``connection_epochs``: account.CONNECTION_EPOCH of the first step, for the ids of these logs. ``ends``:
    where logs end that will never be written again (log_ends.final_ends). ``before``: rows of CARRIED_IDS
    that an earlier chapter handed down; ``began``: by cluster and partition_key, the offsets from and to
    which that chapter knew the log. ``next_ms``: by cluster that has a next chapter, the time from which
    that reads logs. ``clock_steps``: the times that passed twice by a broker's clock.
    """

    batches: pa.Table
    records: pa.Table
    quarantine: pa.Table
    cleaned: pa.Table
    requests: pa.Table
    connection_epochs: pa.Table
    ends: Ends = field(default_factory=dict)
    before: pa.Table = field(default_factory=CARRIED_IDS.arrow_schema.empty_table)
    began: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    next_ms: Mapping[str, int] = field(default_factory=dict)
    clock_steps: ClockSteps = field(default_factory=ClockSteps)


@collection_paused()
def replay_coordinators(
    coordinators: Coordinators, metadata: Mapping[str, ClusterMetadata], tolerance_ms: int
) -> Replayed:
    """silver.transactional_ids, .transactions, the tables of decided_requests.TABLES, and
    silver.log_coverage of ``__transaction_state``.

    All evidence of a log must be given at once: its rows are those of one (cluster, partition of
    ``__transaction_state``), its requests those with this ``coordinator_partition``, which may be null. The
    account has rows of the kinds LISTED_PARTITION, ANSWERED_TRANSACTION, NAMED_PRODUCER, FENCING and
    COORDINATOR.
    """
    rows = CoordinatorRows()
    logs_of_shard: dict[Key, list[CoordinatorEvidence]] = {}
    for evidence in _evidence(coordinators):
        logs_of_shard.setdefault((evidence.key[0], evidence.key[2]), []).append(evidence)
    requests = logs.by_log(coordinators.requests, "cluster", PARTITION)
    connection_epochs = _connection_epochs(coordinators.connection_epochs)
    for shard in sorted(logs_of_shard.keys() | requests.keys(), key=str):
        cluster, partition = shard
        shard_requests = request_rows.read_request_rows(requests[shard]) if shard in requests else []
        cluster_metadata, steps = (
            metadata.get(cluster, ClusterMetadata()),
            coordinators.clock_steps.of(cluster),
        )
        # each incarnation of the topic has its own log: requests are about the newest
        *older, newest = logs_of_shard.get(shard, [_no_log(coordinators, cluster, partition)])
        for evidence in older:
            TransactionStateManager(evidence, cluster_metadata, (), {}, tolerance_ms, steps=steps).add_to(
                rows
            )
        epochs_of_connections = connection_epochs.get(cluster, {})
        end = None if partition is None else coordinators.ends.get((cluster, partition))
        newest = replace(newest, end=end)
        TransactionStateManager(
            newest, cluster_metadata, shard_requests, epochs_of_connections, tolerance_ms, steps=steps
        ).add_to(rows)
    return rows.replayed()


def _no_log(coordinators: Coordinators, cluster: str, partition: int | None) -> CoordinatorEvidence:
    batches, records, quarantine = (
        table.slice(0, 0) for table in (coordinators.batches, coordinators.records, coordinators.quarantine)
    )
    key = (cluster, TRANSACTIONS_TOPIC, partition, None)
    return CoordinatorEvidence(key, batches, records, quarantine, ())


def _evidence(coordinators: Coordinators) -> Iterable[CoordinatorEvidence]:
    """The evidence of each log, the newest incarnation of a partition last."""
    batches, of_records = logs.by_log(coordinators.batches, *LOG), logs.by_log(coordinators.records, *LOG)
    cleaned = coordinators.cleaned.filter(pc.equal(coordinators.cleaned["topic"], TRANSACTIONS_TOPIC))
    logs_of_shard, before = [], handed_down_ids(coordinators.before)
    for key, log_batches in batches.items():
        cluster, topic, partition, topic_id = key
        if topic != TRANSACTIONS_TOPIC:
            continue
        of_partition = pc.and_(
            pc.equal(cleaned["cluster"], cluster), pc.equal(cleaned["partition"], partition)
        )
        partition_key = topic_key(topic_id, TRANSACTIONS_TOPIC, partition) or ""
        evidence = CoordinatorEvidence(
            (cluster, TRANSACTIONS_TOPIC, partition, partition_key),
            log_batches,
            of_records.get(key, coordinators.records.slice(0, 0)),
            coordinators.quarantine.filter(pc.equal(coordinators.quarantine["cluster"], cluster)),
            cleaned.filter(of_partition)["cleaned_to"].to_pylist(),
            before=before.get((cluster, partition, partition_key), {}),
            began=coordinators.began.get((cluster, partition_key)),
            next_ms=coordinators.next_ms.get(cluster),
        )
        logs_of_shard.append((pc.max(log_batches["max_timestamp_ms"]).as_py(), str(key), evidence))
    return [evidence for _, _, evidence in sorted(logs_of_shard, key=lambda each: each[:2])]


def _connection_epochs(rows: pa.Table) -> dict[str, dict[str, dict[Connection, list[KnownEpoch]]]]:
    """The epochs that connections wrote with, by cluster and transactional id ('' for none)."""
    logs_of_shard: dict[str, dict[str, dict[Connection, list[KnownEpoch]]]] = {}
    names = (
        "cluster",
        "transactional_id",
        "broker_id",
        "connection",
        "at_ms",
        "producer_id",
        "producer_epoch",
    )
    for cluster, transactional_id, broker_id, connection, *epoch in zip(
        *(rows[name].to_pylist() for name in names), strict=True
    ):
        of_id = logs_of_shard.setdefault(cluster, {}).setdefault(transactional_id or "", {})
        of_id.setdefault((broker_id, connection), []).append(KnownEpoch(*epoch))
    return logs_of_shard
