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
    """What bronze and the request log hold of some coordinators' logs.

    Rows of ``bronze.batches``, ``.records``, ``.quarantine``, ``.cleaned``; ``requests``: rows of
    ``silver.producer_requests`` (asked.concerns_coordinators, verifications.committed) and
    verifications.BEGAN, with a column ``coordinator_partition`` (homes.coordinator_partitions); ``wrote``:
    what the first step gave (account.WROTE) about the ids of these logs.
    Rows of other topics are left out. ``ends``: where the logs ended for good, if they did
    (log_ends.final_ends). ``before``: rows of CARRIED_IDS that an earlier chapter gave;
    ``began``: from where to where it knew the log, by cluster and partition_key; ``next_ms``: by
    cluster that has a next chapter, since when that reads logs.
    """

    batches: pa.Table
    records: pa.Table
    quarantine: pa.Table
    cleaned: pa.Table
    requests: pa.Table
    wrote: pa.Table
    ends: Ends = field(default_factory=dict)
    before: pa.Table = field(default_factory=CARRIED_IDS.arrow_schema.empty_table)
    began: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    next_ms: Mapping[str, int] = field(default_factory=dict)


@collection_paused()
def replay_coordinators(
    given: Coordinators, metadata: Mapping[str, ClusterMetadata], tolerance_ms: int
) -> Replayed:
    """silver.transactional_ids, .transactions, .init_producer_ids, .init_producer_id_states, and
    silver.log_coverage of ``__transaction_state``.

    A log is given whole: its rows are those of one (cluster, partition of ``__transaction_state``), the
    requests those with this ``coordinator_partition``, which may be null. The account has rows of kinds
    LISTED, TOLD, KNOWN, FENCED and COORDINATOR.
    """
    rows = CoordinatorRows()
    found: dict[Key, list[CoordinatorEvidence]] = {}
    for evidence in _evidence(given):
        found.setdefault((evidence.key[0], evidence.key[2]), []).append(evidence)
    requests = logs.by_log(given.requests, "cluster", PARTITION)
    wrote = _wrote(given.wrote)
    for shard in sorted(found.keys() | requests.keys(), key=str):
        cluster, partition = shard
        sent = request_rows.read_request_rows(requests[shard]) if shard in requests else []
        known = metadata.get(cluster, ClusterMetadata())
        # a topic that was made again has logs of its own: requests are about the newest
        *older, newest = found.get(shard, [_nothing(given, cluster, partition)])
        for evidence in older:
            TransactionStateManager(evidence, known, (), {}, tolerance_ms).add_to(rows)
        had = wrote.get(cluster, {})
        end = None if partition is None else given.ends.get((cluster, partition))
        newest = replace(newest, end=end)
        TransactionStateManager(newest, known, sent, had, tolerance_ms).add_to(rows)
    return rows.replayed()


def _nothing(given: Coordinators, cluster: str, partition: int | None) -> CoordinatorEvidence:
    batches, records, quarantine = (
        table.slice(0, 0) for table in (given.batches, given.records, given.quarantine)
    )
    key = (cluster, TRANSACTIONS_TOPIC, partition, None)
    return CoordinatorEvidence(key, batches, records, quarantine, ())


def _evidence(given: Coordinators) -> Iterable[CoordinatorEvidence]:
    """Each log's, the newest incarnation of a partition last."""
    batches, of_records = logs.by_log(given.batches, *LOG), logs.by_log(given.records, *LOG)
    cleaned = given.cleaned.filter(pc.equal(given.cleaned["topic"], TRANSACTIONS_TOPIC))
    found, before = [], handed_down_ids(given.before)
    for key, mine in batches.items():
        cluster, topic, partition, topic_id = key
        if topic != TRANSACTIONS_TOPIC:
            continue
        here = pc.and_(pc.equal(cleaned["cluster"], cluster), pc.equal(cleaned["partition"], partition))
        partition_key = topic_key(topic_id, TRANSACTIONS_TOPIC, partition) or ""
        evidence = CoordinatorEvidence(
            (cluster, TRANSACTIONS_TOPIC, partition, partition_key),
            mine,
            of_records.get(key, given.records.slice(0, 0)),
            given.quarantine.filter(pc.equal(given.quarantine["cluster"], cluster)),
            cleaned.filter(here)["cleaned_to"].to_pylist(),
            before=before.get((cluster, partition, partition_key), {}),
            began=given.began.get((cluster, partition_key)),
            next_ms=given.next_ms.get(cluster),
        )
        found.append((pc.max(mine["max_timestamp_ms"]).as_py(), str(key), evidence))
    return [evidence for _, _, evidence in sorted(found, key=lambda each: each[:2])]


def _wrote(rows: pa.Table) -> dict[str, dict[str, dict[Connection, list[KnownEpoch]]]]:
    """What connections wrote: by cluster and transactional id ('' for none)."""
    found: dict[str, dict[str, dict[Connection, list[KnownEpoch]]]] = {}
    names = (
        "cluster",
        "transactional_id",
        "broker_id",
        "connection",
        "at_ms",
        "producer_id",
        "producer_epoch",
    )
    for cluster, transactional_id, broker_id, connection, *had in zip(
        *(rows[name].to_pylist() for name in names), strict=True
    ):
        of_id = found.setdefault(cluster, {}).setdefault(transactional_id or "", {})
        of_id.setdefault((broker_id, connection), []).append(KnownEpoch(*had))
    return found
