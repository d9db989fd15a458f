"""Logs in an object store, such as S3: objects as files, with the settings that the lake's own store has.

A store that answers 500 or 503 is asked again for a minute. If it then still fails, the run ends: what was
not read is noted nowhere, so the next run reads it, and what was read is not added twice.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from tempfile import TemporaryFile
from typing import Any, BinaryIO, TypeVar, cast

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

T = TypeVar("T")

SCHEME = "s3://"
PATIENCE_S = 60.0
"""So long a store is asked again that fails."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 8.0
_FETCHED = 8 << 20
_WILD = frozenset("*?[")
_DENIED = ("ACCESS_DENIED", "HTTP status 403")
_ABSENT = ("NO_SUCH_KEY", "NO_SUCH_BUCKET", "RESOURCE_NOT_FOUND", "HTTP status 404")

_properties: dict[str, str] = {}


class StoreError(Exception):
    """An object store does not do what it was asked; the message names the object."""


def use(properties: Mapping[str, str]) -> None:
    """Reach stores with Iceberg's properties ``s3.*`` from now on, in this process."""
    if _properties != properties:
        _properties.clear()
        _properties.update(properties)
        _store.cache_clear()


def with_store(properties: Mapping[str, str], read: Callable[[Any], Iterator[T]], some: Any) -> Iterator[T]:
    """What ``read`` yields, in whatever process that is done."""
    use(properties)
    yield from read(some)


def is_object(path: object) -> bool:
    """Whether a path leads into an object store."""
    return str(path).startswith(SCHEME)


def expand(pattern: str) -> list[str]:
    """The objects and folders that a glob matches, sorted. A wildcard stands for a part of a name, ``**`` for
    any folders. Raises StoreError, also if this user may not list them.
    """
    try:
        return _expanded(pattern)
    except PermissionError as error:
        raise StoreError(
            f"The object store lets this user not list {pattern}. Check s3.* in [lake.catalog_properties]."
        ) from error


def _expanded(pattern: str) -> list[str]:
    parts = pattern.removeprefix(SCHEME).rstrip("/").split("/")
    plain = next((at for at, part in enumerate(parts) if _WILD & set(part)), len(parts))
    if plain == len(parts):
        return [_url("/".join(parts))] if _info(pattern).type != FileType.NotFound else []
    selector = FileSelector("/".join(parts[:plain]), allow_not_found=True, recursive=True)
    found = _asked(pattern, lambda store: store.get_file_info(selector))
    return sorted(_url(each.path) for each in found if _matches(each.path.split("/"), parts))


def _matches(names: list[str], parts: list[str]) -> bool:
    if not parts or not names:
        return not names and all(part == "**" for part in parts)
    if parts[0] == "**":
        return _matches(names, parts[1:]) or _matches(names[1:], parts)
    return fnmatchcase(names[0], parts[0]) and _matches(names[1:], parts[1:])


def is_folder(path: str) -> bool:
    """Whether objects lie below a path."""
    return bool(_info(path).type == FileType.Directory)


def is_file(path: str) -> bool:
    """Whether there is an object of this name."""
    return bool(_info(path).type == FileType.File)


def names(folder: str) -> list[str]:
    """The names in a folder, sorted. Raises OSError."""
    selector = FileSelector(_key(folder))
    return sorted(each.base_name for each in _asked(folder, lambda store: store.get_file_info(selector)))


def size(path: str) -> int:
    """How many bytes an object has. Raises OSError."""
    return int(_present(path).size)


def modified(path: str) -> float:
    """When an object was written, in seconds since 1970. Raises OSError."""
    return float(_present(path).mtime.timestamp())


def opened_exactly(path: str) -> io.RawIOBase:
    """An object, of which only the bytes that the caller reads are fetched. Raises OSError."""
    return _Object(path)


def fetched(path: str, start: int) -> BinaryIO:
    """A file of this machine that has the object's bytes from ``start`` on, at their positions. It is gone
    when it is closed. Raises OSError.
    """
    file = TemporaryFile()  # noqa: SIM115
    with _Object(path) as read:
        read.seek(start)
        file.seek(start)
        while data := read.read(_FETCHED):
            file.write(data)
    file.flush()
    return cast("BinaryIO", file)


class _Object(io.RawIOBase):
    """An object as a file; each read is a request."""

    def __init__(self, path: str) -> None:
        self._path, self._at, self._size = path, 0, size(path)
        self._file = _asked(path, lambda store: store.open_input_file(_key(path)))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        want = min(len(buffer), max(0, self._size - self._at))
        if not want:
            return 0
        data = _asked(self._path, lambda _: self._file.read_at(want, self._at))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _present(path: str) -> FileInfo:
    if (info := _info(path)).type == FileType.NotFound:
        raise FileNotFoundError(2, os.strerror(2), path)
    return info


def _info(path: str) -> FileInfo:
    return _asked(path, lambda store: store.get_file_info(_key(path)))


def _asked(path: str, request: Callable[[FileSystem], T]) -> T:
    """The answer to a request about an object. Raises StoreError, and OSError if the object is not there or
    may not be read.
    """
    until, pause = time.monotonic() + PATIENCE_S, _FIRST_PAUSE_S
    while True:
        try:
            return request(_store(_key(path).partition("/")[0], os.getpid()))
        except OSError as error:
            said = str(error)
            if isinstance(error, FileNotFoundError) or any(each in said for each in _ABSENT):
                raise FileNotFoundError(2, os.strerror(2), path) from error
            if isinstance(error, PermissionError) or any(each in said for each in _DENIED):
                raise PermissionError(13, os.strerror(13), path) from error
            if time.monotonic() + pause > until:
                reason = said.partition("\n")[0].rpartition("AWS Error ")[2]
                raise StoreError(
                    f"The object store fails at {path} ({reason}). Check s3.* in [lake.catalog_properties]. "
                    "When it answers, repeat the command: what it has read is not lost."
                ) from error
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)


@cache
def _store(bucket: str, process: int) -> FileSystem:
    """Of this process alone: a client's threads are not there in one that was forked."""
    from pyiceberg.io.pyarrow import PyArrowFileIO

    return PyArrowFileIO(_properties).fs_by_scheme("s3", bucket)


def _key(path: str) -> str:
    return path.removeprefix(SCHEME).rstrip("/")


def _url(key: str) -> str:
    return SCHEME + key
