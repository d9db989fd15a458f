"""What members of classic groups were assigned, in the bytes of the consumer protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from fencepost.formats.decode import decode
from fencepost.replay.group_coordinator import faust
from fencepost.replay.group_coordinator.message_reader import Reader

Topics = Sequence[tuple[str, Sequence[int]]]
"""Partitions by topic, as a message lists them."""

_NEWEST = 3
_VERSION_BYTES = 2


def assigned_topics(messages: Sequence[bytes]) -> list[Topics | None]:
    """Of each ConsumerProtocolAssignment its partitions; None for what cannot be read.

    What follows the partitions may be missing: pykafka writes no user data.
    """
    column = pa.array(list(map(_of_known_version, messages)), pa.binary())
    read = decode("ConsumerProtocolAssignment", "value", column).values.to_pylist()
    return [
        _partitions_of(message) if fields is None else _topics(message, fields)
        for message, fields in zip(messages, read, strict=True)
    ]


def _topics(message: bytes, fields: Mapping[str, Any]) -> Topics:
    topics = [(each["topic"], each["partitions"]) for each in fields["assigned_partitions"]]
    return faust.without_copies(topics, fields["user_data"]) if _version(message) > _NEWEST else topics


def _partitions_of(message: bytes) -> Topics | None:
    try:
        return Reader(message, _VERSION_BYTES).partitions()
    except ValueError:
        return None


def _of_known_version(message: bytes) -> bytes:
    """Kafka reads a newer version as the newest that it knows (ConsumerProtocol); faust writes version 4."""
    return _NEWEST.to_bytes(2, "big") + message[2:] if _version(message) > _NEWEST else message


def _version(message: bytes) -> int:
    return int.from_bytes(message[:2], "big", signed=True)
