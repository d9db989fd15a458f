"""Commands that a person copies into a shell, whatever the names in them are."""

from __future__ import annotations

import re
import shlex

_WORDS = re.compile(r"""\\.|"[^"]*"|'[^']*'""", re.DOTALL)
_NO_COMMAND = "# no command can have this name: it has a NUL character"


def line(*words: str) -> str:
    """A command of these words."""
    return shown(shlex.join(words))


def option(name: str, value: str) -> list[str]:
    """An option with its value, which may begin with a dash."""
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def shown(command: str) -> str:
    """A command as one line that can be printed and copied, and that does the same.

    A quoted word in which something would move the cursor, start a line or turn the text around is written
    with its bytes as escapes, as bash, ksh, zsh and POSIX 2024 (``$'...'``) read them.
    """
    if "\0" in command:
        return _NO_COMMAND
    return _WORDS.sub(lambda found: _escaped(found[0]), command)


def _escaped(word: str) -> str:
    if not word.startswith("'") or word.isprintable():
        return word
    return f"$'{''.join(map(_escape, word[1:-1]))}'"


def _escape(char: str) -> str:
    if char == "\\":
        return "\\\\"
    if char.isprintable():
        return char
    # of a path that is not UTF-8 Python has the bytes as surrogates. Three digits always end an escape.
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
