"""Slices and values of Arrow columns for a replay, without copies of long or repeated values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fencepost.replay.logs import Longs

T = TypeVar("T", pa.Table, pa.Array)


def slice_rows(rows: pa.Table, order: Longs, size: int) -> Iterator[pa.Table]:
    """The rows with these numbers, in this order, ``size`` of them at a time; only so many are copied at
    once.

    Arrow's own ``take`` copies a whole column of texts if it has several chunks.
    """
    batches = rows.to_batches()
    begins = np.cumsum([0, *(len(batch) for batch in batches)])
    for start in range(0, len(order), size):
        numbers_of_slice = order[start : start + size]
        of_batch = np.searchsorted(begins, numbers_of_slice, side="right") - 1
        batch_numbers = np.unique(of_batch)
        sliced = pa.Table.from_batches(
            [
                batches[at].take(pa.array(numbers_of_slice[of_batch == at] - begins[at]))
                for at in batch_numbers
            ]
        )
        if len(batch_numbers) > 1:
            places = np.argsort(np.argsort(of_batch, kind="stable"))
            sliced = sliced.combine_chunks().take(pa.array(places))
        yield sliced


def filtered(rows: T, chosen: NDArray[np.bool_] | pa.Array | pa.ChunkedArray) -> T:
    """The rows, or values, for which ``chosen`` is true. If that is all of them, they are not copied."""
    is_chosen = pa.array(chosen) if isinstance(chosen, np.ndarray) else chosen
    # null is not true
    return rows if pc.all(is_chosen, skip_nulls=False).as_py() else rows.filter(is_chosen)


def shared_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column as Python objects; equal values are the same object."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    named = column.dictionary_encode()
    values = named.dictionary.to_pylist()
    return [None if code is None else values[code] for code in named.indices.to_pylist()]
