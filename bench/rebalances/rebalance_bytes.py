"""Bytes of a classic group: its record with every member, subscriptions and assignments.

Written from Kafka's schemas (GroupMetadataValue version 3, ConsumerProtocolSubscription version 3,
ConsumerProtocolAssignment version 3), independently of their reader. Only the checksum uses the product's
code, because a gigabyte of records is generated.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import encoding

PROTOCOL = "cooperative-sticky"
Partition = tuple[str, int]


def text(value: str) -> bytes:
    """A string."""
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


def data(value: bytes) -> bytes:
    """Bytes."""
    return struct.pack(">i", len(value)) + value


def listed(partitions: Sequence[Partition]) -> bytes:
    """Partitions by topic, as both messages have them, in order."""
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    encoded = struct.pack(">i", len(topics))
    for topic, numbers in topics.items():
        encoded += text(topic) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
    return encoded


def subscription(topics: bytes, owned: bytes, generation: int) -> bytes:
    """The subscription of a cooperative-sticky member of Kafka 3.x and 4.x; ``topics`` and ``owned`` are
    encoded.
    """
    number = struct.pack(">i", generation)
    return b"\0\3" + topics + b"\0\0\0\4" + number + owned + number + b"\xff\xff"


def subscribed(topics: Sequence[str]) -> bytes:
    """The topics of a subscription."""
    return struct.pack(">i", len(topics)) + b"".join(map(text, topics))


def assignment(partitions: bytes) -> bytes:
    """The assignment of a member; ``partitions`` are encoded."""
    return b"\0\3" + partitions + b"\xff\xff\xff\xff"


def member(member_id: str, instance_id: str | None, client_id: str) -> bytes:
    """The beginning of a member in the record, up to its subscription."""
    instance = b"\xff\xff" if instance_id is None else text(instance_id)
    names = text(member_id) + instance + text(client_id) + text("/127.0.0.1")
    return names + struct.pack(">ii", 300_000, 45_000)


def group_batch(group: str, generation: int, leader: str, members: Sequence[bytes], ms: int) -> bytes:
    """A batch with the record of a generation, without its offset."""
    key = struct.pack(">h", 2) + text(group)
    head = struct.pack(">h", 3) + text("consumer") + struct.pack(">i", generation)
    head += text(PROTOCOL) + text(leader) + struct.pack(">q", ms)
    value = b"".join((head, struct.pack(">i", len(members)), *members))
    inside = b"\0\0\0" + encoding.zigzag(len(key)) + key + encoding.zigzag(len(value))
    covered = b"".join(
        (
            struct.pack(">hiqqqhii", 0, 0, ms, ms, -1, -1, -1, 1),
            encoding.zigzag(len(inside) + len(value) + 1),
            inside,
            value,
            b"\0",
        )
    )
    return struct.pack(">ibI", 0, 2, encoding.checksum(covered)) + covered
