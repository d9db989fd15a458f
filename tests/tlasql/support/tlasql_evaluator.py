"""A third oracle: the representation evaluated on complete states, by TLA+'s rules and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tlasql.ir import Bound, Expr, Field, Index, Literal, Op, Prime, Quantified, Variable, walk

State = Mapping[str, Any]


def evaluate(
    expr: Expr, now: State, after: State | None = None, bound: Mapping[int, Any] | None = None
) -> Any:
    """The value of a typed expression without calls in state ``now`` (primed: in ``after``)."""
    return _Evaluator(now, after).value(expr, dict(bound or {}))


def unchanged(expr: Expr, now: State, after: State) -> bool:
    """Whether the step leaves every variable of the action as it is."""
    names = {part.name for part in walk(expr) if isinstance(part, Variable)}
    return all(now[name] == after[name] for name in names)


class _Evaluator:
    def __init__(self, now: State, after: State | None) -> None:
        self._now, self._after = now, after

    def value(self, expr: Expr, bound: dict[int, Any]) -> Any:  # noqa: PLR0911 (one for each kind)
        match expr:
            case Literal(value=value):
                return value
            case Variable(name=name):
                return self._now[name]
            case Prime(argument=Variable(name=name)):
                assert self._after is not None
                return self._after[name]
            case Bound(uid=uid):
                return bound[uid]
            case Field(record=record, name=name):
                return self.value(record, bound)[name]
            case Index(function=function, key=key):
                return self.value(function, bound)[self.value(key, bound)]
            case Quantified():
                return self._quantified(expr, bound)
            case Op(symbol=symbol, arguments=arguments):
                return self._operator(symbol, arguments, bound)
        raise AssertionError(expr)

    def _quantified(self, expr: Quantified, bound: dict[int, Any]) -> Any:
        elements = self.value(expr.domain, bound)
        kept = ((each, self.value(expr.body, {**bound, expr.variable.uid: each})) for each in elements)
        if expr.kind == "filter":
            return [each for each, inside in kept if inside]
        return (all if expr.kind == "\\A" else any)(inside for _, inside in kept)

    def _operator(self, symbol: str, arguments: tuple[Expr, ...], bound: dict[int, Any]) -> Any:
        if symbol == "/\\":
            return all(self.value(each, bound) for each in arguments)
        if symbol == "\\/":
            return any(self.value(each, bound) for each in arguments)
        if symbol == "=>":
            return not self.value(arguments[0], bound) or self.value(arguments[1], bound)
        if symbol == "IF":
            return self.value(arguments[1 if self.value(arguments[0], bound) else 2], bound)
        values = [self.value(each, bound) for each in arguments]
        return _APPLY[symbol](*values) if symbol != "{}" else values


_APPLY = {
    "~": lambda a: not a,
    "<=>": lambda a, b: a == b,
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "-.": lambda a: -a,
    "\\in": lambda a, b: a in b,
    "\\cap": lambda a, b: [each for each in a if each in b],
    "DOMAIN": list,
}
