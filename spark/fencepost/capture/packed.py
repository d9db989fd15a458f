"""Logs in text that were packed after they were rolled, by gzip or zstd: what they hold."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from typing import BinaryIO, cast

import zstandard

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_MAGIC = max(len(_GZIP), len(_ZSTD))
# the most that is lost of damaged data
_PACKED = 16 << 10
# one byte of a block may stand for 128 KiB
_PACKED_BY_ZSTD = 512
ENDS_EARLY = "it ends before its end marker"


class DamagedError(Exception):
    """Packed data cannot be unpacked any further; the message says why."""


def is_compressed(file: BinaryIO) -> bool:
    """Whether a file is packed by gzip or zstd, whatever its name. Leaves its position at the beginning."""
    return _magic(file).startswith((_GZIP, _ZSTD))


def unpacked(file: BinaryIO, size: int) -> Iterator[bytes]:
    """All bytes of a packed file in pieces: of at most ``size`` by gzip, of exactly so many by zstd, but for
    the last one. Raises DamagedError, after what could be unpacked, if data is damaged or ends early.
    """
    pieces = _of_zstd if _magic(file).startswith(_ZSTD) else _of_gzip
    try:
        yield from pieces(file, size)
    except (zlib.error, zstandard.ZstdError) as error:
        raise DamagedError(str(error)) from error


def head(file: BinaryIO, packed: int, size: int) -> bytes:
    """At most ``size`` bytes from the beginning of a packed file, of which ``packed`` are read at first.
    Raises DamagedError.
    """
    if _magic(file).startswith(_ZSTD):
        return next(unpacked(file, size), b"")
    try:
        return zlib.decompressobj(wbits=31).decompress(file.read(packed), size)
    except zlib.error as error:
        raise DamagedError(str(error)) from error


def reader(file: BinaryIO) -> BinaryIO:
    """Reads what a packed file holds; its ``read`` raises what DAMAGES has."""
    if _magic(file).startswith(_ZSTD):
        frames = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return BufferedReader(cast("BinaryIO", frames))  # type: ignore[type-var]
    return cast("BinaryIO", gzip.GzipFile(fileobj=file))


DAMAGES = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)


def _magic(file: BinaryIO) -> bytes:
    file.seek(0)
    magic = file.read(_MAGIC)
    file.seek(0)
    return magic


def _of_gzip(file: BinaryIO, size: int) -> Iterator[bytes]:
    inflate, packed = zlib.decompressobj(wbits=31), b""
    while packed := packed or file.read(_PACKED):
        if inflate.eof:
            # a gzip file may consist of several, one after the other; zeros between them are padding
            packed = packed.lstrip(b"\0")
            inflate = zlib.decompressobj(wbits=31) if packed else inflate
        else:
            yield inflate.decompress(packed, size)
            packed = inflate.unconsumed_tail or inflate.unused_data
    yield inflate.flush()
    if not inflate.eof:
        raise DamagedError(ENDS_EARLY)


def _of_zstd(file: BinaryIO, size: int) -> Iterator[bytes]:
    frame, packed, waiting = zstandard.ZstdDecompressor().decompressobj(), b"", bytearray()
    try:
        while packed := packed or file.read(_PACKED_BY_ZSTD):
            if frame.eof:
                # a file may consist of several frames
                frame = zstandard.ZstdDecompressor().decompressobj()
            waiting += frame.decompress(packed)
            packed = frame.unused_data if frame.eof else b""
            while len(waiting) >= size:
                yield bytes(waiting[:size])
                del waiting[:size]
    except zstandard.ZstdError:
        yield bytes(waiting)
        raise
    yield bytes(waiting)
    if not frame.eof:
        raise DamagedError(ENDS_EARLY)
