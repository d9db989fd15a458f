"""Merges batches that matter only because no offset is missing in them into few rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fencepost.replay.logs import longs

Mask = NDArray[np.bool_]


def mask(column: pa.ChunkedArray | pa.Array) -> Mask:
    """A column of booleans as NumPy has it; null becomes False."""
    return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def are_whole(batches: pa.Table) -> Mask:
    """For each batch whether it has kept all its records."""
    spans = longs(batches["last_offset"]) - longs(batches["base_offset"]) + 1
    return np.asarray(longs(batches["record_count"]) == spans)


def merge_batches(batches: pa.Table, stay: Mask) -> pa.Table:
    """The batches that ``stay``, and one batch, without a crc, for each run of others that one leader wrote
    and that has no hole.
    """
    if not batches.num_rows:
        return batches
    base, last = longs(batches["base_offset"]), longs(batches["last_offset"])
    epoch, size, ms = (longs(batches[name]) for name in ("leader_epoch", "size", "max_timestamp_ms"))
    begins = np.ones(len(base), dtype=np.bool_)
    begins[1:] = stay[1:] | stay[:-1] | (base[1:] != last[:-1] + 1) | (epoch[1:] != epoch[:-1])
    first = np.flatnonzero(begins)
    ends = np.concatenate([first[1:], [len(base)]]) - 1
    merged = batches.take(pa.array(first))
    is_merged = ~stay[first]
    spans = last[ends] - base[first] + 1
    columns = {
        "last_offset": last[ends],
        "record_count": np.where(is_merged, spans, longs(merged["record_count"])),
        "size": np.add.reduceat(size, first),
        "max_timestamp_ms": np.maximum.reduceat(ms, first),
    }
    nothing = {"attributes": 0, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1,
               "is_transactional": False, "is_control": False, "crc": None}  # fmt: skip
    for name, values in columns.items():
        merged = _with(merged, name, pa.array(values))
    for name, value in nothing.items():
        scalar = pa.scalar(value, merged.schema.field(name).type)
        merged = _with(merged, name, pc.if_else(pa.array(is_merged), scalar, merged[name]))
    return merged


def _with(rows: pa.Table, name: str, values: pa.Array) -> pa.Table:
    at = rows.schema.get_field_index(name)
    return rows.set_column(at, rows.schema.field(at), values.cast(rows.schema.field(at).type))
