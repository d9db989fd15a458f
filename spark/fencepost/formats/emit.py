"""Compiled writers of Arrow slots: the same calls check, count or write, so that the passes agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fencepost.formats import memory as m
from fencepost.formats import program as p
from fencepost.formats.batch_kernels import Bytes, Longs
from fencepost.formats.jit import inlined

CHECK, COUNT, WRITE = 0, 1, 2

# One line of the state per column: slots, bytes and nulls so far, where its buffers begin in the pool, what
# it holds, and the line of the column below a list.
SLOTS, BYTES, NULL_COUNT, DATA_AT, OFFSETS_AT, VALID_AT, KIND, ITEM = 0, 1, 2, 3, 4, 5, 6, 7
LINE = p.LINE

_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", dtype=np.uint8)
_VAR_COLUMN, _LIST_COLUMN, _UUID_TEXT = p.VAR_COLUMN, p.LIST_COLUMN, p.UUID_TEXT


class Target(NamedTuple):
    """Where slots go: ``state`` is columns x LINE, flat; ``pool`` has the buffers of all columns for WRITE.

    A column is named by the place of its line in the state.
    """

    mode: int
    state: Longs
    pool: Bytes


@inlined
def put_integer(pool: Bytes, position: int, width: int, value: int) -> None:
    """Write an integer of 1, 2, 4 or 8 bytes, as Arrow stores them."""
    if width == 8:
        m.store64(pool, position, value)
    elif width == 4:
        m.store32(pool, position, value)
    elif width == 2:
        m.store16(pool, position, value)
    else:
        m.store8(pool, position, value)


@inlined
def slot(target: Target, column: int, valid: int) -> int:
    """Take the column's next slot, marking it valid or null; give its number."""
    taken = m.get(target.state, column + SLOTS)
    if target.mode != CHECK:
        m.put(target.state, column + SLOTS, taken + 1)
        m.put(target.state, column + NULL_COUNT, m.get(target.state, column + NULL_COUNT) + 1 - valid)
        if target.mode == WRITE:
            m.store8(target.pool, m.get(target.state, column + VALID_AT) + taken, valid)
    return taken


@inlined
def put_offset(target: Target, column: int, taken: int, value: int) -> None:
    """Write where slot ``taken`` of text, bytes or a list ends."""
    m.store32(target.pool, m.get(target.state, column + OFFSETS_AT) + 4 * (taken + 1), value)


@inlined
def put_number(target: Target, column: int, value: int) -> None:
    """Fill one slot of a column of fixed width."""
    taken = slot(target, column, 1)
    if target.mode == WRITE:
        kind = m.get(target.state, column + KIND)
        put_integer(target.pool, m.get(target.state, column + DATA_AT) + kind * taken, kind, value)


@inlined
def put_null(target: Target, column: int) -> None:
    """Fill one slot with null."""
    taken = slot(target, column, 0)
    if target.mode == WRITE:
        kind = m.get(target.state, column + KIND)
        if kind == _VAR_COLUMN:
            put_offset(target, column, taken, m.get(target.state, column + BYTES))
        elif kind == _LIST_COLUMN:
            put_offset(target, column, taken, m.get(target.state, m.get(target.state, column + ITEM) + SLOTS))
        elif kind < _VAR_COLUMN:
            put_integer(target.pool, m.get(target.state, column + DATA_AT) + kind * taken, kind, 0)


@inlined
def put_nulls(target: Target, nulls: Longs, start: int, end: int) -> None:
    """Fill one slot with null in each column of ``nulls[start:end]``."""
    for i in range(start, end):
        put_null(target, m.get(nulls, i))


@inlined
def reserve(target: Target, column: int, size: int) -> int:
    """Take a slot of ``size`` bytes; give where in the pool they go."""
    taken = slot(target, column, 1)
    at = m.get(target.state, column + BYTES)
    if target.mode != CHECK:
        m.put(target.state, column + BYTES, at + size)
        if target.mode == WRITE:
            put_offset(target, column, taken, at + size)
    return m.get(target.state, column + DATA_AT) + at


@inlined
def put_bytes(target: Target, column: int, source: Bytes, position: int, size: int) -> None:
    """Fill one slot with ``size`` bytes of ``source``."""
    at = reserve(target, column, size)
    if target.mode == WRITE:
        m.copy(target.pool, at, source, position, size)


@inlined
def put_uuid(target: Target, column: int, source: Bytes, position: int) -> None:
    """Fill one slot with Kafka's text form of 16 bytes: url-safe base64 without padding, 22 characters."""
    at = reserve(target, column, _UUID_TEXT)
    if target.mode != WRITE:
        return
    for group in range(5):
        first = position + 3 * group
        bits = m.byte(source, first) << 16 | m.byte(source, first + 1) << 8 | m.byte(source, first + 2)
        into = at + 4 * group
        m.store8(target.pool, into, m.byte(_ALPHABET, bits >> 18))
        m.store8(target.pool, into + 1, m.byte(_ALPHABET, bits >> 12 & 63))
        m.store8(target.pool, into + 2, m.byte(_ALPHABET, bits >> 6 & 63))
        m.store8(target.pool, into + 3, m.byte(_ALPHABET, bits & 63))
    last = m.byte(source, position + 15)
    m.store8(target.pool, at + 20, m.byte(_ALPHABET, last >> 2))
    m.store8(target.pool, at + 21, m.byte(_ALPHABET, (last & 3) << 4))


@inlined
def put_default(target: Target, column: int, value: int) -> None:
    """Fill one slot with the default: a number, an empty text or list, the zero uuid (22 times A)."""
    kind = m.get(target.state, column + KIND)
    if kind == _VAR_COLUMN:
        at = reserve(target, column, value)
        if target.mode == WRITE:
            for i in range(value):
                m.store8(target.pool, at + i, _ALPHABET[0])
    elif kind == _LIST_COLUMN:
        open_list(target, column, 0)
    else:
        put_number(target, column, value)


@inlined
def open_list(target: Target, column: int, count: int) -> None:
    """Fill one slot with a list of the next ``count`` slots of the column below."""
    taken = slot(target, column, 1)
    if target.mode == WRITE:
        put_offset(
            target, column, taken, m.get(target.state, m.get(target.state, column + ITEM) + SLOTS) + count
        )
