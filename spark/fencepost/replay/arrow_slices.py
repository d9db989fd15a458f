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
    """The rows with these numbers, in this order, ``size`` of them at a time: no more are copied.

    Arrow itself copies a whole column of texts to take some of them, if it has several chunks.
    """
    batches = rows.to_batches()
    begins = np.cumsum([0, *(len(batch) for batch in batches)])
    for start in range(0, len(order), size):
        wanted = order[start : start + size]
        of_batch = np.searchsorted(begins, wanted, side="right") - 1
        numbers = np.unique(of_batch)
        taken = pa.Table.from_batches(
            [batches[at].take(pa.array(wanted[of_batch == at] - begins[at])) for at in numbers]
        )
        if len(numbers) > 1:
            places = np.argsort(np.argsort(of_batch, kind="stable"))
            taken = taken.combine_chunks().take(pa.array(places))
        yield taken


def filtered(rows: T, chosen: NDArray[np.bool_] | pa.Array | pa.ChunkedArray) -> T:
    """The rows, or values, for which ``chosen`` is true. Where that is all of them, they are not copied."""
    is_chosen = pa.array(chosen) if isinstance(chosen, np.ndarray) else chosen
    # null is not true
    return rows if pc.all(is_chosen, skip_nulls=False).as_py() else rows.filter(is_chosen)


def shared_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values; those that are there again and again are one object each."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    named = column.dictionary_encode()
    values = named.dictionary.to_pylist()
    return [None if code is None else values[code] for code in named.indices.to_pylist()]
