r"""Quantified variables that may be swapped: ``\A m, n \in S : P`` where P says the same of (m, n) and (n,
m).
"""

from __future__ import annotations

from itertools import combinations

from tlasql.ir import Bound, Expr, Op, rebuild, text
from tlasql.normalise import Clause

_COMMUTATIVE = {"/\\", "\\/", "<=>", "=", "+", "*"}


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
