"""JSON cut into its parts' own texts, so that they stay as they were written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

End = Callable[[str, int], int]
"""Where the JSON value at a place of a text ends."""

_SCANNER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t]*")


def end_of(text: str, at: int) -> int:
    """Where the JSON value at ``at`` ends. Raises ValueError (or RecursionError) where there is none."""
    return _SCANNER.raw_decode(text, at)[1]


def members(
    text: str, at: int, ends: Mapping[str, End] | None = None
) -> tuple[dict[str, tuple[int, int]], int]:
    """Where the value of each member of the JSON object at ``at`` lies, and where the object ends.

    ``ends`` looks through the values of these members in its own way. Raises as ``end_of``.
    """
    places: dict[str, tuple[int, int]] = {}
    own_ends = ends or {}
    at = _past(text, _past(text, at, ""), "{")
    while not text.startswith("}", at):
        if places:
            at = _past(text, at, ",")
        key, at = _SCANNER.raw_decode(text, at)
        at = _past(text, at, ":")
        end = own_ends.get(str(key), end_of)(text, at)
        places[str(key)] = at, end
        at = _past(text, end, "")
    return places, at + 1


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
