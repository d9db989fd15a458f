"""The result of compiling a module: the frames and the SQL of each marked definition."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tlasql.compiler.constants import Models
from tlasql.lang.errors import Diagnostic, Location
from tlasql.lang.ir import Expr
from tlasql.lang.source import block, cited
from tlasql.lang.types import Type
from tlasql.mapping.model import Mapping, Schemas
from tlasql.plan.frames import Frame, RecordFrame
from tlasql.plan.reach import Reach, reach
from tlasql.read.marks import Mark
from tlasql.read.module import Declaration, Definition
from tlasql.sql.dialect import Dialect
from tlasql.sql.dialects import DIALECTS
from tlasql.sql.passes import Pass, passes
from tlasql.sql.queries import decision_sql, verdict_sql


@dataclass(frozen=True)
class Compiled:
    """One marked definition: its mark, its typed body without calls, its frames, its SQL."""

    mark: Mark
    definition: Definition
    body: Expr
    frames: tuple[Frame, ...]
    sql: str
    variables: tuple[str, ...] = ()
    """the variables it mentions: a step that leaves all of them as they are stutters"""
    because: str | None = None
    """why it is judged on whole states; None where rows are judged by themselves"""

    @property
    def claim(self) -> str:
        """The expression that TLC evaluates in each state or step, unless it is a box."""
        name = self.definition.name
        return f"({self.mark.when} => {name})" if self.mark.when else name

    def reach(self, mapping: Mapping) -> Reach:
        """How far it looks."""
        return reach(self.frames, mapping)

    @property
    def conjuncts(self) -> dict[str, tuple[Location, ...]]:
        """The text that a violation cites -> its places in the specification."""
        found: dict[str, tuple[Location, ...]] = {}
        for conjunct in (each for frame in self.frames for each in frame.conjuncts):
            places = found.get(cited(conjunct), ())
            found[cited(conjunct)] = tuple(dict.fromkeys((*places, conjunct.location)))
        return found

    @property
    def formula(self) -> str:
        """The definition as it stands in the source."""
        return block(self.definition.location)


@dataclass(frozen=True)
class CompiledModule:
    """Everything compiled from one module, in the order of its source."""

    name: str
    file: Path
    libraries: tuple[Path, ...]
    modules: tuple[str, ...]
    """the module, and all that it extends or instantiates but the standard ones"""
    mapping: Mapping
    schemas: Schemas
    types: dict[str, Type]
    declarations: tuple[Declaration, ...]
    definitions: tuple[Compiled, ...]
    dialect: Dialect
    skipped: Dict[str, str]
    """id of a marked definition the mapping leaves out -> its reason"""
    models: Models = frozenset()
    refused: tuple[Diagnostic, ...] = ()
    """what keeps the other marked definitions from being compiled"""
    left: tuple[tuple[Location, str], ...] = ()
    """what theorems claim and what is not judged, since it has no name or is about whole behaviours"""

    @cached_property
    def passes(self) -> tuple[Pass, ...]:
        """Queries that judge several definitions at once. A definition that shares no table is in none."""
        every = {each.mark.id: (each.mark.kind, each.frames) for each in self.definitions}
        return passes(every, self.mapping, self.schemas, self.dialect)

    def in_dialect(self, name: str) -> CompiledModule:
        """The same definitions as SQL of another engine."""
        dialect = DIALECTS[name]
        if dialect == self.dialect:
            return self

        def printed(each: Compiled) -> str:
            if each.mark.kind == "decision":
                (frame,) = each.frames
                assert isinstance(frame, RecordFrame)
                return decision_sql(frame, self.mapping, self.schemas, dialect)
            return verdict_sql(each.frames, self.mapping, self.schemas, dialect)

        definitions = tuple(replace(each, sql=printed(each)) for each in self.definitions)
        return replace(self, definitions=definitions, dialect=dialect)

    @property
    def sources(self) -> dict[str, Path]:
        """The file of each of ``modules`` that is at hand."""
        folders = (self.file.parent, *self.libraries)
        found = {name: [folder / f"{name}.tla" for folder in folders] for name in self.modules}
        files = {name: next(filter(Path.is_file, paths), None) for name, paths in found.items()}
        return {name: path for name, path in files.items() if path is not None}

    @property
    def digests(self) -> dict[str, str]:
        """sha256 of the files the SQL was made from."""
        files = (self.file, *self.sources.values(), Path(self.mapping.file))
        return {path.as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
