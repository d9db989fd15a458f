"""What identifies the part of a file that was read, whatever its name is now.

A digest stays the same exactly while the file still begins with what was read: not after it was replaced,
truncated and written again, or compacted.
"""

from __future__ import annotations

import hashlib
import os
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


def headers_digest(fd: int, consumed_to: int, last_header: int) -> str:
    """The digest of the first and the last header that were read, and where the last one lies.

    A header holds the checksum of its batch: it changes with what applications wrote.
    """
    digest = hashlib.sha256(str(consumed_to).encode())
    for position in (0, last_header):
        digest.update(os.pread(fd, max(0, min(HEADER_SIZE, consumed_to - position)), position))
    return f"{digest.hexdigest()}{_AT}{last_header}"


def last_header(digest: str) -> int:
    """Where the last header lies, as a headers_digest says."""
    return int(digest.partition(_AT)[2] or 0)
