"""The second step: every partition of ``__transaction_state``, as its coordinator replays it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.protocols.producer_epoch import asked
from fencepost.protocols.producer_epoch.account import Replayed
from fencepost.protocols.producer_epoch.arrow import Key, slices, split
from fencepost.protocols.producer_epoch.coordinator_rows import CoordinatorRows
from fencepost.protocols.producer_epoch.id_before import ids_before
from fencepost.protocols.producer_epoch.refusals import Connection, Had
from fencepost.protocols.producer_epoch.tables import CARRIED_IDS
from fencepost.protocols.producer_epoch.transaction_state_manager import (
    CoordinatorEvidence,
    TransactionStateManager,
)
from fencepost.replay.collection import collection_paused
from fencepost.replay.keys import TRANSACTIONS_TOPIC, coordinator_partition, topic_key
from fencepost.replay.log_ends import Ends
from fencepost.replay.metadata import ClusterMetadata

PARTITION = "coordinator_partition"


@dataclass(frozen=True)
class Coordinators:
    """What bronze and the request log hold of some coordinators' logs.

    Rows of ``bronze.batches``, ``.records``, ``.quarantine``, ``.cleaned``; ``requests``: rows of
    ``silver.producer_requests`` (asked.concerns_coordinators) and verifications.BEGAN, with a column
    ``coordinator_partition`` (coordinator_partitions); ``wrote``: what the first step gave (account.WROTE).
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


def homes(records: pa.Table) -> pa.Table:
    """Where transactional ids are, by their records: ``cluster``, ``transactional_id``,
    ``coordinator_partition`` and ``timestamp_ms`` of the newest record there.

    Only needed for clusters whose metadata log does not tell how many partitions the topic has.
    """
    wanted = pc.and_(pc.equal(records["topic"], TRANSACTIONS_TOPIC), pc.equal(records["record_type"], 0))
    rows = records.filter(pc.and_(wanted, pc.equal(records["decode_status"], "known")))
    named = pa.table(
        {
            "cluster": rows["cluster"],
            "transactional_id": decode("TransactionLog", "key", rows["key"]).values.field("transactional_id"),
            PARTITION: rows["partition"],
            "timestamp_ms": rows["timestamp_ms"],
        }
    )
    found = named.group_by(["cluster", "transactional_id", PARTITION]).aggregate([("timestamp_ms", "max")])
    return found.rename_columns(["cluster", "transactional_id", PARTITION, "timestamp_ms"])


def coordinator_partitions(
    requests: pa.Table, metadata: Mapping[str, ClusterMetadata], known: pa.Table | None = None
) -> pa.Array:
    """The partition of ``__transaction_state`` that each row of ``silver.producer_requests`` belongs to.

    Where the id's records are (``known``: homes), else where Kafka would put them; null without either, and
    without a transactional id.
    """
    newest: dict[tuple[str, str], tuple[int, int]] = {}
    if known is not None:
        for cluster, each, partition, ms in zip(*(known[n].to_pylist() for n in _HOMES), strict=True):
            newest[cluster, each] = max(newest.get((cluster, each), (ms, partition)), (ms, partition))
    counts = {name: each.partition_counts.get(TRANSACTIONS_TOPIC) for name, each in metadata.items()}
    places = split(requests, ("cluster", "transactional_id"), {"row": np.arange(requests.num_rows)})
    found: list[int | None] = [None] * requests.num_rows
    for (cluster, transactional_id), rows in places.items():
        if transactional_id is None:
            continue
        count = counts.get(cluster)
        home = newest.get((cluster, transactional_id))
        partition = home[1] if home else coordinator_partition(transactional_id, count) if count else None
        for row in rows["row"].tolist():
            found[row] = partition
    return pa.array(found, pa.int32())


_HOMES = ("cluster", "transactional_id", PARTITION, "timestamp_ms")


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
    logs: dict[Key, list[CoordinatorEvidence]] = {}
    for evidence in _evidence(given):
        logs.setdefault((evidence.key[0], evidence.key[2]), []).append(evidence)
    requests = slices(given.requests, ("cluster", PARTITION))
    wrote = _wrote(given.wrote)
    for shard in sorted(logs.keys() | requests.keys(), key=str):
        cluster, partition = shard
        sent = asked.read(requests[shard]) if shard in requests else []
        known = metadata.get(cluster, ClusterMetadata())
        # a topic that was made again has logs of its own: requests are about the newest
        *older, newest = logs.get(shard, [_nothing(given, cluster, partition)])
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
    place = ("cluster", "topic", "partition", "topic_id")
    batches, of_records = slices(given.batches, place), slices(given.records, place)
    cleaned = given.cleaned.filter(pc.equal(given.cleaned["topic"], TRANSACTIONS_TOPIC))
    found, before = [], ids_before(given.before)
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


def _wrote(rows: pa.Table) -> dict[str, dict[str, dict[Connection, list[Had]]]]:
    """What connections wrote: by cluster and transactional id ('' for none)."""
    found: dict[str, dict[str, dict[Connection, list[Had]]]] = {}
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
        of_id.setdefault((broker_id, connection), []).append(Had(*had))
    return found
