"""How an expression reads the state: variable, primed or not, and the arguments it is applied to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tlasql.ir import Bound, Expr, Field, Index, Literal, Op, Prime, Quantified, Variable, children


@dataclass(frozen=True)
class Access:
    """``name[arguments...]`` in this state, or in the next one when ``primed``."""

    name: str
    primed: bool
    arguments: tuple[Expr, ...]
    expr: Expr


def access(expr: Expr) -> Access | None:
    """Read ``f``, ``f'`` or ``f[a][b]``; None for any other expression."""
    match expr:
        case Variable(name=name):
            return Access(name, False, (), expr)
        case Prime(argument=Variable(name=name)):
            return Access(name, True, (), expr)
        case Index(function=function, key=key):
            inner = access(function)
            return inner and Access(inner.name, inner.primed, (*inner.arguments, key), expr)
        case _:
            return None


def leaves(expr: Expr) -> Iterator[Expr]:
    """The state expressions and bound variables a predicate is made of, left to right, nested quantifiers
    whole.
    """
    match expr:
        case Literal():
            return
        case Bound() | Field() | Quantified():
            yield expr
        case _ if access(expr) is not None:
            yield expr
        case _:
            for part in children(expr):
                yield from leaves(part)


def conjuncts(expr: Expr) -> list[Expr]:
    r"""The parts of nested ``/\``."""
    if isinstance(expr, Op) and expr.symbol == "/\\":
        return [part for each in expr.arguments for part in conjuncts(each)]
    return [expr]
