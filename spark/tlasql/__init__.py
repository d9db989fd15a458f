"""Compile marked TLA+ definitions to Spark SQL: one text for TLC and for the logs of production.

Each package is a stage and uses those before it: :mod:`tlasql.lang` (expressions, types, places),
:mod:`tlasql.java` (SANY and TLC), :mod:`tlasql.read` (a module and its marks), :mod:`tlasql.inference`
(types), :mod:`tlasql.mapping` (tables), :mod:`tlasql.plan` (rows to judge), :mod:`tlasql.sql` (sqlglot
trees). :mod:`tlasql.compiler` runs them in order.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tlasql.compiler.compile import compile_module
    from tlasql.compiler.compiled import Compiled, CompiledModule
    from tlasql.lang.errors import Diagnostic, TlaSqlError

__all__ = ["Compiled", "CompiledModule", "Diagnostic", "TlaSqlError", "compile_module"]

_MODULES = {
    "Compiled": "compiler.compiled",
    "CompiledModule": "compiler.compiled",
    "Diagnostic": "lang.errors",
    "TlaSqlError": "lang.errors",
    "compile_module": "compiler.compile",
}


def __getattr__(name: str) -> Any:
    """What the package has, when it is asked for: who parses arguments needs no SQL."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
