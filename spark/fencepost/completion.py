"""Completion of the command line by a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

SHELLS = ("bash", "zsh", "fish")


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script that completes a parser's commands, options and values in one of SHELLS."""
    import shtab

    for each in _actions(parser):
        if each.type is Path:
            each.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for each in parser._actions:
        yield each
        if isinstance(each, argparse._SubParsersAction):
            for of_command in each.choices.values():
                yield from _actions(of_command)
