"""Access to the files of evidence: capture finds, lists and opens them only with these functions.

They are files of this machine. To read evidence from other stores, only these functions would change.
"""

from __future__ import annotations

import glob
import os
from io import BufferedReader, FileIO
from pathlib import Path


def expand(pattern: str) -> list[str]:
    """The paths that a glob matches, sorted; for a path without wildcards, the path itself if it exists."""
    # pathlib has no globs that begin at the root
    return sorted(glob.glob(pattern, recursive=True, include_hidden=True))  # noqa: PTH207


def closed_folders(pattern: str) -> list[str]:
    """The folders on the way to a path or glob into which this user may not look, sorted. A glob passes over
    them in silence.
    """
    path = Path(pattern)
    closed: set[str] = set()
    for child, parent in zip((path, *path.parents), path.parents, strict=False):
        # to go through a folder takes less than to list it
        needed = os.X_OK | os.R_OK if glob.has_magic(child.name) else os.X_OK
        closed |= {each for each in expand(str(parent)) if is_folder(each) and not os.access(each, needed)}
    return sorted(closed)


def is_folder(path: str) -> bool:
    """Whether a path is a folder. A path that this user may not look at is none."""
    try:
        return Path(path).is_dir()
    except PermissionError:
        return False


def is_file(path: str | Path) -> bool:
    """Whether a path is a file. A path that this user may not look at is none."""
    try:
        return Path(path).is_file()
    except PermissionError:
        return False


def resolved(path: str) -> str:
    """The path without symbolic links: the same for two paths to one file."""
    return str(Path(path).resolve())


def names(folder: str | Path) -> list[str]:
    """The names of the files and folders in a folder, sorted. Raises OSError."""
    return sorted(entry.name for entry in Path(folder).iterdir())


def size(path: str) -> int:
    """How many bytes a file has now. Raises OSError."""
    return Path(path).stat().st_size


def opened(path: str) -> BufferedReader:
    """A file, opened at its beginning for reading. Raises OSError."""
    return Path(path).open("rb")


def opened_exactly(path: str) -> FileIO:
    """A file opened without a buffer, so that only bytes that the caller reads are read. Raises OSError."""
    return Path(path).open("rb", buffering=0)


def content(path: str | Path) -> bytes:
    """All bytes of a file. Raises OSError."""
    return Path(path).read_bytes()
