"""Batches are what Kafka takes: their checksum, their layout, their sequences."""

from __future__ import annotations

import struct

import pytest
from record_batch import Batch, batch_heads, crc32c, next_sequence


def test_checksum() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32/ISCSI


@pytest.mark.parametrize(
    ("sequence", "records", "follows"),
    [(0, 3, 3), (2**31 - 5, 3, 2**31 - 2), (2**31 - 2, 4, 2), (2**31 - 1, 1, 0)],
)
def test_sequences_wrap(sequence: int, records: int, follows: int) -> None:
    assert next_sequence(sequence, records) == follows
    last = Batch([b""] * records, 1, 0, sequence).last_sequence
    assert next_sequence(last, 1) == follows


def test_layout() -> None:
    data = Batch([b"a", b"bc"], producer_id=7, producer_epoch=2, base_sequence=5, transactional=True).encode()
    base, size, leader_epoch, magic, checksum, attributes, last = struct.unpack_from(">qiibIhi", data)
    assert (base, size, leader_epoch, magic, attributes, last) == (0, len(data) - 12, -1, 2, 0x10, 1)
    assert checksum == crc32c(data[21:])
    assert struct.unpack_from(">qhii", data, 43) == (7, 2, 5, 2)
    # length, attributes, timestamp delta, offset delta, no key, value, no headers
    assert data[61:] == bytes.fromhex("0e 00 00 00 01 02 61 00 10 00 00 02 01 04 62 63 00")


def test_heads_of_whole_batches() -> None:
    one = Batch([b"a", b"bc"]).encode()
    later = struct.pack(">q", 2) + one[8:12] + struct.pack(">i", 4) + one[16:]
    assert batch_heads(one + later) == [(0, 1, -1), (2, 3, 4)]
    assert batch_heads(one + later[:-1]) == [(0, 1, -1)]
    assert batch_heads(one + later[:40]) == [(0, 1, -1)]
