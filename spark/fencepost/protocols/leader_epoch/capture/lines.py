"""Which lines of the request logs are kept for leader epochs, incarnations and fenced brokers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fencepost.formats.request_log import Keep, every_line, is_refused
from fencepost.protocols.leader_epoch.apis import CONTROLLER_APIS, QUORUM_APIS

# Quotes inside a JSON string are escaped, so no name can pass for these.
_OF_BROKER = re.compile(rb'"replicaId":\d')
_HAS_PARTITIONS = re.compile(rb'"(topics|responses)":\[\{')
_NOT_CONTROLLER = re.compile(rb'"errorCode":41\b')
_DIVERGING = b'"divergingEpoch":{'


def is_telling_fetch(line: bytes) -> bool:
    """Whether a Fetch has a consumer's position or was answered, was refused, or has a diverging epoch.

    Replicas fetch all the time: of their requests only those that were refused or diverged are kept. In a
    fetch session a consumer lists only partitions whose position has changed, and the answer has only those
    with records or with news: most of the time there are none.
    """
    if _DIVERGING in line or is_refused(line):
        return True
    return _HAS_PARTITIONS.search(line) is not None and _OF_BROKER.search(line) is None


def is_not_controller(line: bytes) -> bool:
    """Whether the answer is that another node is the active controller (NOT_CONTROLLER)."""
    return _NOT_CONTROLLER.search(line) is not None


REQUESTS: Mapping[str, Keep] = {
    # metadata answers to clients
    "METADATA": every_line,
    "DESCRIBE_TOPIC_PARTITIONS": every_line,
    # where clients fetch
    "FETCH": is_telling_fetch,
    "LIST_OFFSETS": every_line,
    "OFFSET_FOR_LEADER_EPOCH": every_line,
    "OFFSET_FETCH": every_line,
    "OFFSET_COMMIT": every_line,
    "TXN_OFFSET_COMMIT": every_line,
    # which clients are producers, which cache every metadata answer
    "PRODUCE": every_line,
    # who created or deleted a topic, or triggered an election
    "CREATE_TOPICS": every_line,
    "DELETE_TOPICS": every_line,
    "CREATE_PARTITIONS": every_line,
    "ELECT_LEADERS": every_line,
    # who deleted offsets, groups or records
    "OFFSET_DELETE": every_line,
    "DELETE_GROUPS": every_line,
    "DELETE_RECORDS": every_line,
    # how much of the metadata log each broker has applied, by the controller's clock
    "BROKER_HEARTBEAT": every_line,
    # which brokers were fenced
    "BROKER_REGISTRATION": is_refused,
    "ALTER_PARTITION": is_refused,
    "CONTROLLED_SHUTDOWN": is_refused,
    # which controllers were followed by others
    **dict.fromkeys(QUORUM_APIS.values(), is_refused),
    **dict.fromkeys(CONTROLLER_APIS.values(), is_not_controller),
}
"""By Kafka's name of the API (ApiKeys)."""
