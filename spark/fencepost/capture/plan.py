"""What one run reads: for every file the range that is new, fixed before anything is read.

A log that is being written grows while it is read. Every pass over a file reads the same range, so the rows,
the faults and the progress of a run always agree with each other.
"""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

SEGMENT = "segment"
REQUEST_LOG = "request_log"
_DIGEST_SPAN = 1024


@dataclass(frozen=True)
class Source:
    """One file and the bytes of it to read: ``[start, end)``; positions count uncompressed bytes.

    ``topic``, ``topic_id``, ``partition`` and ``closed`` (nothing is appended any more) are set for segments,
    ``timezone`` for request logs. ``moved_from`` is the path under which an earlier run read the beginning of
    this file.
    """

    cluster: str
    broker_id: int
    kind: str
    file: str
    start: int = 0
    end: int = 0
    topic: str | None = None
    topic_id: str | None = None
    partition: int | None = None
    closed: bool = False
    timezone: str = "UTC"
    moved_from: str | None = None


@dataclass(frozen=True)
class Fault:
    """Evidence that could not be read: where it is, and a sentence that says what to do."""

    cluster: str
    broker_id: int
    kind: str
    file: str
    position: int
    length: int
    reason: str
    detail: str
    sample: bytes | None = None


@dataclass(frozen=True)
class Read:
    """How far a file had been read: ``consumed_to`` as positions count, ``size`` in bytes on disk."""

    file: str
    head_digest: str
    size: int
    consumed_to: int


@dataclass
class Plan:
    """What a run does: read ``sources``, note files ``known`` under another name, report ``faults``."""

    sources: list[Source] = field(default_factory=list)
    known: list[tuple[Source, Read]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def expand(pattern: str) -> list[str]:
    """The paths a glob matches, sorted; a path without wildcards is itself when it exists."""
    # pathlib has no globs that begin at the root
    return sorted(glob.glob(pattern, recursive=True, include_hidden=True))  # noqa: PTH207


def head_digest(file: BinaryIO, consumed_to: int) -> str:
    """What identifies the part of a file that was read: digest of its first and its last bytes.

    The same at a later time exactly when the file still begins with what was read, whatever its name is now:
    not after it was replaced, truncated and written again, or compacted.
    """
    digest = hashlib.sha256(str(consumed_to).encode())
    for position in (0, max(0, consumed_to - _DIGEST_SPAN)):
        file.seek(position)
        digest.update(file.read(min(_DIGEST_SPAN, consumed_to - position)))
    return digest.hexdigest()


def is_compressed(file: BinaryIO) -> bool:
    """Whether a file is gzipped, whatever its name; leaves it at its beginning."""
    file.seek(0)
    magic = file.read(2)
    file.seek(0)
    return magic == b"\x1f\x8b"


def bundles(sources: list[Source], size: int = 32 << 20) -> Iterator[list[Source]]:
    """Sources grouped to tasks: a large file alone, small ones together until they are worth a task."""
    bundle: list[Source] = []
    weight = 0
    for source in sorted(sources, key=lambda each: each.start - each.end):
        bundle.append(source)
        weight += source.end - source.start
        if weight >= size:
            yield bundle
            bundle, weight = [], 0
    if bundle:
        yield bundle
