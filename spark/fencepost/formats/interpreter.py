"""The one compiled interpreter of the schema programs: checks, counts or writes a column of messages.

A message is read twice, counted first so that every Arrow buffer is allocated once at its size and a
malformed message leaves no trace. Nothing is read outside a message, and an array never claims more elements
than bytes are left, so the work is bounded by the input.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fencepost.formats import program as p
from fencepost.formats.batch_kernels import Bytes, Longs, big_endian
from fencepost.formats.emit import (
    BYTES,
    COUNT,
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

_DEPTH = 16
# A stack frame: what is left to read of an array or tag section, its instruction, tags seen, outer limit.
_LEFT, _AT, _SEEN, _OUTSIDE = 0, 1, 2, 3
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
    """As in ``program.Library``; the last ``empty_row`` of ``nulls`` fill a row without message."""

    code: Longs
    tags: Longs
    nulls: Longs
    empty_row: int


@inlined
def unsigned_varint(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """Give (value, position after it) of at most five bytes; the position is -1 out of bounds."""
    value = 0
    shift = 0
    after = -1
    while position < end and shift < 35:
        byte = int(buffer[position])
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            after = position
            break
        shift += 7
    return value, after


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


@kernel
def read_number(source: Bytes, position: int, instruction: Longs, target: Target) -> None:
    """Read an integer whose bytes are in bounds."""
    width = instruction[2]
    value = big_endian(source, position, width)
    if instruction[0] == _UNSIGNED:
        value &= (1 << (8 * width)) - 1
    put_number(target, instruction[1], value)


@kernel
def find_tag(tags: Longs, instruction: Longs, tag: int) -> int:
    """Give the row of ``tag`` in this section's table, -1 when this schema does not know it."""
    for i in range(instruction[2], instruction[2] + instruction[3]):
        if tags[i, 0] == tag:
            return i
    return -1


@kernel
def next_tag(source: Bytes, position: int, limit: int, program: Code, frame: Longs) -> tuple[int, int, int]:
    """Skip tags this schema does not know; give (instruction, position, end) of the next known field.

    The instruction is -1 when the section is over; the position is -1 when it is malformed.
    """
    section = program.code[frame[_AT]]
    while frame[_LEFT] > 0:
        frame[_LEFT] -= 1
        tag, position = unsigned_varint(source, position, limit)
        if position < 0:
            return -1, -1, limit
        size, position = unsigned_varint(source, position, limit)
        if position < 0 or size > limit - position:
            return -1, -1, limit
        row = find_tag(program.tags, section, tag)
        if row >= 0:
            seen = 1 << (row - section[2])
            if frame[_SEEN] & seen:
                return -1, -1, limit
            frame[_SEEN] |= seen
            return program.tags[row, 1], position, position + size
        position += size
    return -1, position, limit


@kernel
def put_unset_tags(program: Code, frame: Longs, target: Target) -> None:
    """Fill the fields whose tag was not written with their defaults."""
    section = program.code[frame[_AT]]
    for i in range(section[3]):
        if frame[_SEEN] & (1 << i) == 0:
            row = section[2] + i
            for at in range(program.tags[row, 2], program.tags[row, 3]):
                put_unset(program, program.code[at], target)


@kernel
def put_unset(program: Code, instruction: Longs, target: Target) -> None:
    """Fill one column for a field that was not written."""
    if instruction[0] == _DEFAULT:
        put_default(target, instruction[1], instruction[2])
    elif instruction[0] == _PRESENT:
        slot(target, instruction[1], 1)
    else:
        put_nulls(target, program.nulls, instruction[2], instruction[3])


@kernel
def run(  # noqa: C901, PLR0911, PLR0912, PLR0915, PLR0917 (one dispatch loop: a call per instruction would cost more)
    source: Bytes, position: int, end: int, at: int, program: Code, target: Target, stack: Longs
) -> bool:
    """Run the program at instruction ``at`` over one message; say whether it reads to the very end."""
    depth = 0
    limit = end
    while True:
        instruction = program.code[at]
        operation = instruction[0]
        column = instruction[1]
        at += 1
        in_tags = False
        if operation == _INT or operation == _UNSIGNED:  # noqa: PLR1714, SIM109 (numba)
            if position + instruction[2] > limit:
                return False
            read_number(source, position, instruction, target)
            position += instruction[2]
        elif operation == _VAR:
            length, position = read_length(source, position, limit, instruction[2])
            if position < 0 or (length < 0 and instruction[3] == 0):
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
            length, position = read_length(source, position, limit, instruction[2])
            if position < 0 or (length < 0 and instruction[3] == 0) or depth == _DEPTH:
                return False
            if length < 0:
                put_null(target, column)
            else:
                open_list(target, column, length)
            if length > 0:
                stack[depth, _LEFT] = length
                stack[depth, _AT] = at - 1
                depth += 1
            else:
                at = instruction[4]
        elif operation == _ELEMENT_END:
            stack[depth - 1, _LEFT] -= 1
            at = stack[depth - 1, _AT] + 1
            if stack[depth - 1, _LEFT] == 0:
                depth -= 1
                at = program.code[at - 1, 4]
        elif operation == _TAGS:
            count, position = unsigned_varint(source, position, limit)
            if position < 0 or 2 * count > limit - position or depth == _DEPTH:
                return False
            stack[depth, _LEFT] = count
            stack[depth, _AT] = at - 1
            stack[depth, _SEEN] = 0
            stack[depth, _OUTSIDE] = limit
            depth += 1
            in_tags = True
        elif operation == _TAG_END:
            if position != limit:
                return False
            limit = stack[depth - 1, _OUTSIDE]
            in_tags = True
        elif operation == _PRESENT:
            slot(target, column, 1)
        elif operation == _NULLABLE_STRUCT:
            if position + 1 > limit:
                return False
            present = big_endian(source, position, 1) >= instruction[5]
            position += 1
            if present:
                slot(target, column, 1)
            else:
                put_nulls(target, program.nulls, instruction[2], instruction[3])
                at = instruction[4]
        elif operation == _NULLS:
            put_nulls(target, program.nulls, instruction[2], instruction[3])
        else:
            return operation == _END and position == end
        if in_tags:
            frame = stack[depth - 1]
            at, position, limit = next_tag(source, position, limit, program, frame)
            if position < 0:
                return False
            if at < 0:
                put_unset_tags(program, frame, target)
                at = program.code[frame[_AT], 4]
                depth -= 1


@kernel
def interpret(messages: Messages, program: Code, target: Target, status: NDArray[np.int8]) -> None:
    """Run each message whose status is KNOWN; set MALFORMED where it does not read to its end.

    COUNT adds up slots, bytes and nulls per column in the target's state, WRITE fills the pool laid out from
    them, CHECK does neither.
    """
    stack = np.zeros((_DEPTH, 4), dtype=np.int64)
    counters = target.state[: NULL_COUNT + 1]
    saved = np.zeros_like(counters)
    nulls = program.nulls
    for row in range(messages.starts.size):
        entry = messages.entries[row]
        if status[row] == KNOWN and entry >= 0:
            if target.mode == COUNT:
                copy_counters(counters, saved)
            if run(messages.data, messages.starts[row], messages.ends[row], entry, program, target, stack):
                continue
            status[row] = MALFORMED
            if target.mode == COUNT:
                copy_counters(saved, counters)
        put_nulls(target, nulls, nulls.size - program.empty_row, nulls.size)


@kernel
def copy_counters(source: Longs, target: Longs) -> None:
    """Copy a small matrix element by element."""
    for column in range(source.shape[1]):
        target[SLOTS, column] = source[SLOTS, column]
        target[BYTES, column] = source[BYTES, column]
        target[NULL_COUNT, column] = source[NULL_COUNT, column]
