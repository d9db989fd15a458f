"""Finds copies of logs in text, so that only one of them is read.

``copytruncate`` of logrotate copies a log before it empties it, gzip and zstd write the packed file beside
the log, and somebody may have copied a whole folder. A run at such a time finds a log under two names, one of
which may have only a part of it. If both were read, nobody could tell later which file a line is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import BinaryIO

from fencepost.capture import packed
from fencepost.capture.digests import head_digest
from fencepost.capture.files import opened, size
from fencepost.capture.packed import DamagedError, is_compressed
from fencepost.capture.plan import Source, is_text

_HEAD = 1 << 10
_BLOCK = 1 << 20


def copies(sources: Iterable[Source]) -> Iterator[Source]:
    """The logs that are the beginning, or the whole, of another log of the same broker or client and kind."""
    logs = sorted((source for source in sources if is_text(source.kind)), key=_owner)
    for _, logs_of_one_owner in groupby(logs, key=_owner):
        for similar in _groups_with_same_head(logs_of_one_owner):
            yield from _copies(similar)


def _owner(log: Source) -> str:
    return repr((*log.origin[:3], log.client))


def _groups_with_same_head(logs: Iterable[Source]) -> Iterator[list[Source]]:
    """The logs in groups with the same first bytes, up to the end of the shortest log of a group."""
    shortest, similar = b"", list[Source]()
    for head, _, source in sorted((_head(each), number, each) for number, each in enumerate(logs)):
        if not (shortest and head.startswith(shortest)):
            yield similar
            shortest, similar = head, []
        similar.append(source)
    yield similar


def _copies(similar: list[Source]) -> Iterator[Source]:
    originals: list[Source] = []
    for source in sorted(similar, key=lambda each: each.file):
        for number, other in enumerate(originals):
            if (beginning := _beginning(other, source)) is not None:
                yield beginning
                originals[number] = source if beginning is other else other
                break
        else:
            originals.append(source)


def _beginning(one: Source, other: Source) -> Source | None:
    """The one of two logs that is the beginning of the other; the second if they are the same; None if they
    differ.
    """
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
    """Whether the first of two files is shorter than the other; None if they differ before it ends."""
    while True:
        blocks = _block(one), _block(other)
        common = min(map(len, blocks))
        if blocks[0][:common] != blocks[1][:common]:
            return None
        if common < _BLOCK:
            return len(blocks[0]) < len(blocks[1])


def _head(source: Source) -> bytes:
    with suppress(OSError, DamagedError), opened(source.file) as file:
        return packed.head(file, _HEAD, _HEAD) if is_compressed(file) else file.read(_HEAD)
    return b""


def _unpacked(file: BinaryIO) -> BinaryIO:
    return packed.reader(file) if is_compressed(file) else file


def _block(file: BinaryIO) -> bytes:
    """The next bytes: fewer at the end of the file, none if packed data is damaged."""
    with suppress(*packed.DAMAGES):
        return file.read(_BLOCK)
    return b""
