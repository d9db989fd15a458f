"""Typed wrappers of numba, so that every kernel is compiled with the same options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_F = TypeVar("_F", bound=Callable[..., object])


def kernel(function: _F) -> _F:
    """Compile with numba, cached on disk: only the first process on a machine pays for it, unless it may
    write to no folder where numba would keep it (as a user without a home, or who may not write beside the
    modules).

    numba's reference counting is off: where arrays are passed for every record it costs more than the work.
    So a kernel must not allocate anything, nor keep an array beyond its call.
    """
    try:
        compiled = numba.njit(cache=True, nogil=True, _nrt=False)(function)
    except RuntimeError:
        return cast(_F, numba.njit(nogil=True, _nrt=False)(function))
    # with NUMBA_DISABLE_JIT this is the function itself
    if compiled is not function:
        _forget_if_unreadable(compiled._cache._cache_file)
    return cast(_F, compiled)


def inlined(function: _F) -> _F:
    """Compile a helper into the kernels that call it: passing arrays down costs more than most helpers do."""
    return cast(_F, numba.njit(nogil=True, _nrt=False, forceinline=True)(function))


def _forget_if_unreadable(cache: Any) -> None:
    """Treat a cache that an earlier release wrote as empty if it cannot be read.

    The cache names the classes of arguments, which may have been renamed since. numba 0.68 loads these
    classes before it compares the source, and fails.
    """
    load = cache.load

    def load_or_forget(key: Any) -> Any:
        try:
            return load(key)
        except (AttributeError, ImportError):
            cache.flush()
            return None

    cache.load = load_or_forget
