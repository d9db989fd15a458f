"""What a command tells whoever waits at a terminal."""

from __future__ import annotations

import sys


def progress(words: str) -> None:
    """One line that replaces itself, for whoever waits at a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{words}")
        sys.stderr.flush()
