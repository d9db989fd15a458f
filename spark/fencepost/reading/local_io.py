"""Lets PyIceberg read, and never write, files on this machine's disk.

PyIceberg's own implementation loads Arrow's datasets and pandas, which is a third of the time of a short
command.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import NoReturn

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile


class LocalInputFile(InputFile):
    """One file, by its path or ``file:`` location."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self._path = Path(local_path(location))

    def __len__(self) -> int:
        return self._path.stat().st_size

    def exists(self) -> bool:
        """Whether the file exists."""
        return self._path.exists()

    def open(self, seekable: bool = True) -> InputStream:
        """Its whole content, since Iceberg's metadata files are small."""
        return io.BytesIO(self._path.read_bytes())


class LocalFileIO(FileIO):
    """Reads local files."""

    def new_input(self, location: str) -> InputFile:
        """The file at a path or ``file:`` location."""
        return LocalInputFile(location)

    def new_output(self, location: str) -> OutputFile:
        """Refused."""
        _refuse(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Refused."""
        _refuse(str(location))


def local_path(location: str) -> str:
    """The path of a local location: ``/x``, ``file:/x`` or ``file:///x``."""
    return "/" + location.removeprefix("file:").lstrip("/") if location.startswith("file:") else location


def _refuse(location: str) -> NoReturn:
    raise PermissionError(f"{location}: the lake is open for reading only")
