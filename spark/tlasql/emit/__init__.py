"""The files written from a compiled module: SQL with a manifest, an expectation suite, dbt tests, pages, and
files for TLC.

Every emitter is a function from a compiled module to files (path -> text). It puts their origin on top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tlasql.compiler.compiled import CompiledModule
from tlasql.emit.expectations import suite
from tlasql.emit.pages import pages
from tlasql.emit.singular_tests import dbt_tests
from tlasql.emit.sql_files import duckdb_files, pass_files, sql_files
from tlasql.emit.tlc_files import tlc_files

Files = Mapping[str, str]
EMITTERS: Mapping[str, Callable[[CompiledModule, str], Files]] = {
    "sql": sql_files,
    "passes": pass_files,
    "duckdb": duckdb_files,
    "suite": suite,
    "dbt_tests": dbt_tests,
    "pages": pages,
    "tlc": tlc_files,
}
"""The key of ``[outputs]`` in the mapping -> what writes there."""


def emit(compiled: CompiledModule) -> dict[str, str]:
    """Every generated file of the module: path relative to the project -> text."""
    found: dict[str, str] = {}
    for kind, target in compiled.mapping.outputs.items():
        found.update(EMITTERS[kind](compiled, target))
    return found
