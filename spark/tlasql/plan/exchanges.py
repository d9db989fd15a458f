"""Whether a clause stays true when its parts are exchanged: the next state for this one, or one quantified
variable for another. Its text alone decides.
"""

from __future__ import annotations

from itertools import combinations

from tlasql.lang.ir import Bound, Expr, Literal, Op, Prime, Variable, rebuild, text
from tlasql.plan.clauses import Clause

_REFLEXIVE = {"=": True, "<=": True, ">=": True, "<": False, ">": False}
_COMMUTATIVE = {"/\\", "\\/", "<=>", "=", "+", "*"}


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


def interchangeable(
    variables: tuple[int, ...], relations: list[tuple[str, tuple[int, ...]]], clause: Clause
) -> list[tuple[int, int]]:
    """At most one pair of variables whose exchange changes neither the ranges nor the predicates."""
    for a, b in combinations(variables, 2):
        swap = {a: b, b: a}
        swapped = [(table, tuple(swap.get(uid, uid) for uid in uids)) for table, uids in relations]
        if sorted(swapped) == sorted(relations) and _shape(clause, {}) == _shape(clause, swap):
            return [(a, b)]
    return []


def _shape(clause: Clause, swap: dict[int, int]) -> list[list[str]]:
    return [
        sorted(_canonical(each, swap) for each in part) for part in (clause.antecedents, clause.conjuncts)
    ]


def _canonical(expr: Expr, swap: dict[int, int]) -> str:
    return text(_sorted(expr, swap))


def _sorted(expr: Expr, swap: dict[int, int]) -> Expr:
    match expr:
        case Bound(uid=uid):
            return Bound(expr.location, f"${swap.get(uid, uid)}", uid)
        case Op(symbol=symbol, arguments=arguments) if symbol in _COMMUTATIVE:
            parts = sorted((_sorted(each, swap) for each in arguments), key=text)
            return Op(expr.location, symbol, tuple(parts))
        case _:
            return rebuild(expr, lambda part: _sorted(part, swap))
