"""The one compiled interpreter of the schema programs: checks, counts or writes a column of messages.

A message is read twice, counted first so that every Arrow buffer is allocated once at its size and a
malformed message leaves no trace. Nothing is read outside a message, and an array never claims more elements
than bytes are left, so the work is bounded by the input.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fencepost.formats import memory as m
from fencepost.formats import program as p
from fencepost.formats.batch_kernels import Bytes, Longs
from fencepost.formats.emit import (
    BYTES,
    COUNT,
    LINE,
    NULL_COUNT,
    SLOTS,
    Target,
    open_list,
    put_bytes,
    put_default,
    put_null,
    put_nulls,
    put_number,
    put_uuid,
    slot,
)
from fencepost.formats.jit import inlined, kernel

KNOWN, UNKNOWN_TYPE, UNKNOWN_VERSION, MALFORMED, CONTROL = 0, 1, 2, 3, 4

# A stack frame: what is left to read of an array or tag section, its instruction, tags seen, outer limit.
_LEFT, _AT, _SEEN, _OUTSIDE = 0, 1, 2, 3
_FRAME = 4
_DEEPEST = 15 * _FRAME
_WIDTH, _TAG_WIDTH = p.WIDTH, p.TAG_WIDTH

NextTag = tuple[int, int, int]
"""(instruction, position, end); instruction -1 when the section is over, position -1 when malformed."""

_END, _INT, _UNSIGNED, _VAR, _UUID, _ARRAY = p.END, p.INT, p.UNSIGNED, p.VAR, p.UUID, p.ARRAY
_ELEMENT_END, _TAGS, _TAG_END, _NULLABLE_STRUCT = p.ELEMENT_END, p.TAGS, p.TAG_END, p.NULLABLE_STRUCT
_PRESENT, _NULLS, _DEFAULT = p.PRESENT, p.NULLS, p.DEFAULT
_INT16_LENGTH, _INT32_LENGTH = p.INT16_LENGTH, p.INT32_LENGTH


class Messages(NamedTuple):
    """A column of messages; ``entries`` is the first instruction of each, -1 where there is none."""

    data: Bytes
    starts: Longs
    ends: Longs
    entries: Longs


class Code(NamedTuple):
    """As in ``program.Library``, flat; the last ``empty_row`` of ``nulls`` fill a row without message."""

    code: Longs
    tags: Longs
    nulls: Longs
    empty_row: int


@inlined
def operand(program: Code, at: int, which: int) -> int:
    """One number of the instruction ``at``."""
    return m.get(program.code, at * _WIDTH + which)


@inlined
def unsigned_varint(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """Give (value, position after it) of at most five bytes; the position is -1 out of bounds."""
    value = 0
    shift = 0
    after = -1
    while position < end and shift < 35:
        byte = m.byte(buffer, position)
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            after = position
            break
        shift += 7
    return value, after


@inlined
def big_endian(source: Bytes, position: int, width: int) -> int:
    """The signed integer of 1, 2, 4 or 8 bytes at ``position``."""
    if width == 4:
        value = m.int32(source, position)
    elif width == 8:
        value = m.int64(source, position)
    elif width == 2:
        value = m.int16(source, position)
    else:
        value = m.int8(source, position)
    return value


@inlined
def read_length(source: Bytes, position: int, limit: int, written: int) -> tuple[int, int]:
    """Give (length, position after it), length -1 for null; the position is -1 out of bounds."""
    if written == _INT16_LENGTH or written == _INT32_LENGTH:  # noqa: PLR1714, SIM109 (numba)
        width = 2 if written == _INT16_LENGTH else 4
        length = big_endian(source, position, width) if position + width <= limit else -2
        position += width
    else:
        length, position = unsigned_varint(source, position, limit)
        length -= 1
    # Neither bytes nor elements can be more than the bytes that are left.
    if length < -1 or length > limit - position:
        position = -1
    return length, position


@inlined
def read_number(source: Bytes, position: int, program: Code, at: int, target: Target) -> None:
    """Read an integer whose bytes are in bounds."""
    width = operand(program, at, 2)
    value = big_endian(source, position, width)
    if operand(program, at, 0) == _UNSIGNED:
        value &= (1 << (8 * width)) - 1
    put_number(target, operand(program, at, 1), value)


@kernel
def find_tag(program: Code, at: int, tag: int) -> int:
    """Give which row of this section's table is ``tag``, -1 when this schema does not know it."""
    first = operand(program, at, 2)
    for i in range(operand(program, at, 3)):
        if m.get(program.tags, (first + i) * _TAG_WIDTH) == tag:
            return i
    return -1


@kernel
def next_tag(  # noqa: PLR0917 (kernels take arrays, not objects)
    source: Bytes, position: int, limit: int, program: Code, stack: Longs, frame: int
) -> NextTag:
    """Skip tags this schema does not know; give the next known field, or that the section is over."""
    at = m.get(stack, frame + _AT)
    while m.get(stack, frame + _LEFT) > 0:
        m.put(stack, frame + _LEFT, m.get(stack, frame + _LEFT) - 1)
        tag, position = unsigned_varint(source, position, limit)
        if position < 0:
            break
        size, position = unsigned_varint(source, position, limit)
        if position < 0 or size > limit - position:
            return -1, -1, limit
        row = find_tag(program, at, tag)
        if row >= 0:
            seen = m.get(stack, frame + _SEEN)
            m.put(stack, frame + _SEEN, seen | 1 << row)
            entry = m.get(program.tags, (operand(program, at, 2) + row) * _TAG_WIDTH + 1)
            # A field written twice would fill its column twice.
            return entry, -1 if seen >> row & 1 else position, position + size
        position += size
    return -1, position, limit


@kernel
def put_unset_tags(program: Code, at: int, seen: int, target: Target) -> None:
    """Fill the fields whose tag was not written with their defaults."""
    first = operand(program, at, 2)
    for i in range(operand(program, at, 3)):
        if seen >> i & 1 == 0:
            row = (first + i) * _TAG_WIDTH
            for default in range(m.get(program.tags, row + 2), m.get(program.tags, row + 3)):
                put_unset(program, default, target)


@kernel
def put_unset(program: Code, at: int, target: Target) -> None:
    """Fill one column for a field that was not written."""
    operation = operand(program, at, 0)
    if operation == _DEFAULT:
        put_default(target, operand(program, at, 1), operand(program, at, 2))
    elif operation == _PRESENT:
        slot(target, operand(program, at, 1), 1)
    else:
        put_nulls(target, program.nulls, operand(program, at, 2), operand(program, at, 3))


@inlined
def run(  # noqa: C901, PLR0911, PLR0912, PLR0915, PLR0917 (one dispatch loop: a call per instruction would cost more)
    source: Bytes, position: int, end: int, at: int, program: Code, target: Target, stack: Longs
) -> bool:
    """Run the program at instruction ``at`` over one message; say whether it reads to the very end."""
    frame = -_FRAME
    limit = end
    while True:
        operation = operand(program, at, 0)
        column = operand(program, at, 1)
        here = at
        at += 1
        in_tags = False
        if operation == _INT or operation == _UNSIGNED:  # noqa: PLR1714, SIM109 (numba)
            width = operand(program, here, 2)
            if position + width > limit:
                return False
            read_number(source, position, program, here, target)
            position += width
        elif operation == _VAR:
            length, position = read_length(source, position, limit, operand(program, here, 2))
            if position < 0 or (length < 0 and operand(program, here, 3) == 0):
                return False
            if length < 0:
                put_null(target, column)
            else:
                put_bytes(target, column, source, position, length)
                position += length
        elif operation == _UUID:
            if position + 16 > limit:
                return False
            put_uuid(target, column, source, position)
            position += 16
        elif operation == _ARRAY:
            length, position = read_length(source, position, limit, operand(program, here, 2))
            if position < 0 or (length < 0 and operand(program, here, 3) == 0) or frame == _DEEPEST:
                return False
            if length < 0:
                put_null(target, column)
            else:
                open_list(target, column, length)
            if length > 0:
                frame += _FRAME
                m.put(stack, frame + _LEFT, length)
                m.put(stack, frame + _AT, here)
            else:
                at = operand(program, here, 4)
        elif operation == _ELEMENT_END:
            left = m.get(stack, frame + _LEFT) - 1
            m.put(stack, frame + _LEFT, left)
            array = m.get(stack, frame + _AT)
            at = array + 1
            if left == 0:
                frame -= _FRAME
                at = operand(program, array, 4)
        elif operation == _TAGS:
            count, position = unsigned_varint(source, position, limit)
            if position < 0 or 2 * count > limit - position or frame == _DEEPEST:
                return False
            frame += _FRAME
            m.put(stack, frame + _LEFT, count)
            m.put(stack, frame + _AT, here)
            m.put(stack, frame + _SEEN, 0)
            m.put(stack, frame + _OUTSIDE, limit)
            in_tags = True
        elif operation == _TAG_END:
            if position != limit:
                return False
            limit = m.get(stack, frame + _OUTSIDE)
            in_tags = True
        elif operation == _PRESENT:
            slot(target, column, 1)
        elif operation == _NULLABLE_STRUCT:
            if position + 1 > limit:
                return False
            present = m.int8(source, position) >= operand(program, here, 5)
            position += 1
            if present:
                slot(target, column, 1)
            else:
                put_nulls(target, program.nulls, operand(program, here, 2), operand(program, here, 3))
                at = operand(program, here, 4)
        elif operation == _NULLS:
            put_nulls(target, program.nulls, operand(program, here, 2), operand(program, here, 3))
        else:
            return operation == _END and position == end
        if in_tags:
            at, position, limit = next_tag(source, position, limit, program, stack, frame)
            if position < 0:
                return False
            if at < 0:
                section = m.get(stack, frame + _AT)
                put_unset_tags(program, section, m.get(stack, frame + _SEEN), target)
                at = operand(program, section, 4)
                frame -= _FRAME


def interpret(messages: Messages, program: Code, target: Target, status: NDArray[np.int8]) -> None:
    """Run each message whose status is KNOWN; set MALFORMED where it does not read to its end.

    COUNT adds up slots, bytes and nulls per column in the target's state, WRITE fills the pool laid out from
    them, CHECK does neither.
    """
    stack = np.zeros(_DEEPEST + _FRAME, dtype=np.int64)
    _interpret(messages, program, target, status, stack, np.zeros_like(target.state))


@kernel
def _interpret(  # noqa: PLR0917 (kernels take arrays, not objects)
    messages: Messages, program: Code, target: Target, status: NDArray[np.int8], stack: Longs, saved: Longs
) -> None:
    nulls = program.nulls
    for row in range(messages.starts.size):
        entry = messages.entries[row]
        if status[row] == KNOWN and entry >= 0:
            if target.mode == COUNT:
                copy_counters(target.state, saved)
            if run(messages.data, messages.starts[row], messages.ends[row], entry, program, target, stack):
                continue
            status[row] = MALFORMED
            if target.mode == COUNT:
                copy_counters(saved, target.state)
        put_nulls(target, nulls, nulls.size - program.empty_row, nulls.size)


@inlined
def copy_counters(source: Longs, target: Longs) -> None:
    """Copy what a message adds to every column."""
    for line in range(0, source.size, LINE):
        m.put(target, line + SLOTS, m.get(source, line + SLOTS))
        m.put(target, line + BYTES, m.get(source, line + BYTES))
        m.put(target, line + NULL_COUNT, m.get(source, line + NULL_COUNT))
