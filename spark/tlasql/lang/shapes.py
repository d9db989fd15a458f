"""Questions about an expression that its text answers before anything is computed: is this set finite, which
elements does it list, can this part be without a value?
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from tlasql.lang.errors import fail
from tlasql.lang.ir import (
    Bound,
    Except,
    Expr,
    Field,
    Index,
    Literal,
    Model,
    Op,
    Prime,
    Quantified,
    RecordOf,
    RecordSet,
    Variable,
    text,
    walk,
)
from tlasql.lang.literals import simplified
from tlasql.lang.types import BOOL, INT, STR, Function, Record, SeqOf, SetOf, Tuple, Type

_FEW = 64
"""How many numbers are written out one by one."""
FLIPPED = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""The comparison that says the same with its sides exchanged."""
_STRICT = {"=", "<", "<=", ">", ">=", "+", "-", "*", "-."}


def repeats(expr: Expr) -> bool:
    """Whether the array of a set may hold an element twice. Only arrays of tables may."""
    match expr:
        case Op(symbol="DOMAIN", arguments=(function,)):
            written = domain_of(function)
            return written is not None and repeats(written)
        case Op(symbol="{}" | ".." | "BOOLEAN" | "UNION" | "SUBSET") | Quantified(kind="map"):
            return False
        case Quantified(kind="filter", domain=base) | Op(symbol="\\cap" | "\\", arguments=(base, _)):
            return repeats(base)
        case (
            Op(symbol="\\cup", arguments=parts)
            | RecordSet(arguments=parts)
            | Op(symbol="\\X", arguments=parts)
        ):
            return any(repeats(each) for each in parts)
        case Op(symbol="->", arguments=(_, results)):
            return repeats(results)
    return True


def is_finite(base: Expr) -> bool:
    """Whether TLC finds a set finite; all that are listed are."""
    match base:
        case Op(symbol="Nat" | "Int" | "STRING"):
            return False
        case Op(symbol="SUBSET", arguments=(inner,)):
            return is_finite(inner)
        case Op(symbol="Seq" | "->" | "\\cup" | "\\") | Quantified(kind="filter") if any(
            isinstance(each, Op) and each.symbol in {"Nat", "Int", "STRING", "Seq", "->"}
            for each in walk(base)
        ):
            raise fail(base.location, f"whether {text(base)} is finite is outside the fragment")
    return True


def is_bounded(base: Expr) -> bool:
    """Whether no infinite set is a part of its text: TLC lists the sets that a UNION is of."""
    infinite = {"Nat", "Int", "STRING", "Seq"}
    return not any(isinstance(each, Op) and each.symbol in infinite for each in walk(base))


def members_of(base: Expr) -> tuple[Expr, ...]:
    """The elements of a set that is written out, each once; none where it is no such set."""
    match base:
        case Op(symbol="{}", arguments=members) if all(isinstance(each, Literal | Model) for each in members):
            return tuple({text(each): each for each in members}.values())
        case Op(symbol="..", arguments=ends):
            match tuple(simplified(each) for each in ends):
                case (Literal(value=int() as low), Literal(value=int() as high)) if high < low + _FEW:
                    return tuple(Literal(base.location, n, type=INT) for n in range(low, high + 1))
    return ()


def are_different(members: Sequence[Expr]) -> bool:
    """Whether no two of the members of a set that is written out can be equal, as their text shows."""
    if len(members) < 2:
        return True
    values = [_written_value(each) for each in members]
    return None not in values and len(set(values)) == len(values)


def _written_value(expr: Expr) -> Hashable | None:
    """The value of a constant, or of a set of constants, as the log has it; None for any other expression."""
    match expr:
        case Literal(value=value):
            return type(value), value
        case Model(name=name):
            return str, name
        case Op(symbol="{}", arguments=members):
            values = frozenset(_written_value(each) for each in members)
            return None if None in values else values
    return None


def written_out(left: Expr, right: Expr) -> list[tuple[Expr, Expr]] | None:
    """Component pairs when either side is written out as a tuple or record."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, RecordOf):
            pairs = [(field_of(left, name), field_of(right, name)) for name in one.names]
            return _shapes(one, other) + pairs
        if isinstance(one, Op) and one.symbol == "<<>>" and isinstance(one.type, Tuple):
            return [(component(left, n), component(right, n)) for n in range(1, len(one.arguments) + 1)]
    return None


def _shapes(one: RecordOf, other: Expr) -> list[tuple[Expr, Expr]]:
    """The equalities that hold where both records have the same fields."""
    optional = one.type.optional if isinstance(one.type, Record) else ()
    return [
        (has_field(other, name), Literal(one.location, name in one.names, type=BOOL))
        for name in sorted(optional)
    ]


def has_field(record: Expr, name: str) -> Expr:
    r"""``"name" \in DOMAIN record``"""
    at = record.location
    domain = Op(at, "DOMAIN", (record,), type=SetOf(STR))
    return Op(at, "\\in", (Literal(at, name, type=STR), domain), type=BOOL)


def may_lack(record: Expr, name: str) -> bool:
    """Whether some values of the record's type have no such field."""
    return isinstance(record.type, Record) and name in record.type.optional


def field_of(expr: Expr, name: str) -> Expr:
    """``expr.name``, or what is written there."""
    if isinstance(expr, RecordOf) and name in expr.names:
        return dict(zip(expr.names, expr.arguments, strict=True))[name]
    assert isinstance(expr.type, Record)
    return Field(expr.location, expr, name, type=expr.type.field(name))


def component(expr: Expr, n: int) -> Expr:
    """``expr[n]`` of a tuple, or what is written there."""
    if isinstance(expr, Op) and expr.symbol == "<<>>":
        return expr.arguments[n - 1]
    assert isinstance(expr.type, Tuple)
    return Index(expr.location, expr, Literal(expr.location, n, type=INT), type=expr.type.parts[n - 1])


def domain_of(function: Expr) -> Expr | None:
    """The set a function is written over, None when only its value knows."""
    match function:
        case Quantified(kind="function", domain=domain):
            return domain
        case Except(function=inner) if isinstance(inner.type, Function):
            found = domain_of(inner)
            return found or Op(inner.location, "DOMAIN", (inner,), type=SetOf(inner.type.argument))
    return None


def part_of(base: Expr) -> Expr | None:
    """The set, written out, of which ``base`` is a part but, as its text shows, not all."""
    match base:
        case Op(symbol="\\" | "\\cap", arguments=(left, _)) | Quantified(kind="filter", domain=left):
            return left if isinstance(left, Op) and left.symbol == "{}" else part_of(left)
    return None


def is_virtual(expr: Expr) -> bool:
    """Whether a set is better tested by membership than built."""
    return isinstance(expr, RecordSet | Quantified) or (
        isinstance(expr, Op) and expr.symbol in {"\\cup", "\\cap", "\\", "{}", "UNION", "..", "DOMAIN"}
    )


def counts(expr: Expr) -> bool:
    """Whether it is a Cardinality."""
    return isinstance(expr, Op) and expr.symbol == "Cardinality"


def is_total(part: Expr) -> bool:
    """Whether TLC always finds a value for it. An expression without a value does not equal even itself. A
    quantified variable is not total: its element may not be there at all.
    """
    if isinstance(part, Field):
        return not may_lack(part.record, part.name)
    plain = isinstance(part, Variable | Prime | Literal)
    return plain or (isinstance(part, Op) and part.symbol == "DOMAIN")


def strict(body: Expr, uid: int) -> bool:
    """Whether the predicate is unknown by itself when the quantified variable ``uid`` is."""
    match body:
        case Op(symbol="/\\" | "\\/" | "~", arguments=parts):
            return all(strict(each, uid) for each in parts)
        case Op(symbol=symbol, arguments=parts) if symbol in _STRICT:
            scalar = all(
                not isinstance(each.type, SetOf | SeqOf | Function | Record | Tuple) for each in parts
            )
            return scalar and any(_carries(each, uid) for each in parts)
    return False


def _carries(expr: Expr, uid: int) -> bool:
    """Whether an unknown element makes the scalar unknown."""
    match expr:
        case Bound(uid=found):
            return found == uid
        case Field(record=record):
            return _carries(record, uid)
        case Index(function=function, key=key):
            plain = not any(isinstance(part, Quantified | Except) for part in walk(function))
            return plain and (_carries(function, uid) or _carries(key, uid))
        case Op(symbol=symbol, arguments=parts) if symbol in {"+", "-", "*", "-."}:
            return any(_carries(each, uid) for each in parts)
    return False


def type_of(expr: Expr) -> Type:
    """Its type, which inference has found."""
    assert expr.type is not None
    return expr.type


def element_of(expr: Expr) -> Type:
    """The type of a set's elements."""
    kind = type_of(expr)
    assert isinstance(kind, SetOf), (text(expr), kind)
    return kind.element


def without_the_empty(choice: Op) -> Op:
    """``IF Len(s) = 0 THEN s`` as ``IF Len(s) = 0 THEN <<>>``: what is empty may be of another type."""
    test, *arms = choice.arguments
    empty = [
        empty_of(each, arm) for each, arm in zip((test, Op(test.location, "~", (test,))), arms, strict=True)
    ]
    return replace(choice, arguments=(test, *(found or arm for found, arm in zip(empty, arms, strict=True))))


def empty_of(test: Expr, over: Expr) -> Expr | None:
    """What ``over`` is where ``S = {}``, ``s = <<>>``, ``Cardinality(S) = 0``, ``Len(s) <= 0``."""
    test = positive(test)
    match counted_of(test, over):
        case (counted, "=" | "<=", 0) | (counted, "<", 1):
            return Op(over.location, "<<>>" if counted == "Len" else "{}", ())
    match test:
        case Op(symbol="=", arguments=(one, other)):
            for each, empty in ((one, other), (other, one)):
                match empty:
                    case Op(symbol="{}" | "<<>>", arguments=()) if each == over:
                        return empty
    return None


def counted_of(test: Expr, over: Expr) -> tuple[str, str, int] | None:
    """What counts, how the count is compared, and with which number: ``Len(over) < n`` and the like."""
    match test:
        case Op(symbol=order, arguments=(one, other)) if order in FLIPPED:
            for symbol, count, number in ((order, one, other), (FLIPPED[order], other, one)):
                match count, number:
                    case (
                        Op(symbol="Cardinality" | "Len" as operator, arguments=(inner,)),
                        Literal(value=int() as n),
                    ) if inner == over:
                        return operator, symbol, n
    return None


def positive(test: Expr) -> Expr:
    """``~(a = b)`` and the like without the negation where that is another comparison."""
    opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
    match test:
        case Op(symbol="~", arguments=(Op(symbol="~", arguments=(inner,)),)):
            return positive(inner)
        case Op(symbol="~", arguments=(Op(symbol="<" | "<=" | ">" | ">=" as symbol) as compared,)):
            return replace(compared, symbol=opposite[symbol])
    return test
