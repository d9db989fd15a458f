"""Writes a folder of files so that it has these and no older ones. Files of others are never touched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from fencepost.places import write_whole
from fencepost.protocols.base import UsageError

LISTING = "fencepost-page.json"
"""The file that lists what was written, so that only that is ever removed."""


class FolderError(UsageError):
    """The folder cannot be used for the page; the message says why."""


class Folder:
    """A folder for the page. Raises FolderError if it holds something else, or cannot be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            listing = path / LISTING
            if listing.is_file():
                self._before = _listed(listing)
            elif any(path.iterdir()):
                raise FolderError(f"{path}: holds other files. Name a new or an empty folder.")
            else:
                self._before = frozenset()
                # a run that is killed leaves files that the next one knows as its own
                write_whole(listing, b"[]")
        except OSError as error:
            raise FolderError(f"{path}: {error.strerror}") from error

    def size(self, file: str) -> int | None:
        """How many bytes a file has that was written before; None if it is not there."""
        path = self._path / file
        return path.stat().st_size if file in self._before and path.is_file() else None

    def write(self, files: Mapping[str, bytes], kept: frozenset[str] = frozenset()) -> None:
        """Make the folder have these files and the ``kept`` ones. A file that is the same stays as it is.

        The first file is written last, since readers begin with it. Raises FolderError.
        """
        names = {*files, *kept}
        try:
            self._list(names | self._before)
            for file, content in reversed(list(files.items())):
                path = self._path / file
                if self.size(file) != len(content) or path.read_bytes() != content:
                    path.parent.mkdir(exist_ok=True)
                    write_whole(path, content)
            for old in self._before - names:
                (self._path / old).unlink(missing_ok=True)
            self._list(names)
        except OSError as error:
            # a write that fails does not name its file
            raise FolderError(f"{error.filename or self._path}: {error.strerror}") from error

    def _list(self, names: set[str] | frozenset[str]) -> None:
        write_whole(self._path / LISTING, json.dumps(sorted(names), indent=0).encode())


def _listed(listing: Path) -> frozenset[str]:
    """The files that were written before: nothing outside the folder, whoever changed the listing."""
    try:
        names = json.loads(listing.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FolderError(f"{listing}: cannot be read ({error}). Remove the folder.") from error
    paths = {str(name): Path(str(name)) for name in names if isinstance(name, str)}
    return frozenset(
        name
        for name, path in paths.items()
        if not path.is_absolute() and ".." not in path.parts and len(path.parts) <= 2
    )
