"""Classifies the records of a topic: type, name, version, and whether key and value parse to the end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fencepost.formats import emit as e
from fencepost.formats import interpreter as i
from fencepost.formats.batch_kernels import Longs
from fencepost.formats.decode import entries_of, status_names
from fencepost.formats.framing import ABSENT, Cells, cells, locate
from fencepost.formats.program import library
from fencepost.formats.schemas import record_types, types_of

CLASSIFIED_SCHEMA = pa.schema(
    [
        ("record_type", pa.int32()),
        ("record_name", pa.string()),
        ("value_version", pa.int32()),
        ("decode_status", pa.string()),
    ]
)
_CONTROL = "control"
_FRAMINGS = {
    "__consumer_offsets": "coordinator",
    "__transaction_state": "coordinator",
    "__share_group_state": "coordinator",
    "__cluster_metadata": "metadata",
}


def key_types(keys: pa.Array | pa.ChunkedArray) -> NDArray[np.int16]:
    """The record type of each coordinator key, -1 where there is none."""
    types, _ = locate(cells(keys), "coordinator", "key")
    return np.where(types == ABSENT, -1, types).astype(np.int16)


def classify(
    topic: str,
    keys: pa.Array | pa.ChunkedArray,
    values: pa.Array | pa.ChunkedArray,
    is_control: pa.Array | pa.ChunkedArray | NDArray[np.bool_],
) -> pa.RecordBatch:
    """Give one row of CLASSIFIED_SCHEMA per record of ``topic``, columns as in ``bronze.records``.

    ``known`` means that key and value were walked to their last byte. Records of any other topic are
    ``unknown_type``; control records are ``control``, in every topic.
    """
    key, value = cells(keys), cells(values)
    control = _booleans(is_control)
    classified = _Classified.of(control.size)
    framing = _FRAMINGS.get(topic)
    if framing is not None:
        _fill(topic, framing, key, value, classified)
    if control.any():
        _fill_control(cells(keys), cells(values), control, classified)
    names = pa.DictionaryArray.from_arrays(
        pa.array(classified.names, mask=classified.names < 0), pa.array(_names())
    )
    columns = [
        pa.array(classified.types.astype(np.int32), mask=classified.types == ABSENT),
        names.cast(pa.string()),
        pa.array(classified.versions.astype(np.int32), mask=classified.versions == ABSENT),
        status_names(classified.codes),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=CLASSIFIED_SCHEMA)


@dataclass(frozen=True)
class _Classified:
    """Per record: type and version (ABSENT where there is none), index in ``_names()`` or -1, status code."""

    types: Longs
    versions: Longs
    names: Longs
    codes: NDArray[np.int8]

    @classmethod
    def of(cls, count: int) -> _Classified:
        absent = np.full(count, ABSENT, dtype=np.int64)
        unknown = np.full(count, i.UNKNOWN_TYPE, dtype=np.int8)
        return cls(absent, absent.copy(), np.full(count, -1, dtype=np.int64), unknown)


def _fill(topic: str, framing: str, key: Cells, value: Cells, classified: _Classified) -> None:
    types, versions, codes = classified.types, classified.versions, classified.codes
    value_types, versions[:] = locate(value, framing, "value")
    types[:] = locate(key, framing, "key")[0] if framing == "coordinator" else value_types
    key_entries, value_entries = np.full(types.size, -1, np.int64), np.full(types.size, -1, np.int64)
    programs = library().programs
    for number, record in types_of(topic).items():
        rows = types == number
        if rows.any():
            classified.names[rows] = _names().index(record.name)
            codes[rows] = i.KNOWN
            value_entries[rows] = entries_of(programs[record.name, "value"], versions[rows])
            if record.key is not None:
                key_entries[rows] = programs[record.name, "key"].entries[0]
    # A tombstone has no version; the metadata log has no tombstones.
    tombstone = ~value.present & (framing == "coordinator")
    codes[(codes == i.KNOWN) & (value_entries < 0) & ~tombstone] = i.UNKNOWN_VERSION
    codes[(types == ABSENT) | ((versions == ABSENT) & ~tombstone & (codes != i.UNKNOWN_TYPE))] = i.MALFORMED
    _check(key, key_entries, codes)
    _check(value, value_entries, codes)


def _check(cell: Cells, entries: Longs, codes: NDArray[np.int8]) -> None:
    shared = library()
    # The messages are only checked: no column is filled.
    state = np.zeros(
        max(len(program.columns) for program in shared.programs.values()) * e.LINE, dtype=np.int64
    )
    messages = i.Messages(cell.data, cell.starts, cell.ends, entries)
    code = i.Code(shared.code, shared.tags, shared.nulls, 0)
    i.interpret(messages, code, e.Target(e.CHECK, state, np.empty(0, dtype=np.uint8)), codes)


def _fill_control(key: Cells, value: Cells, control: NDArray[np.bool_], classified: _Classified) -> None:
    types, _ = locate(key, _CONTROL, "key")
    _, versions = locate(value, _CONTROL, "value")
    classified.types[control], classified.versions[control] = types[control], versions[control]
    classified.names[control] = -1
    classified.codes[control] = i.CONTROL
    for number, record in types_of(_CONTROL).items():
        classified.names[control & (types == number)] = _names().index(record.name)


def _booleans(flags: pa.Array | pa.ChunkedArray | NDArray[np.bool_]) -> NDArray[np.bool_]:
    if isinstance(flags, np.ndarray):
        return flags.astype(np.bool_)
    return np.asarray(flags.to_numpy(zero_copy_only=False), dtype=np.bool_)


@cache
def _names() -> list[str]:
    return list(record_types())
