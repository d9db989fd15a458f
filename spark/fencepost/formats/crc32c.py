"""CRC-32C (Castagnoli), the checksum of Kafka's record batches, sixteen bytes a step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fencepost.formats.jit import kernel

_POLYNOMIAL = 0x82F63B78
_SLICES = 16


def _tables() -> NDArray[np.uint32]:
    """Row k maps a byte to its remainder after k further zero bytes (slicing-by-16)."""
    tables = np.zeros((_SLICES, 256), dtype=np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
        tables[0, byte] = crc
    for k in range(1, _SLICES):
        previous = tables[k - 1]
        tables[k] = (previous >> np.uint32(8)) ^ tables[0, previous & np.uint32(0xFF)]
    return tables


TABLES = _tables()


@kernel
def crc32c(buffer: NDArray[np.uint8], start: int, end: int) -> int:
    """Give the CRC-32C of ``buffer[start:end]``; the caller has checked the bounds."""
    crc = np.uint32(0xFFFFFFFF)
    position = np.uint64(start)
    stop = np.uint64(end)
    step = np.uint64(16)
    while position + step <= stop:
        mixed = np.uint32(0)
        for k in range(16):
            byte = np.uint32(buffer[position + np.uint64(k)])
            if k < 4:
                byte ^= (crc >> np.uint32(8 * k)) & np.uint32(0xFF)
            mixed ^= TABLES[15 - k, byte]
        crc = mixed
        position += step
    while position < stop:
        crc = TABLES[0, (crc ^ np.uint32(buffer[position])) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
        position += np.uint64(1)
    return int(crc ^ np.uint32(0xFFFFFFFF))
