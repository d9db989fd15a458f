"""What the passes over a module have found so far, and the guard around what they do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.compiler.constants import Models
from tlasql.inference.check import Checker
from tlasql.lang.errors import Diagnostic, Location, TlaSqlError, fail
from tlasql.lang.ir import Expr
from tlasql.lang.types import Type
from tlasql.mapping.file import Sidecar
from tlasql.mapping.model import Mapping, Schemas
from tlasql.read.inline import Inliner
from tlasql.read.marks import Annotations, Mark
from tlasql.read.module import Declaration, Definition, Module
from tlasql.sql.dialect import Dialect


@dataclass
class Compilation:
    """Each pass reads what those before it have found, and adds to it.

    ``problems`` concern the whole module: compiling ends with them. ``refused`` keep some definitions from
    being compiled.
    """

    file: Path
    mapping_file: Path
    schemas: Schemas
    libraries: tuple[Path, ...]
    dialect: Dialect
    problems: list[Diagnostic] = field(default_factory=list)
    refused: list[Diagnostic] = field(default_factory=list)
    parsed: Module = field(init=False)
    declarations: list[Declaration] = field(init=False)
    annotations: list[Annotations] = field(init=False)
    sidecar: Sidecar = field(init=False)
    types: dict[str, Type] = field(init=False)
    marked: list[tuple[Mark, Definition]] = field(init=False)
    mapping: Mapping = field(init=False)
    checker: Checker = field(init=False)
    inliner: Inliner = field(init=False)
    constants: dict[str, Expr] = field(init=False)
    compiled: list[Compiled] = field(init=False)
    models: Models = field(init=False)

    @property
    def wanted(self) -> list[tuple[Mark, Definition]]:
        """The marked definitions but those that the mapping leaves out."""
        return [pair for pair in self.marked if pair[0].id not in self.sidecar.skip]

    def result(self) -> CompiledModule:
        """The result of all passes."""
        return CompiledModule(
            self.parsed.name,
            self.file,
            self.libraries,
            self.parsed.every,
            self.mapping,
            self.schemas,
            self.types,
            tuple(self.declarations),
            tuple(self.compiled),
            self.dialect,
            self.sidecar.skip,
            self.models,
            tuple(self.refused),
            tuple(self.parsed.left()),
        )


@contextmanager
def refusing(place: Location, name: str) -> Iterator[None]:
    """Turns any error into a TlaSqlError at ``place``, so that no module ends in a traceback."""
    try:
        yield
    except TlaSqlError:
        raise
    except RecursionError as error:
        raise fail(
            place, f"{name} is nested too deeply", "name its parts, and mark them one by one"
        ) from error
    except Exception as error:
        message = (
            f"{name} is outside the fragment that can be judged over logs ({type(error).__name__}: {error})"
        )
        raise fail(
            place, message, "leave it out: [skip] in the mapping; this is a fault of tlasql"
        ) from error
