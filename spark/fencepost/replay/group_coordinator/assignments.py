"""What members of classic groups were assigned, in the bytes of the consumer protocol."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fencepost.formats.decode import decode

Topics = Sequence[tuple[str, Sequence[int]]]
"""Partitions by topic, as a message lists them."""

_NEWEST = 3


def assigned_topics(messages: Sequence[bytes]) -> list[Topics | None]:
    """Of each ConsumerProtocolAssignment its partitions; None for what cannot be read."""
    column = pa.array(list(map(_of_known_version, messages)), pa.binary())
    listed = decode("ConsumerProtocolAssignment", "value", column).values.field("assigned_partitions")
    return [
        None if topics is None else [(each["topic"], each["partitions"]) for each in topics]
        for topics in listed.to_pylist()
    ]


def _of_known_version(message: bytes) -> bytes:
    """Kafka reads a newer version as the newest that it knows (ConsumerProtocol); faust writes version 4."""
    version = int.from_bytes(message[:2], "big", signed=True)
    return _NEWEST.to_bytes(2, "big") + message[2:] if version > _NEWEST else message
