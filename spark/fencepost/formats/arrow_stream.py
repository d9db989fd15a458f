"""Rows packed into one value, in Arrow's own stream format."""

from __future__ import annotations

import pyarrow as pa

_ZSTD = pa.ipc.IpcWriteOptions(compression="zstd")


def written(rows: pa.RecordBatch | pa.Table, *, compressed: bool = False) -> bytes:
    """The rows as bytes; ``compressed`` saves space where they are stored."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_ZSTD if compressed else None) as writer:
        writer.write(rows)
    return bytes(sink.getvalue())


def read(value: bytes) -> pa.Table:
    """The rows in bytes that ``written`` returned."""
    with pa.ipc.open_stream(value) as reader:
        return reader.read_all()
