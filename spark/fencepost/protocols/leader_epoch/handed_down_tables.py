"""The tables that a chapter hands down to the next one besides silver (``Protocol.handed_down``)."""

from __future__ import annotations

from fencepost.tables import BATCHES, Table

_LOG = ("cluster", "topic", "topic_id", "partition")
_READ = (
    *_LOG, "base_offset", "last_offset", "leader_epoch", "attributes", "max_timestamp_ms", "broker_id",
    "file", "position",
)  # fmt: skip
HANDED_BATCHES = Table(
    "handed_batches",
    "Batches of partitions' logs; one row may stand for several of one leader epoch that follow one another. "
    "Its time is then the newest that a broker set, if any did, its place that of the first.",
    {
        **{name: BATCHES.columns[name] for name in _READ},
        "record_count": "bigint",
        "size": "bigint",
        "batches": "bigint",  # for how many it stands; null where that is not known
    },
    ("cluster", "topic", "topic_id", "partition", "base_offset", "leader_epoch"),
)

TRUNCATED = Table(
    "truncated",
    "One row per Fetch of a replica that was answered with a diverging epoch.",
    {
        "cluster": "string", "topic": "string", "topic_id": "string", "partition": "int", "replica": "int",
        "begins": "bigint", "ends": "bigint", "leader_epoch": "int", "by_leader_epoch": "int",
    },
    ("cluster", "topic", "topic_id", "partition", "replica", "ends"),
)  # fmt: skip

HANDED_CLIENTS = Table(
    "handed_clients",
    "The instance of a client at the other end of each connection.",
    {
        "cluster": "string", "client_id": "string", "broker_id": "int", "connection": "string",
        "client": "string",
    },
    ("cluster", "broker_id", "connection", "client_id"),
)  # fmt: skip

TABLES = (HANDED_BATCHES, TRUNCATED, HANDED_CLIENTS)
