"""Ctrl-C, as commands answer it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT
"""The exit code of a command that Ctrl-C has ended."""


@contextmanager
def noted_interrupts() -> Iterator[list[int]]:
    """Notes Ctrl-C before it is raised: DuckDB and dbt raise errors of their own in its place."""
    noted: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        signal.default_int_handler(number, frame)

    # a command in the background ignores Ctrl-C, and only the main thread gets it
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield noted
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
