"""Constant folding: expressions of numbers, texts and truths that are written out, computed as TLC would."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tlasql.lang.ir import Expr, Literal, Op

_LARGEST = 2**31 - 1
"""TLC computes with no larger number."""
_NUMBERS: dict[str, Callable[..., int | bool]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "-.": operator.neg,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_DIVISIONS: dict[str, Callable[[int, int], int]] = {"\\div": operator.floordiv, "%": operator.mod}
_TRUTHS: dict[str, Callable[..., bool]] = {
    "/\\": lambda *each: all(each),
    "\\/": lambda *each: any(each),
    "~": operator.not_,
    "=>": lambda test, then: not test or then,
}


def decided(test: Expr) -> bool | None:
    """Whether a test is true, where its text says so."""
    match simplified(test):
        case Literal(value=bool() as value):
            return value
    return None


def simplified(expr: Expr) -> Expr:
    """The value of an expression of literals alone; any other expression as it is."""
    if not isinstance(expr, Op):
        return expr
    parts = [simplified(each) for each in expr.arguments]
    if parts and _ends(expr.symbol, parts[0]):
        return parts[0]
    values = [each.value for each in parts if isinstance(each, Literal)]
    if not values or len(values) < len(parts):
        return replace(expr, arguments=tuple(parts)) if parts else expr
    found = _computed(expr.symbol, values)
    if found is None or (not isinstance(found, bool) and abs(found) > _LARGEST):
        return replace(expr, arguments=tuple(parts))
    return Literal(expr.location, found)


def _ends(symbol: str, part: Expr) -> bool:
    """Whether TLC looks no further in a disjunction or conjunction with this part."""
    return isinstance(part, Literal) and part.value is {"\\/": True, "/\\": False}.get(symbol)


def settled(test: Expr) -> bool | None:
    r"""Whether a test is true where it has a value: ``f[x] = y \/ TRUE`` has none for ``x`` outside ``f``."""
    found = simplified(test)
    if isinstance(found, Op) and found.symbol in ("\\/", "/\\"):
        return (found.symbol == "\\/") if any(_ends(found.symbol, each) for each in found.arguments) else None
    return decided(found)


def _computed(symbol: str, values: list[Any]) -> int | bool | None:
    kind, *others = {type(each) for each in values}
    if others:
        return None
    if symbol == "=":
        return bool(values[0] == values[1])
    if kind is int and symbol in _DIVISIONS and values[1] > 0:  # TLC divides by no other number alike
        return _DIVISIONS[symbol](*values)
    if kind is int and symbol in _NUMBERS:
        return _NUMBERS[symbol](*values)
    if kind is bool and symbol in _TRUTHS:
        return _TRUTHS[symbol](*values)
    return None
