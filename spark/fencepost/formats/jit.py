"""One typed door to numba, so that every kernel is compiled the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

_F = TypeVar("_F", bound=Callable[..., object])


def kernel(function: _F) -> _F:
    """Compile with numba, cached on disk: only the first process on a machine pays for it.

    Without numba's reference counting, which costs more than the work where arrays are passed per record:
    a kernel allocates nothing and keeps no array beyond its call.
    """
    return cast(_F, numba.njit(cache=True, nogil=True, _nrt=False)(function))


def inlined(function: _F) -> _F:
    """Compile a helper into the kernels that call it: passing arrays down costs more than most helpers do."""
    return cast(_F, numba.njit(nogil=True, _nrt=False, forceinline=True)(function))
