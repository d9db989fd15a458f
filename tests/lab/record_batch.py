"""Record batches as a producer builds them, with any producer id, epoch and sequence."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

_TRANSACTIONAL = 0x10
_HEAD = struct.Struct(">qii7xi")
_HEAD_BYTES = 61
_SEQUENCES = 1 << 31


def _table() -> tuple[int, ...]:
    found = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        found.append(value)
    return tuple(found)


_CRC32C = _table()


def crc32c(data: bytes) -> int:
    """The checksum of Kafka's record batches (Castagnoli)."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _CRC32C[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


def next_sequence(sequence: int, records: int) -> int:
    """The sequence so many records later; 2147483647 is followed by 0."""
    return (sequence + records) % _SEQUENCES


def _signed_varint(value: int) -> bytes:
    zigzag = value << 1 ^ value >> 63
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def _record(index: int, value: bytes) -> bytes:
    body = b"\0" + _signed_varint(0) + _signed_varint(index) + _signed_varint(-1)
    body += _signed_varint(len(value)) + value + _signed_varint(0)
    return _signed_varint(len(body)) + body


@dataclass(frozen=True)
class Batch:
    """One batch. Without a producer id it is that of a producer that is not idempotent."""

    values: Sequence[bytes]
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    timestamp_ms: int | None = None
    """Of its records; None for now."""

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; -1 without a producer id."""
        return -1 if self.base_sequence < 0 else next_sequence(self.base_sequence, len(self.values) - 1)

    def encode(self) -> bytes:
        """The bytes (magic 2, uncompressed, CreateTime)."""
        now = time.time_ns() // 1_000_000 if self.timestamp_ms is None else self.timestamp_ms
        count = len(self.values)
        producer = (self.producer_id, self.producer_epoch, self.base_sequence, count)
        attributes = _TRANSACTIONAL if self.transactional else 0
        checked = struct.pack(">hiqqqhii", attributes, count - 1, now, now, *producer)
        checked += b"".join(_record(index, value) for index, value in enumerate(self.values))
        tail = struct.pack(">ibI", -1, 2, crc32c(checked)) + checked
        return struct.pack(">qi", 0, len(tail)) + tail


def batch_heads(data: bytes) -> list[tuple[int, int, int]]:
    """First offset, last offset and leader epoch of every whole batch in what a Fetch returned."""
    found, position = [], 0
    while position + _HEAD_BYTES <= len(data):
        base, size, epoch, last = _HEAD.unpack_from(data, position)
        if position + 12 + size <= len(data):
            found.append((base, base + last, epoch))
        position += 12 + size
    return found
