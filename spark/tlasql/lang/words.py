"""Numbers, names and values in messages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def counted(number: int, one: str) -> str:
    """A number with its noun.

    >>> counted(1, "argument"), counted(0, "argument")
    ('1 argument', '0 arguments')
    """
    return f"{number} {one}{'' if number == 1 else 's'}"


def as_tla(value: Any) -> str:
    """A value of JSON as TLA+ writes it; one that is not known, which TLA+ has not, as a question mark.

    >>> as_tla(True), as_tla("a"), as_tla(None)
    ('TRUE', '"a"', '?')
    """
    if isinstance(value, bool):
        return str(value).upper()
    return "?" if value is None else json.dumps(value, ensure_ascii=False)


def meant(name: str, known: Iterable[str], otherwise: str) -> str:
    """The nearest of the names that are ``known``; what to do where none is near.

    >>> meant("pald", ["paid", "holder"], "known are paid, holder")
    'did you mean paid?'
    """
    near = get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]}?" if near else otherwise
