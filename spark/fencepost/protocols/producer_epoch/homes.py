"""Where a transactional id is: the partition of ``__transaction_state`` whose leader is its coordinator."""

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
    """HOMES of rows of ``bronze.records``; an id may come again in other rows."""
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
    return found.rename_columns(HOMES.names)


def newest_homes(found: pa.Table) -> Homes:
    """Of HOMES the partition that has the newest record of each id."""
    newest: dict[tuple[str, str], tuple[int, int]] = {}
    for cluster, each, partition, ms in tuples(found.select(HOMES.names)):
        newest[cluster, each] = max(newest.get((cluster, each), (ms, partition)), (ms, partition))
    return {of: partition for of, (_, partition) in newest.items()}


def coordinator_partitions(rows: pa.Table, metadata: Mapping[str, ClusterMetadata], known: Homes) -> pa.Array:
    """The partition of ``__transaction_state`` that each row belongs to, by ``cluster`` and
    ``transactional_id``.

    Where the id's records are, else where Kafka would put them; null without either, and without a
    transactional id.
    """
    if not rows.num_rows:
        return pa.array([], pa.int32())
    counts = {name: each.partition_counts.get(TRANSACTIONS_TOPIC) for name, each in metadata.items()}

    def partition_of(cluster: str, transactional_id: str | None) -> int | None:
        if transactional_id is None:
            return None
        home, count = known.get((cluster, transactional_id)), counts.get(cluster)
        return coordinator_partition(transactional_id, count) if home is None and count else home

    ids, number = distinct([rows["cluster"], rows["transactional_id"]])
    return pa.array([partition_of(*each) for each in ids], pa.int32()).take(number)
