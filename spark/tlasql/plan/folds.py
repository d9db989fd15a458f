r"""The folds of an expression that are better a column of the rows than written out where they are asked for.

SQL computes what is written out as often as it is asked for: ``\A a \in DOMAIN F : F[a] > 0`` once for each
``a``, with ``F`` a fold. Written out in one another, folds are also deeper than an engine can read.
"""

from __future__ import annotations

from collections.abc import Iterator

from tlasql.lang.ir import Expr, Fold, Literal, Op, Quantified, children, free


def folds(expr: Expr, bound: frozenset[int] = frozenset()) -> Iterator[Fold]:
    """The folds of what a row says, inner ones first. ``bound``: what expressions around this one bind.

    Those over a range of whatever length stay where they are: a test may guard them, and a column has none.
    """
    inside = bound
    match expr:
        case Quantified(variable=variable):
            inside = bound | {variable.uid}
        case Fold(parameters=parameters):
            inside = bound | {each.uid for each in parameters}
    for part in children(expr):
        yield from folds(part, inside)
    if isinstance(expr, Fold) and not free(expr) & bound and _is_short(expr.places):
        yield expr


def _is_short(places: Expr) -> bool:
    match places:
        case Op(symbol="..", arguments=(_, high)):
            return isinstance(high, Literal) or (isinstance(high, Op) and _of_length(high))
    return True


def _of_length(number: Op) -> bool:
    """``Len(s)``, ``Len(s) - 1``: no longer than what the row has."""
    match number:
        case Op(symbol="Len" | "Cardinality"):
            return True
        case Op(symbol="-", arguments=(Op() as left, Literal())):
            return _of_length(left)
    return False
