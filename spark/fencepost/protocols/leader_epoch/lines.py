"""The APIs whose request lines are read, and what a line says of one partition."""

from __future__ import annotations

from typing import NamedTuple

APIS = {
    0: "PRODUCE", 1: "FETCH", 2: "LIST_OFFSETS", 3: "METADATA", 7: "CONTROLLED_SHUTDOWN", 8: "OFFSET_COMMIT",
    9: "OFFSET_FETCH", 19: "CREATE_TOPICS", 20: "DELETE_TOPICS", 21: "DELETE_RECORDS",
    23: "OFFSET_FOR_LEADER_EPOCH", 28: "TXN_OFFSET_COMMIT", 37: "CREATE_PARTITIONS", 42: "DELETE_GROUPS",
    43: "ELECT_LEADERS", 47: "OFFSET_DELETE", 56: "ALTER_PARTITION", 62: "BROKER_REGISTRATION",
    63: "BROKER_HEARTBEAT", 75: "DESCRIBE_TOPIC_PARTITIONS",
}  # fmt: skip
"""Kafka's names of the APIs that are read, by their keys (ApiKeys)."""

(
    PRODUCE, FETCH, LIST_OFFSETS, METADATA, CONTROLLED_SHUTDOWN, OFFSET_COMMIT, OFFSET_FETCH, CREATE_TOPICS,
    DELETE_TOPICS, DELETE_RECORDS, OFFSET_FOR_LEADER_EPOCH, TXN_OFFSET_COMMIT, CREATE_PARTITIONS,
    DELETE_GROUPS, ELECT_LEADERS, OFFSET_DELETE,
    ALTER_PARTITION, BROKER_REGISTRATION, BROKER_HEARTBEAT, DESCRIBE_TOPIC_PARTITIONS,
) = APIS  # fmt: skip

CLIENT_APIS = (
    FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH, OFFSET_FOR_LEADER_EPOCH, TXN_OFFSET_COMMIT,
    DESCRIBE_TOPIC_PARTITIONS,
)  # fmt: skip
"""The APIs whose requests show what a client knows and where it fetches."""

COMMIT_APIS = (OFFSET_COMMIT, TXN_OFFSET_COMMIT)


class NamedPartition(NamedTuple):
    """A topic's partition in a request, by name or by id."""

    topic: str | None
    topic_id: str | None
    partition: int


class PartitionLine(NamedTuple):
    """One partition in a request and its answer; numbers are -1 where there is none.

    ``offset``: the offset that is fetched or committed; ``answered`` and ``answered_epoch``: offset and
    leader epoch in the answer. ``leader_epoch``: the request's currentLeaderEpoch. ``offset_epoch``: its
    lastFetchedEpoch, committedLeaderEpoch, or the leader epoch whose end it asks for. ``error`` is None
    without an answer; ``leader_told``: the epoch of KIP-951's currentLeader.
    """

    requested: NamedPartition
    offset: int
    leader_epoch: int
    offset_epoch: int
    error: int | None
    answered: int
    answered_epoch: int
    log_start_offset: int
    high_watermark: int
    leader_told: int | None
    group_id: str | None
