"""Numbers in messages."""

from __future__ import annotations


def counted(number: int, one: str) -> str:
    """A number with its noun.

    >>> counted(1, "argument"), counted(0, "argument")
    ('1 argument', '0 arguments')
    """
    return f"{number} {one}{'' if number == 1 else 's'}"
