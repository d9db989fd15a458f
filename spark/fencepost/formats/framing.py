"""Reads type and version, which stand before the body of a record's key or value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fencepost.formats import memory as m
from fencepost.formats.batch_kernels import Bytes, Longs
from fencepost.formats.interpreter import unsigned_varint
from fencepost.formats.jit import kernel

# coordinator: int16 type before a key (CoordinatorRecordSerde), int16 version before a value
# metadata: varints frame version, apiKey, version (AbstractApiMessageSerde)
# control: int16 version and int16 type in a key, int16 version before a value (EndTransactionMarker)
# raft_control: the version is the body's own first field (ControlRecordUtils)
# versioned: int16 version (ConsumerProtocol)
# versioned_32: int32 version, the body's own first field (SubscriptionInfo, AssignmentInfo of Kafka Streams)
TYPE_16, VERSION_16, METADATA, CONTROL_KEY, VERSION_INSIDE, VERSION_32_INSIDE = 0, 1, 2, 3, 4, 5
_MODES = {
    ("coordinator", "key"): TYPE_16,
    ("coordinator", "value"): VERSION_16,
    ("metadata", "value"): METADATA,
    ("control", "key"): CONTROL_KEY,
    ("control", "value"): VERSION_16,
    ("raft_control", "value"): VERSION_INSIDE,
    ("versioned", "value"): VERSION_16,
    ("versioned_32", "value"): VERSION_32_INSIDE,
}
ABSENT = -32769  # no int16
_FRAME_VERSION = 1


@dataclass(frozen=True)
class Cells:
    """A binary column as the kernels read it: ``data`` and, per row, where the cell starts and ends."""

    data: Bytes
    starts: Longs
    ends: Longs
    present: NDArray[np.bool_]


def cells(column: pa.Array | pa.ChunkedArray) -> Cells:
    """Look into a binary, large_binary or string column without copying it."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    large = pa.types.is_large_binary(column.type) or pa.types.is_large_string(column.type)
    if not large and not (pa.types.is_binary(column.type) or pa.types.is_string(column.type)):
        raise TypeError(f"a column of {column.type} holds no record bytes: give binary or large_binary")
    _, offsets, data = column.buffers()
    width = np.dtype(np.int64 if large else np.int32)
    ends = np.zeros(1, width) if offsets is None else np.frombuffer(offsets, dtype=width)
    ends = ends[column.offset : column.offset + len(column) + 1].astype(np.int64)
    view = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    view.flags.writeable = False
    present = column.is_valid().to_numpy(zero_copy_only=False)
    return Cells(view, ends[:-1].copy(), ends[1:].copy(), present)


def locate(cell: Cells, framing: str, part: str) -> tuple[Longs, Longs]:
    """Give (type, version) per cell, ABSENT where there is none or it is cut; move ``starts`` to the body."""
    types = np.full(cell.starts.size, ABSENT, dtype=np.int64)
    versions = np.full(cell.starts.size, ABSENT, dtype=np.int64)
    columns = (cell.data, cell.starts, cell.ends, cell.present)
    _locate(columns, _MODES[framing, part], types, versions)
    return types, versions


@kernel
def _metadata_frame(data: Bytes, position: int, end: int) -> tuple[int, int, int]:
    """Give (apiKey, version, body); the body is -1 when the frame is cut or of another frame version."""
    frame, position = unsigned_varint(data, position, end)
    if position < 0 or frame != _FRAME_VERSION:
        return ABSENT, ABSENT, -1
    api_key, position = unsigned_varint(data, position, end)
    if position < 0:
        return ABSENT, ABSENT, -1
    version, position = unsigned_varint(data, position, end)
    return api_key, version if position >= 0 else ABSENT, position


@kernel
def _integer_frame(data: Bytes, position: int, end: int, mode: int) -> tuple[int, int, int]:
    """Give (type, version, body) of the framings that are made of integers."""
    if mode == VERSION_32_INSIDE:
        return ABSENT, (m.int32(data, position) if end - position >= 4 else ABSENT), position
    first = m.int16(data, position)
    if mode == TYPE_16:
        return first, 0, position + 2
    if mode == CONTROL_KEY:
        return (m.int16(data, position + 2) if end - position >= 4 else ABSENT), first, position + 4
    return ABSENT, first, position + (2 if mode == VERSION_16 else 0)


@kernel
def _locate(
    cell: tuple[Bytes, Longs, Longs, NDArray[np.bool_]], mode: int, types: Longs, versions: Longs
) -> None:
    data, starts, ends, present = cell
    for row in range(starts.size):
        if not present[row]:
            continue
        if mode == METADATA:
            types[row], versions[row], body = _metadata_frame(data, starts[row], ends[row])
        elif ends[row] - starts[row] >= 2:
            types[row], versions[row], body = _integer_frame(data, starts[row], ends[row], mode)
        else:
            continue
        if 0 <= body <= ends[row]:
            starts[row] = body
