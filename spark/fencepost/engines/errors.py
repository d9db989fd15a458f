"""Errors in tasks on their way to the driver: it raises them as they were raised in the task."""

from __future__ import annotations

import pickle
import re
import secrets
import traceback
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager


class TaskError(Exception):
    """Tasks could not be run, or one failed in a way that only it knows; the message says why."""


class CarriedError(Exception):
    """An error of a task. Its text holds the error itself, since a text is all that passes a JVM."""


def new_key() -> str:
    """A key that a driver and its tasks share. What an error says of evidence may be anything, also what
    looks like a carried error: only what has the key is one.
    """
    return secrets.token_hex(16)


@contextmanager
def carrying(key: str) -> Iterator[None]:
    """Around the work of a task: its errors become CarriedErrors."""
    try:
        yield
    except Exception as error:
        told = "".join(traceback.format_exception(error))
        raise CarriedError(f"{_in_words(error)} [carried {key} {_packed(error, told)}]") from None


def carried(text: str, key: str) -> Exception | None:
    """The error that a text holds, with the task's traceback as a note."""
    found = re.search(rf"\[carried {key} ([A-Za-z0-9+/=]+)\]", text)
    if found is None:
        return None
    error, told = pickle.loads(b64decode(found[1]))
    error.add_note(f"It was raised in a task:\n{told}")
    assert isinstance(error, Exception)
    return error


def _packed(error: Exception, told: str) -> str:
    try:
        packed = pickle.dumps((error, told))
        pickle.loads(packed)
    except Exception:
        # an error is pickled by its own code, and may be of a class that is in no module
        packed = pickle.dumps((TaskError(_in_words(error)), told))
    return b64encode(packed).decode()


def _in_words(error: Exception) -> str:
    return "".join(traceback.format_exception_only(error)).strip()
