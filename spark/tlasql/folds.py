r"""Recursion that is a fold: sums, unions, conjunctions, disjunctions, maxima and minima over a set, a sequence or
a range of integers, in the usual shapes::

    Sum(S) == IF S = {} THEN 0 ELSE LET x == CHOOSE x \in S : TRUE IN f(x) + Sum(S \ {x})
    Sum(s) == IF s = <<>> THEN 0 ELSE f(Head(s)) + Sum(Tail(s))
    Sum(n) == IF n = 0 THEN 0 ELSE f(n) + Sum(n - 1)

or with an accumulator. The order of the elements must not matter; everything else is no fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tlasql.errors import Location
from tlasql.ir import Bound, Call, Expr, Index, Literal, Op, Quantified, free, rebuild, text, walk

_NEUTRAL: dict[str, Callable[[Location], Expr]] = {
    "+": lambda at: Literal(at, 0),
    "\\cup": lambda at: Op(at, "{}", ()),
    "/\\": lambda at: Literal(at, True),
    "\\/": lambda at: Literal(at, False),
}


@dataclass(frozen=True)
class _Loop:
    """Each ``element`` of ``domain`` contributes; ``guard``: what must be true for the recursion to end."""

    element: Bound
    domain: Expr
    guard: Expr | None = None


def closed_form(body: Expr, own: int, parameters: Sequence[Bound], fresh: Callable[[], int]) -> Expr | None:
    """What a definition numbered ``own`` says without applying itself; None when it is no fold.

    ``body``: inlined but for its applications of itself, which are Calls. ``fresh`` numbers new variables.
    """
    match body:
        case Op(symbol="IF", arguments=(test, base, step)):
            pass
        case (
            Op(symbol="CASE", arguments=(test, base, _, step))
            | Op(symbol="CASE", arguments=(test, base, step))
        ):
            pass
        case _:
            return None
    if _applied(base, own) and not _applied(step, own):
        test, base, step = Op(test.location, "~", (test,)), step, base
    calls = {text(each): each for each in walk(step) if isinstance(each, Call) and each.uid == own}
    if len(calls) != 1 or _applied(base, own) or _applied(test, own):
        return None
    (call,) = calls.values()
    if len(call.arguments) != len(parameters):
        return None
    return _Fold(test, base, step, call, parameters, fresh).form()


def _applied(expr: Expr, own: int) -> bool:
    return any(isinstance(each, Call) and each.uid == own for each in walk(expr))


class _Fold:
    def __init__(  # noqa: PLR0913, PLR0917 (the parts of one definition)
        self,
        test: Expr,
        base: Expr,
        step: Expr,
        call: Call,
        parameters: Sequence[Bound],
        fresh: Callable[[], int],
    ) -> None:
        self._test, self._base, self._step, self._call = _positive(test), base, step, call
        self._parameters, self._fresh = parameters, fresh
        self._at = call.location

    def form(self) -> Expr | None:
        """The fold without recursion."""
        changed = [(p, a) for p, a in zip(self._parameters, self._call.arguments, strict=True) if a != p]
        for over, argument in changed:
            rest = [each for each in changed if each[0] != over]
            if len(rest) > 1:
                continue
            found = self._loop(over, argument)
            if found is None:
                continue
            loop, known = found
            formed = self._accumulated(loop, known, rest[0]) if rest else self._direct(loop, known)
            if formed is not None and over.uid not in free(formed) - free(loop.domain) - _guarding(loop):
                guarded = formed if loop.guard is None else Op(self._at, "CASE", (loop.guard, formed))
                return guarded
        return None

    def _direct(self, loop: _Loop, known: Callable[[Expr], Expr]) -> Expr | None:
        """``g(x) + F(rest)``"""
        result = Bound(self._at, "rest", self._fresh())
        step = known(_put(self._step, lambda each: each == self._call, result))
        return _combined(step, result, loop, self._base)

    def _accumulated(
        self, loop: _Loop, known: Callable[[Expr], Expr], moved: tuple[Bound, Expr]
    ) -> Expr | None:
        """``F(rest, g(x) + sum)``, where the end gives ``sum`` or something made of it."""
        accumulator, argument = moved
        if self._step != self._call:
            return None
        total = _combined(known(argument), accumulator, loop, accumulator)
        if total is None:
            return None
        return _put(self._base, lambda each: each == accumulator, total)

    def _loop(self, over: Bound, argument: Expr) -> tuple[_Loop, Callable[[Expr], Expr]] | None:
        """What is folded over when ``over`` becomes ``argument``; and the step in terms of the element."""
        return self._set(over, argument) or self._sequence(over, argument) or self._range(over, argument)

    def _set(self, over: Bound, argument: Expr) -> tuple[_Loop, Callable[[Expr], Expr]] | None:
        match argument:
            case Op(symbol="\\", arguments=(base, Op(symbol="{}", arguments=(taken,)))) if base == over:
                pass
            case _:
                return None
        match taken:
            case Quantified(kind="choose", variable=variable, domain=domain) if domain == over:
                name = variable.name
            case Op(symbol="Min" | "Max", arguments=(domain,)) if domain == over:
                name = "x"
            case _:
                return None
        if not _is_empty(self._test, over):
            return None
        element, shown = Bound(self._at, name, self._fresh()), text(taken)
        return _Loop(element, over), lambda step: _put(step, lambda each: text(each) == shown, element)

    def _sequence(self, over: Bound, argument: Expr) -> tuple[_Loop, Callable[[Expr], Expr]] | None:
        length = Op(self._at, "Len", (over,))
        one = Literal(self._at, 1)
        front = Op(self._at, "SubSeq", (over, one, Op(self._at, "-", (length, one))))
        tail = Op(self._at, "SubSeq", (over, Literal(self._at, 2), length))
        if argument in (Op(self._at, "Tail", (over,)), tail):
            taken = (Op(self._at, "Head", (over,)), Index(self._at, over, one))
        elif argument == front:
            taken = (Op(self._at, "Last", (over,)), Index(self._at, over, length))
        else:
            return None
        if not _is_empty(self._test, over):
            return None
        element = Bound(self._at, "i", self._fresh())
        loop = _Loop(element, Op(self._at, "DOMAIN", (over,)))
        at = Index(self._at, over, element)
        return loop, lambda step: _put(step, lambda each: each in taken, at)

    def _range(self, over: Bound, argument: Expr) -> tuple[_Loop, Callable[[Expr], Expr]] | None:
        """``n - 1`` down to, or ``n + 1`` up to, a bound that the test names."""
        match argument, self._test:
            case (
                Op(symbol="-" | "+" as sign, arguments=(start, Literal(value=1))),
                Op(symbol="=" | "<" | "<=" | ">" | ">=" as compared, arguments=(left, right)),
            ) if start == over and over in (left, right):
                pass
            case _:
                return None
        flipped = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
        if right == over:
            compared, right = flipped.get(compared, compared), left
        if over.uid in free(right) or compared in (("<", "<=") if sign == "+" else (">", ">=")):
            return None
        step = Literal(self._at, 1)
        element = Bound(self._at, "i", self._fresh())
        if sign == "-":
            low = right if compared == "<" else Op(self._at, "+", (right, step))
            domain, guard = Op(self._at, "..", (low, over)), Op(self._at, ">=", (over, right))
        else:
            high = right if compared == ">" else Op(self._at, "-", (right, step))
            domain, guard = Op(self._at, "..", (over, high)), Op(self._at, "<=", (over, right))
        loop = _Loop(element, domain, guard if compared == "=" else None)
        return loop, lambda each: _put(each, lambda part: part == over, element)


def _guarding(loop: _Loop) -> frozenset[int]:
    return free(loop.guard) if loop.guard is not None else frozenset()


def _positive(test: Expr) -> Expr:
    """``~(a = b)`` and the like without the negation where that is another comparison."""
    opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
    match test:
        case Op(symbol="~", arguments=(Op(symbol="~", arguments=(inner,)),)):
            return _positive(inner)
        case Op(symbol="~", arguments=(Op(symbol="<" | "<=" | ">" | ">=" as symbol) as compared,)):
            return replace(compared, symbol=opposite[symbol])
    return test


def _is_empty(test: Expr, over: Bound) -> bool:
    """``S = {}``, ``s = <<>>``, ``Cardinality(S) = 0``, ``Len(s) = 0``"""
    match test:
        case Op(symbol="=", arguments=(left, right)):
            pass
        case _:
            return False
    for one, other in ((left, right), (right, left)):
        match one, other:
            case Bound(), Op(symbol="{}" | "<<>>", arguments=()) if one == over:
                return True
            case Op(symbol="Cardinality" | "Len", arguments=(inner,)), Literal(value=0) if inner == over:
                return True
    return False


def _put(expr: Expr, hit: Callable[[Expr], bool], value: Expr) -> Expr:
    """``value`` in place of every part that ``hit`` says."""
    return value if hit(expr) else rebuild(expr, lambda part: _put(part, hit, value))


def _combined(step: Expr, result: Bound, loop: _Loop, base: Expr) -> Expr | None:
    """``base`` and what every element of the loop contributes to it."""
    extreme = _extreme(step, result)
    if extreme is not None:
        symbol, image = extreme
        images = Quantified(step.location, "map", loop.element, loop.domain, image)
        start = Op(step.location, "{}", (base,))
        return Op(step.location, symbol, (Op(step.location, "\\cup", (start, images)),))
    found = _contribution(step, result)
    if found is None or found[0] == "":
        return None
    symbol, image = found
    at = step.location
    if symbol == "+":
        summed = Quantified(at, "function", loop.element, loop.domain, image)
        whole: Expr = Op(at, "SumOf", (summed,))
        if image == loop.element:
            whole = Op(at, "Sum", (loop.domain,))
    elif symbol == "\\cup":
        whole = Op(at, "UNION", (Quantified(at, "map", loop.element, loop.domain, image),))
    else:
        whole = Quantified(at, "\\A" if symbol == "/\\" else "\\E", loop.element, loop.domain, image)
    return whole if base == _NEUTRAL[symbol](at) else Op(at, symbol, (base, whole))


def _contribution(step: Expr, result: Bound) -> tuple[str, Expr] | None:
    """The operator that joins ``result`` with what does not depend on it, and that; ``""``: nothing is joined."""
    if step == result:
        return "", step
    match step:
        case Op(symbol="+" | "\\cup" | "/\\" | "\\/" as symbol, arguments=arguments):
            (*inside,) = (each for each in arguments if result.uid in free(each))
            others = tuple(each for each in arguments if result.uid not in free(each))
            if len(inside) != 1:
                return None
            inner = _contribution(inside[0], result)
            if inner is None or inner[0] not in ("", symbol):
                return None
            parts = others if inner[0] == "" else (*others, inner[1])
            return symbol, parts[0] if len(parts) == 1 else Op(step.location, symbol, parts)
        case Op(symbol="IF", arguments=(test, then, other)) if result.uid not in free(test):
            one, two = _contribution(then, result), _contribution(other, result)
            if one is None or two is None or len({one[0], two[0]} - {""}) != 1:
                return None
            symbol = one[0] or two[0]
            images = [each[1] if each[0] else _NEUTRAL[symbol](step.location) for each in (one, two)]
            return symbol, Op(step.location, "IF", (test, *images))
    return None


def _extreme(step: Expr, result: Bound) -> tuple[str, Expr] | None:
    """``IF e > result THEN e ELSE result`` and its like."""
    match step:
        case Op(
            symbol="IF",
            arguments=(Op(symbol="<" | "<=" | ">" | ">=" as symbol, arguments=(left, right)), then, other),
        ) if {text(left), text(right)} == {text(then), text(other)} and result in (left, right):
            image = right if left == result else left
            larger = (symbol in (">", ">=")) == (then == left)
            return None if result.uid in free(image) else ("Max" if larger else "Min", image)
    return None
