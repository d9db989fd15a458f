"""Failures of the disk and of the database that a lake lies in, which are no faults of the program."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator

from fencepost.settings import SQLITE, Lake

_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
# Of some libraries' errors only the text has it.
_FULL = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
_REPEAT = "Free some space, and repeat the command: what it has written is not lost."


def describe_failure(error: BaseException, lake: Lake) -> str | None:
    """What failed in the place of a lake, and what to do about it; None for any other error.

    Libraries raise errors of their own where the disk or the database raised one: that one tells.
    """
    found = (_in_words(each, lake) for each in _causes(error))
    return next((words for words in found if words is not None), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _in_words(error: BaseException, lake: Lake) -> str | None:
    if isinstance(error, sqlite3.Error):
        catalog = lake.catalog.removeprefix(SQLITE)
        return f"The catalog {catalog} cannot be used ({error}). {_remedy(str(error))}"
    if any(why in str(error) for why in _FULL):
        return f"No space is left for {lake.warehouse} or {tempfile.gettempdir()}. {_REPEAT}"
    if not isinstance(error, OSError) or not any(place in str(error) for place in _folders(lake)):
        return None
    remedy = "Check [lake] in the configuration."
    if error.errno in _FORBIDDEN:
        remedy = "Check its permissions, or name another place in [lake]."
    # PyArrow's errors have the path in their text
    what = str(error) if error.filename is None else f"{error.filename}: {error.strerror}"
    return f"{what}. {remedy}"


def _remedy(said: str) -> str:
    if "locked" in said:
        return "Another command is writing to it: repeat this one when that has ended."
    if "full" in said:
        return _REPEAT
    if "readonly" in said:
        return "Check its permissions, or name another place in [lake]."
    return "Check [lake] in the configuration."


def _folders(lake: Lake) -> tuple[str, ...]:
    """Where the files of a lake are, as far as they are files of this machine."""
    return tuple(place for place in (lake.warehouse, str(lake.folder or "")) if place.startswith("/"))
