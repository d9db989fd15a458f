"""Ctrl-C reaches all processes of a terminal's group at once; only the driver may act on it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def starting_deaf() -> Iterator[None]:
    """Processes that this thread starts within never get Ctrl-C, nor do those that they start."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def keeping_handler() -> Iterator[None]:
    """Have Ctrl-C handled after it as before, whatever a library has set within."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is not before:
            signal.signal(signal.SIGINT, before)
