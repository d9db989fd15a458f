"""Columns as numpy and as Arrow, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fencepost.engines.key_hashes import numbered
from fencepost.replay import logs

Longs = logs.Longs
UNKNOWN = logs.UNKNOWN
Flags = NDArray[np.bool_]
Key = tuple[Any, ...]


def longs(column: pa.ChunkedArray | pa.Array) -> Longs:
    """A column of integers or booleans; null is UNKNOWN."""
    wide = column.cast(pa.int64())
    if wide.null_count:
        wide = pc.fill_null(wide, UNKNOWN)
    return np.asarray(wide.to_numpy(), dtype=np.int64)


def milliseconds(column: pa.ChunkedArray | pa.Array) -> Longs:
    """Timestamps as milliseconds since the epoch, null as UNKNOWN."""
    us = longs(column.cast(pa.timestamp("us", tz="UTC")))
    return np.where(us == UNKNOWN, UNKNOWN, us // 1000)


def nullable(values: Longs, kind: pa.DataType) -> pa.Array:
    """Integers as Arrow, UNKNOWN as null; as timestamps from milliseconds, as booleans from 0 and 1."""
    unknown = values == UNKNOWN
    if not unknown.any():
        plain, mask = values, None
    else:
        plain, mask = np.where(unknown, 0, values), unknown
    if pa.types.is_timestamp(kind):
        return pa.array(plain * 1000, pa.int64(), mask=mask).cast(kind)
    if pa.types.is_boolean(kind):
        return pa.array(plain != 0, kind, mask=mask)
    return pa.array(plain, pa.int64(), mask=mask).cast(kind)


def timestamps(ms: Longs) -> pa.Array:
    """Milliseconds since the epoch as timestamps in UTC, UNKNOWN as null."""
    return nullable(ms, pa.timestamp("us", tz="UTC"))


@dataclass(frozen=True)
class CodedTexts:
    """A column of few distinct texts: ``codes`` are places in ``names``; UNKNOWN is null."""

    codes: Longs
    names: tuple[str | None, ...]


class ColumnBuffer:
    """Rows that come in pieces of many, and become one Arrow table in the end.

    A column of a piece is an array of integers (UNKNOWN as null; a time in milliseconds; 0 and 1 for a
    boolean), an Arrow array, or one value for all rows of the piece; a missing column is null.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._counts: list[int] = []
        self._pieces: dict[str, list[Any]] = {name: [] for name in schema.names}

    def add(self, count: int, columns: Mapping[str, Any]) -> None:
        """Add ``count`` rows."""
        if not count:
            return
        self._counts.append(count)
        for name, pieces in self._pieces.items():
            pieces.append(columns.get(name))

    def to_arrow(self) -> pa.Table:
        """Every row added so far."""
        if not self._counts:
            return self._schema.empty_table()
        arrays = [self._column(self._pieces[field.name], field.type) for field in self._schema]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _column(self, pieces: list[Any], kind: pa.DataType) -> pa.Array:
        first = pieces[0]
        if isinstance(first, np.ndarray):
            return nullable(np.concatenate(pieces), kind)
        if isinstance(first, CodedTexts):
            codes = np.concatenate([piece.codes for piece in pieces])
            unknown = codes == UNKNOWN
            return pa.array(first.names, kind).take(pa.array(np.where(unknown, 0, codes), mask=unknown))
        if isinstance(first, pa.Array):
            return pa.concat_arrays(pieces)
        places = np.repeat(np.arange(len(pieces)), self._counts)
        return pa.array(pieces, kind).take(pa.array(places))


Piece = Mapping[str, Longs]
"""Columns of one length, by name."""


def split(rows: pa.Table, keys: Sequence[str], columns: Mapping[str, Longs]) -> dict[Key, Piece]:
    """``columns`` of ``rows``, divided by the values of the rows in ``keys`` (null is a value of its own)."""
    if not rows.num_rows:
        return {}
    place = numbered(rows.select(list(keys)))
    _, first, count = np.unique(place, return_index=True, return_counts=True)
    names = logs.named_by(rows, first, *keys)
    if len(names) > 1:
        order = np.argsort(place, kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
    ends = np.cumsum(count).tolist()
    return {
        key: {name: column[begin:end] for name, column in columns.items()}
        for key, begin, end in zip(names, [0, *ends], ends, strict=False)
    }


def ranks(column: pa.ChunkedArray) -> tuple[Longs, tuple[str, ...]]:
    """A column of texts as places among its sorted distinct texts, and these texts; null is UNKNOWN."""
    encoded = column.combine_chunks().dictionary_encode()
    names = encoded.dictionary.to_pylist()
    distinct = sorted(names)
    place = {name: at for at, name in enumerate(distinct)}
    by_code = np.array([place[name] for name in names] or [0], dtype=np.int64)
    codes = longs(encoded.indices)
    return np.where(codes == UNKNOWN, UNKNOWN, by_code[np.maximum(codes, 0)]), tuple(distinct)


def taken(column: Longs, at: Longs) -> Longs:
    """The values at these places; UNKNOWN where the place is UNKNOWN."""
    return np.append(column, UNKNOWN)[np.where(at == UNKNOWN, len(column), at)]


def first_at_or_after(keys: Longs, values: Longs, key: Longs, value: Longs) -> Longs:
    """The first place in ``keys`` and ``values``, which are sorted by both, that has each ``key`` and no
    smaller ``value``; without one, the place where it would be.
    """
    count = len(keys)
    order = np.lexsort(
        (
            np.arange(count + len(key)) < count,
            np.concatenate([values, value]),
            np.concatenate([keys, key]),
        )
    )
    is_wanted = order >= count
    before = np.arange(len(order)) - np.cumsum(is_wanted) + 1
    places = np.empty(len(key), dtype=np.int64)
    places[order[is_wanted] - count] = before[is_wanted]
    return places


def table_of(schema: pa.Schema, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    """Columns as a table of this schema."""
    return pa.Table.from_arrays([columns[each.name].cast(each.type) for each in schema], schema=schema)
