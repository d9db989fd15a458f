"""The values that the mapping gives to CONSTANTs, and which texts of the log mean a model value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tlasql.inference.check import Checker
from tlasql.lang.errors import Diagnostic, Location, TlaSqlError, fail
from tlasql.lang.ir import Call, Expr, Literal, Model, Op, walk
from tlasql.lang.types import BOOL, INT, Scalar, SetOf, Type
from tlasql.mapping.file import MappingFile
from tlasql.read.module import Definition

Models = frozenset[tuple[str, Type]]
"""The text of each model value and the type it is used with: in the log, such a text means it."""


_OF_TLA = re.compile(r"\s*(?:\{.*\}|<<.*>>|\[.*(?:\|->|:).*\]|-?\d+\s*\.\.\s*-?\d+)\s*", re.DOTALL)
"""A set, tuple, record, function or range, as TLA+ and TLC's configurations write them."""
_FORMS = 'write 3, "text", true, [1, 2] for a set, { model = "text" } or { definition = "Name" }'


def given_value(
    name: str,
    value: object,
    kind: Type | None,
    *,
    source: MappingFile,
    named: Mapping[str, Definition],
    checker: Checker,
) -> Expr:
    """The value of ``name`` in ``[constants]`` of the mapping, of type ``kind``; without a type it takes the
    type that it is used with. ``named``: the definitions of the module. Raises TlaSqlError.
    """
    where = source.place("constants", name)
    try:
        if isinstance(value, dict) and value.keys() == {"definition"}:
            return replace(_definition(str(value["definition"]), name, named), type=kind)
        found = _constant(value, where)
        if kind is None:
            return found
        try:
            return checker.check(found, {}, kind)
        except TlaSqlError as error:
            remedy = _listed(name, kind) if isinstance(value, list) else error.diagnostics[0].remedy
            raise fail(where, error.diagnostics[0].message, remedy) from error
    except TlaSqlError as error:
        problem = error.diagnostics[0]
        raise fail(where, f"[constants] {name}: {problem.message}", problem.remedy) from error


def _listed(name: str, kind: Type) -> str:
    """What to write where a list is no value of a type."""
    match kind:
        case SetOf(element=Scalar() as element):
            shown = {INT: "1, 2", BOOL: "true, false"}.get(element, '"a", "b"')
            return f"its elements are of type {element}, as in {name} = [{shown}]"
    define = f"define The{name} == ... in the module"
    return f'a list is a set: {define}, and write {name} = {{ definition = "The{name}" }}'


def _definition(name: str, replaced: str, named: Mapping[str, Definition]) -> Call:
    """The definition that takes the place of another, as ``Replaced <- Definition`` has it for TLC: of a
    CONSTANT only one without variables.
    """
    nowhere = Location("", 1, 1)
    found = named.get(name)
    if found is None:
        raise fail(nowhere, f"the module defines no {name}", "name one of its definitions")
    if found.level > 0 and replaced not in named:
        raise fail(nowhere, f"{name} is no definition of a constant", "name one without variables")
    return Call(nowhere, name, found.uid, ())


def _constant(value: object, where: Location) -> Expr:
    """A value of the mapping's ``[constants]``, which stands at ``where``."""
    match value:
        case {"model": str() as name, **more} if not more:
            return Model(where, name)
        case list():
            return Op(where, "{}", tuple(_constant(each, where) for each in value))
        case str() if _OF_TLA.fullmatch(value):
            remedy = "write a set as a list, [1, 2], and anything else as a definition: "
            raise fail(where, f'"{value}" is a text here', f'{remedy}{{ definition = "Name" }}')
        case bool() | int() | str():
            return Literal(where, value)
    shown = repr(value) if isinstance(value, dict) else str(value)
    raise fail(where, f"{shown} is no constant", _FORMS)


def models_in(wholes: Iterable[Expr]) -> Models:
    """The model values of expressions that have their types."""
    every = (part for whole in wholes for part in walk(whole))
    return frozenset(
        (each.name, each.type) for each in every if isinstance(each, Model) and each.type is not None
    )


def ambiguous(body: Expr, models: Models, mapping: str) -> list[Diagnostic]:
    """Model values that no text can stand for, since a string of their type is spelled the same."""
    found, sorts = [], {kind for _, kind in models}
    for part in walk(body):
        match part:
            case Literal(value=str() as value, type=kind) if (value, kind) in models:
                message = f'in the log "{value}" means the model value, and here it is a string'
                remedy = f"write another text for the model value in {mapping}"
                found.append(Diagnostic(part.location, message, remedy))
            case Op(symbol="STRING", type=SetOf(element=kind)) if kind in sorts:
                message = "STRING beside model values of its type"
                remedy = "quantify over the strings themselves"
                found.append(Diagnostic(part.location, message, remedy))
    return found
