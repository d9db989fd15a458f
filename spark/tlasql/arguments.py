"""A parser of command lines that names the nearest word it knows to one that is misspelt."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)$", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """Commands that are added to it are parsed by the same class, and name their own options.

    ``takes_no_words``: what to say to someone who gives such a command a word that is no option.
    """

    takes_no_words = ""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        """The arguments; none that it does not know is left for others."""
        self._given = list(sys.argv[1:] if args is None else args)
        found, strange = super().parse_known_args(args, namespace)
        if strange:
            given = f"unrecognized arguments: {' '.join(strange)}"
            if self.takes_no_words and not any(each.startswith("-") for each in strange):
                super().error(f"{given}. {self.takes_no_words}")
            self.error(given)
        return found, strange

    def error(self, message: str) -> NoReturn:
        """End with the usage, the message and what may have been meant."""
        chosen = _CHOICE.search(message)
        if chosen is not None:
            near = _nearest(chosen[1], re.findall(r"'([^']*)'", chosen[2]))
            meant = f"Did you mean {near}?" if near else ""
            if not near and message.startswith("argument COMMAND") and self._given[0].startswith("-"):
                meant = "Options stand behind it."
        else:
            meant = " ".join(self._misspelt())
        super().error(f"{message}. {meant or f'{self.prog} --help says more.'}")

    def _misspelt(self) -> Iterator[str]:
        """A sentence for each option given that is none, and is like one."""
        known = [each for each in self._option_string_actions if each.startswith("--")]
        for given in (each.partition("=")[0] for each in self._given if each.startswith("--")):
            near = _nearest(given, known)
            if near and not any(each.startswith(given) for each in known):
                yield f"Did you mean {near} by {given}?"


def _nearest(word: str, known: Sequence[str]) -> str | None:
    return next(iter(get_close_matches(word.lower(), known, 1)), None)
