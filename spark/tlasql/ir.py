r"""The expressions of the fragment, with source locations and, once checked, types.

Operators keep their TLA+ spelling (``/\``, ``=>``, ``\cap``...). ``text`` prints an expression as TLA+ again:
the labels of values in verdicts and the identity of equal expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from tlasql.errors import Location
from tlasql.types import Type


@dataclass(frozen=True)
class Expr:
    """Base of all expressions. ``label``: the call an inlined operator came from, e.g. ``Owner(c)``."""

    location: Location = field(compare=False)
    type: Type | None = field(default=None, compare=False, kw_only=True)
    label: str | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True)
class Literal(Expr):
    """An integer, string or boolean."""

    value: int | str | bool


@dataclass(frozen=True)
class Variable(Expr):
    """A state variable."""

    name: str


@dataclass(frozen=True)
class Constant(Expr):
    """A declared CONSTANT."""

    name: str


@dataclass(frozen=True)
class Bound(Expr):
    """A quantified variable or parameter; ``uid`` tells apart those of one name."""

    name: str
    uid: int


@dataclass(frozen=True)
class Prime(Expr):
    """``e'``"""

    argument: Expr


@dataclass(frozen=True)
class Field(Expr):
    """``r.name``"""

    record: Expr
    name: str


@dataclass(frozen=True)
class Index(Expr):
    """``f[key]``"""

    function: Expr
    key: Expr


@dataclass(frozen=True)
class Op(Expr):
    r"""A built-in operator: ``/\ \/ ~ => <=> = < <= > >= + - * -. \in \cap DOMAIN IF {}``."""

    symbol: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Quantified(Expr):
    r"""``\A x \in S : P``, ``\E x \in S : P``, or the set ``{x \in S : P}`` (kind ``filter``)."""

    kind: str
    variable: Bound
    domain: Expr
    body: Expr


@dataclass(frozen=True)
class Call(Expr):
    """An operator of the specification applied; gone once inlined."""

    name: str
    uid: int
    arguments: tuple[Expr, ...]


_INFIX = {
    "/\\": 3, "\\/": 3, "=>": 1, "<=>": 2, "=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5,
    "\\in": 5, "\\cap": 8, "+": 10, "-": 11, "*": 13,
}  # fmt: skip
_ATOM = 20


def text(expr: Expr) -> str:
    """The expression as TLA+ on one line, parameters replaced by what was passed."""
    return _printed(expr)[0]


def _print(expr: Expr, outer: int) -> str:
    printed, strength = _printed(expr)
    return printed if strength > outer or strength == _ATOM else f"({printed})"


def _printed(expr: Expr) -> tuple[str, int]:  # noqa: C901, PLR0911 (one branch for each kind)
    match expr:
        case Literal(value=bool() as value):
            return str(value).upper(), _ATOM
        case Literal(value=str() as value):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"', _ATOM
        case Literal(value=value):
            return str(value), _ATOM
        case Variable(name=name) | Constant(name=name) | Bound(name=name):
            return name, _ATOM
        case Prime(argument=argument):
            return f"{_print(argument, 15)}'", _ATOM
        case Field(record=record, name=name):
            return f"{_print(record, 16)}.{name}", _ATOM
        case Index(function=function, key=key):
            return f"{_print(function, 16)}[{_print(key, 0)}]", _ATOM
        case Call(name=name, arguments=arguments):
            inside = ", ".join(_print(each, 0) for each in arguments)
            return (f"{name}({inside})" if arguments else name), _ATOM
        case Quantified(kind="filter", variable=variable, domain=domain, body=body):
            return f"{{{variable.name} \\in {_print(domain, 5)} : {_print(body, 0)}}}", _ATOM
        case Quantified(kind=kind, variable=variable, domain=domain, body=body):
            return f"{kind} {variable.name} \\in {_print(domain, 5)} : {_print(body, 0)}", 0
        case Op():
            return _operator(expr)
    raise AssertionError(expr)


def _operator(expr: Op) -> tuple[str, int]:
    arguments = expr.arguments
    match expr.symbol:
        case "~":
            return f"~{_print(arguments[0], 4)}", 4
        case "-.":
            return f"-{_print(arguments[0], 12)}", 12
        case "DOMAIN":
            return f"DOMAIN {_print(arguments[0], 9)}", 9
        case "IF":
            test, then, other = (_print(each, 0) for each in arguments)
            return f"IF {test} THEN {then} ELSE {other}", 0
        case "{}":
            return "{" + ", ".join(_print(each, 0) for each in arguments) + "}", _ATOM
        case symbol:
            strength = _INFIX[symbol]
            return f" {symbol} ".join(_print(each, strength) for each in arguments), strength


def children(expr: Expr) -> Iterator[Expr]:
    """The direct parts of an expression, left to right (a quantifier's own variable is not one)."""
    match expr:
        case Quantified(domain=domain, body=body):
            yield from (domain, body)
        case _:
            for each in fields(expr):
                value = getattr(expr, each.name)
                if isinstance(value, Expr):
                    yield value
                elif isinstance(value, tuple):
                    yield from (part for part in value if isinstance(part, Expr))


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its parts, outermost first."""
    yield expr
    for part in children(expr):
        yield from walk(part)


E_ = TypeVar("E_", bound=Expr)


def rebuild(expr: E_, change: Callable[[Expr], Expr]) -> E_:
    """A copy of ``expr`` whose direct parts went through ``change``."""
    changed: dict[str, object] = {}
    for each in fields(expr):
        value = getattr(expr, each.name)
        if isinstance(expr, Quantified) and each.name == "variable":
            continue
        if isinstance(value, Expr):
            changed[each.name] = change(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Expr):
            changed[each.name] = tuple(change(part) for part in value)
    return replace(expr, **changed) if changed else expr  # type: ignore[arg-type]


def free(expr: Expr) -> frozenset[int]:
    """The uids of the quantified variables and parameters that ``expr`` does not bind itself."""
    match expr:
        case Bound(uid=uid):
            return frozenset({uid})
        case Quantified(variable=variable, domain=domain, body=body):
            return free(domain) | (free(body) - {variable.uid})
        case _:
            return frozenset().union(*(free(part) for part in children(expr)))
