"""Explains failures of the disk or the database that a lake lies in, which are no faults of the program."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator

from fencepost.iceberg.catalog import STORE_FAILED
from fencepost.settings import Lake

_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
# Some libraries' errors have the system's error only in their text.
_FULL = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
# What is raised if a catalog on another machine does not answer, or refuses: by name, to import none of it.
_OF_CATALOGS = frozenset(
    {
        ("requests.exceptions", "RequestException"),
        ("sqlalchemy.exc", "DBAPIError"),
        ("pyiceberg.exceptions", "RESTError"),
    }
)
_REFUSALS = frozenset({"UnauthorizedError", "ForbiddenError", "AuthorizationExpiredError", "OAuthError"})
"""PyIceberg's errors if a REST catalog answers, but not to this user."""
_OF_LOGS = ("fencepost.capture.stores", "StoreError")
"""What is raised if the store fails in which logs are; its message says all."""
_REMEDY_OF_STORE = (
    "Check [lake] in the configuration. When it answers, repeat the command: what it has written is not lost."
)
_REPEAT = "Free some space, and repeat the command: what it has written is not lost."


def describe_failure(error: BaseException, lake: Lake) -> str | None:
    """What failed where the lake lies, and what to do about it; None for any other error.

    Libraries wrap the errors of disk and database in errors of their own, so all causes are looked at.
    """
    descriptions = (
        str(each) if (type(each).__module__, type(each).__name__) == _OF_LOGS else _in_words(each, lake)
        for each in _causes(error)
    )
    return next((words for words in descriptions if words is not None), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _in_words(error: BaseException, lake: Lake) -> str | None:
    if isinstance(error, sqlite3.Error):
        return f"The catalog {lake.database or lake.catalog} cannot be used ({error}). {_remedy(str(error))}"
    if any(why in str(error) for why in _FULL):
        return f"No space is left for {lake.warehouse} or {tempfile.gettempdir()}. {_REPEAT}"
    if lake.folder is None and _is_of_catalog(error):
        reason = str(error).partition("\n")[0] or type(error).__name__
        fails = "refuses this user" if type(error).__name__ in _REFUSALS else "does not answer"
        return f"The catalog {lake.catalog} {fails} ({reason}). Check [lake] in the configuration."
    if not lake.is_local and isinstance(error, OSError) and STORE_FAILED in str(error):
        reason = str(error).partition(STORE_FAILED)[2].partition("\n")[0].strip()
        return f"The store of {lake.warehouse} fails ({reason}). {_REMEDY_OF_STORE}"
    if not isinstance(error, OSError) or not any(place in str(error) for place in _folders(lake)):
        return None
    remedy = "Check [lake] in the configuration."
    if error.errno in _FORBIDDEN:
        remedy = "Check its permissions, or name another place in [lake]."
    # PyArrow's errors have the path in their text
    what = str(error) if error.filename is None else f"{error.filename}: {error.strerror}"
    return f"{what}. {remedy}"


def _is_of_catalog(error: BaseException) -> bool:
    return any((each.__module__, each.__name__) in _OF_CATALOGS for each in type(error).__mro__)


def _remedy(message: str) -> str:
    if "locked" in message:
        return "Another command is writing to it: repeat this one when that has ended."
    if "full" in message:
        return _REPEAT
    if "readonly" in message:
        return "Check its permissions, or name another place in [lake]."
    return "Check [lake] in the configuration."


def _folders(lake: Lake) -> tuple[str, ...]:
    """The folders of a lake that are on this machine."""
    return tuple(place for place in (lake.warehouse, str(lake.folder or "")) if place.startswith("/"))
