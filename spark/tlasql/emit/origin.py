"""The line that tells a reader where a generated file came from."""

from __future__ import annotations

from pathlib import Path

from tlasql.compiler import Compiled, CompiledModule


def source_of(compiled: Compiled) -> str:
    """``file:line`` of the definition."""
    location = compiled.definition.location
    return f"{Path(location.file).as_posix()}:{location.line}"


def generated_from(compiled: Compiled) -> str:
    """The notice that opens every generated file."""
    return f"generated from {source_of(compiled)} by `tlasql compile`; do not edit"


def generated_from_module(compiled: CompiledModule) -> str:
    """The same for a file about several definitions."""
    return f"generated from {compiled.file.as_posix()}:1 by `tlasql compile`; do not edit"
