"""Access to the files of evidence: capture finds, lists and opens them only with these functions.

They are files of this machine, or objects of a store, whose paths begin with ``s3://``.
"""

from __future__ import annotations

import glob
import os
from io import BufferedReader, FileIO
from pathlib import Path
from typing import BinaryIO, cast

from fencepost.capture import stores

_READ_AHEAD = 1 << 16


def expand(pattern: str) -> list[str]:
    """The paths that a glob matches, sorted; for a path without wildcards, the path itself if it exists."""
    if stores.is_object(pattern):
        return stores.expand(pattern)
    # pathlib has no globs that begin at the root
    return sorted(glob.glob(pattern, recursive=True, include_hidden=True))  # noqa: PTH207


def closed_folders(pattern: str) -> list[str]:
    """The folders on the way to a path or glob into which this user may not look, sorted. A glob passes over
    them in silence.
    """
    if stores.is_object(pattern):
        return []
    path = Path(pattern)
    closed: set[str] = set()
    for child, parent in zip((path, *path.parents), path.parents, strict=False):
        # to go through a folder takes less than to list it
        needed = os.X_OK | os.R_OK if glob.has_magic(child.name) else os.X_OK
        closed |= {each for each in expand(str(parent)) if is_folder(each) and not os.access(each, needed)}
    return sorted(closed)


def inside(folder: str, name: str) -> str:
    """The path of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}"


def is_folder(path: str) -> bool:
    """Whether a path is a folder. A path that this user may not look at is none."""
    try:
        return stores.is_folder(path) if stores.is_object(path) else Path(path).is_dir()
    except PermissionError:
        return False


def is_file(path: str) -> bool:
    """Whether a path is a file. A path that this user may not look at is none."""
    try:
        return stores.is_file(path) if stores.is_object(path) else Path(path).is_file()
    except PermissionError:
        return False


def is_readable(path: str) -> bool:
    """Whether this user may read a file."""
    if not stores.is_object(path):
        return os.access(path, os.R_OK)
    try:
        with opened(path) as file:
            file.read(1)
    except OSError:
        return False
    return True


def resolved(path: str) -> str:
    """The path without symbolic links, as far as they lead somewhere: the same for two paths to one file."""
    return path if stores.is_object(path) else os.path.realpath(path)


def names(folder: str) -> list[str]:
    """The names of the files and folders in a folder, sorted. Raises OSError."""
    if stores.is_object(folder):
        return stores.names(folder)
    return sorted(entry.name for entry in Path(folder).iterdir())


def size(path: str) -> int:
    """How many bytes a file has now. Raises OSError."""
    return stores.size(path) if stores.is_object(path) else Path(path).stat().st_size


def modified(path: str) -> float:
    """When a file was written last, in seconds since 1970. Raises OSError."""
    return stores.modified(path) if stores.is_object(path) else Path(path).stat().st_mtime


def opened(path: str) -> BufferedReader:
    """A file, opened at its beginning for reading. Raises OSError."""
    if stores.is_object(path):
        return BufferedReader(stores.opened_exactly(path), _READ_AHEAD)
    return Path(path).open("rb")


def opened_exactly(path: str) -> FileIO:
    """A file opened without a buffer, so that only bytes that the caller reads are read. Raises OSError."""
    if stores.is_object(path):
        # what reads it cannot tell, but that it has no descriptor
        return cast("FileIO", stores.opened_exactly(path))
    return Path(path).open("rb", buffering=0)


def opened_here(path: str, start: int) -> BinaryIO | FileIO:
    """A file with a descriptor of this machine, to be read from ``start`` on: of a file that is here only the
    bytes that the caller reads are read, an object is fetched. Raises OSError.
    """
    return stores.fetched(path, start) if stores.is_object(path) else opened_exactly(path)


def content(path: str) -> bytes:
    """All bytes of a file. Raises OSError."""
    with opened(path) as file:
        return file.read()
