r"""A third oracle: the representation evaluated on complete states, by TLA+'s rules and nothing else.

Every function, record, tuple and sequence is what TLA+ says it is: a set of (argument, value) pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, combinations, product
from math import prod
from typing import Any

from tlasql.lang.ir import (
    Bound,
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
    walk,
)
from tlasql.lang.types import Function, Record, SeqOf, SetOf, Tuple, Type

State = Mapping[str, Any]
Graph = frozenset[tuple[Any, Any]]


class UndefinedError(Exception):
    """The expression has no value in this state: TLC would stop."""


def evaluate(
    expr: Expr, now: State, after: State | None = None, bound: Mapping[int, Any] | None = None
) -> Any:
    """The value of a typed expression without calls in state ``now`` (primed: in ``after``).

    ``bound``: values of parameters by uid, as plain as those of a state. Raises UndefinedError.
    """
    kinds = {part.uid: part.type for part in walk(expr) if isinstance(part, Bound)}
    given = {uid: frozen(value, kinds[uid]) for uid, value in (bound or {}).items() if uid in kinds}
    return _Evaluator(now, after).value(expr, given)


def unchanged(expr: Expr, now: State, after: State) -> bool:
    """Whether the step leaves every variable of the action as it is."""
    kinds = {part.name: part.type for part in walk(expr) if isinstance(part, Variable)}
    return all(frozen(now[name], kind) == frozen(after[name], kind) for name, kind in kinds.items())


def frozen(value: Any, kind: Type | None) -> Any:
    """A plain value (sets and sequences lists; functions, records and tuples dicts) as TLA+ compares it."""
    match kind:
        case SetOf(element=element):
            return frozenset(frozen(each, element) for each in value)
        case SeqOf(element=element):
            return frozenset(enumerate((frozen(each, element) for each in value), start=1))
        case Function(argument=argument, result=result):
            return frozenset((frozen(key, argument), frozen(each, result)) for key, each in value.items())
        case Record(fields=fields, optional=optional):
            held = [(name, part, value[name] if name in optional else [value[name]]) for name, part in fields]
            return frozenset((name, frozen(each, part)) for name, part, found in held for each in found)
        case Tuple(parts=parts):
            return frozenset((n, frozen(value[f"_{n}"], part)) for n, part in enumerate(parts, start=1))
    return value


class _Evaluator:
    def __init__(self, now: State, after: State | None) -> None:
        self._now, self._after = now, after

    def value(self, expr: Expr, bound: dict[int, Any]) -> Any:  # noqa: C901, PLR0911, PLR0912
        match expr:
            case Literal(value=value) | Model(name=value):  # no string of a state is spelled as a model value
                return value
            case Variable(name=name, type=kind):
                return frozen(self._now[name], kind)
            case Prime(argument=Variable(name=name, type=kind)):
                assert self._after is not None
                return frozen(self._after[name], kind)
            case Bound(uid=uid):
                return bound[uid]
            case Field(record=record, name=name):
                return _applied(self.value(record, bound), name)
            case Index(function=function, key=key):
                return _applied(self.value(function, bound), self.value(key, bound))
            case RecordOf(names=names, arguments=arguments):
                values = (self.value(each, bound) for each in arguments)
                return frozenset(zip(names, values, strict=True))
            case RecordSet(names=names, arguments=arguments):
                return frozenset(_graphs(names, [self.value(each, bound) for each in arguments]))
            case Except(function=function, key=key, value=new):
                changed, at = dict(self.value(function, bound)), self.value(key, bound)
                return frozenset((changed | ({at: self.value(new, bound)} if at in changed else {})).items())
            case Quantified():
                return self._quantified(expr, bound)
            case Fold(parameters=(so_far, place), start=start, places=places, body=body):
                found = self.value(start, bound)
                for number in sorted(self.value(places, bound), reverse=expr.backward):
                    found = self.value(body, {**bound, so_far.uid: found, place.uid: number})
                return found
            case Op(symbol=symbol, arguments=arguments):
                return self._operator(symbol, arguments, bound)
        raise AssertionError(expr)

    def _quantified(self, expr: Quantified, bound: dict[int, Any]) -> Any:
        elements = self.value(expr.domain, bound)
        pairs = ((each, self.value(expr.body, {**bound, expr.variable.uid: each})) for each in elements)
        match expr.kind:
            case "\\A":
                return all(inside for _, inside in pairs)
            case "\\E":
                return any(inside for _, inside in pairs)
            case "map":
                return frozenset(image for _, image in pairs)
            case "function":
                return frozenset(pairs)
        kept = frozenset(each for each, inside in pairs if inside)
        return kept if expr.kind == "filter" else _only(kept)

    def _operator(  # noqa: PLR0911 (one for each that does not need all its parts)
        self, symbol: str, arguments: tuple[Expr, ...], bound: dict[int, Any]
    ) -> Any:
        parts = (self.value(each, bound) for each in arguments)
        match symbol:
            case "/\\":
                return all(parts)
            case "\\/":
                return any(parts)
            case "=>":
                return not next(parts) or next(parts)
            case "IF":
                return self.value(arguments[1 if next(parts) else 2], bound)
            case "CASE":
                return self._case(arguments, bound)
            case "\\in":
                return self._within(next(parts), arguments[1], bound)
            case "\\subseteq":
                return all(self._within(each, arguments[1], bound) for each in next(parts))
        return _APPLY[symbol](*parts)

    def _case(self, arguments: tuple[Expr, ...], bound: dict[int, Any]) -> Any:
        for test, value in zip(arguments[::2], arguments[1::2], strict=False):
            if self.value(test, bound):
                return self.value(value, bound)
        if len(arguments) % 2 == 0:
            raise UndefinedError("no arm of CASE is true")
        return self.value(arguments[-1], bound)

    def _within(self, found: Any, whole: Expr, bound: dict[int, Any]) -> bool:  # noqa: C901, PLR0911
        """``found \\in whole``, also where ``whole`` is too large to write down."""
        match whole:
            case Op(symbol="Int" | "STRING" | "BOOLEAN"):
                return True
            case Op(symbol="Nat"):
                return bool(found >= 0)
            case Op(symbol="SUBSET" | "Seq", arguments=(inner,)):
                elements = dict(found).values() if whole.symbol == "Seq" else found
                return all(self._within(each, inner, bound) for each in elements)
            case Op(symbol="->", arguments=(domain, image)):
                return {key for key, _ in found} == set(self.value(domain, bound)) and all(
                    self._within(each, image, bound) for _, each in found
                )
            case Op(symbol="\\X", arguments=factors):
                parts = dict(found)
                return all(self._within(parts[n], each, bound) for n, each in enumerate(factors, start=1))
            case RecordSet(names=names, arguments=arguments):
                fields = dict(found)
                return fields.keys() == set(names) and all(
                    self._within(fields[name], each, bound)
                    for name, each in zip(names, arguments, strict=True)
                )
            case Op(symbol="\\cup", arguments=sides):
                return any(self._within(found, each, bound) for each in sides)
            case Op(symbol="\\cap", arguments=sides):
                return all(self._within(found, each, bound) for each in sides)
            case Op(symbol="\\", arguments=(left, right)):
                return self._within(found, left, bound) and not self._within(found, right, bound)
            case Quantified(kind="filter", variable=variable, domain=domain, body=body):
                return self._within(found, domain, bound) and self.value(body, {**bound, variable.uid: found})
        return found in self.value(whole, bound)


def _applied(graph: Graph, key: Any) -> Any:
    for each, value in graph:
        if each == key:
            return value
    raise UndefinedError(f"{key!r} is not in the domain")


def _only(kept: frozenset[Any]) -> Any:
    if len(kept) != 1:
        raise UndefinedError(f"CHOOSE among {len(kept)}")
    return next(iter(kept))


def _graphs(names: Iterable[Any], sets: Iterable[Iterable[Any]]) -> Iterator[Graph]:
    keys = tuple(names)
    return (frozenset(zip(keys, values, strict=True)) for values in product(*sets))


def _sequence(values: Iterable[Any]) -> Graph:
    return frozenset(enumerate(values, start=1))


def _elements(sequence: Graph) -> list[Any]:
    return [value for _, value in sorted(sequence, key=lambda pair: pair[0])]


def _at(values: list[Any], index: int) -> Any:
    if not values:
        raise UndefinedError("an empty sequence has no element")
    return values[index]


def _divided(a: int, b: int) -> tuple[int, int]:
    if b <= 0:
        raise UndefinedError("division by what is not positive")
    return divmod(a, b)


def _extreme(pick: Callable[[frozenset[int]], int]) -> Callable[[frozenset[int]], int]:
    def found(values: frozenset[int]) -> int:
        if not values:
            raise UndefinedError("an empty set has no least element")
        return pick(values)

    return found


def _subseq(sequence: Graph, first: int, last: int) -> Graph:
    if first <= last and not 1 <= first <= last <= len(sequence):
        raise UndefinedError("SubSeq outside of the sequence")
    return _sequence(_elements(sequence)[first - 1 : last] if first <= last else ())


_APPLY: dict[str, Callable[..., Any]] = {
    "~": lambda a: not a,
    "AND": lambda *each: all(each),
    "OR": lambda *each: any(each),
    "Evaluated": lambda _: True,
    "IsFiniteSet": lambda _: True,
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
    "\\div": lambda a, b: _divided(a, b)[0],
    "%": lambda a, b: _divided(a, b)[1],
    "..": lambda a, b: frozenset(range(a, b + 1)),
    "{}": lambda *each: frozenset(each),
    "\\cap": lambda a, b: a & b,
    "\\cup": lambda a, b: a | b,
    "\\": lambda a, b: a - b,
    "UNION": lambda sets: frozenset(chain.from_iterable(sets)),
    "SUBSET": lambda a: frozenset(
        frozenset(each) for size in range(len(a) + 1) for each in combinations(a, size)
    ),
    "\\X": lambda *sets: frozenset(_sequence(each) for each in product(*sets)),
    "Cardinality": len,
    "Min": _extreme(min),
    "Max": _extreme(max),
    "Sum": sum,
    "SumOf": lambda function: sum(value for _, value in function),
    "ProductOf": lambda function: prod(value for _, value in function),
    "BOOLEAN": lambda: frozenset({True, False}),
    "DOMAIN": lambda function: frozenset(key for key, _ in function),
    "->": lambda domain, image: frozenset(_graphs(domain, [image] * len(domain))),
    ":>": lambda key, value: frozenset({(key, value)}),
    "@@": lambda a, b: frozenset((dict(b) | dict(a)).items()),
    "<<>>": lambda *each: _sequence(each),
    "Len": len,
    "Head": lambda s: _at(_elements(s), 0),
    "Tail": lambda s: _sequence(_elements(s)[1:] if _at(_elements(s), 0) is not None else ()),
    "Last": lambda s: _at(_elements(s), -1),
    "SubSeq": _subseq,
    "SelectSeq": lambda s, kept: _sequence(
        value for at, value in sorted(s, key=lambda pair: pair[0]) if at in kept
    ),
    "Append": lambda s, e: _sequence([*_elements(s), e]),
    "\\o": lambda a, b: _sequence([*_elements(a), *_elements(b)]),
}
