"""From a module and its mapping to plans and SQL: every stage in order, every diagnostic collected."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as Dict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tlasql.inference.check import Checker, declared_types, infer_types
from tlasql.java.sany import export_xml
from tlasql.lang.errors import Diagnostic, Location, TlaSqlError, fail
from tlasql.lang.ir import Call, Expr, Literal, Model, Op, Variable, text, walk
from tlasql.lang.source import block, cited
from tlasql.lang.types import BOOL, Scalar, SetOf, Type, TypeSyntaxError, parse_type
from tlasql.mapping.file import MappingFile, sidecar
from tlasql.mapping.loader import load_mapping
from tlasql.mapping.model import Mapping, Records, Schemas
from tlasql.plan.clauses import Clause, clauses, push_primes
from tlasql.plan.defined import always, defined, silent
from tlasql.plan.exchanges import holds_when_unchanged
from tlasql.plan.frames import Frame, Predicates, RecordFrame
from tlasql.plan.histories import plan_history
from tlasql.plan.reach import Reach, reach
from tlasql.plan.records import plan_record, plan_records, records_of
from tlasql.plan.states import plan_state
from tlasql.read.inline import GIVEN_ANEW, Inliner
from tlasql.read.marked import marked_definitions, misfits, module_annotations
from tlasql.read.marks import Mark
from tlasql.read.module import Declaration, Definition, Module
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
    """what it speaks of: a step that leaves all of them as they are stutters"""

    @property
    def claim(self) -> str:
        """What TLC is to evaluate in each state or step."""
        if self.definition.always:  # a temporal formula has no value in a state
            return text(self.body)
        name = self.definition.name
        return f"({self.mark.when} => {name})" if self.mark.when else name

    def reach(self, mapping: Mapping) -> Reach:
        """How far it looks."""
        return reach(self.frames, mapping)

    @property
    def conjuncts(self) -> dict[str, tuple[Location, ...]]:
        """What a violation cites -> where that stands in the specification."""
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
    models: frozenset[tuple[str, Type]] = frozenset()
    """the text of each model value and the type it is used with: in the log, such a text means it"""
    refused: tuple[Diagnostic, ...] = ()
    """what keeps the other marked definitions from being compiled"""

    @cached_property
    def passes(self) -> tuple[Pass, ...]:
        """Queries that judge several definitions at once; a definition that shares nothing is in none."""
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
    def digests(self) -> dict[str, str]:
        """sha256 of the files the SQL was made from."""
        files = (self.file, Path(self.mapping.file))
        return {path.as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


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
    with refusing(Location(str(module), 1, 1), module.stem):
        compiled = _compiled(module, mapping, schemas, libraries, dialect)
    if compiled.refused and not (partly and compiled.definitions):
        raise TlaSqlError(compiled.refused)
    return compiled


@contextmanager
def refusing(place: Location, name: str) -> Iterator[None]:
    """What nobody thought of is refused like all else: no module is worth a traceback."""
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


def _compiled(
    module: Path, mapping: Path, schemas: Schemas, libraries: Sequence[Path], dialect: str
) -> CompiledModule:
    parsed = Module(export_xml(module, libraries=libraries), module, libraries)
    notes = module_annotations(parsed)
    declarations = parsed.declarations()
    entries = sidecar(mapping)
    types, problems = declared_types(
        [note for each in notes for note in each.types], declarations, parsed.definitions(), entries.types
    )
    for name, written in entries.types.items():
        try:
            types[name] = parse_type(written)
        except TypeSyntaxError as error:
            where = entries.file.place("types", name)
            problems.append(
                Diagnostic(where, f"[types] {name}: {error}", "write it as Apalache writes types")
            )
    problems += [problem for each in notes for problem in each.problems]
    marked, wrong = marked_definitions(parsed, notes)
    problems += wrong
    wanted = [pair for pair in marked if pair[0].id not in entries.skip]
    problems += [problem for mark, definition in wanted for problem in misfits(mark, definition)]
    ids = {mark.id for mark, _ in marked}
    problems += _unknown(entries.file, "skip", entries.skip.keys() - ids, "marked definition")
    names = {each.name for each in declarations}
    problems += _unknown(entries.file, "types", entries.types.keys() - names, "VARIABLE or CONSTANT")
    names = {each.name for each in declarations if not each.is_variable}
    names |= {each.name for each in parsed.definitions() if not each.parameters} | GIVEN_ANEW
    unnamed = entries.constants.keys() - names
    problems += _unknown(entries.file, "constants", unnamed, "CONSTANT, nor a definition without parameters")
    if not marked and not problems:
        problems.append(
            Diagnostic(
                Location(str(module), 1, 1), "nothing is marked", 'mark one: \\* @invariant("id", ...)'
            )
        )
    if problems:
        raise TlaSqlError(problems)
    variables = {each.name for each in declarations if each.is_variable}
    mapped = load_mapping(mapping, {n: kind for n, kind in types.items() if n in variables}, schemas)
    if mapped.module != parsed.name:
        where = entries.file.place("module")
        message = f'this mapping is for module "{mapped.module}", not {parsed.name}'
        raise TlaSqlError([Diagnostic(where, message, f'write module = "{parsed.name}"')])
    stages = _Stages(parsed, mapped, types, schemas, DIALECTS[dialect])
    compiled, refused = stages.compile_all(wanted)
    return CompiledModule(
        parsed.name,
        module,
        tuple(libraries),
        parsed.every,
        mapped,
        schemas,
        types,
        tuple(declarations),
        tuple(compiled),
        DIALECTS[dialect],
        entries.skip,
        stages.models,
        tuple(refused),
    )


def _unknown(mapping: MappingFile, table: str, names: Iterable[str], what: str) -> list[Diagnostic]:
    """What a table of the mapping says of nothing in the module."""
    remedy = "correct the name, or remove the line"
    return [
        Diagnostic(mapping.place(table, name), f"[{table}] {name}: the module has no such {what}", remedy)
        for name in sorted(names)
    ]


class _Stages:
    def __init__(
        self,
        parsed: Module,
        mapping: Mapping,
        types: dict[str, Type],
        schemas: Schemas,
        dialect: Dialect,
    ) -> None:
        self._mapping, self._schemas, self._dialect, self._types = mapping, schemas, dialect, types
        self._checker = Checker(types, parsed.declarations(), likely=lambda: self._likely)
        self._parsed = parsed
        self._named = {each.name: each for each in parsed.definitions()}
        # one without a type takes the type it is used with
        self._constants = {
            name: self._given(name, value, types.get(name)) for name, value in mapping.constants.items()
        }
        self.models: frozenset[tuple[str, Type]] = frozenset()
        self._inliner = Inliner(parsed, self._constants)

    @cached_property
    def _likely(self) -> dict[str, Type]:
        return infer_types(self._parsed, self._inliner, self._types)

    def _given(self, name: str, value: object, kind: Type | None) -> Expr:
        where = self._mapping.source.place("constants", name)
        try:
            if isinstance(value, dict) and value.keys() == {"definition"}:
                return replace(self._definition(str(value["definition"]), name), type=kind)
            found = _constant(value, where)
            return found if kind is None else self._checker.check(found, {}, kind)
        except TlaSqlError as error:
            problem = error.diagnostics[0]
            raise fail(where, f"[constants] {name}: {problem.message}", problem.remedy) from error

    def _definition(self, name: str, replaced: str) -> Call:
        """The definition that takes the place of another, as ``Replaced <- Definition`` has it for TLC: of a
        CONSTANT only one without variables.
        """
        nowhere = Location("", 1, 1)
        found = self._named.get(name)
        if found is None:
            raise fail(nowhere, f"the module defines no {name}", "name one of its definitions")
        if found.level > 0 and replaced not in self._named:
            raise fail(nowhere, f"{name} is no definition of a constant", "name one without variables")
        return Call(nowhere, name, found.uid, ())

    def compile_all(self, marked: list[tuple[Mark, Definition]]) -> tuple[list[Compiled], list[Diagnostic]]:
        """The definitions that compile, and what is wrong with the others. Raises TlaSqlError if a constant
        is wrong for all.
        """
        compiled: list[Compiled] = []
        outside: dict[Diagnostic, tuple[str, ...]] = {}
        for mark, definition in marked:
            try:
                with refusing(definition.location, definition.name):
                    compiled.append(self._compile(mark, definition))
            except TlaSqlError as error:
                for each in error.diagnostics:
                    inside = each.location.within(definition.location)
                    outside[each] = outside.get(each, ()) + (() if inside else (mark.id,))
        problems = [replace(each, marks=ids) for each, ids in outside.items()]
        every = (
            part for whole in (*self._constants.values(), *(c.body for c in compiled)) for part in walk(whole)
        )
        self.models = frozenset(
            (each.name, each.type) for each in every if isinstance(each, Model) and each.type is not None
        )
        if wrong := [each for value in self._constants.values() for each in self._ambiguous(value)]:
            raise TlaSqlError([*problems, *wrong])
        ambiguous = {each.mark.id: self._ambiguous(each.body) for each in compiled}
        problems += [problem for found in ambiguous.values() for problem in found]
        return [each for each in compiled if not ambiguous[each.mark.id]], problems

    def _ambiguous(self, body: Expr) -> list[Diagnostic]:
        """Model values that no text can stand for, since a string of their type is spelled the same."""
        found, sorts = [], {kind for _, kind in self.models}
        for part in walk(body):
            match part:
                case Literal(value=str() as value, type=kind) if (value, kind) in self.models:
                    message = f'in the log "{value}" means the model value, and here it is a string'
                    remedy = f"write another text for the model value in {self._mapping.file}"
                    found.append(Diagnostic(part.location, message, remedy))
                case Op(symbol="STRING", type=SetOf(element=kind)) if kind in sorts:
                    message = "STRING beside model values of its type"
                    remedy = "quantify over the strings themselves"
                    found.append(Diagnostic(part.location, message, remedy))
        return found

    def _compile(self, mark: Mark, definition: Definition) -> Compiled:
        if mark.kind == "decision":
            return self._decision(mark, definition)
        if mark.scope and mark.scope != self._mapping.scope:
            message = f"the mapping tells behaviours apart by {', '.join(self._mapping.scope)}"
            raise fail(mark.location, message, "make @scope and the mapping's scope the same")
        body = self._typed(definition, {}, self._guard(mark))
        if body.type != BOOL:
            message = f"{definition.name} has type {body.type}, a marked definition is true or false"
            raise fail(definition.location, message, "compare the value with something")
        parts = clauses(body)
        still = self._still(parts, mark, definition, body)
        try:
            self._check_rows(parts, mark, body)
            if still:
                raise fail(definition.location, f"{still[0].name} decides only whether this step stutters")
            frames = [self._frame(part, mark, body, whole=False) for part in parts]
            sql = verdict_sql(frames, self._mapping, self._schemas, self._dialect)
        except TlaSqlError:
            if mark.transitive:
                raise
            frames = [self._frame(part, mark, body, whole=True, still=still) for part in parts]
            sql = verdict_sql(frames, self._mapping, self._schemas, self._dialect)
        names = {each.name for each in (*walk(body), *still) if isinstance(each, Variable)}
        return Compiled(mark, definition, body, tuple(frames), sql, tuple(sorted(names)))

    def _still(self, parts: list[Clause], mark: Mark, definition: Definition, body: Expr) -> list[Variable]:
        """Variables that are written in a step and decide nothing but whether it stutters.

        A step that is true when nothing changes may stutter anyway.
        """
        if mark.kind != "step" or all(holds_when_unchanged(part) for part in parts):
            return []
        guard = self._guard(mark)
        written = self._parsed.mentioned(definition.uid)
        written |= self._parsed.mentioned(guard.uid) if guard is not None else frozenset()
        read = {each.name for each in walk(body) if isinstance(each, Variable)}
        return [self._checker.variable(name, definition.location) for name in sorted(written - read)]

    def _check_rows(self, parts: list[Clause], mark: Mark, body: Expr) -> None:
        """Whether each row can be judged by itself. Raises TlaSqlError."""
        if any(self._records(part) is not None for part in parts):
            return
        if mark.kind == "step" and len(parts) > 1:
            where = parts[1].conjuncts[0].location
            raise fail(where, "a step whose conjuncts range over different sets")
        alone = len(parts) == 1 and not parts[0].ranges and mark.kind != "step"
        if not always(defined(body, by_row=True)) and not (alone and silent(body, by_row=True)):
            remedy = "write in front of it when it does: x # 0 => ..."
            raise fail(body.location, f"TLC may find no value for {text(body)}", remedy)

    def _records(self, part: Clause) -> Records | None:
        return records_of(part.ranges[0].domain, self._mapping) if part.ranges else None

    def _frame(
        self, part: Clause, mark: Mark, body: Expr, whole: bool, still: Sequence[Variable] = ()
    ) -> Frame:
        """Joined rows, fast for what fits them, or ``whole`` states, for everything else."""
        records = self._records(part)
        if records is not None:
            return plan_records(part, records, self._mapping)
        step = mark.kind == "step"
        if whole:
            needed = None if always(defined(body)) or (not part.ranges and silent(body)) else body
            return plan_state(part, self._mapping, step, body if step else needed, still)
        return plan_history(part, self._mapping, step, mark.transitive)

    def _guard(self, mark: Mark) -> Definition | None:
        """Where the mark applies."""
        if mark.when is None:
            return None
        found = self._named.get(mark.when)
        if found is None or found.parameters or found.level > 1:
            message = f'@when("{mark.when}") names no predicate of a state'
            raise fail(mark.location, message, f"define {mark.when} == ... without parameters and primes")
        return found

    def _typed(self, definition: Definition, bound: dict[int, Type], guard: Definition | None = None) -> Expr:
        inlined = self._inliner.body(definition)
        if guard is not None:
            inlined = Op(inlined.location, "=>", (self._inliner.body(guard), inlined))
        return push_primes(self._checker.check(inlined, bound))

    def _records_decided(self, mark: Mark) -> Records:
        """The set that a decision is about: the named one, the mapping's choice, or the only one."""
        known = {name: each for name, each in self._mapping.variables.items() if isinstance(each, Records)}
        name = mark.records or self._mapping.decisions or (next(iter(known)) if len(known) == 1 else None)
        if name in known:
            return known[name]
        message = f'"{name}" is no set of records of the mapping' if name else f"what is {mark.id} about?"
        remedy = f"the sets of records it maps: {', '.join(known) or 'none'}"
        raise fail(mark.location, message, remedy)

    def _decision(self, mark: Mark, definition: Definition) -> Compiled:
        records = self._records_decided(mark)
        if len(records.identity) > 1:
            where = self._mapping.source.place("variables", records.name, "identity")
            message = f"{mark.id} decides about {records.name}, whose identity has several columns"
            raise fail(where, message, "give them one column that names them: the subject of a decision")
        element = definition.parameters[0]
        label = f"{definition.name}({element.name})"
        body = replace(self._typed(definition, {element.uid: records.type}), label=label)
        if not isinstance(body.type, Scalar):
            message = f"{definition.name} has type {body.type}, a decision gives a truth, a text or a number"
            raise fail(definition.location, message, "decide each part by an operator of its own")
        frame: RecordFrame = plan_record(element, Predicates((), (body,)), records, self._mapping)
        return Compiled(
            mark, definition, body, (frame,), decision_sql(frame, self._mapping, self._schemas, self._dialect)
        )


def _constant(value: object, where: Location) -> Expr:
    """A value of the mapping's ``[constants]``, which stands at ``where``."""
    match value:
        case {"model": str() as name, **more} if not more:
            return Model(where, name)
        case list():
            return Op(where, "{}", tuple(_constant(each, where) for each in value))
        case bool() | int() | str():
            return Literal(where, value)
    remedy = "write a number, text, TRUE or FALSE, a list, a model value, or the name of a definition"
    raise fail(where, f"{value!r} is no constant", remedy)
