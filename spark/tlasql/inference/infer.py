"""The type of every part of an expression, from the types of variables and from one another.

An operator unifies the types of its arguments at once. A part whose meaning depends on a type that is not
known yet (``f[x]`` of a function, sequence, tuple or record) waits until that type is known. ``finish``
decides the parts that still wait, and puts the types in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from tlasql.inference.unify import Listing, MismatchError, Numbered, Row, Text, Unifier, Unknown
from tlasql.lang.errors import TlaSqlError, fail
from tlasql.lang.ir import (
    Bound,
    Constant,
    Except,
    Expr,
    Field,
    Fold,
    Index,
    Literal,
    Model,
    Op,
    Prime,
    Quantified,
    RecordOf,
    RecordSet,
    Variable,
    rebuild,
    tell,
    walk,
)
from tlasql.lang.shapes import without_the_empty
from tlasql.lang.types import BOOL, INT, STR, Function, Record, SeqOf, SetOf, Tuple, Type
from tlasql.lang.words import meant

_LOGIC = {"/\\", "\\/", "~", "=>", "<=>", "AND", "OR"}
_ORDER = {"<", "<=", ">", ">="}
_NUMBER = {"+", "-", "*", "-.", "\\div", "%"}
_BASE = {"Nat": INT, "Int": INT, "BOOLEAN": BOOL}
_JOINED = {"\\cup", "\\cap", "\\"}
_SAME = {"=", "\\subseteq", "@@", "\\o"} | _JOINED

_OF_TEXT = "a text is one value of a column: give its length, or its parts, columns of their own"
_OF_LIST = (
    r"of a set write \E x \in S : ...; "
    "a sequence or tuple is written <<1, 2>>; a list in [constants] is a set, so give one by its definition: "
    'Steps = { definition = "TheSteps" }'
)
_OF_FUNCTION = r"of a function f, the arguments are DOMAIN f, the values {f[x] : x \in DOMAIN f}"
_OF_SEQUENCE = r"of a sequence q, the elements are {q[i] : i \in DOMAIN q}, and Len(q) is how many it has"
_CORRECT = "correct the expression, or the @type of a variable in it"
_SOME_HAVE = "a type marks the fields that some records lack, {type: Str, bal?: Int}"

_READABLE = 100
"""Characters of an expression that are read at once."""
Environment = Mapping[int, Type]
_Wait = Callable[[bool], bool]


class Inference:
    """Types expressions that share their variables; ``declared`` gives the type of a VARIABLE or CONSTANT."""

    def __init__(self, unifier: Unifier, declared: Callable[[Variable | Constant], Type]) -> None:
        self._unifier, self._declared = unifier, declared
        self._waiting: list[_Wait] = []

    def of(self, expr: Expr, bound: Environment, want: Type | None = None) -> Expr:
        """A copy of ``expr`` whose types may still hold unknowns. Raises TlaSqlError."""
        typed = self._of(expr, bound)
        if want is not None:
            self._expect(typed, want)
        if expr.type is not None:  # the declared type of a CONSTANT that was replaced by its value
            self._expect(typed, expr.type)
        return typed

    def attempt(self, expr: Expr, bound: Environment, want: Type) -> None:
        """Learn what ``expr`` says of types; nothing when it contradicts what is known
        or is nested too deeply.
        """
        restore, waiting = self._unifier.saved(), list(self._waiting)
        try:
            self.of(expr, bound, want)
            self._advance()
        except (TlaSqlError, RecursionError):
            restore()
            self._waiting = waiting

    def decide(self) -> None:
        """Decide all parts that wait, with the types found so far. Raises TlaSqlError."""
        self._advance()
        while self._waiting:
            first, *self._waiting = self._waiting
            first(True)
            self._advance()

    def finish(self, expr: Expr) -> Expr:
        """``expr`` with all its types resolved. Raises TlaSqlError where one stays unknown."""
        self.decide()
        return self._resolved(expr)

    def _advance(self) -> None:
        moved = True
        while moved:
            waiting, self._waiting = self._waiting, []
            left = [each for each in waiting if not each(False)]
            moved = len(left) < len(waiting) and bool(left)
            self._waiting = left + self._waiting

    def _wait(self, attempt: _Wait) -> None:
        if not attempt(False):
            self._waiting.append(attempt)

    def _of(self, expr: Expr, bound: Environment) -> Expr:  # noqa: C901, PLR0911 (one each)
        match expr:
            case Literal(value=value):
                kind = BOOL if isinstance(value, bool) else INT if isinstance(value, int) else None
                return replace(expr, type=kind or self._unifier.unknown(Text()))
            case Model():
                return replace(expr, type=self._unifier.unknown(Text(model=True)))
            case Variable() | Constant():
                return replace(expr, type=self._declared(expr))
            case Bound(uid=uid) if uid in bound:
                return replace(expr, type=bound[uid])
            case Prime(argument=argument):
                inner = self.of(argument, bound)
                return replace(expr, argument=inner, type=inner.type)
            case Field():
                return self._field(expr, bound)
            case Index():
                return self._index(expr, bound)
            case Quantified():
                return self._quantified(expr, bound)
            case Fold():
                return self._fold(expr, bound)
            case RecordOf() | RecordSet():
                return self._record(expr, bound)
            case Except():
                return self._except(expr, bound)
            case Op():
                return self._operator(expr, bound)
        remedy = "apply the operator to its arguments"
        raise fail(
            expr.location, f"{_named(expr)} is outside the fragment that can be judged over logs", remedy
        )

    def _field(self, expr: Field, bound: Environment) -> Expr:
        record, result = self.of(expr.record, bound), self._unifier.unknown()
        row = self._unifier.unknown(Row(((expr.name, result),), closed=False))
        if not self._fits(_type(record), row):
            shown = self._shown(record)
            message = f"{_named(record)} of type {shown} has no field {expr.name}"
            remedy = "a record has fields; a function is applied with brackets: f[x]"
            if isinstance(shown, Record):
                otherwise = f"where only some of the records have it: {_SOME_HAVE}"
                remedy = meant(expr.name, (name for name, _ in shown.fields), otherwise)
            elif isinstance(shown, SetOf):
                remedy = (
                    rf"say it of its elements: \A x \in S : x.{expr.name} ..., {{x.{expr.name} : x \in S}}"
                )
            raise fail(expr.location, message, remedy)
        return replace(expr, record=record, type=result)

    def _index(self, expr: Index, bound: Environment) -> Expr:
        function, key = self.of(expr.function, bound), self.of(expr.key, bound)
        result = self._unifier.unknown()
        self._wait(lambda final: self._applied(function, key, result, final))
        return replace(expr, function=function, key=key, type=result)

    def _applied(self, function: Expr, key: Expr, result: Type, final: bool) -> bool:  # noqa: PLR0911, C901
        """Make ``result`` the type of ``function[key]``; False while that cannot be said."""
        unifier = self._unifier
        match unifier.head(_type(function)):
            case Function(argument=argument, result=image):
                self._expect_key(function, key, argument)
                return self._give(function, key, result, image)
            case SeqOf(element=element):
                self._expect_key(function, key, INT)
                return self._give(function, key, result, element)
            case Tuple(parts=parts):
                if not (isinstance(key, Literal) and key.value in range(1, len(parts) + 1)):
                    raise self._no_function(function, key)
                return self._give(function, key, result, parts[int(key.value) - 1])
            case Record(fields=fields, optional=lacking):
                return self._of_record(function, key, result, fields, lacking)
        match unifier.shape(_type(function)):
            case Listing(parts=parts) if isinstance(key, Literal) and key.value in range(1, len(parts) + 1):
                return self._give(function, key, result, parts[int(key.value) - 1])
            case Numbered(result=image):
                self._expect_key(function, key, INT)
                return self._give(function, key, result, image)
            case Row() if isinstance(key, Literal) and isinstance(key.value, str):
                row = unifier.unknown(Row(((key.value, result),), closed=False))
                return self._give(function, key, _type(function), row)
            case Row(fields=fields, closed=True, optional=lacking) if not isinstance(key, Literal):
                return self._of_record(function, key, result, fields, lacking)
            case Listing() if final:
                self._give(function, key, _type(function), SeqOf(result))
                self._expect_key(function, key, INT)
                return True
        if not final:
            return False
        if isinstance(key, Literal) and isinstance(key.value, str):
            row = unifier.unknown(Row(((key.value, result),), closed=False))
            return self._give(function, key, _type(function), row)
        return self._give(function, key, _type(function), Function(_type(key), result))

    def _of_record(
        self,
        record: Expr,
        key: Expr,
        result: Type,
        fields: Sequence[tuple[str, Type]],
        lacking: Collection[str],
    ) -> bool:
        """The type of a field that is written out, or of all of them, where a text names one."""
        named = [kind for name, kind in fields if not isinstance(key, Literal) or name == key.value]
        if not named or (lacking and not isinstance(key, Literal)):
            raise self._no_function(record, key)
        self._expect_key(record, key, self._unifier.unknown(Text()))
        return all(self._give(record, key, result, kind) for kind in named)

    def _fits(self, one: Type, other: Type) -> bool:
        restore = self._unifier.saved()
        try:
            self._unifier.unify(one, other)
        except MismatchError:
            restore()
            return False
        return True

    def _give(self, function: Expr, key: Expr, one: Type, other: Type) -> bool:
        if not self._fits(one, other):
            raise self._no_function(function, key)
        return True

    def _no_function(self, function: Expr, key: Expr) -> TlaSqlError:
        shown = self._shown(function)
        # what stands for a pattern has no place of its own in the text, and no name
        if isinstance(function, Bound) and function.location == key.location:
            message = f"a tuple, <<x, y>>, stands here for what is of type {shown}"
            return fail(function.location, message, "name what is no tuple: \\A x \\in S : ...")
        message = f"{_named(function)} of type {shown} cannot be applied to {_named(key)}"
        remedy = "apply a function to an element of its DOMAIN, a tuple to a number that is written out"
        if shown == STR:
            remedy = _OF_TEXT
        if isinstance(shown, SetOf):
            remedy = _OF_LIST
        if isinstance(shown, Record):
            remedy = (
                "name one of its fields, written out: r.name; a text may name one where all have one type"
            )
        return fail(function.location, message, remedy)

    def _expect_key(self, function: Expr, key: Expr, kind: Type) -> None:
        if not self._fits(_type(key), kind):
            takes = self._unifier.resolve(kind)
            message = f"{_named(key)} has type {self._shown(key)}, {_named(function)} takes {takes}"
            raise fail(key.location, message, _CORRECT)

    def _except(self, expr: Except, bound: Environment) -> Expr:
        function, key = self.of(expr.function, bound), self.of(expr.key, bound)
        value = self.of(expr.value, bound)
        self._wait(lambda final: self._applied(function, key, _type(value), final))
        return replace(expr, function=function, key=key, value=value, type=function.type)

    def _quantified(self, expr: Quantified, bound: Environment) -> Expr:
        domain, element = self.of(expr.domain, bound), self._unifier.unknown()
        self._set(domain, element)
        variable = replace(expr.variable, type=element)
        inner = {**bound, variable.uid: element}
        if expr.kind in ("map", "function"):
            body = self.of(expr.body, inner)
            kind: Type = SetOf(_type(body))
            if expr.kind == "function":
                kind = self._function_of(domain, element, _type(body))
        else:
            body = self.of(expr.body, inner, BOOL)
            kind = _type(domain) if expr.kind == "filter" else element if expr.kind == "choose" else BOOL
        return replace(expr, variable=variable, domain=domain, body=body, type=kind)

    def _fold(self, expr: Fold, bound: Environment) -> Expr:
        start, places = self.of(expr.start, bound), self.of(expr.places, bound, SetOf(INT))
        so_far, place = expr.parameters
        body = self.of(expr.body, {**bound, so_far.uid: _type(start), place.uid: INT})
        if not self._fits(_type(start), _type(body)):
            kinds = f"it begins with {self._shown(start)}, and goes on with {self._shown(body)}"
            raise fail(body.location, f"a fold whose value has no one type: {kinds}", _one_type(start, body))
        return replace(expr, start=start, places=places, body=body, type=_type(start))

    def _function_of(self, domain: Expr, argument: Type, result: Type) -> Type:
        """A function over ``domain``: over 1..n, or the DOMAIN of a sequence, it may be a sequence."""
        match domain:
            case Op(symbol="..", arguments=(Literal(value=1), _)):
                return self._unifier.unknown(Numbered(result))
            case Op(symbol="DOMAIN", arguments=(other,)):
                head, shape = self._unifier.head(_type(other)), self._unifier.shape(_type(other))
                if isinstance(head, SeqOf) or isinstance(shape, Numbered | Listing):
                    return self._unifier.unknown(Numbered(result))
        return Function(argument, result)

    def _record(self, expr: RecordOf | RecordSet, bound: Environment) -> Expr:
        parts = [self.of(each, bound) for each in expr.arguments]
        kinds = []
        for part in parts:
            kind: Type = _type(part)
            if isinstance(expr, RecordSet):
                kind = self._unifier.unknown()
                self._set(part, kind)
            kinds.append(kind)
        row = self._unifier.unknown(Row(tuple(zip(expr.names, kinds, strict=True)), closed=True))
        whole = SetOf(row) if isinstance(expr, RecordSet) else row
        return replace(expr, arguments=tuple(parts), type=whole)

    def _operator(self, expr: Op, bound: Environment) -> Expr:
        symbol = expr.symbol
        parts = [self.of(each, bound) for each in expr.arguments]
        if symbol == "IF" and not self._fits(_type(parts[1]), _type(parts[2])):
            plain = without_the_empty(expr)
            parts = [self.of(each, bound) for each in plain.arguments]
        return replace(expr, arguments=tuple(parts), type=self._result(expr, symbol, parts))

    def _result(self, expr: Op, symbol: str, parts: list[Expr]) -> Type:  # noqa: C901, PLR0911, PLR0912
        if symbol in _BASE:
            return SetOf(_BASE[symbol])
        if symbol == "STRING":
            return SetOf(self._unifier.unknown(Text()))
        if symbol in _LOGIC:
            return self._all(parts, BOOL, BOOL)
        if symbol in _ORDER | _NUMBER | {".."}:
            return self._all(parts, INT, BOOL if symbol in _ORDER else SetOf(INT) if symbol == ".." else INT)
        if symbol in _SAME:
            return self._alike(expr, symbol, parts)
        match symbol:
            case "IF":
                self._expect(parts[0], BOOL)
                return self._together(expr, parts[1:])
            case "CASE":
                tests = len(parts) // 2
                self._all(parts[: 2 * tests : 2], BOOL, BOOL)
                return self._together(expr, [*parts[1 : 2 * tests : 2], *parts[2 * tests :]])
            case "\\in":
                return self._membership(expr, *parts)
            case "{}":
                return SetOf(self._together(expr, parts) if parts else self._unifier.unknown())
            case "<<>>":
                return self._unifier.unknown(Listing(tuple(_type(part) for part in parts)))
            case "SUBSET":
                return SetOf(SetOf(self._element(parts[0])))
            case "UNION":
                element = self._unifier.unknown()
                self._expect(parts[0], SetOf(SetOf(element)), "no set of sets")
                return SetOf(element)
            case "->":
                domain, image = parts
                return SetOf(self._function_of(domain, self._element(domain), self._element(image)))
            case "\\X":
                return SetOf(Tuple(tuple(self._element(part) for part in parts)))
            case ":>":
                return Function(_type(parts[0]), _type(parts[1]))
            case "Cardinality" | "IsFiniteSet":
                self._element(parts[0])
                return INT if symbol == "Cardinality" else BOOL
            case "Evaluated":
                return BOOL
            case "Min" | "Max" | "Sum":
                return self._all(parts, SetOf(INT), INT)
            case "SumOf" | "ProductOf":
                self._wait(lambda final: self._summed(parts[0], final))
                return INT
            case "DOMAIN":
                keys = self._unifier.unknown()
                self._wait(lambda final: self._domain(parts[0], keys, final))
                return SetOf(keys)
        return self._sequence(symbol, parts)

    def _sequence(self, symbol: str, parts: list[Expr]) -> Type:
        if symbol == "Seq":
            return SetOf(SeqOf(self._element(parts[0])))
        element = self._unifier.unknown()
        whole = SeqOf(element)
        self._expect(parts[0], whole, "no sequence")
        if symbol == "Append":
            self._expect(parts[1], element)
        if symbol == "SelectSeq":
            self._expect(parts[1], SetOf(INT))
        if symbol == "SubSeq":
            self._all(parts[1:], INT, INT)
        return INT if symbol == "Len" else element if symbol in ("Head", "Last") else whole

    def _alike(self, expr: Op, symbol: str, parts: list[Expr]) -> Type:
        kind = self._together(expr, parts)
        if symbol == "\\o":
            return self._all(parts, SeqOf(self._unifier.unknown()), kind, "no sequence")
        if symbol in _JOINED or symbol == "\\subseteq":
            for part in parts:
                self._element(part)
        return kind if symbol in _JOINED or symbol == "@@" else BOOL

    def _membership(self, expr: Op, element: Expr, container: Expr) -> Type:
        inner = self._element(container)
        if not self._fits(_type(element), inner):
            left = f"{_named(element)} of type {self._shown(element)}"
            right = f"{_named(container)} of type {self._shown(container)}"
            written = any(isinstance(each, RecordOf | RecordSet) for each in walk(expr))
            remedy = _one_type(element, container) if written else _CORRECT
            if f"{self._shown(container)}" == f"{SetOf(SetOf(self._shown(element)))}":
                remedy = r"{S} is a set that has the set S in it: write x \in S, as in x \in 1 .. 3"
            raise fail(expr.location, f"\\in does not fit {left}, {right}", remedy)
        return BOOL

    def _domain(self, function: Expr, keys: Type, final: bool) -> bool:
        kind = self._unifier.head(_type(function))
        shape = self._unifier.shape(_type(function))
        match kind:
            case Function(argument=argument):
                found: Type = argument
            case SeqOf() | Tuple():
                found = INT
            case Record():
                found = STR
            case _ if isinstance(shape, Numbered | Listing):
                found = INT
            case _ if isinstance(shape, Row) and final:
                found = STR
            case _ if final and self._fits(kind, Function(keys, self._unifier.unknown())):
                return True
            case _ if final or not isinstance(kind, Unknown):
                raise self._no_domain(function)
            case _:
                return False
        if not self._fits(keys, found):
            raise self._no_domain(function)
        return True

    def _no_domain(self, function: Expr) -> TlaSqlError:
        shown = self._shown(function)
        message = f"DOMAIN does not fit {_named(function)} of type {shown}"
        remedy = "functions, sequences, tuples and records have one" + f"; {_OF_LIST}" * isinstance(
            shown, SetOf
        )
        return fail(function.location, message, remedy)

    def _summed(self, function: Expr, final: bool) -> bool:
        kind = self._unifier.head(_type(function))
        if isinstance(kind, SeqOf) or isinstance(self._unifier.shape(kind), Listing):
            self._expect(function, SeqOf(INT))
            return True
        if isinstance(kind, Function) or final:
            self._expect(function, Function(self._unifier.unknown(), INT))
            return True
        return False

    def _together(self, expr: Op, parts: list[Expr]) -> Type:
        """Parts that must be of one type."""
        first = parts[0]
        for part in parts[1:]:
            if not self._fits(_type(first), _type(part)):
                left = f"{_named(first)} of type {self._shown(first)}"
                right = f"{_named(part)} of type {self._shown(part)}"
                of = "a set" if expr.symbol == "{}" else expr.symbol
                message = f"{of} of different types: {left} against {right}"
                kinds = (self._shown(first), self._shown(part))
                pairs = (kinds, kinds[::-1])
                if any(isinstance(one, SetOf) and f"{one.element}" == f"{other}" for one, other in pairs):
                    raise fail(expr.location, message, _OF_ELEMENT)
                if {SeqOf, SetOf} == {type(each) for each in kinds}:
                    raise fail(expr.location, message, _OF_SEQUENCE)
                raise fail(expr.location, message, _one_type(first, part))
        return _type(first)

    def _all(self, parts: list[Expr], kind: Type, result: Type, what: str = "") -> Type:
        for part in parts:
            self._expect(part, kind, what)
        return result

    def _expect(self, part: Expr, kind: Type, what: str = "") -> None:
        if self._fits(_type(part), kind):
            return
        given, wanted = self._shown(part), self._unifier.resolve(kind)
        message = f"{_named(part)} has type {given}, expected {wanted}"
        if what:
            message = f"{_named(part)} of type {given} is {what}"
        remedy = _CORRECT
        if isinstance(part, Literal) and part.label:
            remedy = f"correct {part.label}, in the module or in [constants] of the mapping"
        elif isinstance(wanted, SeqOf):
            remedy = _OF_TEXT if given == STR else _OF_LIST if isinstance(given, SetOf) else _CORRECT
        elif isinstance(wanted, SetOf) and isinstance(given, Function | SeqOf | Tuple):
            remedy = _OF_FUNCTION if isinstance(given, Function) else _OF_SEQUENCE
        elif wanted == INT and isinstance(given, SetOf):
            remedy = r"of sets write S \cup T, S \cap T, S \ T, or Cardinality(S) for how many S has"
        raise fail(part.location, message, remedy)

    def _set(self, part: Expr, element: Type) -> None:
        self._expect(part, SetOf(element), "no set")

    def _element(self, part: Expr) -> Type:
        element = self._unifier.unknown()
        self._set(part, element)
        return element

    def _shown(self, part: Expr) -> Type:
        """Its type as far as it is known; what is open is shown as the simplest that it may be."""
        restore = self._unifier.saved()
        self._unifier.settle(_type(part))
        found = self._unifier.resolve(_type(part))
        restore()
        return found

    def _resolved(self, expr: Expr) -> Expr:  # noqa: PLR0911 (one each)
        if not self._unifier.settle(_type(expr)):
            remedy = "compare it with something whose type is known"
            raise fail(expr.location, f"{_named(expr)} may be of any type here", remedy)
        kind = self._unifier.resolve(_type(expr))
        built = replace(rebuild(expr, self._resolved), type=kind)
        match built:
            case Quantified(variable=variable, domain=Expr(type=SetOf(element=element))):
                return replace(built, variable=replace(variable, type=element))
            case Fold(parameters=(so_far, place)):
                return replace(built, parameters=(replace(so_far, type=kind), replace(place, type=INT)))
            case Index(function=Expr(type=Record()) as record, key=Literal(value=name)):
                return Field(built.location, record, str(name), type=kind, label=built.label)
            case Index(function=Expr(type=Record(fields=fields)) as record, key=key):
                return _field_of(built, record, key, [name for name, _ in fields])
            case Except(function=Expr(type=Record(fields=fields)) as record, key=key) if not isinstance(
                key, Literal
            ):
                return _with_field(built, record, key, fields)
            case Except(function=Expr(type=Tuple(parts=parts)) as whole):
                return _with_part(built, whole, parts)
            case Field(record=Expr(type=Function(argument=argument)) as function, name=name):
                key = Literal(built.location, name, type=argument)
                return Index(built.location, function, key, type=kind, label=built.label)
            case RecordOf(type=Record(fields=fields)) | RecordSet(type=SetOf(element=Record(fields=fields))):
                given = dict(zip(built.names, built.arguments, strict=True))
                names = tuple(name for name, _ in fields if name in given)
                return replace(built, names=names, arguments=tuple(given[name] for name in names))
        return built


def _field_of(whole: Index, record: Expr, key: Expr, names: Sequence[str]) -> Expr:
    """The field of a record that a text names: TLC stops where it has none of this name."""
    at, arms = whole.location, list[Expr]()
    for name in names:
        named = Literal(at, name, type=key.type)
        arms.append(Op(at, "=", (key, named), type=BOOL))
        arms.append(Field(at, record, name, type=whole.type))
    return Op(at, "CASE", tuple(arms), type=whole.type, label=whole.label)


def _with_part(whole: Except, pair: Expr, kinds: Sequence[Type]) -> Expr:
    """The tuple with the part changed that a number names."""
    at, parts = whole.location, list[Expr]()
    for n, kind in enumerate(kinds, start=1):
        number = Literal(at, n, type=INT)
        parts.append(whole.value if number == whole.key else Index(at, pair, number, type=kind))
    return Op(at, "<<>>", tuple(parts), type=whole.type, label=whole.label)


def _with_field(whole: Except, record: Expr, key: Expr, fields: Sequence[tuple[str, Type]]) -> Expr:
    """The record with the field changed that a text names. TLC stops at a model value, and leaves the record
    as it is where it has no field of this name: what is no name has no value here.
    """
    at, arms = whole.location, list[Expr]()
    for name, _ in fields:
        parts = (whole.value if each == name else Field(at, record, each, type=kind) for each, kind in fields)
        arms.append(Op(at, "=", (key, Literal(at, name, type=key.type)), type=BOOL))
        arms.append(RecordOf(at, tuple(each for each, _ in fields), tuple(parts), type=whole.type))
    return Op(at, "CASE", tuple(arms), type=whole.type, label=whole.label)


_OF_ELEMENT = r"of an element write x \in S, or {x} for the set that has it alone"


def _one_type(*parts: Expr) -> str:
    """How to give parts one type."""
    every = [inner for part in parts for inner in walk(part)]
    if any(isinstance(each, Model) for each in every):
        return (
            "in the mapping's [constants] give the model value one of the other's type that no state has: "
            'Nil = -1, or of a record, say, Nil = { definition = "NoRecord" }'
        )
    if any(isinstance(each, RecordOf | RecordSet) for each in every):
        return f"fields of one name have one type in all records; {_SOME_HAVE}"
    return "what is compared or joined has one type, as a column has: split it, or write numbers as texts"


def _named(expr: Expr) -> str:
    """The expression in a message: the call that it came from, or where it begins, if all of it is long."""
    whole = tell(expr)
    if len(whole) <= _READABLE:
        return whole
    if expr.label is not None and len(expr.label) <= _READABLE:
        return expr.label
    return f"{whole[:_READABLE].rpartition(' ')[0]} ..."


def _type(expr: Expr) -> Type:
    assert expr.type is not None
    return expr.type
