"""Variables of the environment in the configuration, such as secrets; words from outside without them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SHORTEST = 4
_PIECES = re.compile(r"[^\w.\-]+")
_PASSWORD = re.compile(r"(?<=://)[^/@\s]+(?=@)")


class MissingVariableError(Exception):
    """The environment lacks a variable that the configuration names."""


def filled(address: str) -> str:
    """An address with the values of the environment in it. Raises MissingVariableError.

    An address that is nothing but a variable is its value as it is; a value that is a part of one is encoded
    (a password may have an @).
    """
    whole = _VARIABLE.fullmatch(address)
    return _value(whole[1]) if whole else _VARIABLE.sub(lambda match: quote(_value(match[1]), ""), address)


def with_values(properties: Mapping[str, str], where: str) -> dict[str, str]:
    """Properties with the values of the environment in them, as they are. Raises MissingVariableError, which
    names the property (``where``: the table of the configuration that has them).
    """
    found = {}
    for name, text in properties.items():
        try:
            found[name] = substituted(text)
        except MissingVariableError as error:
            raise MissingVariableError(f"{where}.{name}: {error}") from error
    return found


def substituted(text: str) -> str:
    """A text with the values of the environment in it, as they are. Raises MissingVariableError."""
    return _VARIABLE.sub(lambda match: _value(match[1]), text)


def is_variable(text: str) -> bool:
    """Whether a text is nothing but the name of a variable."""
    return _VARIABLE.fullmatch(text) is not None


def missing(address: str) -> list[str]:
    """The variables that an address names and the environment lacks."""
    return [name for name in _VARIABLE.findall(address) if not os.environ.get(name, "").strip()]


def masked(text: str, address: str) -> str:
    """Words about an address, without any piece of the values that the environment gave it."""
    values = (os.environ.get(name, "") for name in _VARIABLE.findall(address))
    pieces = {
        piece
        for value in values
        for each in (value, unquote(value), quote(value, ""))
        for piece in (each, *_PIECES.split(each))
        if len(piece) >= _SHORTEST
    }
    for piece in sorted(pieces, key=len, reverse=True):
        text = text.replace(piece, "***")
    return text


def without_passwords(text: str) -> str:
    """Words in which addresses have no user and no password."""
    return _PASSWORD.sub("***", text)


def _value(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise MissingVariableError(f"the environment has no {name}: set it where the audit runs")
    return value
