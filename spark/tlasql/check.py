"""Type checking: every expression of a marked definition gets its type, or the compiler stops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tlasql.errors import Diagnostic, Location, TlaSqlError, fail
from tlasql.ir import Bound, Constant, Expr, Field, Index, Literal, Op, Prime, Quantified, Variable, text
from tlasql.marks import TypeNote
from tlasql.reader import Declaration
from tlasql.types import BOOL, INT, STR, Function, Record, SetOf, Type, TypeSyntaxError, parse_type

_LOGIC = {"/\\", "\\/", "~", "=>", "<=>"}
_ORDER = {"<", "<=", ">", ">="}
_NUMBER = {"+", "-", "*", "-."}


def declared_types(
    notes: list[TypeNote], declarations: list[Declaration]
) -> tuple[dict[str, Type], list[Diagnostic]]:
    """The type of each annotated VARIABLE and CONSTANT, and what is wrong with the annotations."""
    aliases: dict[str, Type] = {}
    types: dict[str, Type] = {}
    problems: list[Diagnostic] = []
    for note in sorted(notes, key=lambda each: each.location):
        try:
            parsed = parse_type(note.text, aliases)
        except TypeSyntaxError as error:
            problems.append(
                Diagnostic(note.location, str(error), "types are written as Apalache writes them")
            )
            continue
        if note.name:
            aliases[note.name] = parsed
            continue
        names = [each for each in declarations if _is_before(note, each.location)]
        if len(names) == 1:
            types[names[0].name] = parsed
        else:
            problems.append(_misplaced(note, names))
    return types, problems


def _is_before(note: TypeNote, location: Location) -> bool:
    return Path(location.file).name == Path(note.location.file).name and location.line == note.before_line


def _misplaced(note: TypeNote, names: list[Declaration]) -> Diagnostic:
    listed = ", ".join(sorted(each.name for each in names))
    problem = f"this @type stands before {listed}" if names else "this @type stands before no declaration"
    return Diagnostic(note.location, problem, "put it on the line directly above one VARIABLE or CONSTANT")


class Checker:
    """Infers types bottom-up from the declared types of variables."""

    def __init__(self, types: Mapping[str, Type], declarations: list[Declaration]) -> None:
        self._types = types
        self._declared = {each.name: each for each in declarations}

    def check(self, expr: Expr, bound: Mapping[int, Type]) -> Expr:  # noqa: PLR0911 (one for each kind)
        """A copy of ``expr`` with all types filled in. Raises TlaSqlError."""
        match expr:
            case Literal(value=value):
                kind = BOOL if isinstance(value, bool) else INT if isinstance(value, int) else STR
                return replace(expr, type=kind)
            case Variable(name=name) | Constant(name=name):
                return replace(expr, type=self._declared_type(expr, name))
            case Bound(uid=uid):
                return replace(expr, type=bound[uid])
            case Prime(argument=argument):
                inner = self.check(argument, bound)
                return replace(expr, argument=inner, type=inner.type)
            case Field():
                return self._field(expr, bound)
            case Index():
                return self._index(expr, bound)
            case Quantified():
                return self._quantified(expr, bound)
            case Op():
                return self._operator(expr, bound)
        raise AssertionError(expr)

    def _declared_type(self, expr: Expr, name: str) -> Type:
        if isinstance(expr, Constant):
            remedy = "write the value itself, or make it a variable that the mapping finds in a table"
            raise fail(expr.location, f"the constant {name} has no value in a log", remedy)
        if name not in self._types:
            place = self._declared[name].location
            remedy = f"write \\* @type: ...; on the line above its declaration at {place}"
            raise TlaSqlError([Diagnostic(place, f"the variable {name} has no type", remedy)])
        return self._types[name]

    def _field(self, expr: Field, bound: Mapping[int, Type]) -> Expr:
        record = self.check(expr.record, bound)
        kind = record.type.field(expr.name) if isinstance(record.type, Record) else None
        if kind is None:
            raise fail(expr.location, f"{text(record)} of type {record.type} has no field {expr.name}")
        return replace(expr, record=record, type=kind)

    def _index(self, expr: Index, bound: Mapping[int, Type]) -> Expr:
        function, key = self.check(expr.function, bound), self.check(expr.key, bound)
        if not isinstance(function.type, Function):
            raise fail(expr.location, f"{text(function)} of type {function.type} is no function")
        if function.type.argument != key.type:
            message = f"{text(key)} has type {key.type}, {text(function)} takes {function.type.argument}"
            raise fail(expr.key.location, message)
        return replace(expr, function=function, key=key, type=function.type.result)

    def _quantified(self, expr: Quantified, bound: Mapping[int, Type]) -> Expr:
        domain = self.check(expr.domain, bound)
        if not isinstance(domain.type, SetOf):
            raise fail(expr.domain.location, f"{text(domain)} of type {domain.type} is no set")
        inner = {**bound, expr.variable.uid: domain.type.element}
        body = self._expect(self.check(expr.body, inner), BOOL)
        variable = replace(expr.variable, type=domain.type.element)
        kind = domain.type if expr.kind == "filter" else BOOL
        return replace(expr, variable=variable, domain=domain, body=body, type=kind)

    def _operator(self, expr: Op, bound: Mapping[int, Type]) -> Expr:
        arguments = tuple(self.check(each, bound) for each in expr.arguments)
        checked = replace(expr, arguments=arguments)
        return replace(checked, type=self._result(checked))

    def _result(self, expr: Op) -> Type:
        arguments, symbol = expr.arguments, expr.symbol
        if symbol in _LOGIC:
            for each in arguments:
                self._expect(each, BOOL)
            return BOOL
        if symbol in _ORDER | _NUMBER:
            for each in arguments:
                self._expect(each, INT)
            return BOOL if symbol in _ORDER else INT
        if symbol == "IF":
            self._expect(arguments[0], BOOL)
            return self._same(expr, arguments[1], arguments[2])
        if symbol == "=":
            self._same(expr, *arguments)
            return BOOL
        if symbol == "{}" and arguments:
            for each in arguments[1:]:
                self._same(expr, arguments[0], each)
            return SetOf(_known(arguments[0]))
        return self._set_result(expr)

    def _set_result(self, expr: Op) -> Type:
        arguments = expr.arguments
        if expr.symbol == "DOMAIN" and isinstance(arguments[0].type, Function):
            return SetOf(arguments[0].type.argument)
        if expr.symbol == "\\cap" and isinstance(arguments[0].type, SetOf):
            return self._same(expr, *arguments)
        if expr.symbol == "\\in" and SetOf(_known(arguments[0])) == arguments[1].type:
            return BOOL
        shown = ", ".join(f"{text(each)} of type {each.type}" for each in arguments)
        raise fail(expr.location, f"{expr.symbol} does not fit {shown or 'an empty set'}")

    def _same(self, expr: Op, left: Expr, right: Expr) -> Type:
        if left.type != right.type:
            message = f"{text(left)} of type {left.type} against {text(right)} of type {right.type}"
            raise fail(expr.location, f"{expr.symbol} of different types: {message}")
        return _known(left)

    @staticmethod
    def _expect(expr: Expr, kind: Type) -> Expr:
        if expr.type != kind:
            raise fail(expr.location, f"{text(expr)} has type {expr.type}, expected {kind}")
        return expr


def _known(expr: Expr) -> Type:
    assert expr.type is not None
    return expr.type
