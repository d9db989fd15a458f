"""Bytes as a broker writes them: record batches v2, the coordinator's records, the metadata log's records.

Written from Kafka's schemas with ``struct``, independently of the reader that is measured with it;
``kafka-dump-log`` checks both (tests/bench).
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fencepost.formats.crc32c import crc32c

Record = tuple[bytes | None, bytes | None]
"""Key and value; a value of None is a tombstone."""

Partitions = Mapping[bytes, Sequence[tuple[int, int]]]
"""Topic id -> partitions with their assignment epochs."""

_BATCH_OVERHEAD = (
    9  # leader epoch, magic and checksum: the part of the batch length before the checksummed bytes
)


def checksum(data: bytes | bytearray) -> int:
    """CRC-32C."""
    return int(crc32c(np.frombuffer(data, np.uint8), 0, len(data)))


def uuid_text(raw: bytes) -> str:
    """Kafka's text form of a uuid."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def varint(value: int) -> bytes:
    """An unsigned varint."""
    if value < 128:
        return bytes((value,))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    """A signed varint."""
    return varint(value << 1 ^ value >> 63)


def batch(
    records: Sequence[Record],
    timestamp_ms: int,
    *,
    control: bool = False,
    sequence: int = -1,
    leader_epoch: int = 0,
) -> bytes:
    """A record batch without the base offset, which comes first and is not in the checksum."""
    body = bytearray()
    for delta, (key, value) in enumerate(records):
        inside = b"\0\0" + zigzag(delta)
        inside += b"\x01" if key is None else zigzag(len(key)) + key
        inside += b"\x01" if value is None else zigzag(len(value)) + value
        inside += b"\0"
        body += zigzag(len(inside))
        body += inside
    count = len(records)
    covered = (
        struct.pack(
            ">hiqqqhii",
            0x20 if control else 0,
            count - 1,
            timestamp_ms,
            timestamp_ms,
            -1,
            -1,
            sequence,
            count,
        )
        + body
    )
    return struct.pack(">ibI", leader_epoch, 2, checksum(covered)) + covered


def placed(base_offset: int, batch_bytes: bytes) -> bytes:
    """The batch with its offset and length in front."""
    return struct.pack(">qi", base_offset, len(batch_bytes)) + batch_bytes


# --- the group coordinator's records -----------------------------------------------------------------------


def commit_record(
    group: str,
    topic: str,
    partition: int,
    *,
    topic_id: bytes | None,
    offset: int,
    now_ms: int,
    leader_epoch: int = -1,
) -> Record:
    """OffsetCommit (type 1, version 4); a broker before 4.3 does not know the id of a topic sent by name."""
    key = struct.pack(">h", 1) + _plain(group) + _plain(topic) + struct.pack(">i", partition)
    value = struct.pack(">hqi", 4, offset, leader_epoch) + b"\x01" + struct.pack(">q", now_ms)
    return key, value + (b"\0" if topic_id is None else b"\x01\x00\x10" + topic_id)


def commit_tombstone(group: str, topic: str, partition: int) -> Record:
    """The tombstone of a stored offset."""
    return struct.pack(">h", 1) + _plain(group) + _plain(topic) + struct.pack(">i", partition), None


def group_record(group: str, epoch: int, metadata_hash: int) -> Record:
    """ConsumerGroupMetadata (type 3)."""
    tags = b"\x01\x00\x08" + struct.pack(">q", metadata_hash) if metadata_hash else b"\0"
    return _key(3, group), struct.pack(">hi", 0, epoch) + tags


def member_record(group: str, member: str, client_id: str, topics: Iterable[str]) -> Record:
    """ConsumerGroupMemberMetadata (type 5)."""
    names = [_compact(name) for name in topics]
    value = b"\0\0" + b"\0\0" + _compact(client_id) + _compact("/127.0.0.1") + varint(len(names) + 1)
    # a broker writes the tag of the classic member's metadata even if there is none
    value += b"".join(names) + _compact("") + struct.pack(">i", 300_000) + b"\0" + b"\x01\x00\x01\x00"
    return _key(5, group, member), value


def target_epoch_record(group: str, epoch: int, now_ms: int | None) -> Record:
    """ConsumerGroupTargetAssignmentMetadata (type 6); it has a timestamp from 4.3."""
    tags = b"\0" if now_ms is None else b"\x01\x00\x08" + struct.pack(">q", now_ms)
    return _key(6, group), struct.pack(">hi", 0, epoch) + tags


def target_record(group: str, member: str, partitions: Mapping[bytes, Sequence[int]]) -> Record:
    """ConsumerGroupTargetAssignmentMember (type 7)."""
    value = b"\0\0" + varint(len(partitions) + 1)
    for topic_id, numbers in partitions.items():
        value += topic_id + _numbers(numbers) + b"\0"
    return _key(7, group, member), value + b"\0"


def assignment_record(
    group: str,
    member: str,
    *,
    epochs: tuple[int, int],
    state: int,
    assigned: Partitions,
    pending: Partitions,
    with_epochs: bool,
) -> Record:
    """ConsumerGroupCurrentMemberAssignment (type 8); ``epochs`` are the member's and its previous one."""
    value = struct.pack(">hiib", 0, *epochs, state)
    value += _topic_partitions(assigned, with_epochs) + _topic_partitions(pending, with_epochs)
    return _key(8, group, member), value + b"\0"


def tombstone(kind: int, group: str, member: str | None = None) -> Record:
    """The tombstone of a record of the group, or of one of its members."""
    return _key(kind, group, *([] if member is None else [member])), None


def _topic_partitions(topics: Partitions, with_epochs: bool) -> bytes:
    out = varint(len(topics) + 1)
    for topic_id, partitions in topics.items():
        out += topic_id + _numbers([number for number, _ in partitions])
        if with_epochs:
            epochs = _numbers([epoch for _, epoch in partitions])
            out += b"\x01\x00" + varint(len(epochs)) + epochs
        else:
            out += b"\0"
    return out


def _key(kind: int, *names: str) -> bytes:
    return struct.pack(">h", kind) + b"".join(_plain(name) for name in names)


def _plain(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _compact(text: str) -> bytes:
    data = text.encode()
    return varint(len(data) + 1) + data


def _numbers(numbers: Sequence[int]) -> bytes:
    return varint(len(numbers) + 1) + struct.pack(f">{len(numbers)}i", *numbers)


# --- the metadata log's records ----------------------------------------------------------------------------


def leader_change() -> Record:
    """The control record that begins an epoch of the metadata log with node 1 as leader."""
    voter = b"\x02" + struct.pack(">i", 1) + b"\0"
    return struct.pack(">hh", 0, 2), struct.pack(">hi", 0, 1) + voter + voter + b"\0"


def feature_level(name: str, level: int) -> Record:
    """FeatureLevelRecord."""
    return _metadata(12, 0, _compact(name) + struct.pack(">h", level))


def register_broker(
    version: int, incarnation: bytes, epoch: int, metadata_version: int, log_dir: bytes, *, broker_id: int = 1
) -> Record:
    """RegisterBrokerRecord; its range of metadata.version identifies the broker's release."""
    features = (("group.version", 0, 1), ("metadata.version", 7, metadata_version))
    body = struct.pack(">i?", broker_id, False) + incarnation + struct.pack(">q", epoch)
    body += b"\x02" + _compact("PLAINTEXT") + _compact("127.0.0.1") + struct.pack(">Hh", 9092, 0) + b"\0"
    body += varint(len(features) + 1)
    for name, low, high in features:
        body += _compact(name) + struct.pack(">hh", low, high) + b"\0"
    body += b"\0" + struct.pack(">??", True, False)
    return _metadata(0, version, body, tags=b"\x01\x00\x11\x02" + log_dir)


def topic(name: str, topic_id: bytes) -> Record:
    """TopicRecord."""
    return _metadata(2, 0, _compact(name) + topic_id)


def remove_topic(topic_id: bytes) -> Record:
    """RemoveTopicRecord."""
    return _metadata(9, 0, topic_id)


def partition(topic_id: bytes, number: int, log_dir: bytes, replicas: Sequence[int] = (1,)) -> Record:
    """PartitionRecord of a partition whose first replica leads, with all replicas in sync."""
    body = struct.pack(">i", number) + topic_id + _numbers(replicas) + _numbers(replicas) + b"\x01\x01"
    body += struct.pack(">iii", replicas[0], 0, 0) + varint(len(replicas) + 1) + log_dir * len(replicas)
    return _metadata(3, 2, body)


def partition_change(
    topic_id: bytes,
    number: int,
    *,
    isr: Sequence[int] | None = None,
    leader: int | None = None,
    replicas: Sequence[int] | None = None,
) -> Record:
    """PartitionChangeRecord; with a leader it begins a new leader epoch."""
    tags = [] if isr is None else [(0, _numbers(isr))]
    tags += [] if leader is None else [(1, struct.pack(">i", leader))]
    tags += [] if replicas is None else [(2, _numbers(replicas))]
    return _metadata(5, 0, struct.pack(">i", number) + topic_id, tags=_tags(tags))


def no_op() -> Record:
    """NoOpRecord, which an idle controller writes."""
    return _metadata(20, 0, b"")


def broker_change(broker_id: int, epoch: int, *, fenced: bool) -> Record:
    """BrokerRegistrationChangeRecord."""
    tags = [(0, struct.pack(">b", 1 if fenced else -1))]
    return _metadata(17, 0, struct.pack(">iq", broker_id, epoch), tags=_tags(tags))


def _tags(tags: Sequence[tuple[int, bytes]]) -> bytes:
    return varint(len(tags)) + b"".join(varint(tag) + varint(len(data)) + data for tag, data in tags)


def _metadata(api_key: int, version: int, body: bytes, tags: bytes = b"\0") -> Record:
    return None, b"\x01" + varint(api_key) + varint(version) + body + tags
