"""JSON cut into its parts' own texts, so that they stay as they were written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

End = Callable[[str, int], int]
"""Where the JSON value at a place of a text ends."""


class Member(NamedTuple):
    """Where the value of a member begins and ends, and what it is; None where its end was found otherwise."""

    start: int
    end: int
    value: Any


_SCANNER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r'"(\w*)"[ \t]*:[ \t]*')
"""A key without escapes, and all up to its value: nearly every one."""
_NEXT = re.compile(r"[ \t]*(?:,[ \t]*|(?=\}))")


def end_of(text: str, at: int) -> int:
    """Where the JSON value at ``at`` ends. Raises ValueError (or RecursionError) where there is none."""
    return _SCANNER.raw_decode(text, at)[1]


def members(text: str, at: int, ends: Mapping[str, End] | None = None) -> tuple[dict[str, Member], int]:
    """The members of the JSON object at ``at``, and where the object ends.

    ``ends`` looks through the values of these members in its own way. Raises as ``end_of``.
    """
    found: dict[str, Member] = {}
    own_ends = ends or {}
    scan = _SCANNER.raw_decode
    at = _past(text, _past(text, at, ""), "{")
    while not text.startswith("}", at):
        plain = _KEY.match(text, at)
        if plain is not None:
            key, at = plain[1], plain.end()
        else:
            named, at = scan(text, at)
            key, at = str(named), _past(text, _past(text, at, ""), ":")
        own_end = own_ends.get(key)
        value, end = (None, own_end(text, at)) if own_end else scan(text, at)
        found[key] = Member(at, end, value)
        following = _NEXT.match(text, end)
        if following is None:
            raise ValueError(f"expected ',' at character {end}")
        at = following.end()
        if text.startswith("}", at) and following[0].strip():
            raise ValueError(f"expected a member at character {at}")
    return found, at + 1


def elements(text: str, at: int) -> tuple[list[str], int]:
    """The text of each element of the JSON array at ``at``, and where it ends. Raises as ``end_of``."""
    found: list[str] = []
    at = _past(text, at, "[")
    while not text.startswith("]", at):
        if found:
            at = _past(text, at, ",")
        end = end_of(text, at)
        found.append(text[at:end])
        at = _past(text, end, "")
    return found, at + 1


def _past(text: str, at: int, token: str) -> int:
    """Skip ``token`` and the blanks after it."""
    if not text.startswith(token, at):
        raise ValueError(f"expected {token!r} at character {at}")
    match = _SPACE.match(text, at + len(token))
    return match.end() if match else at
