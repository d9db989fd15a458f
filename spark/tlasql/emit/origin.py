"""The line that tells a reader where a generated file came from."""

from __future__ import annotations

from pathlib import Path

from tlasql.compiler.compiled import Compiled, CompiledModule


def source_of(compiled: Compiled) -> str:
    """The definition by its name and file. Its line stands in the manifest alone, since it moves whenever
    something above it is edited.
    """
    return f"{compiled.definition.name} in {file_of(compiled)}"


def file_of(compiled: Compiled) -> str:
    """The module that has the definition."""
    return Path(compiled.definition.location.file).as_posix()


def generated_from(compiled: Compiled) -> str:
    """The notice that opens every generated file."""
    return f"generated from {source_of(compiled)} by `tlasql compile`; do not edit"


def generated_from_module(compiled: CompiledModule) -> str:
    """The same for a file about several definitions."""
    return f"generated from {compiled.file.as_posix()} by `tlasql compile`; do not edit"
