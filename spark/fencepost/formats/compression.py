"""Decompresses record batches in bounded memory: gzip, snappy (also with xerial framing), lz4
frames, zstd.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fencepost.formats import batch_kernels as k
from fencepost.formats.faults import Fault

# Kafka's CompressionType ids, the low three bits of a batch's attributes.
CODECS = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_READ_AHEAD = 1 << 20


class RefusedError(Exception):
    """The compressed bytes are malformed, or larger than allowed; the message says which."""


@dataclass(frozen=True)
class Unpacked:
    """Where each batch's records lie: in ``data`` where ``is_unpacked``, else in the segment itself."""

    data: k.Bytes
    is_unpacked: NDArray[np.bool_]
    starts: k.Longs
    ends: k.Longs
    faults: dict[int, Fault]


def unpack(data: k.Bytes, rows: k.Longs, max_batch_bytes: int, max_total_bytes: int) -> Unpacked:
    """Decompress every compressed batch of ``rows`` (batches x BATCH_FIELDS)."""
    starts = rows[:, k.POSITION] + k.HEADER_SIZE
    ends = rows[:, k.POSITION] + rows[:, k.SIZE]
    codecs = rows[:, k.ATTRIBUTES] & 7
    pieces: list[bytes] = []
    faults: dict[int, Fault] = {}
    total = 0
    for i in np.flatnonzero(codecs):
        room = min(max_batch_bytes, max_total_bytes - total)
        try:
            piece = decompress(int(codecs[i]), data[starts[i] : ends[i]].tobytes(), room)
        except RefusedError as refused:
            piece = b""
            detail = f"the batch at offset {rows[i, k.BASE_OFFSET]} matches its checksum but {refused}"
            faults[int(i)] = Fault(int(rows[i, k.POSITION]), int(rows[i, k.SIZE]), "bad_record", detail)
        pieces.append(piece)
        starts[i], ends[i] = total, total + len(piece)
        total += len(piece)
    joined = np.frombuffer(b"".join(pieces), dtype=np.uint8)
    return Unpacked(joined, codecs != 0, starts, ends, faults)


def decompress(codec: int, packed: bytes, limit: int) -> bytes:
    """Give the unpacked bytes, at most ``limit``; raises RefusedError."""
    name = CODECS.get(codec)
    if name is None:
        raise RefusedError(f"names compression type {codec}, which Kafka does not have")
    try:
        if name == "snappy":
            return _snappy(packed, limit)
        return _stream(name, packed, limit)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise RefusedError(f"its {name} data is malformed: {error}") from error


def _stream(name: str, packed: bytes, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    with pa.CompressedInputStream(pa.BufferReader(packed), name) as stream:
        while piece := stream.read(min(_READ_AHEAD, limit - size + 1)):
            size += len(piece)
            if size > limit:
                raise RefusedError(f"unpacks to more than {limit} bytes")
            pieces.append(piece)
    return b"".join(pieces)


def _snappy(packed: bytes, limit: int) -> bytes:
    if not packed.startswith(_XERIAL_MAGIC):
        return _snappy_block(packed, limit)
    pieces: list[bytes] = []
    size = 0
    position = _XERIAL_HEADER
    while position < len(packed):
        length = int.from_bytes(packed[position : position + 4], "big")
        block = packed[position + 4 : position + 4 + length]
        if len(block) < length or length == 0:
            raise ValueError("a block runs past the end")
        pieces.append(_snappy_block(block, limit - size))
        size += len(pieces[-1])
        position += 4 + length
    return b"".join(pieces)


def _snappy_block(block: bytes, limit: int) -> bytes:
    """Unpack a raw block. It begins with its unpacked size, so a large one is refused before it
    is unpacked.
    """
    size = 0
    for i, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            break
    if size > limit:
        raise RefusedError(f"unpacks to more than {limit} bytes")
    unpacked: bytes = pa.Codec("snappy").decompress(block, size, asbytes=True)
    return unpacked
