"""Cuts JSON into the texts of its parts, which stay exactly as they were written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

End = Callable[[str, int], int]
"""A function that returns where the JSON value at an index of a text ends."""


class Member(NamedTuple):
    """Where the value of a member begins and ends, and the value; None where a function of ``ends`` scanned
    it.
    """

    start: int
    end: int
    value: Any


_SCANNER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r'"(\w*)"[ \t]*:[ \t]*')
"""A key without escapes, as nearly every one is, and all up to its value."""
_NEXT = re.compile(r"[ \t]*(?:,[ \t]*|(?=\}))")


def end_of(text: str, at: int) -> int:
    """Where the JSON value at ``at`` ends. Raises ValueError (or RecursionError) where there is none."""
    return _SCANNER.raw_decode(text, at)[1]


def members(text: str, at: int, ends: Mapping[str, End] | None = None) -> tuple[dict[str, Member], int]:
    """The members of the JSON object at ``at``, and where the object ends.

    ``ends``: functions that scan the values of these members. Raises as ``end_of``.
    """
    by_name: dict[str, Member] = {}
    own_ends = ends or {}
    scan = _SCANNER.raw_decode
    at = _past(text, _past(text, at, ""), "{")
    while not text.startswith("}", at):
        plain = _KEY.match(text, at)
        if plain is not None:
            key, at = plain[1], plain.end()
        else:
            escaped_key, at = scan(text, at)
            key, at = str(escaped_key), _past(text, _past(text, at, ""), ":")
        own_end = own_ends.get(key)
        value, end = (None, own_end(text, at)) if own_end else scan(text, at)
        by_name[key] = Member(at, end, value)
        following = _NEXT.match(text, end)
        if following is None:
            raise ValueError(f"expected ',' at character {end}")
        at = following.end()
        if text.startswith("}", at) and following[0].strip():
            raise ValueError(f"expected a member at character {at}")
    return by_name, at + 1


def elements(text: str, at: int) -> tuple[list[str], int]:
    """The text of each element of the JSON array at ``at``, and where it ends. Raises as ``end_of``."""
    texts: list[str] = []
    at = _past(text, at, "[")
    while not text.startswith("]", at):
        if texts:
            at = _past(text, at, ",")
        end = end_of(text, at)
        texts.append(text[at:end])
        at = _past(text, end, "")
    return texts, at + 1


def _past(text: str, at: int, token: str) -> int:
    """Skip ``token`` and the blanks after it."""
    if not text.startswith(token, at):
        raise ValueError(f"expected {token!r} at character {at}")
    match = _SPACE.match(text, at + len(token))
    return match.end() if match else at
