"""Type checking: every expression of a marked definition gets its type, or the compiler stops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tlasql.errors import Diagnostic, Location, TlaSqlError, fail
from tlasql.ir import (
    Bound,
    Constant,
    Except,
    Expr,
    Field,
    Index,
    Literal,
    Op,
    Prime,
    Quantified,
    RecordOf,
    RecordSet,
    Variable,
    text,
)
from tlasql.marks import TypeNote
from tlasql.reader import Declaration
from tlasql.types import (
    BOOL,
    INT,
    STR,
    Function,
    Record,
    Scalar,
    SeqOf,
    SetOf,
    Tuple,
    Type,
    TypeSyntaxError,
    parse_type,
)

_LOGIC = {"/\\", "\\/", "~", "=>", "<=>"}
_ORDER = {"<", "<=", ">", ">="}
_NUMBER = {"+", "-", "*", "-.", "\\div", "%"}
_SETS = {"Nat": INT, "Int": INT, "BOOLEAN": BOOL, "STRING": STR}
_SEQUENCES = {"Len", "Head", "Last", "Tail", "SubSeq", "Append", "\\o"}


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
    """Infers types bottom-up from the declared types of variables; ``{}``, ``<<>>`` and strings that stand for
    model values take theirs from what they are compared with.
    """

    def __init__(self, types: Mapping[str, Type], declarations: list[Declaration]) -> None:
        self._types = types
        self._declared = {each.name: each for each in declarations}

    def check(self, expr: Expr, bound: Mapping[int, Type], want: Type | None = None) -> Expr:
        """A copy of ``expr`` with all types filled in; ``want`` is the type its place asks for. Raises
        TlaSqlError.
        """
        found = self._check(expr, bound, want)
        if want is not None and not alike(found.type, want):
            raise fail(expr.location, f"{text(expr)} has type {found.type}, expected {want}")
        return found

    def _check(self, expr: Expr, bound: Mapping[int, Type], want: Type | None) -> Expr:  # noqa: C901, PLR0911, PLR0912
        match expr:
            case Literal(value=value):
                return replace(expr, type=expr.type or _literal(value, want))
            case Variable(name=name) | Constant(name=name):
                return replace(expr, type=self._declared_type(expr, name))
            case Bound(uid=uid):
                return replace(expr, type=bound[uid])
            case Prime(argument=argument):
                inner = self.check(argument, bound, want)
                return replace(expr, argument=inner, type=inner.type)
            case Field():
                return self._field(expr, bound)
            case Index():
                return self._index(expr, bound)
            case Quantified():
                return self._quantified(expr, bound, want)
            case RecordOf():
                return self._record(expr, bound, want)
            case RecordSet():
                inner_want = want.element if isinstance(want, SetOf) else None
                return self._record_set(expr, bound, inner_want)
            case Except():
                return self._except(expr, bound, want)
            case Op():
                return self._operator(expr, bound, want)
        raise fail(
            expr.location, f"{text(expr)} is outside the fragment", "apply the operator to its arguments"
        )

    def _declared_type(self, expr: Expr, name: str) -> Type:
        if isinstance(expr, Constant):
            remedy = f"give it a value in the mapping: [constants] {name} = ..."
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
        function = self.check(expr.function, bound)
        kind, key = function.type, expr.key
        match kind:
            case Record() if isinstance(key, Literal) and isinstance(key.value, str):
                return self._field(Field(expr.location, expr.function, key.value), bound)
            case Tuple(parts=parts) if isinstance(key, Literal) and key.value in range(1, len(parts) + 1):
                typed = self.check(key, bound, INT)
                return replace(expr, function=function, key=typed, type=parts[int(key.value) - 1])
            case SeqOf(element=element):
                return replace(expr, function=function, key=self.check(key, bound, INT), type=element)
            case Function(argument=argument, result=result):
                typed = self.check(key, bound, argument) if _weak(key) else self.check(key, bound)
                if not alike(typed.type, argument):
                    message = f"{text(key)} has type {typed.type}, {text(function)} takes {argument}"
                    raise fail(key.location, message)
                return replace(expr, function=function, key=typed, type=result)
        raise fail(expr.location, f"{text(function)} of type {function.type} is no function")

    def _quantified(self, expr: Quantified, bound: Mapping[int, Type], want: Type | None) -> Expr:
        base_want = want if expr.kind == "filter" else None
        if expr.kind == "choose" and want is not None and _weak(expr.domain):
            base_want = SetOf(want)
        if expr.kind == "function" and isinstance(want, Function):
            base_want = SetOf(want.argument)
        domain = self.check(expr.domain, bound, base_want if _weak(expr.domain) else None)
        if not isinstance(domain.type, SetOf):
            raise fail(expr.domain.location, f"{text(domain)} of type {domain.type} is no set")
        element = domain.type.element
        inner = {**bound, expr.variable.uid: element}
        variable = replace(expr.variable, type=element)
        if expr.kind == "map":
            body = self.check(expr.body, inner, want.element if isinstance(want, SetOf) else None)
            kind: Type = SetOf(_known(body))
        elif expr.kind == "function":
            body = self.check(expr.body, inner, want.result if isinstance(want, Function) else None)
            kind = Function(element, _known(body))
        else:
            body = self.check(expr.body, inner, BOOL)
            kind = domain.type if expr.kind == "filter" else element if expr.kind == "choose" else BOOL
        return replace(expr, variable=variable, domain=domain, body=body, type=kind)

    def _record(self, expr: RecordOf, bound: Mapping[int, Type], want: Type | None) -> Expr:
        wanted = dict(want.fields) if isinstance(want, Record) else {}
        given = dict(zip(expr.names, expr.arguments, strict=True))
        typed = {name: self.check(part, bound, wanted.get(name)) for name, part in given.items()}
        order = list(wanted) if wanted.keys() == typed.keys() else list(typed)
        kind = Record(tuple((name, _known(typed[name])) for name in order))
        return replace(expr, names=tuple(order), arguments=tuple(typed[name] for name in order), type=kind)

    def _record_set(self, expr: RecordSet, bound: Mapping[int, Type], want: Type | None) -> Expr:
        wanted = dict(want.fields) if isinstance(want, Record) else {}
        sets = []
        for name, part in zip(expr.names, expr.arguments, strict=True):
            typed = self.check(part, bound, SetOf(wanted[name]) if name in wanted else None)
            if not isinstance(typed.type, SetOf):
                raise fail(part.location, f"{text(part)} of type {typed.type} is no set")
            sets.append((typed, typed.type.element))
        fields = tuple((name, kind) for name, (_, kind) in zip(expr.names, sets, strict=True))
        return replace(expr, arguments=tuple(typed for typed, _ in sets), type=SetOf(Record(fields)))

    def _except(self, expr: Except, bound: Mapping[int, Type], want: Type | None) -> Expr:
        function = self.check(expr.function, bound, want)
        match function.type:
            case Function(argument=argument, result=result):
                pass
            case SeqOf(element=result):
                argument = INT
            case Record() as record if (
                isinstance(expr.key, Literal) and record.field(str(expr.key.value)) is not None
            ):
                argument, found = STR, record.field(str(expr.key.value))
                assert found is not None
                result = found
            case _:
                message = f"{text(function)} of type {function.type} has no {text(expr.key)} to change"
                raise fail(expr.location, message)
        key, value = self.check(expr.key, bound, argument), self.check(expr.value, bound, result)
        return replace(expr, function=function, key=key, value=value, type=function.type)

    def _operator(self, expr: Op, bound: Mapping[int, Type], want: Type | None) -> Expr:  # noqa: C901, PLR0911, PLR0912
        symbol, arguments = expr.symbol, expr.arguments
        if symbol in _SETS:
            kind = _SETS[symbol]
            if symbol == "STRING" and isinstance(want, SetOf) and isinstance(want.element, Scalar):
                kind = want.element
            return replace(expr, type=SetOf(kind))
        if symbol in _LOGIC:
            return self._typed(expr, [self.check(each, bound, BOOL) for each in arguments], BOOL)
        if symbol in _ORDER | _NUMBER | {".."}:
            parts = [self.check(each, bound, INT) for each in arguments]
            return self._typed(
                expr, parts, SetOf(INT) if symbol == ".." else BOOL if symbol in _ORDER else INT
            )
        if symbol in ("IF", "CASE"):
            return self._branches(expr, bound, want)
        if symbol == "=":
            return self._typed(expr, self._together(expr, list(arguments), bound, None), BOOL)
        if symbol in ("\\cup", "\\cap", "\\"):
            parts = self._together(expr, list(arguments), bound, want)
            return self._typed(expr, [self._set(part) for part in parts], _known(parts[0]))
        if symbol == "\\subseteq":
            parts = self._together(expr, list(arguments), bound, None)
            return self._typed(expr, [self._set(part) for part in parts], BOOL)
        if symbol == "\\in":
            return self._membership(expr, bound)
        if symbol == "{}":
            inner = want.element if isinstance(want, SetOf) else None
            if not arguments:
                return replace(expr, type=SetOf(inner)) if inner is not None else self._unclear(expr)
            parts = self._together(expr, list(arguments), bound, inner)
            return self._typed(expr, parts, SetOf(_known(parts[0])))
        if symbol == "<<>>":
            return self._tuple(expr, bound, want)
        if symbol in _SEQUENCES:
            return self._sequence(expr, bound, want)
        return self._other(expr, bound, want)

    def _other(self, expr: Op, bound: Mapping[int, Type], want: Type | None) -> Expr:  # noqa: C901, PLR0911, PLR0912
        symbol, arguments = expr.symbol, expr.arguments
        if symbol == "SUBSET":
            parts = [
                self._set(self.check(arguments[0], bound, want.element if isinstance(want, SetOf) else None))
            ]
            return self._typed(expr, parts, SetOf(_known(parts[0])))
        if symbol == "UNION":
            part = self._set(self.check(arguments[0], bound, SetOf(want) if want is not None else None))
            assert isinstance(part.type, SetOf)
            return self._typed(expr, [self._set_of_sets(part)], part.type.element)
        if symbol == "->":
            return self._function_set(expr, bound, want)
        if symbol == "\\X":
            wanted = want.element.parts if isinstance(want, SetOf) and isinstance(want.element, Tuple) else ()
            hints: list[Type | None] = [None] * len(arguments)
            if len(wanted) == len(arguments):
                hints = [SetOf(each) for each in wanted]
            parts = [self._set(self.check(a, bound, h)) for a, h in zip(arguments, hints, strict=True)]
            return self._typed(expr, parts, SetOf(Tuple(tuple(_element(part) for part in parts))))
        if symbol == "Seq":
            hint = (
                want.element.element if isinstance(want, SetOf) and isinstance(want.element, SeqOf) else None
            )
            part = self._set(self.check(arguments[0], bound, SetOf(hint) if hint is not None else None))
            return self._typed(expr, [part], SetOf(SeqOf(_element(part))))
        if symbol == ":>":
            hints2 = (want.argument, want.result) if isinstance(want, Function) else (None, None)
            parts = [self.check(a, bound, h) for a, h in zip(arguments, hints2, strict=True)]
            return self._typed(expr, parts, Function(_known(parts[0]), _known(parts[1])))
        if symbol == "@@":
            parts = self._together(expr, list(arguments), bound, want)
            return self._typed(expr, parts, _known(parts[0]))
        part = self.check(arguments[0], bound)
        if symbol == "Cardinality":
            return self._typed(expr, [self._set(part)], INT)
        if symbol in ("Min", "Max", "Sum"):
            return self._typed(expr, [self.check(arguments[0], bound, SetOf(INT))], INT)
        if symbol == "SumOf":
            return self._typed(expr, [part], INT)
        if symbol == "DOMAIN":
            match part.type:
                case Function(argument=argument):
                    return self._typed(expr, [part], SetOf(argument))
                case SeqOf():
                    return self._typed(expr, [part], SetOf(INT))
                case Record():
                    return self._typed(expr, [part], SetOf(STR))
        shown = f"{text(part)} of type {part.type}"
        raise fail(expr.location, f"{symbol} does not fit {shown}")

    def _function_set(self, expr: Op, bound: Mapping[int, Type], want: Type | None) -> Expr:
        kind = want.element if isinstance(want, SetOf) else None
        argument = (
            SetOf(kind.argument)
            if isinstance(kind, Function)
            else SetOf(INT)
            if isinstance(kind, SeqOf)
            else None
        )
        result = (
            kind.result if isinstance(kind, Function) else kind.element if isinstance(kind, SeqOf) else None
        )
        parts = [
            self._set(self.check(expr.arguments[0], bound, argument)),
            self._set(self.check(expr.arguments[1], bound, SetOf(result) if result is not None else None)),
        ]
        whole: Type = Function(_element(parts[0]), _element(parts[1]))
        return self._typed(
            expr, parts, SetOf(SeqOf(_element(parts[1])) if isinstance(kind, SeqOf) else whole)
        )

    def _branches(self, expr: Op, bound: Mapping[int, Type], want: Type | None) -> Expr:
        arguments = list(expr.arguments)
        last = len(arguments) - 1 if len(arguments) % 2 else -1
        tests = [n for n in range(len(arguments)) if n % 2 == 0 and n != last]
        if expr.symbol == "IF":
            tests, last = [0], -1
        values = [n for n in range(len(arguments)) if n not in tests]
        typed = self._together(expr, [arguments[n] for n in values], bound, want)
        parts = dict(zip(values, typed, strict=True))
        for n in tests:
            parts[n] = self.check(arguments[n], bound, BOOL)
        return self._typed(expr, [parts[n] for n in range(len(arguments))], _known(typed[0]))

    def _membership(self, expr: Op, bound: Mapping[int, Type]) -> Expr:
        element, container = expr.arguments
        if _weak(element):
            held = self._set(self.check(container, bound))
            return self._typed(expr, [self.check(element, bound, _element(held)), held], BOOL)
        found = self.check(element, bound)
        held = self._check(container, bound, SetOf(_known(found)))
        if not alike(held.type, SetOf(_known(found))):
            shown = f"{text(found)} of type {found.type}, {text(held)} of type {held.type}"
            raise fail(expr.location, f"\\in does not fit {shown}")
        return self._typed(expr, [found, held], BOOL)

    def _tuple(self, expr: Op, bound: Mapping[int, Type], want: Type | None) -> Expr:
        arguments = expr.arguments
        if isinstance(want, SeqOf):
            return self._typed(expr, [self.check(each, bound, want.element) for each in arguments], want)
        if not arguments:
            return self._unclear(expr)
        hints = (
            want.parts
            if isinstance(want, Tuple) and len(want.parts) == len(arguments)
            else [None] * len(arguments)
        )
        parts = [self.check(each, bound, hint) for each, hint in zip(arguments, hints, strict=True)]
        return self._typed(expr, parts, Tuple(tuple(_known(part) for part in parts)))

    def _sequence(self, expr: Op, bound: Mapping[int, Type], want: Type | None) -> Expr:
        symbol, (first, *others) = expr.symbol, expr.arguments
        hint = want if symbol in ("Tail", "SubSeq", "Append", "\\o") else None
        if hint is None and isinstance(first, Op) and first.symbol == "<<>>" and first.arguments:
            hint = SeqOf(_known(self.check(first.arguments[0], bound)))
        if hint is None and symbol == "\\o" and _weak(first):
            hint = self.check(others[0], bound).type
        if hint is None and symbol == "Append" and _weak(first):
            hint = SeqOf(_known(self.check(others[0], bound)))
        typed = self.check(first, bound, hint)
        if not isinstance(typed.type, SeqOf):
            raise fail(
                first.location, f"{text(first)} of type {typed.type} is no sequence", "declare it Seq(...)"
            )
        wants: dict[str, list[Type]] = {
            "Append": [typed.type.element],
            "\\o": [typed.type],
            "SubSeq": [INT, INT],
        }
        rest = [
            self.check(each, bound, kind) for each, kind in zip(others, wants.get(symbol, []), strict=True)
        ]
        result = INT if symbol == "Len" else typed.type.element if symbol in ("Head", "Last") else typed.type
        return self._typed(expr, [typed, *rest], result)

    def _together(
        self, expr: Op, parts: list[Expr], bound: Mapping[int, Type], want: Type | None
    ) -> list[Expr]:
        """Parts that must be of one type: the first that knows its own says it to the others."""
        first = next((n for n, part in enumerate(parts) if not _weak(part)), 0)
        leader = self.check(parts[first], bound, want)
        found = []
        for n, part in enumerate(parts):
            typed = leader if n == first else self._check(part, bound, leader.type)
            if not alike(typed.type, leader.type):
                left, right = (typed, leader) if n < first else (leader, typed)
                message = f"{text(left)} of type {left.type} against {text(right)} of type {right.type}"
                raise fail(expr.location, f"{expr.symbol} of different types: {message}")
            found.append(typed)
        return found

    @staticmethod
    def _typed(expr: Op, arguments: list[Expr], kind: Type) -> Expr:
        return replace(expr, arguments=tuple(arguments), type=kind)

    @staticmethod
    def _set(part: Expr) -> Expr:
        if not isinstance(part.type, SetOf):
            raise fail(part.location, f"{text(part)} of type {part.type} is no set")
        return part

    def _set_of_sets(self, part: Expr) -> Expr:
        if not isinstance(_element(part), SetOf):
            raise fail(part.location, f"{text(part)} of type {part.type} is no set of sets")
        return part

    @staticmethod
    def _unclear(expr: Expr) -> Expr:
        raise fail(
            expr.location,
            f"{text(expr)} may be of any type here",
            "compare it with something whose type is known",
        )


def alike(one: Type | None, other: Type | None) -> bool:
    """Equal types; the order of a record's fields does not matter."""
    match one, other:
        case Record(fields=left), Record(fields=right):
            a, b = dict(left), dict(right)
            return a.keys() == b.keys() and all(alike(a[name], b[name]) for name in a)
        case (SetOf(element=a1), SetOf(element=b1)) | (SeqOf(element=a1), SeqOf(element=b1)):
            return alike(a1, b1)
        case Function(argument=a1, result=a2), Function(argument=b1, result=b2):
            return alike(a1, b1) and alike(a2, b2)
        case Tuple(parts=left_parts), Tuple(parts=right_parts):
            return len(left_parts) == len(right_parts) and all(map(alike, left_parts, right_parts))
    return one == other


def _literal(value: object, want: Type | None) -> Type:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT
    # a string may stand for a model value of any sort
    return want if isinstance(want, Scalar) and want not in (INT, BOOL) else STR


def _weak(expr: Expr) -> bool:
    """Whether an expression needs a type from around it."""
    match expr:
        case Literal(value=str()):
            return expr.type is None
        case Op(symbol="{}" | "<<>>" | ":>" | "@@" | "\\cup" | "Append" | "\\o", arguments=arguments):
            return not arguments or any(_weak(each) for each in arguments)
        case Op(symbol="STRING"):
            return True
        case Op(symbol="IF", arguments=(_, then, other)):
            return _weak(then) and _weak(other)
        case RecordOf(arguments=arguments) | RecordSet(arguments=arguments):
            return any(_weak(each) for each in arguments)
        case Quantified(kind="map" | "function", body=body):
            return _weak(body)
        case Quantified(kind="filter" | "choose", domain=domain):
            return _weak(domain)
    return False


def _known(expr: Expr) -> Type:
    assert expr.type is not None
    return expr.type


def _element(expr: Expr) -> Type:
    assert isinstance(expr.type, SetOf)
    return expr.type.element
