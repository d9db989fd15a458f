"""One typed door to numba, so that every kernel is compiled the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

_F = TypeVar("_F", bound=Callable[..., object])


def kernel(function: _F) -> _F:
    """Compile with numba, cached on disk: only the first process on a machine pays for it."""
    return cast(_F, numba.njit(cache=True, nogil=True)(function))


def inlined(function: _F) -> _F:
    """Compile a helper that is always inlined into the kernels that call it."""
    return cast(_F, numba.njit(inline="always")(function))
