"""Columns as numpy and as Arrow, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]

UNKNOWN = -(2**63)
"""Stands for null in columns of integers: no offset, epoch, sequence or time is this number."""


def longs(column: pa.ChunkedArray | pa.Array) -> Longs:
    """A column of integers; null is UNKNOWN."""
    filled = pc.fill_null(column.cast(pa.int64()), UNKNOWN)
    return np.asarray(filled.to_numpy(), dtype=np.int64)


def flags(column: pa.ChunkedArray | pa.Array) -> Flags:
    """A column of booleans; null is false."""
    return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def nullable(values: Longs, kind: pa.DataType) -> pa.Array:
    """Integers as Arrow, UNKNOWN as null; as a timestamp when that is wanted, from milliseconds."""
    if pa.types.is_timestamp(kind):
        return timestamps(values)
    unknown = values == UNKNOWN
    return pa.array(np.where(unknown, 0, values), pa.int64(), mask=unknown).cast(kind)


def timestamps(ms: Longs) -> pa.Array:
    """Milliseconds since the epoch as timestamps in UTC, UNKNOWN as null."""
    unknown = ms == UNKNOWN
    us = pa.array(np.where(unknown, 0, ms) * 1000, pa.int64(), mask=unknown)
    return us.cast(pa.timestamp("us", tz="UTC"))


def milliseconds(column: pa.ChunkedArray | pa.Array) -> Longs:
    """Timestamps as milliseconds since the epoch, null as UNKNOWN."""
    us = longs(column.cast(pa.timestamp("us", tz="UTC")))
    return np.where(us == UNKNOWN, UNKNOWN, us // 1000)


def flag(values: Flags, known: Flags) -> pa.Array:
    """Booleans as Arrow, null where they are not ``known``."""
    return pa.array(values, pa.bool_(), mask=~known)


def split(rows: pa.Table, keys: Sequence[str]) -> Iterator[tuple[tuple[object, ...], pa.Table]]:
    """Rows by what these columns hold (null is a value of its own), each with its key."""
    if not rows.num_rows:
        return
    codes = np.zeros(rows.num_rows, dtype=np.int64)
    for key in keys:
        column = rows[key].combine_chunks().dictionary_encode(null_encoding="encode")
        indices = np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        # ranks, not products: many columns of many values do not pass 64 bits
        _, codes = np.unique(codes * (len(column.dictionary) + 1) + indices, return_inverse=True)
    if codes.max() == 0:
        order, taken = np.arange(len(codes)), rows
    else:
        order = np.argsort(codes, kind="stable")
        taken = rows.take(pa.array(order))
    ordered = codes[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    ends = np.concatenate([begins[1:], [len(codes)]])
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        piece = taken.slice(begin, end - begin)
        yield tuple(piece[key][0].as_py() for key in keys), piece


def rows_of(schema: pa.Schema, count: int, columns: Mapping[str, Any]) -> pa.Table:
    """A table of ``count`` rows: a column is Arrow's, integers (UNKNOWN as null), or one value for all rows.

    A column that is not given is null.
    """
    return pa.Table.from_arrays(
        [_column(columns.get(field.name), field.type, count) for field in schema], schema=schema
    )


def _column(given: Any, kind: pa.DataType, count: int) -> pa.Array:
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return given.cast(kind)
    if isinstance(given, np.ndarray):
        return nullable(given, kind)
    if isinstance(given, list):
        return pa.array(given, kind)
    return pa.nulls(count, kind) if given is None else pa.repeat(pa.scalar(given, kind), count)
