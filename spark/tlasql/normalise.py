r"""From a definition to clauses: operators inlined, then ``\A``, ``=>`` and conjunctions taken apart.

A clause reads: for all bindings of its ranges, if every antecedent is true then every conjunct is. A
definition holds where all its clauses do.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tlasql.errors import fail
from tlasql.ir import (
    Apply,
    Bound,
    Call,
    Constant,
    Expr,
    Lambda,
    Op,
    Prime,
    Quantified,
    Substituted,
    Variable,
    rebuild,
    text,
)
from tlasql.reader import Definition, Module


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


class Inliner:
    """Replaces calls by bodies; every copy of a quantifier gets a variable of its own.

    A variable whose name is taken further out is renamed, so that equal text means the same expression.
    """

    def __init__(self, module: Module, constants: Mapping[str, Expr]) -> None:
        self._module, self._constants = module, constants
        self._uids = itertools.count(-(10**6), -1)
        self._active: list[int] = []

    def body(self, definition: Definition) -> Expr:
        """The body of a definition without calls; its parameters stay free."""
        taken = frozenset(each.name for each in definition.parameters)
        return self._inline(self._module.body(definition.uid), _Scope({}, {}), taken)

    def _inline(self, expr: Expr, scope: _Scope, taken: frozenset[str]) -> Expr:  # noqa: PLR0911 (one each)
        match expr:
            case Bound(uid=uid) if uid in scope.bound:
                return scope.bound[uid]
            case Variable(uid=uid) | Constant(uid=uid) if uid in scope.declared:
                return scope.declared[uid]
            case Constant(name=name) if name in self._constants:
                return replace(self._constants[name], location=expr.location)
            case Quantified(variable=variable, domain=domain, body=body):
                name = _free_name(variable.name, taken)
                fresh = replace(variable, name=name, uid=next(self._uids))
                return replace(
                    expr,
                    variable=fresh,
                    domain=self._inline(domain, scope, taken),
                    body=self._inline(body, scope.binding({variable.uid: fresh}), taken | {name}),
                )
            case Lambda():
                return _Closure(expr.location, expr, scope)
            case Apply(operator=operator, arguments=arguments):
                passed = [self._inline(each, scope, taken) for each in arguments]
                return self._applied(scope.bound[operator.uid], passed, taken)
            case Substituted(declarations=declarations, arguments=arguments, body=body):
                given = {
                    d: self._inline(a, scope, taken) for d, a in zip(declarations, arguments, strict=True)
                }
                return self._inline(body, replace(scope, declared={**scope.declared, **given}), taken)
            case Call():
                return self._called(expr, scope, taken)
            case _:
                return rebuild(expr, lambda part: self._inline(part, scope, taken))

    def _called(self, expr: Call, scope: _Scope, taken: frozenset[str]) -> Expr:
        if expr.uid in self._active:
            remedy = "write it with a quantifier, or as a minimum or maximum chosen from a set"
            raise fail(expr.location, f"{expr.name} is recursive: no finite formula says the same", remedy)
        passed = tuple(self._inline(each, scope, taken) for each in expr.arguments)
        parameters = self._module.definition(expr.uid).parameters
        values = {p.uid: value for p, value in zip(parameters, passed, strict=True)}
        self._active.append(expr.uid)
        # what a LET defines may speak of the parameters around it: outer bindings stay
        inlined = self._inline(self._module.body(expr.uid), scope.binding(values), taken)
        self._active.pop()
        shown = tuple(each for each in passed if not isinstance(each, _Closure))
        return replace(inlined, label=text(replace(expr, arguments=shown)))

    def _applied(self, operator: Expr, passed: list[Expr], taken: frozenset[str]) -> Expr:
        assert isinstance(operator, _Closure)
        names = {p.uid: each for p, each in zip(operator.operator.parameters, passed, strict=True)}
        return self._inline(operator.operator.body, operator.scope.binding(names), taken)


@dataclass(frozen=True)
class _Scope:
    """What names stand for: parameters and quantified variables, and declarations of instantiated modules."""

    bound: Mapping[int, Expr]
    declared: Mapping[int, Expr]

    def binding(self, more: Mapping[int, Expr]) -> _Scope:
        return replace(self, bound={**self.bound, **more})


@dataclass(frozen=True)
class _Closure(Expr):
    """An operator passed as an argument, with what its free names stand for."""

    operator: Lambda
    scope: _Scope


def _free_name(name: str, taken: frozenset[str]) -> str:
    if name not in taken:
        return name
    return next(f"{name}_{n}" for n in itertools.count(2) if f"{name}_{n}" not in taken)


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
            parts = list(_flat(expr))
            own = [part for part in parts if _quantifies(part)]
            plain = tuple(part for part in parts if not _quantifies(part))
            found = [replace(outer, conjuncts=plain)] if plain else []
            return found + [clause for part in own for clause in _clauses(part, outer)]
        case _:
            return [replace(outer, conjuncts=(expr,))]


def _flat(expr: Expr) -> list[Expr]:
    if isinstance(expr, Op) and expr.symbol == "/\\":
        return [part for each in expr.arguments for part in _flat(each)]
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
            return ranges, (*filters, _substitute(body, inner, variable))
        case _:
            return (Range(variable, domain),), ()


def _substitute(expr: Expr, old: Bound, new: Bound) -> Expr:
    if isinstance(expr, Bound) and expr.uid == old.uid:
        return replace(new, location=expr.location, type=expr.type)
    return rebuild(expr, lambda part: _substitute(part, old, new))


def push_primes(expr: Expr, primed: bool = False) -> Expr:
    """Move every prime down to the state variables: ``(f[m])'`` becomes ``f'[m]``."""
    match expr:
        case Prime(argument=argument):
            return push_primes(argument, primed=True)
        case Variable():
            return Prime(expr.location, expr, type=expr.type) if primed else expr
        case _:
            return rebuild(expr, lambda part: push_primes(part, primed))
