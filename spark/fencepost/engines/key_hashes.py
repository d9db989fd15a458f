"""Hashes of keys, and which of them are equal: eight bytes a key, in any process the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fencepost.formats.hash_kernels import hash_texts

Hashes = NDArray[np.uint64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_NULL = np.uint64(0x5851F42D4C957F2D)
_COLUMNS = (pa.int32(), pa.int64(), pa.timestamp("us", tz="UTC"))
"""Types of columns that are hashed as numbers."""


def hashes_of(keys: pa.Table) -> Hashes:
    """A hash of each row, in order."""
    hashes = np.zeros(keys.num_rows, dtype=np.uint64)
    for column in keys.columns:
        hashes = _mixed(hashes ^ _of_values(column.combine_chunks()))
    return hashes


def numbered(keys: pa.Table) -> NDArray[np.int64]:
    """A number for each row; only those of equal rows are equal. Nulls are equal."""
    numbers = np.zeros(keys.num_rows, dtype=np.int64)
    for column in keys.columns:
        codes = column.combine_chunks().dictionary_encode(null_encoding="encode")
        pairs = numbers * len(codes.dictionary) + codes.indices.to_numpy().astype(np.int64)
        # numbers stay smaller than rows, so that those of the next column fit
        numbers = np.unique(pairs, return_inverse=True)[1].astype(np.int64) if pairs.any() else pairs
    return numbers


def is_in(values: Hashes, among: Hashes) -> NDArray[np.bool_]:
    """Whether each value is in ``among``, which is sorted."""
    if not len(among):
        return np.zeros(len(values), dtype=np.bool_)
    at = np.minimum(np.searchsorted(among, values), len(among) - 1)
    return np.asarray(among[at] == values)


def _of_values(values: pa.Array) -> Hashes:
    if values.type in _COLUMNS:
        numbers = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False).view(np.uint64)
        hashes = _mixed(numbers + _MULTIPLIER)
    else:
        texts = values.cast(pa.large_binary())
        _, offsets, data = texts.buffers()
        hashes = np.zeros(len(texts), dtype=np.uint64)
        if data is not None:
            of_texts = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
            hash_texts(np.frombuffer(data, dtype=np.uint8), of_texts, hashes.view(np.int64))
        hashes = _mixed(hashes)
    if values.null_count:
        hashes[pc.is_null(values).to_numpy(zero_copy_only=False)] = _NULL
    return hashes


def _mixed(hashes: Hashes) -> Hashes:
    """Each bit depends on all bits, as the finalizer of MurmurHash3 makes it."""
    hashes = (hashes ^ (hashes >> _HALF)) * _MULTIPLIER
    hashes = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return hashes ^ (hashes >> _HALF)
