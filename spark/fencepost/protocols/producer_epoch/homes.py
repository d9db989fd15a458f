"""The home of a transactional id: the partition of ``__transaction_state`` whose leader is its
coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.protocols.producer_epoch.arrow import longs, milliseconds
from fencepost.replay.coordinator_logs import CoordinatorLogs
from fencepost.replay.entities import distinct, tuples
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.placement import Home, Placement

PARTITION, TOPIC_ID = "coordinator_partition", "coordinator_topic_id"
"""The columns of a Home."""

HOME = pa.schema([(PARTITION, pa.int32()), (TOPIC_ID, pa.string())])

HOMES = pa.schema(
    [
        *((name, pa.string()) for name in ("cluster", "topic_id", "transactional_id")),
        (PARTITION, pa.int32()), ("timestamp_ms", pa.int64()),
    ]
)  # fmt: skip
"""A transactional id, a log that has records of it, and the time of the newest of them."""


def homes(records: pa.Table) -> pa.Table:
    """HOMES of rows of ``bronze.records``; other rows may have the same ids. Tombstones do not count."""
    of_transactions = pc.and_(
        pc.equal(records["topic"], TRANSACTIONS_TOPIC), pc.equal(records["record_type"], 0)
    )
    of_transactions = pc.and_(of_transactions, pc.is_valid(records["value"]))
    rows = records.filter(pc.and_(of_transactions, pc.equal(records["decode_status"], "known")))
    named = pa.table(
        {
            "cluster": rows["cluster"],
            "topic_id": rows["topic_id"],
            "transactional_id": decode("TransactionLog", "key", rows["key"]).values.field("transactional_id"),
            PARTITION: rows["partition"],
            "timestamp_ms": rows["timestamp_ms"],
        }
    )
    names = ["cluster", "topic_id", "transactional_id", PARTITION]
    newest = named.group_by(names).aggregate([("timestamp_ms", "max")])
    return newest.rename_columns(HOMES.names)


def placement_of(
    rows: pa.Table, metadata: Mapping[str, ClusterMetadata], logs: Mapping[str, CoordinatorLogs]
) -> Placement:
    """The placement of all transactional ids, from rows of HOMES. ``logs``: cluster -> the incarnations of
    ``__transaction_state``.
    """
    places = {
        (cluster, topic_id, each, partition): ms
        for cluster, topic_id, each, partition, ms in tuples(rows.select(HOMES.names))
    }
    return Placement.of(TRANSACTIONS_TOPIC, metadata, [places], logs)


def with_homes(placement: Placement, rows: pa.Table) -> pa.Table:
    """The rows, with the columns HOME: the log whose coordinator is meant, by ``cluster``,
    ``transactional_id``, ``broker_id``, and ``requested_at`` and ``responded_at`` or ``at_ms``. Both are null
    without a transactional id.
    """
    timed = placement.timed
    ids, number = distinct([rows["cluster"], rows["transactional_id"]])
    once = [
        Home(None) if each is None or cluster in timed else placement.home_of(cluster, each)
        for cluster, each in ids
    ]
    found = [once[at] for at in number.to_pylist()]
    if timed:
        times = (
            [longs(rows["at_ms"])] * 2
            if "at_ms" in rows.column_names
            else [milliseconds(rows[name]) for name in ("requested_at", "responded_at")]
        )
        names = (rows[name].to_pylist() for name in ("cluster", "transactional_id", "broker_id"))
        requests = zip(*names, *(each.tolist() for each in times), strict=True)
        for at, (cluster, each, *time) in enumerate(requests):
            if cluster in timed and each is not None:
                found[at] = placement.home_of(cluster, each, *time)
    values = zip(*found, strict=True) if found else ((), ())
    for field, column in zip(HOME, values, strict=True):
        rows = rows.append_column(field, pa.array(column, field.type))
    return rows
