"""Which lines of the request logs tell of leader epochs, incarnations and fenced brokers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fencepost.formats.request_log import Keep, every_line, is_refused
from fencepost.protocols.leader_epoch.apis import CONTROLLER_APIS, QUORUM_APIS

# Quotes inside a JSON string are escaped, so no name can pass for these.
_OF_BROKER = re.compile(rb'"replicaId":\d')
_LISTS_PARTITIONS = re.compile(rb'"topics":\[\{')
_NOT_CONTROLLER = re.compile(rb'"errorCode":41\b')
_DIVERGING = b'"divergingEpoch":{'


def is_telling_fetch(line: bytes) -> bool:
    """Whether a Fetch says where its reader stands, or was answered that it stands wrong.

    Replicas fetch all the time: of theirs only what was refused is kept, or diverged from the leader's log.
    In a fetch session a consumer lists the partitions whose position has changed, and most of the time none.
    """
    if _DIVERGING in line or is_refused(line):
        return True
    return _LISTS_PARTITIONS.search(line) is not None and _OF_BROKER.search(line) is None


def is_not_controller(line: bytes) -> bool:
    """Whether the answer is that another node is the active controller (NOT_CONTROLLER)."""
    return _NOT_CONTROLLER.search(line) is not None


REQUESTS: Mapping[str, Keep] = {
    # what clients are told
    "METADATA": every_line,
    "DESCRIBE_TOPIC_PARTITIONS": every_line,
    # where they read
    "FETCH": is_telling_fetch,
    "LIST_OFFSETS": every_line,
    "OFFSET_FOR_LEADER_EPOCH": every_line,
    "OFFSET_FETCH": every_line,
    "OFFSET_COMMIT": every_line,
    "TXN_OFFSET_COMMIT": every_line,
    # who produces, and keeps what it is told of topics
    "PRODUCE": every_line,
    # who created, deleted, elected
    "CREATE_TOPICS": every_line,
    "DELETE_TOPICS": every_line,
    "CREATE_PARTITIONS": every_line,
    "ELECT_LEADERS": every_line,
    # how much of the metadata log each broker has, by the controller's clock
    "BROKER_HEARTBEAT": every_line,
    # which brokers were fenced
    "BROKER_REGISTRATION": is_refused,
    "ALTER_PARTITION": is_refused,
    "CONTROLLED_SHUTDOWN": is_refused,
    # which controllers others followed
    **dict.fromkeys(QUORUM_APIS.values(), is_refused),
    **dict.fromkeys(CONTROLLER_APIS.values(), is_not_controller),
}
"""By Kafka's name of the API (ApiKeys)."""
