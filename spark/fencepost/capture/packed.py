"""Logs in text that were packed after they were rolled, by gzip or zstd: what they hold."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from io import BufferedReader
from typing import BinaryIO, cast

import zstandard

from fencepost.capture.files import opened

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_MAGIC = max(len(_GZIP), len(_ZSTD))
# the most that is lost of damaged data
_PACKED = 16 << 10
# one byte of a block may stand for 128 KiB
_PACKED_BY_ZSTD = 512
ENDS_EARLY = "it ends before its end marker"
_OTHERWISE = "the file is compressed by {}, which is not read: unpack it, or use gzip or zstd"
_UTF_16 = "the file is in UTF-16, which is not read: write it again in UTF-8 (iconv -f UTF-16 -t UTF-8)"
_NOT_READ = {
    b"BZh": _OTHERWISE.format("bzip2"),
    b"\xfd7zXZ": _OTHERWISE.format("xz"),
    b"\x04\x22\x4d\x18": _OTHERWISE.format("lz4"),
    b"PK\x03\x04": _OTHERWISE.format("zip"),
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
}
"""How files begin that no log can be read from, and what to do."""
_DOCUMENT = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*(?:\[\s*\{\s*"|\{\s*"(?:took|_scroll_id|pit_id|resourceLogs|messageType)"|'
    rb'\{\s*"events"\s*:\s*\[|\{\s*"status"\s*:\s*"success"\s*,\s*"data"|\{\s*"data"\s*:\s*\[|'
    rb'\{\s*"preview"[^{]*"results"\s*:\s*\[)'
)
_IS_DOCUMENT = (
    "the file is an answer of an API, one document of JSON with many lines of the log in it, which is not "
    "read: write each of them into a line of its own, the oldest first (jq -c '.hits.hits[]', '.events[]' or "
    "'.[]', jq -r '.data.result[].values[][1]')"
)
"""How answers of Elasticsearch, CloudWatch, Loki, Datadog and Splunk, and arrays, begin."""
_TAR, _IS_TAR, _HEADER = slice(257, 262), b"ustar", 512
_IN_TAR = "the file is an archive of files (tar), which is not read: unpack it, and name the files in it"


class DamagedError(Exception):
    """Packed data cannot be unpacked any further; the message says why."""


def is_compressed(file: BinaryIO) -> bool:
    """Whether a file is packed by gzip or zstd, whatever its name. Leaves its position at the beginning."""
    return _magic(file).startswith((_GZIP, _ZSTD))


def why_not_read(path: str) -> str | None:
    """Why a log cannot be read, by its first bytes, and what to do: it is compressed otherwise than by gzip
    and zstd, an archive, or no UTF-8. None also if it cannot be opened.
    """
    try:
        with opened(path) as file:
            begin = file.read(_HEADER)
            if is_compressed(file):
                begin = head(file, _PACKED, _HEADER)
    except (OSError, DamagedError):
        return None
    if begin[_TAR] == _IS_TAR:
        return _IN_TAR
    if _DOCUMENT.match(begin):
        return _IS_DOCUMENT
    return next((detail for magic, detail in _NOT_READ.items() if begin.startswith(magic)), None)


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
