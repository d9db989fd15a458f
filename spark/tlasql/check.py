"""Type checking: every expression of a marked definition gets its type, or the compiler stops."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from tlasql.errors import Diagnostic, Location, TlaSqlError, fail
from tlasql.infer import Inference
from tlasql.inline import Inliner
from tlasql.ir import Bound, Constant, Expr, Op, Quantified, Variable
from tlasql.marks import TypeNote
from tlasql.reader import Declaration, Definition, Module
from tlasql.types import BOOL, SetOf, Type, TypeSyntaxError, parse_type
from tlasql.unify import Unifier

_TYPE_INVARIANT = re.compile(r"type_?(ok|inv|correct|safe)|^typ", re.IGNORECASE)


def declared_types(
    notes: list[TypeNote],
    declarations: list[Declaration],
    definitions: Sequence[Definition] = (),
    given: Collection[str] = (),
) -> tuple[dict[str, Type], list[Diagnostic]]:
    """The type of each annotated VARIABLE and CONSTANT, and what is wrong with the annotations.

    One above an operator is Apalache's: what an operator takes and gives follows from its uses here.
    ``given``: names whose types the mapping says, so that a comment may be for another tool.
    """
    aliases: dict[str, Type] = {}
    types: dict[str, Type] = {}
    problems: list[Diagnostic] = []
    for note in sorted(notes, key=lambda each: each.location):
        if not note.name and any(_is_before(note, each.location) for each in definitions):
            continue
        try:
            parsed = parse_type(note.text, aliases)
        except TypeSyntaxError as error:
            if any(each.name in given for each in _annotated(note, declarations)):
                continue
            problems.append(
                Diagnostic(note.location, str(error), "types are written as Apalache writes them")
            )
            continue
        if note.name:
            aliases[note.name] = parsed
            continue
        names = _annotated(note, declarations)
        if len(names) == 1:
            types[names[0].name] = parsed
        else:
            problems.append(_misplaced(note, names))
    return types, problems


def _annotated(note: TypeNote, declarations: list[Declaration]) -> list[Declaration]:
    """What a @type is about: the declaration on the line below, or the next one on its own line."""
    found = [each for each in declarations if _is_before(note, each.location)]
    if note.before_line != note.location.line:
        return found
    behind = [each for each in found if each.location.column > note.location.column]
    return sorted(behind, key=lambda each: each.location)[:1]


def _is_before(note: TypeNote, location: Location) -> bool:
    return Path(location.file).name == Path(note.location.file).name and location.line == note.before_line


def _misplaced(note: TypeNote, names: list[Declaration]) -> Diagnostic:
    listed = ", ".join(sorted(each.name for each in names))
    problem = f"this @type stands before {listed}" if names else "this @type stands before no declaration"
    return Diagnostic(note.location, problem, "put it on the line directly above one VARIABLE or CONSTANT")


class Checker:
    """Types whole expressions; ``{}``, ``<<>>`` and strings that stand for model values take their types from
    what they meet.

    ``likely``: what the types of variables without one seem to be.
    """

    def __init__(
        self,
        types: Mapping[str, Type],
        declarations: list[Declaration],
        *,
        likely: Callable[[], Mapping[str, Type]] = dict,
    ) -> None:
        self._types, self._likely = types, likely
        self._declared = {each.name: each for each in declarations}

    def check(self, expr: Expr, bound: Mapping[int, Type], want: Type | None = None) -> Expr:
        """A copy of ``expr`` with all types filled in; ``want`` is the type its place asks for. Raises
        TlaSqlError.
        """
        unifier = Unifier()
        for kind in (*self._types.values(), *bound.values()):
            unifier.resolve(kind)  # fields are ordered as declared
        inference = Inference(unifier, self._declared_type)
        return inference.finish(inference.of(expr, bound, want))

    def variable(self, name: str, place: Location) -> Variable:
        """A VARIABLE of the module by its name, typed. Raises TlaSqlError when nothing says its type."""
        found = Variable(place, name)
        return Variable(place, name, type=self._declared_type(found))

    def _declared_type(self, expr: Variable | Constant) -> Type:
        name = expr.name
        if isinstance(expr, Variable) and name in self._types:
            return self._types[name]
        if isinstance(expr, Constant):
            remedy = f"give it a value in the mapping: [constants] {name} = ..."
            raise fail(expr.location, f"the constant {name} has no value in a log", remedy)
        place = self._declared[name].location if name in self._declared else expr.location
        kind = self._likely().get(name, "...")
        remedy = f"write \\* @type: {kind}; on the line above its declaration at {place}"
        raise TlaSqlError([Diagnostic(place, f"the variable {name} has no type", remedy)])


def infer_types(module: Module, inliner: Inliner, known: Mapping[str, Type]) -> dict[str, Type]:
    """The types of VARIABLEs and CONSTANTs that are not ``known``, from what the module says of them.

    Read are, until nothing is open: definitions named like TypeOK, Init, and then all others. What cannot be
    typed says nothing. Names whose type stays open are left out.
    """
    unifier = Unifier()
    found: dict[str, Type] = dict(known)
    for kind in known.values():
        unifier.resolve(kind)
    names = [each.name for each in module.declarations()]
    for name in names:
        found.setdefault(name, unifier.unknown())
    inference = Inference(unifier, lambda expr: found.setdefault(expr.name, unifier.unknown()))
    for definition in _informative(module):
        if not any(unifier.is_open(found[name]) for name in names):
            break
        try:
            body = inliner.body(definition)
        except TlaSqlError:
            continue
        _learn(inference, unifier, body, {each.uid: unifier.unknown() for each in definition.parameters})
    with contextlib.suppress(TlaSqlError):  # whatever uses these variables will say so
        inference.decide()
    return {
        name: unifier.resolve(found[name])
        for name in names
        if name not in known and unifier.settle(found[name])
    }


def _informative(module: Module) -> list[Definition]:
    every = [each for each in module.definitions() if each.level <= 2]
    typing = [each for each in every if _TYPE_INVARIANT.search(each.name)]
    initial = [each for each in every if each.name == "Init"]
    return [*typing, *initial, *(each for each in every if each not in typing and each not in initial)]


def _learn(inference: Inference, unifier: Unifier, expr: Expr, bound: dict[int, Type]) -> None:
    match expr:
        case Op(symbol="/\\" | "\\/" | "=>", arguments=arguments):
            for each in arguments:
                _learn(inference, unifier, each, bound)
        case Quantified(kind="\\A" | "\\E", variable=Bound(uid=uid), domain=domain, body=body):
            element = unifier.unknown()
            inference.attempt(domain, bound, SetOf(element))
            _learn(inference, unifier, body, {**bound, uid: element})
        case _:
            inference.attempt(expr, bound, BOOL)
