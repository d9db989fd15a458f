"""Compiled writers of Arrow slots: the same calls check, count or write, so the passes cannot disagree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fencepost.formats import program as p
from fencepost.formats.batch_kernels import Bytes, Longs
from fencepost.formats.jit import inlined, kernel

CHECK, COUNT, WRITE = 0, 1, 2

# Rows of the state: what a column has so far, and where its buffers begin in the pool.
SLOTS, BYTES, NULL_COUNT, DATA_AT, OFFSETS_AT, VALID_AT, NOT_ASCII = 0, 1, 2, 3, 4, 5, 6
STATE = 7

_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", dtype=np.uint8)
_VAR_COLUMN, _LIST_COLUMN, _UUID_TEXT = p.VAR_COLUMN, p.LIST_COLUMN, p.UUID_TEXT


class Target(NamedTuple):
    """Where slots go: ``state`` is STATE x columns, ``pool`` the buffers of all columns (empty unless WRITE).

    ``kinds`` is what each column holds, ``items`` the column below each list.
    """

    mode: int
    state: Longs
    pool: Bytes
    kinds: Longs
    items: Longs


@kernel
def put_integer(pool: Bytes, position: int, width: int, value: int) -> None:
    """Write a little-endian integer, as Arrow stores them."""
    for i in range(width):
        pool[position + i] = np.uint8((value >> (8 * i)) & 0xFF)


@inlined
def slot(target: Target, column: int, valid: int) -> int:
    """Take the column's next slot, marking it valid or null; give its number."""
    taken = int(target.state[SLOTS, column])
    if target.mode != CHECK:
        target.state[SLOTS, column] = taken + 1
        target.state[NULL_COUNT, column] += 1 - valid
        if target.mode == WRITE:
            target.pool[target.state[VALID_AT, column] + taken] = valid
    return taken


@inlined
def put_offset(target: Target, column: int, taken: int, value: int) -> None:
    """Write where slot ``taken`` of text, bytes or a list ends."""
    put_integer(target.pool, target.state[OFFSETS_AT, column] + 4 * (taken + 1), 4, value)


@kernel
def put_number(target: Target, column: int, value: int) -> None:
    """Fill one slot of a column of fixed width."""
    taken = slot(target, column, 1)
    if target.mode == WRITE:
        kind = target.kinds[column]
        put_integer(target.pool, target.state[DATA_AT, column] + kind * taken, kind, value)


@kernel
def put_null(target: Target, column: int) -> None:
    """Fill one slot with null."""
    taken = slot(target, column, 0)
    if target.mode == WRITE:
        kind = target.kinds[column]
        if kind == _VAR_COLUMN:
            put_offset(target, column, taken, target.state[BYTES, column])
        elif kind == _LIST_COLUMN:
            put_offset(target, column, taken, target.state[SLOTS, target.items[column]])
        elif kind < _VAR_COLUMN:
            put_integer(target.pool, target.state[DATA_AT, column] + kind * taken, kind, 0)


@kernel
def put_nulls(target: Target, nulls: Longs, start: int, end: int) -> None:
    """Fill one slot with null in each column of ``nulls[start:end]``."""
    for i in range(start, end):
        put_null(target, nulls[i])


@inlined
def reserve(target: Target, column: int, size: int) -> int:
    """Take a slot of ``size`` bytes; give where in the pool they go."""
    taken = slot(target, column, 1)
    at = int(target.state[BYTES, column])
    if target.mode != CHECK:
        target.state[BYTES, column] = at + size
        if target.mode == WRITE:
            put_offset(target, column, taken, at + size)
    return int(target.state[DATA_AT, column]) + at


@kernel
def put_bytes(target: Target, column: int, source: Bytes, position: int, size: int) -> None:
    """Fill one slot with ``size`` bytes of ``source``."""
    at = reserve(target, column, size)
    if target.mode == WRITE:
        high = np.uint8(0)
        for i in range(size):
            byte = source[position + i]
            high |= byte
            target.pool[at + i] = byte
        if high >= 128:
            target.state[NOT_ASCII, column] = 1


@kernel
def put_uuid(target: Target, column: int, source: Bytes, position: int) -> None:
    """Fill one slot with Kafka's text form of 16 bytes: url-safe base64 without padding, 22 characters."""
    at = reserve(target, column, _UUID_TEXT)
    if target.mode != WRITE:
        return
    pool = target.pool
    for group in range(5):
        first = position + 3 * group
        bits = np.int64(source[first]) << 16 | np.int64(source[first + 1]) << 8 | np.int64(source[first + 2])
        for i in range(4):
            pool[at + 4 * group + i] = _ALPHABET[(bits >> (18 - 6 * i)) & 63]
    last = np.int64(source[position + 15])
    pool[at + 20] = _ALPHABET[last >> 2]
    pool[at + 21] = _ALPHABET[(last & 3) << 4]


@kernel
def put_default(target: Target, column: int, value: int) -> None:
    """Fill one slot with the default: a number, an empty text or list, the zero uuid (22 times A)."""
    kind = target.kinds[column]
    if kind == _VAR_COLUMN:
        at = reserve(target, column, value)
        if target.mode == WRITE:
            for i in range(value):
                target.pool[at + i] = 65
    elif kind == _LIST_COLUMN:
        open_list(target, column, 0)
    else:
        put_number(target, column, value)


@kernel
def open_list(target: Target, column: int, count: int) -> None:
    """Fill one slot with a list of the next ``count`` slots of the column below."""
    taken = slot(target, column, 1)
    if target.mode == WRITE:
        put_offset(target, column, taken, target.state[SLOTS, target.items[column]] + count)
