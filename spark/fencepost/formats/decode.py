"""Decodes keys and values of the internal topics into typed Arrow columns, as the schema table says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fencepost.formats import emit as e
from fencepost.formats import interpreter as i
from fencepost.formats.batch_kernels import Bytes, Longs
from fencepost.formats.framing import ABSENT, Cells, cells, locate
from fencepost.formats.program import LIST_COLUMN, STRUCT_COLUMN, VAR_COLUMN, Column, Program, library
from fencepost.formats.schemas import record_types

STATUSES = ("known", "unknown_type", "unknown_version", "malformed", "control")
_INT32_MAX = 2**31 - 1
_ALIGNMENT = 64


@dataclass(frozen=True)
class Decoded:
    """``values``: a struct per cell, null where it is null or not ``known``; ``codes`` index STATUSES."""

    values: pa.StructArray
    codes: NDArray[np.int8]

    @property
    def status(self) -> pa.StringArray:
        """Per row ``known``, ``unknown_type``, ``unknown_version`` or ``malformed``; a null cell is known."""
        return status_names(self.codes)


def arrow_type(record_name: str, part: str = "value") -> pa.StructType:
    """The Arrow type that ``decode`` returns: Kafka's field names in snake_case, uuids as text."""
    return _program(record_name, part).root.type


def decode(record_name: str, part: str, column: pa.Array | pa.ChunkedArray) -> Decoded:
    """Decode a column of keys or values of one record type, versions mixed, framing included.

    A field that the row's version does not have is null; a tagged field that was not written has the schema's
    default, as in Kafka's generated classes. Unknown tags are skipped. Raises KeyError for a record type or
    part that the table does not have.
    """
    program = _program(record_name, part)
    record = record_types()[record_name]
    cell = cells(column)
    types, versions = locate(cell, record.framing, part)
    codes = np.zeros(cell.starts.size, dtype=np.int8)
    if part == "key" or record.framing == "metadata":
        codes[cell.present & (types != record.type)] = i.UNKNOWN_TYPE
    entries = entries_of(program, versions)
    codes[cell.present & (codes == i.KNOWN) & (entries < 0)] = i.UNKNOWN_VERSION
    codes[cell.present & ((versions == ABSENT) | (types == ABSENT) & (codes == i.UNKNOWN_TYPE))] = i.MALFORMED
    entries[~cell.present] = -1
    return Decoded(_columns(program, cell, entries, codes), codes)


def entries_of(program: Program, versions: Longs) -> Longs:
    """The first instruction for each version, -1 where the program has none."""
    inside = (versions >= 0) & (versions < program.entries.size)
    return np.where(inside, program.entries[np.where(inside, versions, 0)], -1)


def status_names(codes: NDArray[np.int8]) -> pa.StringArray:
    """Status codes as text."""
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(STATUSES)).cast(pa.string())


def _program(record_name: str, part: str) -> Program:
    try:
        return library().programs[record_name, part]
    except KeyError:
        raise KeyError(
            f"no schema for the {part} of {record_name!r}: see fencepost/formats/schemas"
        ) from None


def _columns(program: Program, cell: Cells, entries: Longs, codes: NDArray[np.int8]) -> pa.StructArray:
    shared = library()
    root = [column.id for column in program.root.with_children()]
    nulls = np.concatenate([shared.nulls, np.array(root, dtype=np.int64)])
    messages = i.Messages(cell.data, cell.starts, cell.ends, entries)
    code = i.Code(shared.code, shared.tags, nulls, len(root))
    state = _state(program)
    i.interpret(messages, code, e.Target(e.COUNT, state, np.empty(0, dtype=np.uint8)), codes)
    pool = _allocate(program, state)
    counted = state.copy()
    for field in (e.SLOTS, e.BYTES, e.NULL_COUNT):
        state[field :: e.LINE] = 0
    i.interpret(messages, code, e.Target(e.WRITE, state, pool), codes)
    assert np.array_equal(state, counted), "the two readings of a message differ"
    return _array(program.root, state, pool)


def _state(program: Program) -> Longs:
    """The state with a line for each column, before anything is counted."""
    state = np.zeros(len(program.columns) * e.LINE, dtype=np.int64)
    for column in program.columns:
        state[column.id + e.KIND] = column.kind
        if column.kind == LIST_COLUMN:
            state[column.id + e.ITEM] = column.children[0].id
    return state


def _allocate(program: Program, state: Longs) -> Bytes:
    """Lay out every buffer of every column in one block, aligned as Arrow wants it."""
    size = 0
    for column in program.columns:
        slots, data = int(state[column.id + e.SLOTS]), int(state[column.id + e.BYTES])
        if max(slots, data) > _INT32_MAX:
            raise ValueError(f"column {column.name!r} would pass 2 GiB: decode fewer records at a time")
        if column.kind < VAR_COLUMN:
            data = slots * column.kind
        offsets = 4 * (slots + 1) if column.kind in (VAR_COLUMN, LIST_COLUMN) else 0
        for field, wanted in ((e.DATA_AT, data), (e.OFFSETS_AT, offsets), (e.VALID_AT, slots)):
            state[column.id + field] = size
            size += -(-wanted // _ALIGNMENT) * _ALIGNMENT
    pool = np.empty(size, dtype=np.uint8)
    for column in program.columns:
        if column.kind in (VAR_COLUMN, LIST_COLUMN):
            first = int(state[column.id + e.OFFSETS_AT])
            pool[first : first + 4] = 0
    return pool


def _array(column: Column, state: Longs, pool: Bytes) -> pa.Array:
    slots, nulls = int(state[column.id + e.SLOTS]), int(state[column.id + e.NULL_COUNT])
    validity = None
    if nulls:
        at = int(state[column.id + e.VALID_AT])
        validity = pa.py_buffer(np.packbits(pool[at : at + slots], bitorder="little"))
    if column.kind == STRUCT_COLUMN:
        children = [_array(child, state, pool) for child in column.children]
        return pa.Array.from_buffers(column.type, slots, [validity], nulls, children=children)
    at = int(state[column.id + e.DATA_AT])
    if column.kind < VAR_COLUMN:
        data = pool[at : at + slots * column.kind]
        if column.type == pa.bool_():
            data = np.packbits(data != 0, bitorder="little")
        return pa.Array.from_buffers(column.type, slots, [validity, pa.py_buffer(data)], nulls)
    first = int(state[column.id + e.OFFSETS_AT])
    offsets = pa.py_buffer(pool[first : first + 4 * (slots + 1)])
    if column.kind == LIST_COLUMN:
        children = [_array(column.children[0], state, pool)]
        return pa.Array.from_buffers(column.type, slots, [validity, offsets], nulls, children=children)
    size = int(state[column.id + e.BYTES])
    buffers = [validity, offsets, pa.py_buffer(pool[at : at + size])]
    if column.type == pa.string() and size and pool[at : at + size].max() > 127:
        return _text(pa.Array.from_buffers(pa.binary(), slots, buffers, nulls))
    return pa.Array.from_buffers(column.type, slots, buffers, nulls)


def _text(raw: pa.BinaryArray) -> pa.StringArray:
    """The cells as text; bytes that are not UTF-8 are replaced as Java does, so that every reader can use
    them.
    """
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [None if cell is None else cell.decode("utf-8", "replace") for cell in raw.to_pylist()]
        return pa.array(texts, pa.string())
