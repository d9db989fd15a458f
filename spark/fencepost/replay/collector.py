"""Python's collector of reference cycles, which replays do without."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def without_collector(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Run a function that makes millions of small objects and no cycles among them, without the collector.

    It would look through all of them again and again: a third of the time of a replay, for nothing.
    """

    @wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            if was_enabled:
                gc.enable()

    return run
