"""Rows as one value: Arrow's own stream format."""

from __future__ import annotations

import pyarrow as pa

_ZSTD = pa.ipc.IpcWriteOptions(compression="zstd")


def written(rows: pa.RecordBatch | pa.Table, *, compressed: bool = False) -> bytes:
    """The rows; ``compressed``: for what is kept."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_ZSTD if compressed else None) as writer:
        writer.write(rows)
    return bytes(sink.getvalue())


def read(value: bytes) -> pa.Table:
    """The rows in a value that ``written`` gave."""
    with pa.ipc.open_stream(value) as reader:
        return reader.read_all()
