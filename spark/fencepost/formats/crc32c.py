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
    return crc32c_of_more(0, buffer, start, end)


@kernel
def crc32c_of_more(before: int, buffer: NDArray[np.uint8], start: int, end: int) -> int:
    """Give the CRC-32C of bytes of which ``before`` is the checksum, and of ``buffer[start:end]`` behind
    them.
    """
    crc = np.uint32(before) ^ np.uint32(0xFFFFFFFF)
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


def followed_by_zeros(registers: NDArray[np.uint32], count: int) -> NDArray[np.uint32]:
    """The register of the checksum after ``count`` bytes of zero, for each register.

    That is linear (over bits): checksums of buffers of one length differ by what becomes of the bytes in
    which the buffers differ, whatever else they hold.
    """
    power = _after_a_zero(_BITS)
    while count:
        if count & 1:
            registers = _applied(power, registers)
        power = _applied(power, power)
        count >>= 1
    return registers


_BITS = np.uint32(1) << np.arange(32, dtype=np.uint32)


def _after_a_zero(registers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    after: NDArray[np.uint32] = TABLES[0, registers & np.uint32(0xFF)] ^ (registers >> np.uint32(8))
    return after


def _applied(images: NDArray[np.uint32], registers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """A linear map, given by the images of single bits, of each register."""
    found = np.zeros_like(registers)
    for bit, image in zip(_BITS, images, strict=True):
        found ^= np.where(registers & bit, image, np.uint32(0))
    return found
