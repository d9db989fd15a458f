"""A module and its mapping, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tlasql.compiler.compilation import Compilation, refusing
from tlasql.compiler.compiled import CompiledModule
from tlasql.compiler.passes import PASSES
from tlasql.lang.errors import Location, TlaSqlError
from tlasql.mapping.model import Schemas
from tlasql.sql.dialects import DIALECTS


def compile_module(
    module: Path,
    mapping: Path,
    schemas: Schemas,
    *,
    libraries: Sequence[Path] = (),
    dialect: str = "spark",
    partly: bool = False,
) -> CompiledModule:
    """Compile every marked definition of ``module``.

    ``schemas``: table -> column -> Spark type. ``libraries``: folders with modules it extends. Raises
    TlaSqlError with every diagnostic that could be found; with ``partly`` only if it concerns the whole
    module, or no definition compiles.
    """
    work = Compilation(module, mapping, schemas, tuple(libraries), DIALECTS[dialect])
    with refusing(Location(str(module), 1, 1), module.stem):
        for each in PASSES:
            each(work)
    if work.refused and not (partly and work.compiled):
        raise TlaSqlError(work.refused)
    return work.result()
