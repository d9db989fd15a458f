r"""Formulas that are true at a place of a definition, as the text around that place shows.

``x \in DOMAIN f`` is one inside ``\A x \in DOMAIN f : ...``, as is what stands to the left in a conjunction.
"""

from __future__ import annotations

from tlasql.lang.ir import Except, Expr, Literal, Op, Quantified, RecordOf, RecordSet, substitute
from tlasql.lang.shapes import has_field
from tlasql.lang.types import BOOL, INT, Function, SeqOf, SetOf, Type

Facts = frozenset[Expr]
NOTHING: Facts = frozenset()


def learned(test: Expr) -> Facts:
    """The formulas that are true where ``test`` is true."""
    match test:
        case Op(symbol="/\\", arguments=arguments):
            return frozenset({test}).union(*(learned(each) for each in arguments))
        case Op(symbol="~", arguments=(inner,)):
            return frozenset({test}) | refuted(inner)
    return frozenset({test})


def refuted(test: Expr) -> Facts:
    """The formulas that are true where ``test`` is false."""
    match test:
        case Op(symbol="\\/", arguments=arguments):
            return frozenset().union(*(refuted(each) for each in arguments))
        case Op(symbol="=>", arguments=(before, after)):
            return learned(before) | refuted(after)
        case Op(symbol="~", arguments=(inner,)):
            return learned(inner)
    return frozenset({negated(test, test)})


def ranged(variable: Expr, domain: Expr) -> Facts:
    r"""The formulas that are true of ``variable \in domain``."""
    found = frozenset({operator(domain, "\\in", (variable, domain))})
    match domain:
        case Op(symbol="\\cap", arguments=arguments):
            return found.union(*(ranged(variable, each) for each in arguments))
        case Op(symbol="\\", arguments=(left, _)):
            return found | ranged(variable, left)
        case Quantified(kind="filter", variable=inner, domain=base, body=body):
            return found | ranged(variable, base) | learned(substitute(body, inner, variable))
    return found


def in_domain(key: Expr, function: Expr, facts: Facts) -> bool:  # noqa: C901, PLR0911 (one each)
    """Whether the text shows that ``key`` is in the DOMAIN of ``function``."""
    if inside_domain(key, function) in facts:
        return True
    if isinstance(function.type, SeqOf) and _in_sequence(key, function, facts):
        return True
    for fact in facts:
        match fact:
            case Op(symbol="\\in", arguments=(found, Op(symbol="->", arguments=(domain, _)))) if (
                found == function
            ):
                if _member(key, domain, facts):
                    return True
            case Op(symbol="=", arguments=(Op(symbol="DOMAIN", arguments=(found,)), domain)) if (
                found == function
            ):
                if _member(key, domain, facts):
                    return True
    match function:
        case Quantified(kind="function", domain=domain):
            return _member(key, domain, facts)
        case Except(function=inner):
            return in_domain(key, inner, facts)
        case Op(symbol=":>", arguments=(only, _)):
            return key == only
        case Op(symbol="@@", arguments=parts):
            return any(in_domain(key, each, facts) for each in parts)
    return False


def shape_shown(record: Expr, name: str, facts: Facts) -> bool | None:
    """Whether the text shows that the record has such a field, or that it has none."""
    if has_field(record, name) in facts:
        return True
    match record:
        case RecordOf(names=names):
            return name in names
        case Except(function=inner):
            return shape_shown(inner, name, facts)
    shapes = [
        fact.arguments[1].names
        for fact in facts
        if isinstance(fact, Op)
        and fact.symbol == "\\in"
        and fact.arguments[0] == record
        and isinstance(fact.arguments[1], RecordSet)
    ]
    return name in shapes[0] if shapes else None


def some_element(sequence: Expr, facts: Facts) -> bool:
    """Whether the text shows that the sequence is not empty."""
    at, length = sequence.location, length_of(sequence)
    empty = Op(at, "<<>>", (), type=sequence.type)
    zero, one = Literal(at, 0, type=INT), Literal(at, 1, type=INT)
    shown = [Op(at, "~", (Op(at, "=", pair),)) for pair in ((sequence, empty), (empty, sequence))]
    shown += [Op(at, "~", (Op(at, "=", pair),)) for pair in ((length, zero), (zero, length))]
    shown += [Op(at, ">", (length, zero)), Op(at, ">=", (length, one))]
    shown += [Op(at, "<", (zero, length)), Op(at, "<=", (one, length))]
    return any(each in facts for each in shown)


def _member(key: Expr, domain: Expr, facts: Facts) -> bool:  # noqa: PLR0911 (one for each kind)
    if operator(domain, "\\in", (key, domain)) in facts:
        return True
    match domain:
        case Op(symbol="DOMAIN", arguments=(function,)):
            return in_domain(key, function, facts)
        case Op(symbol="\\cup", arguments=parts):
            return any(_member(key, each, facts) for each in parts)
        case Op(symbol="\\X", arguments=parts) if isinstance(key, Op) and key.symbol == "<<>>":
            pairs = zip(key.arguments, parts, strict=True)
            return all(_member(each, part, facts) for each, part in pairs)
        case Op(symbol="{}", arguments=members):
            return key in members
        case Op(symbol="..", arguments=(Literal(value=int() as low), Literal(value=int() as high))):
            return isinstance(key, Literal) and isinstance(key.value, int) and low <= key.value <= high
    return False


def _in_sequence(key: Expr, sequence: Expr, facts: Facts) -> bool:
    """The usual ways to walk through a sequence."""
    length, one = length_of(sequence), Literal(key.location, 1, type=INT)
    if key in (one, length) and some_element(sequence, facts):
        return True
    before_last = Op(key.location, "-", (length, one), type=INT)

    def walks(place: Expr, low: int, high: Expr) -> bool:
        span = Op(key.location, "..", (Literal(key.location, low, type=INT), high), type=SetOf(INT))
        return Op(key.location, "\\in", (place, span), type=BOOL) in facts

    if any(walks(key, low, high) for low in (1, 2) for high in (length, before_last)):
        return True
    match key:
        case Op(symbol="+", arguments=(place, Literal(value=1))):
            return any(walks(place, low, before_last) for low in (1, 2))
        case Op(symbol="-", arguments=(place, Literal(value=1))):
            return any(walks(place, 2, high) for high in (length, before_last))
    return False


def inside_domain(key: Expr, function: Expr) -> Expr:
    r"""``key \in DOMAIN function``"""
    return Op(key.location, "\\in", (key, _domain(function)), type=BOOL)


def length_of(sequence: Expr) -> Expr:
    """``Len(sequence)``"""
    return Op(sequence.location, "Len", (sequence,), type=INT)


def negated(at: Expr, test: Expr) -> Expr:
    """``~test``"""
    return operator(at, "~", (test,))


def operator(at: Expr, symbol: str, arguments: tuple[Expr, ...], kind: Type | None = BOOL) -> Op:
    """An operator applied, at the place of ``at``."""
    return Op(at.location, symbol, arguments, type=kind)


def _domain(function: Expr) -> Expr:
    kind: Type = INT
    if isinstance(function.type, Function):
        kind = function.type.argument
    return Op(function.location, "DOMAIN", (function,), type=SetOf(kind))
