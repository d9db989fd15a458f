"""Bytes of transactions as a broker writes them: records of ``__transaction_state``, batches and markers.

Written from Kafka's schemas with ``struct``, independently of the reader that is measured with it; the
envelope of a batch is that of the other generators (``encoding``).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import encoding
from encoding import Record

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
"""org.apache.kafka.coordinator.transaction.TransactionState"""

_TRANSACTIONAL, _CONTROL = 0x10, 0x20
_ATTRIBUTES_AT = 9
"""The position of the attributes in ``encoding.batch``: after leader epoch, magic and checksum."""


@dataclass(frozen=True)
class Value:
    """TransactionLogValue, version 1; ``started_ms`` is -1 without a transaction."""

    status: int
    producer_id: int
    producer_epoch: int
    partitions: tuple[tuple[str, int], ...]
    now_ms: int
    started_ms: int
    transaction_version: int
    timeout_ms: int = 60_000


def transaction_record(transactional_id: str, value: Value) -> Record:
    """A record of ``__transaction_state``."""
    name = transactional_id.encode()
    head = struct.pack(">hqhib", 1, value.producer_id, value.producer_epoch, value.timeout_ms, value.status)
    topics: dict[str, list[int]] = {}
    for topic, number in value.partitions:
        topics.setdefault(topic, []).append(number)
    # a transaction that has not begun has no list of partitions, one that has ended has an empty one
    listed = b"\0" if value.status == EMPTY else encoding.varint(len(topics) + 1)
    for topic, numbers in topics.items():
        text = topic.encode()
        listed += encoding.varint(len(text) + 1) + text + encoding.varint(len(numbers) + 1)
        listed += struct.pack(f">{len(numbers)}i", *numbers) + b"\0"
    tags = b"\0\x08" + struct.pack(">q", value.producer_id)
    if value.transaction_version:
        tags = b"\x02" + tags + b"\x02\x02" + struct.pack(">h", value.transaction_version)
    else:
        tags = b"\x01" + tags
    times = struct.pack(">qq", value.now_ms, value.started_ms)
    return struct.pack(">hh", 0, len(name)) + name, head + listed + times + tags


def data_batch(
    producer_id: int, producer_epoch: int, sequence: int, records: int, timestamp_ms: int
) -> bytes:
    """A batch of a transactional producer."""
    written: list[Record] = [(None, b"x")] * records
    return _of_producer(
        encoding.batch(written, timestamp_ms, sequence=sequence), producer_id, producer_epoch, _TRANSACTIONAL
    )


def marker_batch(producer_id: int, producer_epoch: int, timestamp_ms: int, *, commit: bool) -> bytes:
    """A marker with its coordinator's first epoch."""
    record = struct.pack(">hh", 0, commit), struct.pack(">hi", 0, 0)
    attributes = _TRANSACTIONAL | _CONTROL
    return _of_producer(
        encoding.batch([record], timestamp_ms, control=True), producer_id, producer_epoch, attributes
    )


def _of_producer(batch: bytes, producer_id: int, producer_epoch: int, attributes: int) -> bytes:
    """The batch with these attributes and this producer, and the checksum of that."""
    covered = bytearray(batch[_ATTRIBUTES_AT:])
    struct.pack_into(">h", covered, 0, attributes)
    # after the attributes, the last offset's delta and two timestamps
    struct.pack_into(">qh", covered, 22, producer_id, producer_epoch)
    return batch[:5] + struct.pack(">I", encoding.checksum(covered)) + bytes(covered)
