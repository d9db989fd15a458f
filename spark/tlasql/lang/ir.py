r"""The expressions of the fragment, with source locations and, once checked, types.

Operators keep their TLA+ spelling (``/\``, ``=>``, ``\cap``...). ``text`` prints an expression as TLA+ again:
the labels of values in verdicts and the identity of equal expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from tlasql.lang.errors import Location
from tlasql.lang.types import Type


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
class Model(Expr):
    """A model value, equal to nothing but itself; ``name`` is its text in the log."""

    name: str


@dataclass(frozen=True)
class Variable(Expr):
    """A state variable; ``uid`` is SANY's number of its declaration (an INSTANCE substitutes by it)."""

    name: str
    uid: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Constant(Expr):
    """A declared CONSTANT; gone once the mapping's ``[constants]`` are in place."""

    name: str
    uid: int = field(default=0, compare=False)


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
    """``f[key]`` of a function, sequence (from 1) or tuple; ``f[a, b]`` is ``f[<<a, b>>]``."""

    function: Expr
    key: Expr


@dataclass(frozen=True)
class Op(Expr):
    r"""A built-in operator by its TLA+ spelling.

    Logic ``/\ \/ ~ => <=> IF CASE`` (CASE: test, value, ..., and OTHER's value when the count is odd);
    ``= < <= > >=``; integers ``+ - * -. \div % ..``; sets ``{} \in \subseteq \cup \cap \ UNION SUBSET \X
    Cardinality Min Max Sum``; functions ``DOMAIN -> :> @@``, ``SumOf ProductOf`` (of a function's values);
    ``<<>>`` (a tuple or sequence), ``Seq Len Head Tail Last SubSeq Append \o``, ``SelectSeq`` (of a sequence
    and the positions that are kept); the sets ``BOOLEAN Nat Int STRING``.
    ``AND OR`` are ``/\ \/`` of which nobody says in which order they are read; ``Evaluated`` is true of what
    has a value.
    """

    symbol: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class RecordOf(Expr):
    """``[a |-> x, b |-> y]``"""

    names: tuple[str, ...]
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class RecordSet(Expr):
    """``[a : S, b : T]``"""

    names: tuple[str, ...]
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Except(Expr):
    """``[f EXCEPT ![key] = value]``; of a record when ``key`` is a string literal and ``f`` a record.

    A longer path is nested: ``[f EXCEPT ![a].b = v]`` has ``[f[a] EXCEPT !.b = v]`` as its value, and ``@``
    is written out.
    """

    function: Expr
    key: Expr
    value: Expr


@dataclass(frozen=True)
class Quantified(Expr):
    r"""A bound variable over a set, by ``kind``: ``\A`` and ``\E``; ``filter`` ``{x \in S : P}``; ``map``
    ``{e : x \in S}``; ``function`` ``[x \in S |-> e]``; ``choose`` ``CHOOSE x \in S : P``.
    """

    kind: str
    variable: Bound
    domain: Expr
    body: Expr


@dataclass(frozen=True)
class Fold(Expr):
    """``start``, and from it a next value for each number of the set ``places``, in order, or backward: what
    ``body`` makes of ``parameters``, the value so far and the number.
    """

    parameters: tuple[Bound, Bound]
    start: Expr
    places: Expr
    body: Expr
    backward: bool


@dataclass(frozen=True)
class Call(Expr):
    """An operator of the specification applied; gone once inlined."""

    name: str
    uid: int
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Lambda(Expr):
    """``LAMBDA x, y : e``, or an operator passed by its name; an argument of a Call, gone once inlined."""

    parameters: tuple[Bound, ...]
    body: Expr


@dataclass(frozen=True)
class Apply(Expr):
    """A parameter that is an operator, applied; gone once inlined."""

    operator: Bound
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Substituted(Expr):
    """What ``INSTANCE M WITH d <- e`` makes of an expression of M: ``declarations`` (SANY's numbers of M's
    constants and variables) replaced by ``arguments`` in ``body`` and in all it calls; gone once inlined.
    """

    declarations: tuple[int, ...]
    arguments: tuple[Expr, ...]
    body: Expr


_INFIX = {
    "/\\": 3, "\\/": 3, "=>": 1, "<=>": 2, "=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5, "\\in": 5,
    "\\subseteq": 5,
    "\\cap": 8, "\\cup": 8, "\\": 8, "..": 9, "\\X": 10, "+": 10, "-": 11, "%": 11, "*": 13, "\\div": 13,
    "\\o": 13, ":>": 7, "@@": 6,
}  # fmt: skip
_SPELLED = {"AND": "/\\", "OR": "\\/"}
_PREFIX = {
    "~": ("~", 4),
    "-.": ("-", 12),
    "DOMAIN": ("DOMAIN ", 9),
    "SUBSET": ("SUBSET ", 8),
    "UNION": ("UNION ", 8),
}
_ATOM = 20


def text(expr: Expr) -> str:
    """The expression as TLA+ on one line, parameters replaced by what was passed."""
    return _printed(expr)[0]


def tell(expr: Expr) -> str:
    """The same for people: a fold has no text of its own, and is called as its author calls it."""
    return expr.label if expr.label and has_fold(expr) else text(_called(expr))


def _called(expr: Expr) -> Expr:
    if not has_fold(expr):
        return expr
    return Bound(expr.location, expr.label, 0) if expr.label else rebuild(expr, _called)


def has_fold(expr: Expr) -> bool:
    """Whether any part of it is a fold."""
    return any(isinstance(each, Fold) for each in walk(expr))


def _print(expr: Expr, outer: int) -> str:
    printed, strength = _printed(expr)
    return printed if strength > outer or strength == _ATOM else f"({printed})"


def _printed(expr: Expr) -> tuple[str, int]:  # noqa: C901, PLR0911, PLR0912 (one branch for each kind)
    match expr:
        case Literal(value=bool() as value):
            return str(value).upper(), _ATOM
        case Literal(value=str() as value):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"', _ATOM
        case Literal(value=value):
            return str(value), _ATOM
        case Model(name=name):
            return f"`{name}`", _ATOM
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
        case Quantified():
            return _binder(expr)
        case Fold(parameters=parameters, start=start, places=places, body=body, backward=backward):
            step = _print(Lambda(expr.location, parameters, body), 0)
            name = "FoldDown" if backward else "FoldUp"
            return f"{name}({step}, {_print(start, 0)}, {_print(places, 0)})", _ATOM
        case RecordOf(names=names, arguments=arguments):
            inside = ", ".join(f"{n} |-> {_print(a, 0)}" for n, a in zip(names, arguments, strict=True))
            return f"[{inside}]", _ATOM
        case RecordSet(names=names, arguments=arguments):
            inside = ", ".join(f"{n} : {_print(a, 0)}" for n, a in zip(names, arguments, strict=True))
            return f"[{inside}]", _ATOM
        case Except(function=function, key=key, value=value):
            return f"[{_print(function, 0)} EXCEPT ![{_print(key, 0)}] = {_print(value, 0)}]", _ATOM
        case Lambda(parameters=parameters, body=body):
            # SANY takes no parentheses around one
            return f"LAMBDA {', '.join(each.name for each in parameters)} : {_print(body, 0)}", _ATOM
        case Apply(operator=operator, arguments=arguments):
            return f"{operator.name}({', '.join(_print(each, 0) for each in arguments)})", _ATOM
        case Substituted(body=body):
            return _printed(body)
        case Op():
            return _operator(expr)
        case Expr(label=str() as label):  # an operator that is passed has no other text
            return label, _ATOM
    raise AssertionError(expr)


def _binder(expr: Quantified) -> tuple[str, int]:
    name, domain, body = expr.variable.name, _print(expr.domain, 5), _print(expr.body, 0)
    match expr.kind:
        case "filter":
            return f"{{{name} \\in {domain} : {body}}}", _ATOM
        case "map":
            return f"{{{body} : {name} \\in {domain}}}", _ATOM
        case "function":
            return f"[{name} \\in {domain} |-> {body}]", _ATOM
        case "choose":
            return f"CHOOSE {name} \\in {domain} : {body}", 0
        case kind:
            return f"{kind} {name} \\in {domain} : {body}", 0


def _operator(expr: Op) -> tuple[str, int]:  # noqa: PLR0911 (one for each form)
    arguments, symbol = expr.arguments, _SPELLED.get(expr.symbol, expr.symbol)
    if symbol in _PREFIX and len(arguments) == 1:
        sign, strength = _PREFIX[symbol]
        return sign + _print(arguments[0], strength), strength
    if symbol in _INFIX:
        strength = _INFIX[symbol]
        return f" {symbol} ".join(_print(each, strength) for each in arguments), strength
    inside = [_print(each, 0) for each in arguments]
    match symbol:
        case "IF":
            return "IF {} THEN {} ELSE {}".format(*inside), 0
        case "CASE":
            arms = [f"{test} -> {value}" for test, value in zip(inside[::2], inside[1::2], strict=False)]
            return "CASE " + " [] ".join(arms + [f"OTHER -> {e}" for e in inside[len(arms) * 2 :]]), 0
        case "{}":
            return "{" + ", ".join(inside) + "}", _ATOM
        case "<<>>":
            return "<<" + ", ".join(inside) + ">>", _ATOM
        case "->":
            return "[{} -> {}]".format(*inside), _ATOM
        case _:
            return (f"{symbol}({', '.join(inside)})" if arguments else symbol), _ATOM


def children(expr: Expr) -> Iterator[Expr]:
    """The direct parts of an expression, left to right (a quantifier's own variable is not one)."""
    match expr:
        case Quantified(domain=domain, body=body):
            yield from (domain, body)
        case Fold(start=start, places=places, body=body):
            yield from (start, places, body)
        case Lambda(body=body):
            yield body
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
        if each.name in ("variable", "parameters"):
            continue
        if isinstance(value, Expr):
            changed[each.name] = change(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Expr):
            changed[each.name] = tuple(change(part) for part in value)
    return replace(expr, **changed) if changed else expr  # type: ignore[arg-type]


def substitute(expr: Expr, variable: Bound, by: Expr) -> Expr:
    """``expr`` with ``by`` for a quantified variable or parameter, wherever it stands."""
    if isinstance(expr, Bound) and expr.uid == variable.uid:
        return replace(by, location=expr.location)
    return rebuild(expr, lambda part: substitute(part, variable, by))


def put(expr: Expr, hit: Callable[[Expr], bool], value: Expr) -> Expr:
    """``value`` in place of every part that ``hit`` says."""
    return value if hit(expr) else rebuild(expr, lambda part: put(part, hit, value))


def alike(one: Expr, other: Expr) -> bool:
    """Whether two expressions are the same but for the names of the variables they bind."""
    return _numbered(one, {}) == _numbered(other, {})


def _numbered(expr: Expr, own: dict[int, int]) -> Expr:
    match expr:
        case Bound(uid=uid) if uid in own:
            return Bound(expr.location, "", own[uid])
        case Quantified(variable=variable, domain=domain, body=body):
            number = -(10**12) - len(own)
            inner = _numbered(body, {**own, variable.uid: number})
            bound = Bound(expr.location, "", number)
            return replace(expr, variable=bound, domain=_numbered(domain, own), body=inner)
        case Fold(parameters=parameters):
            number = -(10**12) - len(own)
            places = {each.uid: number - n for n, each in enumerate(parameters)}
            so_far, place = (Bound(expr.location, "", each) for each in places.values())
            body = _numbered(expr.body, {**own, **places})
            start, over = _numbered(expr.start, own), _numbered(expr.places, own)
            return replace(expr, parameters=(so_far, place), start=start, places=over, body=body)
        case _:
            return rebuild(expr, lambda part: _numbered(part, own))


def free(expr: Expr) -> frozenset[int]:
    """The uids of the quantified variables and parameters that ``expr`` does not bind itself."""
    match expr:
        case Bound(uid=uid):
            return frozenset({uid})
        case Quantified(variable=variable, domain=domain, body=body):
            return free(domain) | (free(body) - {variable.uid})
        case Fold(parameters=parameters, start=start, places=places, body=body):
            return free(start) | free(places) | (free(body) - {each.uid for each in parameters})
        case Lambda(parameters=parameters, body=body):
            return free(body) - {each.uid for each in parameters}
        case _:
            return frozenset().union(*(free(part) for part in children(expr)))
