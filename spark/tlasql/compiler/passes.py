"""The passes over a module, each of which adds to a compilation, or names what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from tlasql.compiler.compilation import Compilation, refusing
from tlasql.compiler.constants import ambiguous, given_value, models_in
from tlasql.compiler.definitions import Definitions
from tlasql.inference.check import Checker, declared_types, infer_types
from tlasql.java.sany import export_xml
from tlasql.lang.errors import Diagnostic, Location, TlaSqlError
from tlasql.lang.types import TYPES_ARE, Type, TypeSyntaxError, parse_type
from tlasql.lang.words import meant
from tlasql.mapping.file import sidecar
from tlasql.mapping.loader import load_mapping
from tlasql.read.inline import GIVEN_ANEW, Inliner
from tlasql.read.marked import configured, marked_definitions, misfits, module_annotations
from tlasql.read.module import Module


def parse(work: Compilation) -> None:
    """SANY's reading of the module and of all that it extends."""
    work.parsed = Module(export_xml(work.file, libraries=work.libraries), work.file, work.libraries)
    work.declarations = work.parsed.declarations()


def read_comments(work: Compilation) -> None:
    """The annotations: marks, types, headers."""
    work.annotations = module_annotations(work.parsed)
    work.problems += [problem for each in work.annotations for problem in each.problems]


def read_sidecar(work: Compilation) -> None:
    """The parts of the mapping that are needed before types are known."""
    work.sidecar = sidecar(work.mapping_file)


def declare_types(work: Compilation) -> None:
    """The types that annotations and the mapping give to variables and constants."""
    notes = [note for each in work.annotations for note in each.types]
    given = work.sidecar.types
    work.types, problems = declared_types(notes, work.declarations, work.parsed.definitions(), given)
    work.problems += problems
    for name, written in given.items():
        try:
            work.types[name] = parse_type(written)
        except TypeSyntaxError as error:
            where = work.sidecar.file.place("types", name)
            work.problems.append(Diagnostic(where, f"[types] {name}: {error}", TYPES_ARE))


def find_marked(work: Compilation) -> None:
    """The marked definitions, and marks that do not fit theirs."""
    work.marked, problems = marked_definitions(work.parsed, work.annotations)
    work.problems += problems
    work.problems += [problem for mark, definition in work.wanted for problem in misfits(mark, definition)]


def check_names(work: Compilation) -> None:
    """The module must have the names that the mapping uses."""
    names, definitions = work.sidecar, work.parsed.definitions()
    constants = {each.name for each in work.declarations if not each.is_variable} | GIVEN_ANEW
    constants |= {each.name for each in definitions if not each.parameters}
    for table, given, known, what in (
        ("skip", names.skip, {mark.id for mark, _ in work.marked}, "marked definition"),
        ("types", names.types, {each.name for each in work.declarations}, "VARIABLE or CONSTANT"),
        ("constants", names.constants, constants, "CONSTANT, nor a definition without parameters"),
    ):
        for name in sorted(given.keys() - known):
            message = f"[{table}] {name}: the module has no such {what}"
            remedy = meant(name, known, "correct the name, or remove the line")
            work.problems.append(Diagnostic(names.file.place(table, name), message, remedy))


def stop_if_wrong(work: Compilation) -> None:
    """No definition is compiled of a module that is wrong as a whole, or has no marks."""
    if not work.marked and not work.problems:
        where = Location(str(work.file), 1, 1)
        remedy = 'mark one: \\* @invariant("id", ...) above it, or claim it: THEOREM Spec => []Name'
        names = configured(work.file, work.parsed.named)
        if names:
            headers = ", ".join(f"\\* INV: {each}" for each in names)
            remedy = f"what a configuration of TLC names is marked by a comment for each: {headers}"
        work.problems.append(Diagnostic(where, "nothing is marked", remedy))
    if work.problems:
        raise TlaSqlError(work.problems)


def map_variables(work: Compilation) -> None:
    """The tables and columns of each variable."""
    variables = {each.name for each in work.declarations if each.is_variable}
    typed = {name: kind for name, kind in work.types.items() if name in variables}
    work.mapping = load_mapping(work.mapping_file, typed, work.schemas)
    if work.mapping.module != work.parsed.name:
        where = work.sidecar.file.place("module")
        named = f'is for module "{work.mapping.module}", not {work.parsed.name}'
        message = f"this mapping {named if work.mapping.module else 'does not say of which module it is'}"
        raise TlaSqlError([Diagnostic(where, message, f'write module = "{work.parsed.name}"')])


def give_constants(work: Compilation) -> None:
    """The values of CONSTANTs, and with them the checker of types and the inliner of operators."""

    @cache  # it takes long, and is asked for only where a variable has no type
    def likely() -> dict[str, Type]:
        return infer_types(work.parsed, work.inliner, work.types)

    work.checker = Checker(work.types, work.declarations, likely=likely)
    source, named = work.mapping.source, work.parsed.named
    work.constants = {
        name: given_value(name, value, work.types.get(name), source=source, named=named, checker=work.checker)
        for name, value in work.mapping.constants.items()
    }
    work.inliner = Inliner(work.parsed, work.constants)


def compile_definitions(work: Compilation) -> None:
    """Compiles each marked definition by itself: an error in one leaves the others alone."""
    definitions = Definitions(
        work.parsed, work.mapping, work.schemas, work.dialect, work.checker, work.inliner
    )
    work.compiled = []
    needed_by: dict[Diagnostic, tuple[str, ...]] = {}
    for mark, definition in work.wanted:
        try:
            with refusing(definition.location, definition.name):
                work.compiled.append(definitions.compiled(mark, definition))
        except TlaSqlError as error:
            for each in error.diagnostics:
                inside = each.location.within(definition.location)
                needed_by[each] = needed_by.get(each, ()) + (() if inside else (mark.id,))
    work.refused += [replace(each, marks=ids) for each, ids in needed_by.items()]


def check_model_values(work: Compilation) -> None:
    """A text of the log must mean either a model value or a string."""
    bodies = (each.body for each in work.compiled)
    work.models = models_in([*work.constants.values(), *bodies])
    mapping = work.mapping.file
    wrong = [each for value in work.constants.values() for each in ambiguous(value, work.models, mapping)]
    if wrong:
        raise TlaSqlError([*work.refused, *wrong])
    found = {each.mark.id: ambiguous(each.body, work.models, mapping) for each in work.compiled}
    work.refused += [problem for each in found.values() for problem in each]
    work.compiled = [each for each in work.compiled if not found[each.mark.id]]


PASSES: tuple[Callable[[Compilation], None], ...] = (
    parse,
    read_comments,
    read_sidecar,
    declare_types,
    find_marked,
    check_names,
    stop_if_wrong,
    map_variables,
    give_constants,
    compile_definitions,
    check_model_values,
)
"""In this order. Each raises TlaSqlError where the next one would find nothing to work on."""
