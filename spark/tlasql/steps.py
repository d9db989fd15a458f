"""Is a step predicate true when nothing changes? Decided on its text, without knowing any value."""

from __future__ import annotations

from tlasql.ir import Expr, Literal, Op, Prime, Variable, rebuild, text
from tlasql.normalise import Clause

_REFLEXIVE = {"=": True, "<=": True, ">=": True, "<": False, ">": False}


def holds_when_unchanged(clause: Clause) -> bool:
    """True only if every conjunct (or the negation of an antecedent) is certain when ``v' = v``."""
    if any(_value(_unprime(each)) is False for each in clause.antecedents):
        return True
    return all(_value(_unprime(each)) is True for each in clause.conjuncts)


def _unprime(expr: Expr) -> Expr:
    match expr:
        case Prime(argument=Variable() as variable):
            return variable
        case _:
            return rebuild(expr, _unprime)


def _value(expr: Expr) -> bool | None:  # noqa: PLR0911 (one for each kind of expression)
    """TRUE, FALSE, or None when it depends on the state."""
    match expr:
        case Literal(value=bool() as value):
            return value
        case Op(symbol=symbol, arguments=(left, right)) if symbol in _REFLEXIVE and text(left) == text(right):
            return _REFLEXIVE[symbol]
        case Op(symbol="~", arguments=(inner,)):
            return _negated(_value(inner))
        case Op(symbol="/\\", arguments=arguments):
            return _all([_value(each) for each in arguments])
        case Op(symbol="\\/", arguments=arguments):
            return _negated(_all([_negated(_value(each)) for each in arguments]))
        case Op(symbol="=>", arguments=(test, then)):
            if _value(test) is False or _value(then) is True:
                return True
            return _value(then) if _value(test) is True else None
        case _:
            return None


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(values: list[bool | None]) -> bool | None:
    if any(value is False for value in values):
        return False
    return True if all(values) else None
