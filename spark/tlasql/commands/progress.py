"""The line at a terminal that says how far a command has got."""

from __future__ import annotations

import sys


def progress(words: str) -> None:
    """Writes a line that replaces the last one, if there is a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{words}")
        sys.stderr.flush()
