"""Quantifiers and other binders, with one variable each: tuples of variables are taken apart, and minimum and
maximum are recognised by their idiom.
"""

from __future__ import annotations

from collections.abc import Sequence

from tlasql.lang.errors import Location
from tlasql.lang.ir import Bound, Expr, Index, Literal, Op, Quantified, Substituted

_LEAST = {"<=", "<"}


def bind(location: Location, kind: str, bounds: Sequence[tuple[Bound, Expr]], body: Expr) -> Expr:
    r"""``kind`` over several variables, e.g. ``{e : x \in S, y \in T}``, as binders of one variable each."""
    if kind in ("\\A", "\\E"):
        for variable, domain in reversed(bounds):
            body = Quantified(location, kind, variable, domain, body)
        return body
    if kind == "map":
        (variable, domain), *outer = reversed(bounds)
        found: Expr = Quantified(location, "map", variable, domain, body)
        for variable, domain in outer:
            found = Op(location, "UNION", (Quantified(location, "map", variable, domain, found),))
        return found
    if len(bounds) > 1:  # a function of several arguments is one of tuples
        whole, body = taken_apart(location, [variable for variable, _ in bounds], body)
        bounds = [(whole, Op(location, "\\X", tuple(domain for _, domain in bounds)))]
    ((variable, domain),) = bounds
    if kind == "choose" and (symbol := _extreme(variable, domain, body)) is not None:
        return Op(location, symbol, (domain,))
    return Quantified(location, kind, variable, domain, body)


def taken_apart(location: Location, names: Sequence[Bound], body: Expr) -> tuple[Bound, Expr]:
    """One variable for the pattern ``<<x, y>>``, and the body in which ``x`` and ``y`` are its parts."""
    whole = Bound(location, "_".join(each.name for each in names), -names[0].uid)
    parts = [Index(location, whole, Literal(location, n)) for n in range(1, len(names) + 1)]
    return whole, Substituted(location, tuple(each.uid for each in names), tuple(parts), body)


def _extreme(variable: Bound, domain: Expr, body: Expr) -> str | None:
    r"""``CHOOSE x \in S : \A y \in S : x <= y`` is Min(S), and so on."""
    match body:
        case Quantified(kind="\\A", variable=other, domain=inner, body=body):
            pass
        case _:
            return None
    same = Op(body.location, "{}", (variable,))
    apart = inner == Op(body.location, "\\", (domain, same))  # \A y \in S \ {x} : x < y
    if inner != domain and not apart:
        return None
    match body:
        case Op(symbol="=>", arguments=(Op() as test, then)) if _differ(test, variable, other):
            body, apart = then, True
        case Op(symbol="\\/", arguments=(Op() as test, then)) if test == Op(
            test.location, "=", (variable, other)
        ):
            body, apart = then, True
    match body:
        case Op(symbol="<=" | ">=" | "<" | ">" as symbol, arguments=(Bound() as left, Bound() as right)):
            if symbol in "<>" and not apart:
                return None
            if (left, right) == (variable, other):
                return "Min" if symbol in _LEAST else "Max"
            if (left, right) == (other, variable):
                return "Max" if symbol in _LEAST else "Min"
    return None


def _differ(test: Op, one: Bound, other: Bound) -> bool:
    return any(
        test == Op(test.location, "~", (Op(test.location, "=", pair),))
        for pair in ((one, other), (other, one))
    )
