"""Compiled walk over a file of record batches that reads headers and markers, and nothing else of the file.

A system call per header, made by compiled code: a larger read would be faster where batches are small, and
would read what applications wrote, which is read only to check checksums. Layout as in
:mod:`fencepost.formats.batch_kernels`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

from numba import types

from fencepost.formats import batch_kernels as k
from fencepost.formats import memory as m
from fencepost.formats.crc32c import crc32c, crc32c_of_more
from fencepost.formats.jit import inlined, kernel

# What stopped the walk, beside the reasons of batch_kernels.
BAD_OFFSET, ROWS_FULL, READ_FAILED = 6, 7, 8

CODEC = 7  # attributes bits
MAX_MARKER_SIZE = 256  # markers have 78 bytes; nobody but brokers writes them

# libc's, whatever the file offset's type is called there. Linked by name, so that the code can be cached.
_pread = cast(
    Callable[[int, int, int, int], int],
    types.ExternalFunction("pread", types.intp(types.intc, types.uintp, types.uintp, types.int64)),
)


class Stopped(NamedTuple):
    """Where a walk ended: ``batches`` were read, the next one at ``position``, ``why`` it was not read.

    ``end`` is where the file ends now, at most where it was said to end; ``marked`` how many bytes of
    markers there are.
    """

    batches: int
    position: int
    end: int
    why: int
    marked: int


@inlined
def read_at(fd: int, position: int, buffer: k.Bytes, at: int, size: int) -> int:
    """Fill ``buffer[at:at + size]`` from the file; give how much there was, -1 when it cannot be read."""
    return _pread(fd, m.address(buffer, at), size, position)


@inlined
def is_zero(buffer: k.Bytes, at: int, size: int) -> bool:
    """Say whether these bytes are zero."""
    i = at
    while i < at + size and m.byte(buffer, i) == 0:
        i += 1
    return i == at + size


@inlined
def judge(header: k.Bytes, at: int, left: int, least: int) -> int:  # noqa: PLR0911
    """Give -1 when a batch may begin with this header (``left`` bytes to the file's end), else why not."""
    if left < k.LOG_OVERHEAD + 5:
        return k.AT_ZEROS if is_zero(header, at, left) else k.SHORT_HEADER
    magic, length = m.byte(header, at + 16), m.int32(header, at + 8)
    if length == 0 and is_zero(header, at, min(left, k.HEADER_SIZE)):
        return k.AT_ZEROS
    if magic != 2:
        return k.BAD_MAGIC
    if length < k.HEADER_SIZE - k.LOG_OVERHEAD:
        return k.BAD_LENGTH
    if left < k.HEADER_SIZE or length + k.LOG_OVERHEAD > left:
        return k.RUNS_PAST_END
    if m.int64(header, at) < least or m.int32(header, at + 23) < 0:
        return BAD_OFFSET
    return -1


@inlined
def is_marker(attributes: int, size: int) -> bool:
    """Say whether a batch is a control batch such as brokers write."""
    return attributes & k.CONTROL != 0 and attributes & CODEC == 0 and size <= MAX_MARKER_SIZE


@kernel
def _crc32c_of_file(fd: int, start: int, end: int, before: int, buffer: k.Bytes) -> int:
    """Give the CRC-32C of bytes of which ``before`` is the checksum, and of the file's bytes behind them; -1
    when these cannot be read.
    """
    crc, position = before, start
    while position < end:
        size = min(end - position, buffer.size)
        if read_at(fd, position, buffer, 0, size) < size:
            return -1
        crc = crc32c_of_more(crc, buffer, 0, size)
        position += size
    return crc


@kernel
def read_headers(  # noqa: C901, PLR0917 (kernels take arrays, not objects; calls between them cost)
    fd: int, start: int, end: int, least: int, rows: k.Longs, markers: k.Bytes, payload: k.Bytes
) -> Stopped:
    """Fill one row of ``rows`` (batches x BATCH_FIELDS) per batch from ``start`` on.

    Offsets must not be below ``least``, nor go back. ``markers`` gets the control batches, one behind the
    other, checksum verified; it needs room for one more than it will hold. The checksums of other batches
    are verified if ``payload`` has room for some of their bytes.
    """
    position, marked = start, 0
    for i in range(rows.shape[0]):
        if marked + MAX_MARKER_SIZE > markers.size:
            return Stopped(i, position, end, ROWS_FULL, marked)
        want = min(end - position, k.HEADER_SIZE)
        got = read_at(fd, position, markers, marked, want) if want > 0 else 0
        if got < 0:
            return Stopped(i, position, end, READ_FAILED, marked)
        if got < want:
            end = position + got  # it was truncated
        if got == 0:
            return Stopped(i, position, end, k.AT_END, marked)
        stop = judge(markers, marked, end - position, least)
        if stop >= 0:
            return Stopped(i, position, end, stop, marked)
        row = rows[i]
        size = k.read_header(markers, marked, position, row)
        row[k.VALID] = 1
        if is_marker(row[k.ATTRIBUTES], size):
            rest = size - k.HEADER_SIZE
            got = read_at(fd, position + k.HEADER_SIZE, markers, marked + k.HEADER_SIZE, rest)
            if got < rest:
                return Stopped(i, position, end, READ_FAILED if got < 0 else k.RUNS_PAST_END, marked)
            row[k.VALID] = crc32c(markers, marked + k.CRC_FROM, marked + size) == row[k.CRC]
            marked += size
        elif payload.size > 0:
            crc = crc32c(markers, marked + k.CRC_FROM, marked + k.HEADER_SIZE)
            row[k.VALID] = (
                _crc32c_of_file(fd, position + k.HEADER_SIZE, position + size, crc, payload) == row[k.CRC]
            )
        if row[k.VALID]:
            least = row[k.LAST_OFFSET] + 1
        position += size
    return Stopped(rows.shape[0], position, end, ROWS_FULL, marked)
