"""Memory that a replay leaves behind: when it is looked for, and what is given back of it."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def collection_paused() -> Iterator[None]:
    """No search for cycles inside: a replay makes millions of objects, hardly any of them in cycles, and a
    third of its time would go into looking at them again and again. What is garbage is found afterwards.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def give_back() -> None:
    """Give the system the memory that Arrow has no use for any more, and would keep: a peak is not to be what
    the work after it begins with.
    """
    pa.default_memory_pool().release_unused()


def give_all_back() -> None:
    """As ``give_back``, and what the C library has no use for: glibc alone keeps it, a gigabyte after a group
    with a million commits. It looks through all memory for it: once for each protocol, not for each log.
    """
    give_back()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
