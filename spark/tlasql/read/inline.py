"""Inlines operators: a definition becomes one expression that applies nothing the module defines."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tlasql.lang.errors import Location, TlaSqlError, fail
from tlasql.lang.ir import (
    Apply,
    Bound,
    Call,
    Constant,
    Expr,
    Fold,
    Index,
    Lambda,
    Literal,
    Op,
    Quantified,
    Substituted,
    Variable,
    alike,
    free,
    rebuild,
    tell,
    text,
    walk,
)
from tlasql.lang.literals import decided, settled, simplified
from tlasql.read.bodies import Recursive
from tlasql.read.enabled import enabled
from tlasql.read.folds import closed_form, smaller_stays
from tlasql.read.module import Definition, Module

_NEVER_LISTED = {"SUBSET", "Seq", "Nat", "Int"}
GIVEN_ANEW = {"Nat", "Int", "Seq"}
"""What a model often makes finite: ``Nat <- SmallNat``."""
_BAGS = {"SetToBag", "EmptyBag", "\\oplus", "\\ominus"}
"""Operators whose value is a bag."""
_OF_ANY = {"IsABag", "BagToSet"}
"""Operators that TLC applies to any function."""
MOST_STEPS = 64
"""How often an operator may apply itself to numbers that are written out."""


class Inliner:
    """Replaces calls by bodies; every copy of a quantifier gets a variable of its own.

    A variable whose name is taken further out is renamed, so that equal text means the same expression.
    ``constants`` are the values of CONSTANTs, or of definitions without parameters, by name; a Call is the
    definition that takes the place of one.
    """

    def __init__(self, module: Module, constants: Mapping[str, Expr]) -> None:
        self._module, self._constants = module, constants
        self._uids = itertools.count(-(10**6), -1)
        self._active: Mapping[int, int] = {}
        self._unwinding: list[int] = []
        self._steps = 0
        self._in_bags = False

    def body(self, definition: Definition) -> Expr:
        """The body of a definition without calls, or of what takes its place; its parameters stay free."""
        given = None if definition.parameters else self._constants.get(definition.name)
        if isinstance(given, Call):
            return self._inline(given, _Scope({}), frozenset())
        taken = frozenset(each.name for each in definition.parameters)
        return self._inline(self._module.body(definition.uid), _Scope({}), taken)

    def _inline(  # noqa: C901, PLR0911, PLR0912 (one each)
        self, expr: Expr, scope: _Scope, taken: frozenset[str]
    ) -> Expr:
        match expr:
            case Bound(uid=uid) | Variable(uid=uid) | Constant(uid=uid) if uid in scope.names:
                found = scope.names[uid]
                return replace(found, location=expr.location) if isinstance(found, Bound) else found
            case Constant(name=name) if name in self._constants:
                return self._constant(name, expr.location, taken)
            case Quantified(variable=variable, domain=domain, body=body):
                name = _free_name(variable.name, taken)
                fresh = replace(variable, name=name, uid=next(self._uids))
                return replace(
                    expr,
                    variable=fresh,
                    domain=self._inline(domain, scope, taken),
                    body=self._inline(body, scope.binding({variable.uid: fresh}), taken | {name}),
                )
            case Fold():
                return self._fold(expr, scope, taken)
            case Lambda(body=body):
                name = body.name if isinstance(body, Call) else text(expr)
                return _Closure(expr.location, expr, scope, self._active, label=name)
            case Index():
                read = rebuild(expr, lambda part: self._inline(part, scope, taken))
                return self._value_at(read, taken)
            case Apply(operator=operator, arguments=arguments):
                given = self._constants.get(operator.name)
                if operator.uid not in scope.names and isinstance(given, Call):
                    return self._inline(replace(given, arguments=arguments), scope, taken)
                passed = [self._inline(each, scope, taken) for each in arguments]
                return self._applied(operator, scope.names.get(operator.uid), passed, taken)
            case Substituted(declarations=declarations, arguments=arguments, body=body):
                values = [self._inline(each, scope, taken) for each in arguments]
                return self._inline(body, scope.binding(dict(zip(declarations, values, strict=True))), taken)
            case Op(symbol="IF" | "CASE") if self._unwinding:
                return self._chosen(expr, scope, taken)
            case Op(symbol=symbol) if symbol in GIVEN_ANEW and symbol in self._constants:
                return self._given_anew(expr, scope, taken)
            case Op(symbol="ENABLED", arguments=(action,)):
                name = _free_name("next", taken)
                inlined = self._inline(action, scope, taken | {name})
                return enabled(inlined, lambda at: Bound(at, name, next(self._uids)))
            case Recursive():
                return self._function(expr, scope, taken)
            case Call():
                return self._called(expr, scope, taken)
            case _:
                return rebuild(expr, lambda part: self._inline(part, scope, taken))

    def _fold(self, expr: Fold, scope: _Scope, taken: frozenset[str]) -> Fold:
        names, inside = list[Bound](), taken
        for each in expr.parameters:
            names.append(replace(each, name=_free_name(each.name, inside), uid=next(self._uids)))
            inside |= {names[-1].name}
        so_far, place = names
        inner = scope.binding(dict(zip((each.uid for each in expr.parameters), (so_far, place), strict=True)))
        return replace(
            expr,
            parameters=(so_far, place),
            start=self._inline(expr.start, scope, taken),
            places=self._inline(expr.places, scope, taken),
            body=self._inline(expr.body, inner, inside),
        )

    def _constant(self, name: str, location: Location, taken: frozenset[str]) -> Expr:
        given = self._constants[name]
        found = self._inline(given, _Scope({}), taken)
        if isinstance(given, Call):
            return replace(found, type=given.type)
        return replace(_placed(found, location), label=name)

    def _given_anew(self, expr: Op, scope: _Scope, taken: frozenset[str]) -> Expr:
        """``Nat`` or ``Seq(S)`` where the mapping has another set for it."""
        given = self._constants[expr.symbol]
        if isinstance(given, Call) and expr.arguments:
            return self._inline(replace(given, arguments=expr.arguments), scope, taken)
        return self._constant(expr.symbol, expr.location, taken)

    def _called(self, expr: Call, scope: _Scope, taken: frozenset[str]) -> Expr:
        passed = tuple(self._inline(each, scope, taken) for each in expr.arguments)
        if expr.uid in self._active:  # inside its own body
            return replace(expr, uid=self._active[expr.uid], arguments=passed)
        if not passed and expr.name in self._constants:
            return self._constant(expr.name, expr.location, taken)
        definition = self._module.definition(expr.uid)
        values = {p.uid: value for p, value in zip(definition.parameters, passed, strict=True)}
        # what a LET defines may speak of the parameters around it: outer bindings stay
        if definition.of_bags and not self._in_bags:
            inlined = self._of_bags(expr, values, scope, taken)
        elif definition.recursive:
            inlined = self._unrolled(expr, values, scope, taken)
        else:
            inlined = self._inline(self._module.body(expr.uid), scope.binding(values), taken)
        return replace(inlined, label=tell(replace(expr, arguments=passed)))

    def _of_bags(self, expr: Call, values: Mapping[int, Expr], scope: _Scope, taken: frozenset[str]) -> Expr:
        """An operator on bags by its text, of bags alone: TLC's own says else of other functions."""
        self._in_bags = True
        try:
            body = _placed(self._module.body(expr.uid), expr.location)
            found = self._inline(body, scope.binding(values), taken)
        finally:
            self._in_bags = False
        made = {name for name, each in self._names_of(expr) if isinstance(each, Call) and each.name in _BAGS}
        for name, bag in self._names_of(replace(expr, arguments=tuple(values.values()))):
            if name.startswith("B") and name not in made and expr.name.rpartition("!")[2] not in _OF_ANY:
                element = Bound(expr.location, _free_name("e", taken), next(self._uids))
                domain = Op(expr.location, "DOMAIN", (bag,))
                some = Op(expr.location, ">", (Index(expr.location, bag, element), Literal(expr.location, 0)))
                guard = Quantified(expr.location, "\\A", element, domain, some)
                found = Op(expr.location, "CASE", (guard, found))
        return found

    def _names_of(self, expr: Call) -> list[tuple[str, Expr]]:
        """The arguments by the names of the parameters."""
        parameters = self._module.definition(expr.uid).parameters
        return [(each.name, value) for each, value in zip(parameters, expr.arguments, strict=True)]

    def _value_at(self, read: Index, taken: frozenset[str]) -> Expr:
        r"""``[x \in S |-> e][k]`` is ``e`` of ``k`` where ``S`` is never listed: no other value matters."""
        function, key = read.function, read.key
        match function:
            case Quantified(kind="function", variable=variable, domain=Op(symbol=symbol) as domain) if (
                symbol in _NEVER_LISTED
            ):
                value = self._inline(function.body, _Scope({variable.uid: key}), taken)
                if domain == Op(domain.location, "SUBSET", (key,)):
                    return value
                inside = Op(read.location, "\\in", (key, domain))
                return Op(read.location, "CASE", (inside, value))
        return read

    def _unrolled(self, expr: Call, values: Mapping[int, Expr], scope: _Scope, taken: frozenset[str]) -> Expr:
        """A recursive operator applied: the fold that it is, or as often as it applies itself.

        It and its parameters have numbers of their own, since it may be applied in what it is given.
        """
        if expr.uid in self._unwinding:
            return self._unwound(expr, values, scope, taken)
        parameters = self._module.definition(expr.uid).parameters
        given: dict[int, Expr] = {each.uid: replace(each, uid=next(self._uids)) for each in parameters}
        numbered = {each.uid: values[uid] for uid, each in given.items() if isinstance(each, Bound)}
        given |= {uid: each for uid, each in values.items() if isinstance(each, _Closure)}
        own, around = next(self._uids), self._active
        self._active = {**around, expr.uid: own}
        try:
            names = taken | {each.name for each in parameters}
            body = self._inline(self._module.body(expr.uid), scope.binding(given), names)
        finally:
            self._active = around
        form = closed_form(body, own, [*given.values()], lambda: next(self._uids))
        if form is not None:
            return self._inline(form, _Scope(numbered), taken)
        try:
            return self._unwound(expr, values, scope, taken)
        except _TooManyStepsError:
            if self._unwinding:
                raise
            raise _endless(body, replace(expr, uid=own)) from None

    def _unwound(self, expr: Call, values: Mapping[int, Expr], scope: _Scope, taken: frozenset[str]) -> Expr:
        """An operator that applies itself to numbers that are written out, as often as it does."""
        self._steps = self._steps + 1 if self._unwinding else 1
        known = {uid: simplified(each) for uid, each in values.items()}
        if self._steps > MOST_STEPS or not any(isinstance(each, Literal) for each in known.values()):
            raise _TooManyStepsError
        self._unwinding.append(expr.uid)
        try:
            return self._inline(self._module.body(expr.uid), scope.binding(known), taken)
        finally:
            self._unwinding.pop()

    def _chosen(self, expr: Op, scope: _Scope, taken: frozenset[str]) -> Expr:
        """IF or CASE without the arms that the text shows never to be read: they may apply it again."""
        arms = list(zip(expr.arguments[::2], expr.arguments[1::2], strict=False))
        last = expr.arguments[len(arms) * 2 :]
        kept: list[Expr] = []
        for test, value in arms:
            inlined = self._inline(test, scope, taken)
            chosen = decided(inlined)
            if chosen:
                last = (value,)
                break
            always, then = settled(inlined), value
            if always is False and chosen is None and arms[-1] == (test, value) and last:
                # the test must have a value, and then it is false
                inlined, then, always = Op(test.location, "~", (inlined,)), last[0], True
            if chosen is None:
                kept += [inlined, self._inline(then, scope, taken)]
            if always:
                last = ()
                break
        ends = [self._inline(each, scope, taken) for each in last]
        if not kept and not ends:
            raise fail(expr.location, "no arm of this CASE is ever true", "add OTHER -> ...")
        symbol = expr.symbol if ends else "CASE"
        return replace(expr, symbol=symbol, arguments=(*kept, *ends)) if kept else ends[0]

    def _function(self, expr: Recursive, scope: _Scope, taken: frozenset[str]) -> Expr:
        """A function that applies itself, as one that does not."""
        own = replace(expr.own, uid=next(self._uids))
        function = self._inline(expr.function, scope.binding({expr.own.uid: own}), taken | {own.name})
        assert isinstance(function, Quantified)

        def calls(part: Expr) -> Expr:
            match part:
                case Index(function=Bound(uid=uid), key=key) if uid == own.uid:
                    return Call(part.location, own.name, uid, (calls(key),))
            return rebuild(part, calls)

        body = calls(function.body)
        form = closed_form(body, own.uid, [function.variable], lambda: next(self._uids))
        if form is None or own.uid in free(form) or not self._stays_inside(body, function, own.uid):
            raise _endless(body, Call(expr.location, own.name, own.uid, ()))
        return replace(self._inline(replace(function, body=form), _Scope({}), taken), label=own.name)

    @staticmethod
    def _stays_inside(body: Expr, function: Quantified, own: int) -> bool:
        """Whether a function that applies itself does so inside its DOMAIN: else TLC would refuse it."""
        calls = [each for each in walk(body) if isinstance(each, Call) and each.uid == own]
        same = all(alike(each, calls[0]) for each in calls)
        return same and smaller_stays(function.variable, calls[0].arguments[0], function.domain, body)

    def _applied(self, name: Bound, operator: Expr | None, passed: list[Expr], taken: frozenset[str]) -> Expr:
        if not isinstance(operator, _Closure):
            remedy = f'name one in the mapping: [constants] {name.name} = {{ definition = "..." }}'
            raise fail(name.location, f"the operator {name.name} has no definition in a log", remedy)
        names = {p.uid: each for p, each in zip(operator.operator.parameters, passed, strict=True)}
        # its text stands outside of the recursion that it is given to, and may begin another one
        around, self._active = self._active, operator.active
        try:
            return self._inline(operator.operator.body, operator.scope.binding(names), taken)
        finally:
            self._active = around


def _placed(expr: Expr, location: Location) -> Expr:
    """The same at another place."""
    return replace(rebuild(expr, lambda part: _placed(part, location)), location=location)


class _TooManyStepsError(Exception):
    """An operator applies itself more often than anybody writes out, or to nothing that is written out."""


@dataclass(frozen=True)
class _Scope:
    """What parameters, quantified variables, and declarations of instantiated modules stand for."""

    names: Mapping[int, Expr]

    def binding(self, more: Mapping[int, Expr]) -> _Scope:
        return _Scope({**self.names, **more})


@dataclass(frozen=True)
class _Closure(Expr):
    """An operator passed as an argument, with what its free names stand for. ``active``: the recursive
    definitions in whose own bodies it stands, and their numbers there.
    """

    operator: Lambda
    scope: _Scope
    active: Mapping[int, int]


def _endless(body: Expr, applied: Call) -> TlaSqlError:
    again = (each.location for each in walk(body) if isinstance(each, Call) and each.uid == applied.uid)
    place, name = next(again, applied.location), applied.name
    counted = f"or RECURSIVE with a number that ends it: {name}(x, k) == IF k = 0 ..., {name}(x, 8)"
    if any(isinstance(each, Quantified) and each.kind == "choose" for each in walk(body)):
        message = f"{applied.name} is recursive, and nobody knows which element CHOOSE takes first"
        remedy = (
            "make it a sum, union, minimum or maximum; or take elements of a sequence in order, as FoldLeft "
            r"and Head and Tail do, or the least number: CHOOSE x \in S : \A y \in S : x <= y; "
        )
        return fail(place, message, remedy + counted)
    remedy = "write it with a quantifier, or take one element of a sequence, set or range in each step; "
    return fail(place, f"{applied.name} is recursive: no finite formula says the same", remedy + counted)


def _free_name(name: str, taken: frozenset[str]) -> str:
    if name not in taken:
        return name
    return next(f"{name}_{n}" for n in itertools.count(2) if f"{name}_{n}" not in taken)
