"""Python's search for reference cycles, kept out of a replay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
