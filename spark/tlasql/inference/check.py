"""Type checking: every expression of a marked definition gets its type, or the compiler stops."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tlasql.inference.infer import Inference
from tlasql.inference.unify import Unifier, Unknown
from tlasql.lang.errors import Diagnostic, Location, TlaSqlError, fail
from tlasql.lang.ir import Bound, Constant, Expr, Op, Quantified, Variable, walk
from tlasql.lang.types import BOOL, TYPES_ARE, SetOf, Type, TypeSyntaxError, parse_type
from tlasql.read.inline import Inliner
from tlasql.read.marks import TypeNote
from tlasql.read.module import Declaration, Definition, Module

_OF_OPERATORS = "=>"
"""Apalache's arrow between what an operator takes and what it gives."""
_OPEN = re.compile(r"\?(?!:)")
"""A type that is not known; ``bal?:`` is a field that some records lack."""
_MOST_PARTS = 20_000
"""Of a definition with more parts, once its operators are inlined, it would take long to learn types."""
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
    types: dict[str, Type] = {}
    problems: list[Diagnostic] = []
    for note in sorted(notes, key=lambda each: each.location):
        if not note.name and (note.operator or any(_is_before(note, each.location) for each in definitions)):
            continue
        names = [] if note.name else _annotated(note, declarations)
        parsed = _parsed(note, notes)
        if isinstance(parsed, Diagnostic):
            is_operators = _OF_OPERATORS in note.text and not any(each.is_variable for each in names)
            if not any(each.name in given for each in names) and not is_operators:
                problems.append(parsed)
        elif len(names) == 1:
            types[names[0].name] = parsed
        elif not note.name:
            problems.append(_misplaced(note, names))
    return types, problems


def _parsed(note: TypeNote, notes: Sequence[TypeNote]) -> Type | Diagnostic:
    """The type that an annotation gives, or what is wrong with it."""
    if note.problem is not None:
        return note.problem
    try:
        return parse_type(note.text, _Aliases(notes, note.location.file, (note,)))
    except TypeSyntaxError as error:
        return Diagnostic(note.location, str(error), TYPES_ARE)


@dataclass(frozen=True)
class _Aliases(Mapping[str, Type]):
    """What each @typeAlias stands for, wherever it is: those of the same ``file`` come first.

    ``inside``: the annotations that are being read. Raises TypeSyntaxError where one is made of itself.
    """

    notes: Sequence[TypeNote]
    file: str
    inside: tuple[TypeNote, ...]

    def __getitem__(self, name: str) -> Type:
        named = [each for each in self.notes if each.name == name]
        if not named:
            raise KeyError(name)
        note = ([each for each in named if each.location.file == self.file] or named)[-1]
        if note in self.inside:
            raise TypeSyntaxError(f"the @typeAlias {name} is made of itself")
        return parse_type(note.text, _Aliases(self.notes, note.location.file, (*self.inside, note)))

    def __iter__(self) -> Iterator[str]:
        return iter({each.name: None for each in self.notes if each.name})

    def __len__(self) -> int:
        return len(list(iter(self)))


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
        kind = str(self._likely().get(name, "..."))
        whole = " (with a type for each ?)" if _OPEN.search(kind) else ""
        remedy = f"write \\* @type: {kind};{whole} on the line above its declaration at {place}"
        raise TlaSqlError([Diagnostic(place, f"the variable {name} has no type", remedy)])


def infer_types(module: Module, inliner: Inliner, known: Mapping[str, Type]) -> dict[str, Type]:
    """The types of VARIABLEs and CONSTANTs that are not ``known``, from what the module says of them.

    Read are, until nothing is open: definitions named like TypeOK, Init, and then all others. What cannot be
    typed says nothing. A type may stay open in parts (``Int -> ?``); names of which nothing is known are left
    out.
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
        with contextlib.suppress(TlaSqlError, RecursionError):  # one that is nested too deeply says nothing
            body = inliner.body(definition)
            if any(True for _ in islice(walk(body), _MOST_PARTS, None)):
                continue
            _learn(inference, unifier, body, {each.uid: unifier.unknown() for each in definition.parameters})
    with contextlib.suppress(TlaSqlError):  # whatever uses these variables will say so
        inference.decide()
    wanted = [name for name in names if name not in known]
    for name in wanted:
        unifier.settle(found[name])
    likely = {name: unifier.resolve(found[name]) for name in wanted}
    return {name: kind for name, kind in likely.items() if not isinstance(kind, Unknown)}


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
