"""The home of a transactional id: the partition of ``__transaction_state`` whose leader is its
coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.replay.entities import distinct, tuples
from fencepost.replay.keys import TRANSACTIONS_TOPIC, coordinator_partition
from fencepost.replay.metadata import ClusterMetadata

PARTITION = "coordinator_partition"

HOMES = pa.schema(
    [
        ("cluster", pa.string()), ("transactional_id", pa.string()), (PARTITION, pa.int32()),
        ("timestamp_ms", pa.int64()),
    ]
)  # fmt: skip
"""A transactional id, a partition that has records of it, and the time of the newest of them."""

Homes = Mapping[tuple[str, str], int]
"""The partition of each transactional id, by cluster and id."""


def homes(records: pa.Table) -> pa.Table:
    """HOMES of rows of ``bronze.records``; other rows may have the same ids."""
    of_transactions = pc.and_(
        pc.equal(records["topic"], TRANSACTIONS_TOPIC), pc.equal(records["record_type"], 0)
    )
    rows = records.filter(pc.and_(of_transactions, pc.equal(records["decode_status"], "known")))
    named = pa.table(
        {
            "cluster": rows["cluster"],
            "transactional_id": decode("TransactionLog", "key", rows["key"]).values.field("transactional_id"),
            PARTITION: rows["partition"],
            "timestamp_ms": rows["timestamp_ms"],
        }
    )
    newest = named.group_by(["cluster", "transactional_id", PARTITION]).aggregate([("timestamp_ms", "max")])
    return newest.rename_columns(HOMES.names)


def newest_homes(rows: pa.Table) -> Homes:
    """The partition that has the newest record of each id, of rows of HOMES."""
    newest: dict[tuple[str, str], tuple[int, int]] = {}
    for cluster, each, partition, ms in tuples(rows.select(HOMES.names)):
        newest[cluster, each] = max(newest.get((cluster, each), (ms, partition)), (ms, partition))
    return {of: partition for of, (_, partition) in newest.items()}


def coordinator_partitions(rows: pa.Table, metadata: Mapping[str, ClusterMetadata], homes: Homes) -> pa.Array:
    """The partition of ``__transaction_state`` that each row belongs to, by its ``cluster`` and
    ``transactional_id``.

    That is the partition with the id's records, else the one in which Kafka would put them; null if neither
    is known, or without a transactional id.
    """
    if not rows.num_rows:
        return pa.array([], pa.int32())
    counts = {name: each.partition_counts.get(TRANSACTIONS_TOPIC) for name, each in metadata.items()}

    def partition_of(cluster: str, transactional_id: str | None) -> int | None:
        if transactional_id is None:
            return None
        home, count = homes.get((cluster, transactional_id)), counts.get(cluster)
        return coordinator_partition(transactional_id, count) if home is None and count else home

    ids, number = distinct([rows["cluster"], rows["transactional_id"]])
    return pa.array([partition_of(*each) for each in ids], pa.int32()).take(number)
