"""Logs in text that are there twice, of which one is read.

``copytruncate`` of logrotate copies a log before it empties it, gzip writes beside what it packs, and a whole
folder may have been copied. A run that comes meanwhile finds a log under two names, under one of them perhaps
only a part. Were both read, nothing would tell later under which of them a line stands.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import BinaryIO, cast

from fencepost.capture.digests import head_digest
from fencepost.capture.files import opened, size
from fencepost.capture.plan import Source, is_compressed, is_text

_HEAD = 1 << 10
_BLOCK = 1 << 20


def copies(sources: Iterable[Source]) -> Iterator[Source]:
    """The logs that are the beginning, or all, of another one of the same broker, or client's, and kind."""
    logs = sorted((source for source in sources if is_text(source.kind)), key=_whose)
    for _, of_one in groupby(logs, key=_whose):
        for alike in _begin_alike(of_one):
            yield from _copies(alike)


def _whose(log: Source) -> str:
    return repr((*log.origin[:3], log.client))


def _begin_alike(logs: Iterable[Source]) -> Iterator[list[Source]]:
    """The logs whose first bytes are the same, as far as they have them."""
    shortest, alike = b"", list[Source]()
    for head, _, source in sorted((_head(each), number, each) for number, each in enumerate(logs)):
        if not (shortest and head.startswith(shortest)):
            yield alike
            shortest, alike = head, []
        alike.append(source)
    yield alike


def _copies(alike: list[Source]) -> Iterator[Source]:
    originals: list[Source] = []
    for source in sorted(alike, key=lambda each: each.file):
        for number, other in enumerate(originals):
            if (beginning := _beginning(other, source)) is not None:
                yield beginning
                originals[number] = source if beginning is other else other
                break
        else:
            originals.append(source)


def _beginning(one: Source, other: Source) -> Source | None:
    """Which of two logs the other one begins with; the second, if they are the same; None of two others."""
    try:
        with opened(one.file) as first, opened(other.file) as second:
            if is_compressed(first) or is_compressed(second):
                is_shorter = _ends_first(_unpacked(first), _unpacked(second))
            else:
                sizes = size(one.file), size(other.file)
                same = head_digest(first, min(sizes)) == head_digest(second, min(sizes))
                is_shorter = sizes[0] < sizes[1] if same else None
    except OSError:
        return None
    return None if is_shorter is None else one if is_shorter else other


def _ends_first(one: BinaryIO, other: BinaryIO) -> bool | None:
    """Whether the first of two files ends before the other one; None if they differ before that."""
    while True:
        blocks = _block(one), _block(other)
        common = min(map(len, blocks))
        if blocks[0][:common] != blocks[1][:common]:
            return None
        if common < _BLOCK:
            return len(blocks[0]) < len(blocks[1])


def _head(source: Source) -> bytes:
    with suppress(OSError, zlib.error), opened(source.file) as file:
        packed = is_compressed(file)
        head = file.read(_HEAD)
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD) if packed else head
    return b""


def _unpacked(file: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", gzip.GzipFile(fileobj=file)) if is_compressed(file) else file


def _block(file: BinaryIO) -> bytes:
    """The next bytes, fewer where the file ends, none where what is packed is damaged."""
    with suppress(EOFError, zlib.error, gzip.BadGzipFile):
        return file.read(_BLOCK)
    return b""
