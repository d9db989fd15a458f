"""Segments of a data topic whose headers are real and whose payloads are holes: 10 GB cost little disk.

Every batch is valid for Kafka: its checksum is that of its header and of the zeros after it.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fencepost.formats.crc32c import TABLES

HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
_COVERED = 21
_RECORD_SIZE = 1000


def write_partition(folder: Path, size: int, batch_size: int) -> int:
    """One segment of about ``size`` bytes in ``folder``, in batches of ``batch_size``; returns
    their number.
    """
    folder.mkdir(parents=True)
    count = size // batch_size
    headers = _headers(count, batch_size)
    path = folder / "00000000000000000000.log"
    with path.open("wb", buffering=0) as file:
        file.truncate(count * batch_size)
        data, step = memoryview(headers.tobytes()), HEADER.itemsize
        for i in range(count):
            os.pwrite(file.fileno(), data[i * step : (i + 1) * step], i * batch_size)
    return count


def _headers(count: int, batch_size: int) -> NDArray[np.void]:
    """Ten producers in turn, each with its own sequences, some milliseconds apart."""
    rows = np.zeros(count, HEADER)
    index, records = np.arange(count), max(1, batch_size // _RECORD_SIZE)
    rows["base_offset"] = index * records
    rows["length"] = batch_size - 12
    rows["leader_epoch"] = 7
    rows["magic"] = 2
    rows["last_offset_delta"] = records - 1
    rows["base_timestamp"] = 1_795_212_159_944 + index * 3
    rows["max_timestamp"] = rows["base_timestamp"] + index % 7
    rows["producer_id"] = 1000 + index % 10
    rows["producer_epoch"] = index % 10
    rows["base_sequence"] = index // 10 * records
    rows["record_count"] = records
    covered = rows.view(np.uint8).reshape(count, HEADER.itemsize)[:, _COVERED:]
    rows["crc"] = _after_zeros(_crc_state(covered), batch_size - HEADER.itemsize) ^ np.uint32(0xFFFFFFFF)
    return rows


def _crc_state(data: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The running CRC-32C of each row."""
    state = np.full(data.shape[0], 0xFFFFFFFF, dtype=np.uint32)
    for column in data.T:
        state = TABLES[0, (state ^ column) & np.uint32(0xFF)] ^ (state >> np.uint32(8))
    return state


def _after_zeros(state: NDArray[np.uint32], count: int) -> NDArray[np.uint32]:
    """The running CRC-32C after ``count`` more zero bytes: it is linear in its bits, so matrices are
    squared.
    """
    # row i: the bits that bit i sets after one zero byte
    step = _crc_zero(np.uint32(1) << np.arange(32, dtype=np.uint32))
    while count:
        if count & 1:
            state = _apply(step, state)
        step, count = _apply(step, step), count >> 1
    return state


def _crc_zero(state: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return TABLES[0, state & np.uint32(0xFF)] ^ (state >> np.uint32(8))


def _apply(matrix: NDArray[np.uint32], state: NDArray[np.uint32]) -> NDArray[np.uint32]:
    result = np.zeros_like(state)
    for bit in range(32):
        result ^= np.where(state >> np.uint32(bit) & np.uint32(1), matrix[bit], np.uint32(0))
    return result
