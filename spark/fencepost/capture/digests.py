"""Digests that identify the part of a file that was read, even if the file is renamed.

A digest stays the same as long as the file begins with the part that was read. It changes when the file is
replaced, truncated and written again, or compacted.
"""

from __future__ import annotations

import hashlib
from typing import BinaryIO

from fencepost.formats.batch_kernels import HEADER_SIZE

_SPAN = 1024
_AT = "@"


def head_digest(file: BinaryIO, consumed_to: int) -> str:
    """The digest of the first and the last bytes that were read."""
    digest = hashlib.sha256(str(consumed_to).encode())
    for position in (0, max(0, consumed_to - _SPAN)):
        file.seek(position)
        digest.update(file.read(min(_SPAN, consumed_to - position)))
    return digest.hexdigest()


def headers_digest(file: BinaryIO, consumed_to: int, last_header: int) -> str:
    """The digest of the first and the last header that were read, and the position of the last one.

    A header has the checksum of its batch, so it changes with the payload.
    """
    digest = hashlib.sha256(str(consumed_to).encode())
    for position in (0, last_header):
        file.seek(position)
        digest.update(file.read(max(0, min(HEADER_SIZE, consumed_to - position))))
    return f"{digest.hexdigest()}{_AT}{last_header}"


def last_header(digest: str) -> int:
    """The position of the last header, which is a part of a headers_digest."""
    return int(digest.partition(_AT)[2] or 0)
