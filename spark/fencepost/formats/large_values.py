"""Stores large values of ``bronze.records`` compressed, and reads a limited number of bytes at a time.

The record of a classic group has every member, and the record of the next generation repeats nearly all of
it: a thousand members that rebalance ten thousand times are gigabytes. Compressed, such a value shrinks to a
tenth, and so does the memory that a log takes between its files and its replay, on every engine.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_LARGE = 16 << 10
"""Smaller values stay as they are: Parquet compresses many of them together, and anybody can read them."""

_BYTES_AT_ONCE = 8 << 20
_CODEC = pa.Codec("zstd", 1)


def compressed(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The values as they are stored, and for each that is stored compressed its original size, else null."""
    sizes = pc.if_else(pc.greater(pc.binary_length(values), _LARGE), pc.binary_length(values), None)
    if sizes.null_count == len(sizes):
        return values, sizes
    stored = [
        value.as_py() if size is None else _CODEC.compress(value.as_buffer(), asbytes=True)
        for value, size in zip(values, sizes.to_pylist(), strict=True)
    ]
    return pa.array(stored, values.type), sizes


def as_written(rows: pa.Table) -> Iterator[pa.Table]:
    """Rows of ``bronze.records`` with every ``value`` decompressed, in pieces of limited size; one empty
    piece if there are no rows.
    """
    sizes = pc.fill_null(pc.coalesce(rows["value_size"], pc.binary_length(rows["value"])), 0)
    ends = np.cumsum(sizes.to_numpy().astype(np.int64))
    begin = 0
    while begin < rows.num_rows or begin == 0:
        before = 0 if begin == 0 else int(ends[begin - 1])
        end = max(begin + 1, int(np.searchsorted(ends, before + _BYTES_AT_ONCE, side="right")))
        yield _unpacked(rows.slice(begin, end - begin))
        begin = end


def _unpacked(rows: pa.Table) -> pa.Table:
    if rows["value_size"].null_count == rows.num_rows:
        return rows
    sizes = rows["value_size"].to_pylist()
    values = [
        value.as_py() if size is None else _CODEC.decompress(value.as_buffer(), size, asbytes=True)
        for value, size in zip(rows["value"], sizes, strict=True)
    ]
    at = rows.column_names.index("value")
    return rows.set_column(at, "value", pa.array(values, rows.schema.field("value").type))
