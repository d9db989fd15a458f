"""Pauses Python's search for reference cycles, and returns unused memory to the system."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pauses the search for reference cycles: a replay makes millions of objects, hardly any of them in
    cycles, and would spend a third of its time on looking at them again and again. Cycles are found
    afterwards.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def give_back() -> None:
    """Return memory that Arrow does not use any more, and would keep, to the system: later work should not
    add its memory to an earlier peak.
    """
    pa.default_memory_pool().release_unused()


def give_all_back() -> None:
    """As ``give_back``, and also return memory that the C library does not use any more: after a group with a
    million commits glibc keeps a gigabyte. This looks through all memory, so it is called once for each
    protocol, not for each log.
    """
    give_back()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
