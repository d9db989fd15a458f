r"""A definition's inlined body as clauses: ``\A``, ``=>`` and conjunctions taken apart. And how the parts of
a clause read the state.

A clause reads: for all bindings of its ranges, if every antecedent is true then every conjunct is. A
definition holds where all its clauses do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, count

from tlasql.lang.ir import (
    Bound,
    Expr,
    Field,
    Fold,
    Index,
    Literal,
    Op,
    Prime,
    Quantified,
    Variable,
    alike,
    children,
    has_fold,
    rebuild,
    substitute,
    tell,
)


@dataclass(frozen=True)
class Range:
    r"""``variable \in domain``, where the domain is no intersection and no filter any more."""

    variable: Bound
    domain: Expr


@dataclass(frozen=True)
class Clause:
    """``\\A ranges : antecedents => conjuncts``"""

    ranges: tuple[Range, ...]
    antecedents: tuple[Expr, ...]
    conjuncts: tuple[Expr, ...]

    @property
    def every(self) -> tuple[Expr, ...]:
        """All that it says."""
        return (*(each.domain for each in self.ranges), *self.antecedents, *self.conjuncts)

    def named(self) -> dict[str, Expr]:
        """The state expressions that a verdict tells, as the source names them: what it names like another
        one gets a number. What is bound has a name already.
        """
        found: dict[str, Expr] = {}
        for leaf in (each for predicate in (*self.antecedents, *self.conjuncts) for each in told(predicate)):
            if not isinstance(leaf, Bound):
                label = leaf.label or tell(leaf)
                names = chain([label], (f"{label} ({n})" for n in count(2)))
                found[next(each for each in names if each not in found or alike(found[each], leaf))] = leaf
        return found


def clauses(expr: Expr) -> list[Clause]:
    r"""Take a definition's inlined body apart.

    ``\A x \in S : A => B /\ C`` becomes one clause with range ``x \in S``, antecedent ``A`` and conjuncts
    ``B``, ``C``. Conjuncts that quantify on their own become clauses of their own.
    """
    return _clauses(expr, Clause((), (), ()))


def _clauses(expr: Expr, outer: Clause) -> list[Clause]:
    match expr:
        case Quantified(kind="\\A", variable=variable, domain=domain, body=body):
            ranges, filters = _ranges(variable, domain)
            inner = Clause(outer.ranges + ranges, outer.antecedents + filters, ())
            return _clauses(body, inner)
        case Op(symbol="~", arguments=(Quantified(kind="\\E") as some,)):
            body = Op(some.body.location, "~", (some.body,))
            return _clauses(replace(some, kind="\\A", body=body), outer)
        case Op(symbol="=>", arguments=(test, then)):
            return _clauses(then, replace(outer, antecedents=(*outer.antecedents, test)))
        case Op(symbol="/\\"):
            parts = conjuncts(expr)
            own = [part for part in parts if _quantifies(part)]
            plain = tuple(part for part in parts if not _quantifies(part))
            found = [replace(outer, conjuncts=plain)] if plain else []
            return found + [clause for part in own for clause in _clauses(part, outer)]
        case _:
            return [replace(outer, conjuncts=(expr,))]


def conjuncts(expr: Expr) -> list[Expr]:
    r"""The parts of nested ``/\``."""
    if isinstance(expr, Op) and expr.symbol == "/\\":
        return [part for each in expr.arguments for part in conjuncts(each)]
    return [expr]


def _quantifies(expr: Expr) -> bool:
    """Whether taking ``expr`` apart would meet a quantifier that can become a range."""
    match expr:
        case Quantified(kind="\\A") | Op(symbol="~", arguments=(Quantified(kind="\\E"),)):
            return True
        case Op(symbol="=>", arguments=(_, then)):
            return _quantifies(then)
        case Op(symbol="/\\", arguments=arguments):
            return any(_quantifies(each) for each in arguments)
        case _:
            return False


def _ranges(variable: Bound, domain: Expr) -> tuple[tuple[Range, ...], tuple[Expr, ...]]:
    r"""An intersection becomes several ranges of it, ``{y \in S : P}`` a range and an antecedent."""
    match domain:
        case Op(symbol="\\cap", arguments=arguments):
            both = [_ranges(variable, each) for each in arguments]
            return tuple(r for each in both for r in each[0]), tuple(f for each in both for f in each[1])
        case Quantified(kind="filter", variable=inner, domain=base, body=body):
            ranges, filters = _ranges(variable, base)
            return ranges, (*filters, substitute(body, inner, variable))
        case _:
            return (Range(variable, domain),), ()


def push_primes(expr: Expr, primed: bool = False) -> Expr:
    """Move every prime down to the state variables: ``(f[m])'`` becomes ``f'[m]``."""
    match expr:
        case Prime(argument=argument):
            return push_primes(argument, primed=True)
        case Variable():
            return Prime(expr.location, expr, type=expr.type) if primed else expr
        case _:
            label = f"{expr.label}'" if primed and expr.label else expr.label
            return replace(rebuild(expr, lambda part: push_primes(part, primed)), label=label)


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
        case Bound() | Field() | Quantified() | Fold():
            yield expr
        case _ if access(expr) is not None:
            yield expr
        case _:
            for part in children(expr):
                yield from leaves(part)


def told(expr: Expr) -> Iterator[Expr]:
    """The leaves of a predicate as its author would name them: what hides how it is folded is whole."""
    if not has_fold(expr):
        yield from leaves(expr)
    elif isinstance(expr, Field | Quantified | Fold) or access(expr) is not None or _hides(expr):
        yield expr
    else:
        for part in children(expr):
            yield from told(part)


def _hides(expr: Expr) -> bool:
    return bool(expr.label) and not all(map(_is_named, children(expr)))


def _is_named(expr: Expr) -> bool:
    """Whether each fold in it is inside of something that the author calls by a name."""
    if expr.label or not has_fold(expr):
        return True
    return not isinstance(expr, Fold) and all(map(_is_named, children(expr)))
