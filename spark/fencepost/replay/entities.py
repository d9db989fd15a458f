"""Entities: the column by which an engine distributes rows to replays, and numbers for rows and values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Engine, Rows
from fencepost.replay.logs import Longs, longs
from fencepost.tables import Table

Entity = Callable[[pa.Table], pa.Array]
"""The entity of each row, as text; null for a row that belongs to none."""

_MOST_NUMBERS = 1 << 62


def with_entity(
    engine: Engine, table: Table, rows: Rows, entity: Entity, columns: Sequence[str] = ()
) -> Rows:
    """The rows of a table (of ``columns``, if some are named) with the column ``entity``, as
    ``Engine.replay`` takes them.
    """
    schema = table.schema_of(columns or tuple(table.columns)).append(pa.field("entity", pa.string()))
    return engine.map(rows, lambda each: each.append_column("entity", entity(each)), schema)


def bucket_of(key: tuple[str, ...], buckets: int, rows: pa.Table) -> pa.Array:
    """The bucket of each row, one of ``buckets``; rows with the same values of ``key`` have the same."""
    names = pc.binary_join_element_wise(
        *(rows[name].cast(pa.string()) for name in key), "/", null_handling="replace", null_replacement="?"
    )
    coded = names.combine_chunks().dictionary_encode()
    of_code = [str(crc32(name.encode()) % buckets) for name in coded.dictionary.to_pylist()]
    return pa.array(of_code, pa.string()).take(coded.indices)


def distinct(columns: Sequence[pa.ChunkedArray]) -> tuple[list[tuple[Any, ...]], pa.Array]:
    """The distinct rows of columns with few values, as tuples, and for each row its number among these."""
    coded = [_encoded(column) for column in columns]
    place = np.zeros(len(columns[0]), dtype=np.int64)
    for each in coded:
        place = place * len(each.dictionary) + each.indices.to_numpy(zero_copy_only=False)
    _, first, inverse = np.unique(place, return_index=True, return_inverse=True)
    rows = zip(*(each.take(pa.array(first)).to_pylist() for each in coded), strict=True)
    return list(rows), pa.array(inverse)


def numbered_rows(*columns: Longs) -> Longs:
    """A number for each row of columns; equal rows have equal numbers. The numbers have no gaps and are in
    the order in which the distinct rows first come.
    """
    numbers, count = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns if len(numbers) else ():
        values, span = _from_zero(column)
        if count * span > _MOST_NUMBERS:
            # looking up millions of numbers costs most, so it is done only where products exceed 64 bits
            numbers = _numbered(numbers)
            count = int(numbers.max()) + 1
        if count * span > _MOST_NUMBERS:
            values, span = _from_zero(_numbered(values))
        numbers, count = numbers * span + values, count * span
    return _numbered(numbers)


def _from_zero(column: Longs) -> tuple[Longs, int]:
    """The column less its least value, and one more than the largest value that this gives."""
    least = column.min()
    # the difference of two values may exceed 64 bits; then it wraps around, and equal values stay equal
    return column - least, int(column.max()) - int(least) + 1


def _numbered(values: Longs) -> Longs:
    return longs(pa.array(values).dictionary_encode().indices)


def first_of_each(numbers: Longs) -> Longs:
    """For each number that ``numbered_rows`` gives, in their order, the place at which it first comes."""
    if not len(numbers):
        return numbers
    newest = np.maximum.accumulate(numbers)
    return np.flatnonzero(np.concatenate([[True], newest[1:] > newest[:-1]]))


def last_of_each(numbers: Longs) -> Longs:
    """For each distinct number the place of its last occurrence."""
    return len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]


def numbered_values(*columns: pa.ChunkedArray) -> list[Longs]:
    """A number for each value, null included; equal values have equal numbers in all columns."""
    together = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    numbers = longs(_encoded(together).indices)
    return np.split(numbers, np.cumsum([len(column) for column in columns])[:-1])


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded


def tuples(rows: pa.Table) -> Iterable[tuple[Any, ...]]:
    """The rows as tuples of Python values, in the order of the columns."""
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)
