"""Compile marked TLA+ definitions to Spark SQL: one text for TLC and for the logs of production.

The stages, in order: :mod:`tlasql.sany` (SANY parses and resolves), :mod:`tlasql.marks` (annotations in the
comments), :mod:`tlasql.reader` (SANY's XML to :mod:`tlasql.ir`), :mod:`tlasql.types` (Apalache-style types),
:mod:`tlasql.normalise` (inlining, clauses), :mod:`tlasql.plan` (relational frames against
:mod:`tlasql.mapping`), :mod:`tlasql.sql` (sqlglot trees, printed once).
"""

from tlasql.compiler import Compiled, CompiledModule, compile_module
from tlasql.errors import Diagnostic, TlaSqlError

__all__ = ["Compiled", "CompiledModule", "Diagnostic", "TlaSqlError", "compile_module"]
