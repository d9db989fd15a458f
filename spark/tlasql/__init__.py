"""Compile marked TLA+ definitions to Spark SQL: one text for TLC and for the logs of production.

Each package is a stage and uses those before it: :mod:`tlasql.lang` (expressions, types, places),
:mod:`tlasql.java` (SANY and TLC), :mod:`tlasql.read` (a module and its marks), :mod:`tlasql.inference`
(types), :mod:`tlasql.mapping` (tables), :mod:`tlasql.plan` (rows to judge), :mod:`tlasql.sql` (sqlglot
trees). :mod:`tlasql.compiler` runs them in order.
"""

from tlasql.compiler.compile import compile_module
from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.lang.errors import Diagnostic, TlaSqlError

__all__ = ["Compiled", "CompiledModule", "Diagnostic", "TlaSqlError", "compile_module"]
