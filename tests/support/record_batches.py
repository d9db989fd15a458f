"""Record batches (format v2) with any content, as a broker frames them."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy as np

from fencepost.formats.crc32c import crc32c


def zigzag(value: int) -> bytes:
    """A signed varint."""
    raw = (value << 1) ^ (value >> 63)
    out = bytearray()
    while raw > 127:
        out.append(raw & 127 | 128)
        raw >>= 7
    return bytes([*out, raw])


def sized(data: bytes | None) -> bytes:
    """A nullable length-prefixed field of a record."""
    return zigzag(-1) if data is None else zigzag(len(data)) + data


def encode_batch(
    records: Iterable[tuple[bytes | None, bytes | None]],
    base_offset: int = 0,
    attributes: int = 0,
    body: bytes | None = None,
    count: int | None = None,
) -> bytes:
    """A record batch v2 with a right checksum; ``body`` and ``count`` replace what the records give."""
    parts = []
    for delta, (key, value) in enumerate(records):
        inside = b"\0" + zigzag(delta) + zigzag(delta) + sized(key) + sized(value) + zigzag(0)
        parts.append(zigzag(len(inside)) + inside)
    body = b"".join(parts) if body is None else body
    count = len(parts) if count is None else count
    covered = struct.pack(
        ">hiqqqhii", attributes, max(count - 1, 0), 1_700_000_000_000, 1_700_000_009_000, 7, 3, 0, count
    )
    covered += body
    checked = np.frombuffer(covered, dtype=np.uint8)
    checked.flags.writeable = False
    crc = crc32c(checked, 0, checked.size)
    return struct.pack(">qiibI", base_offset, len(covered) + 9, 5, 2, crc) + covered
