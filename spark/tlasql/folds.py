r"""Recursion that is a fold: sums, unions, conjunctions, disjunctions, maxima and minima over a set, a
sequence or a range of integers, in the usual shapes::

    Sum(S) == IF S = {} THEN 0 ELSE LET x == CHOOSE x \in S : TRUE IN f(x) + Sum(S \ {x})
    Sum(s) == IF s = <<>> THEN 0 ELSE f(Head(s)) + Sum(Tail(s))
    Sum(n) == IF n = 0 THEN 0 ELSE f(n) + Sum(n - 1)

or with an accumulator. The order of the elements must not matter, and neither what is folded over nor where
it ends may move with the accumulator; everything else is no fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tlasql.errors import Location
from tlasql.ir import Bound, Call, Expr, Index, Literal, Op, Quantified, alike, free, rebuild, walk

_NEUTRAL: dict[str, Callable[[Location], Expr]] = {
    "+": lambda at: Literal(at, 0),
    "\\cup": lambda at: Op(at, "{}", ()),
    "/\\": lambda at: Literal(at, True),
    "\\/": lambda at: Literal(at, False),
}
_UNORDERED = {"/\\": "AND", "\\/": "OR"}
"""The end of a recursion may be read before or after its elements: what has no value decides nothing."""


@dataclass(frozen=True)
class _Loop:
    """Each ``element`` of ``domain`` contributes, as ``value``; in a step it is every part that ``hit`` says.

    ``guard``: what must be true for the recursion to end.
    """

    element: Bound
    domain: Expr
    value: Expr
    hit: Callable[[Expr], bool]
    guard: Expr | None = None


def closed_form(body: Expr, own: int, parameters: Sequence[Expr], fresh: Callable[[], int]) -> Expr | None:
    """What a definition numbered ``own`` says without applying itself; None when it is no fold.

    ``body``: inlined but for its applications of itself, which are Calls. ``fresh`` numbers new variables.
    """
    parts = _ending(body, own)
    if parts is None:
        return None
    test, base, step = parts
    calls: list[Call] = []
    for each in walk(step):
        if isinstance(each, Call) and each.uid == own and not any(alike(each, other) for other in calls):
            calls.append(each)
    if len(calls) != 1 or _applied(base, own) or _applied(test, own):
        return None
    (call,) = calls
    if len(call.arguments) != len(parameters):
        return None
    return _Fold((test, base, step), call, parameters, fresh).form()


def _ending(body: Expr, own: int) -> tuple[Expr, Expr, Expr] | None:
    """When the recursion ends, with what, and what it does otherwise."""
    match body:
        case Op(symbol="IF" | "CASE", arguments=(test, base, step)):
            pass
        case Op(symbol="CASE", arguments=(test, base, otherwise, step)) if _opposite(test, otherwise):
            pass
        case _:
            return None
    if _applied(base, own) and not _applied(step, own):
        return Op(test.location, "~", (test,)), step, base
    return test, base, step


def _opposite(one: Expr, other: Expr) -> bool:
    """Whether exactly one of two tests is true, as the text shows."""
    negated = Op(one.location, "~", (one,))
    return other in (negated, _positive(negated)) or one == Op(one.location, "~", (other,))


def _applied(expr: Expr, own: int) -> bool:
    return any(isinstance(each, Call) and each.uid == own for each in walk(expr))


class _Fold:
    def __init__(
        self, parts: tuple[Expr, Expr, Expr], call: Call, parameters: Sequence[Expr], fresh: Callable[[], int]
    ) -> None:
        test, self._base, self._step = parts
        self._test, self._call, self._parameters, self._fresh = _positive(test), call, parameters, fresh
        self._at = call.location

    def form(self) -> Expr | None:
        """The fold without recursion."""
        changed = [
            (p, a)
            for p, a in zip(self._parameters, self._call.arguments, strict=True)
            if a != p and isinstance(p, Bound)
        ]
        for over, argument in changed:
            rest = [each for each in changed if each[0] != over]
            loop = self._loop(over, argument)
            if loop is None or len(rest) > 1 or over.uid in free(self._base):
                continue
            # what moves with every call can neither be ranged over nor end the recursion
            if any(moved.uid in free(loop.domain) | free(self._test) for moved, _ in rest):
                continue
            formed = self._accumulated(loop, over, rest[0]) if rest else self._direct(loop, over)
            if formed is not None:
                return formed if loop.guard is None else Op(self._at, "CASE", (loop.guard, formed))
        return None

    def _direct(self, loop: _Loop, over: Bound) -> Expr | None:
        """``g(x) + F(rest)``"""
        result = Bound(self._at, "rest", self._fresh())
        step = _put(self._step, lambda each: alike(each, self._call), result)
        return self._combined(step, result, loop, over, self._base)

    def _accumulated(self, loop: _Loop, over: Bound, moved: tuple[Bound, Expr]) -> Expr | None:
        """``F(rest, g(x) + sum)``, where the end gives ``sum`` or something made of it."""
        accumulator, argument = moved
        if not alike(self._step, self._call):
            return None
        total = self._combined(argument, accumulator, loop, over, accumulator)
        if total is None:
            return None
        return _put(self._base, lambda each: each == accumulator, total)

    def _combined(self, step: Expr, result: Bound, loop: _Loop, over: Bound, base: Expr) -> Expr | None:
        step = _put(step, loop.hit, loop.element)
        if over.uid in free(step):  # what is left matters, not the element alone
            return None
        return _combined(_put(step, lambda each: each == loop.element, loop.value), result, loop, base)

    def _loop(self, over: Bound, argument: Expr) -> _Loop | None:
        """What is folded over when ``over`` becomes ``argument``."""
        return self._set(over, argument) or self._sequence(over, argument) or self._range(over, argument)

    def _set(self, over: Bound, argument: Expr) -> _Loop | None:
        match argument:
            case Op(symbol="\\", arguments=(base, Op(symbol="{}", arguments=(taken,)))) if base == over:
                pass
            case _:
                return None
        match taken:
            case Quantified(kind="choose", variable=variable, domain=domain, body=Literal(value=True)) if (
                domain == over
            ):
                name = variable.name
            case Op(symbol="Min" | "Max", arguments=(domain,)) if domain == over:
                name = "x"
            case _:
                return None
        if not _is_empty(self._test, over):
            return None
        element = Bound(self._at, name, self._fresh())
        return _Loop(element, over, element, lambda each: alike(each, taken))

    def _sequence(self, over: Bound, argument: Expr) -> _Loop | None:
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
        at = Index(self._at, over, element)
        return _Loop(element, Op(self._at, "DOMAIN", (over,)), at, lambda each: each in taken)

    def _range(self, over: Bound, argument: Expr) -> _Loop | None:
        """``n - 1`` down to, or ``n + 1`` up to, a bound that the test names."""
        match argument:
            case Op(symbol="-" | "+" as sign, arguments=(start, Literal(value=1))) if start == over:
                pass
            case _:
                return None
        end = _end(self._test, over)
        if end is None or end[0] in (("<", "<=") if sign == "+" else (">", ">=")):
            return None
        order, bound = end
        one, element = Literal(self._at, 1), Bound(self._at, "i", self._fresh())
        if sign == "-":
            low = bound if order == "<" else Op(self._at, "+", (bound, one))
            domain, guard = Op(self._at, "..", (low, over)), Op(self._at, ">=", (over, bound))
        else:
            high = bound if order == ">" else Op(self._at, "-", (bound, one))
            domain, guard = Op(self._at, "..", (over, high)), Op(self._at, "<=", (over, bound))
        return _Loop(element, domain, element, lambda each: each == over, guard if order == "=" else None)


def _end(test: Expr, over: Bound) -> tuple[str, Expr] | None:
    """The test as a comparison of ``over`` with something else."""
    flipped = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
    match test:
        case Op(symbol=order, arguments=(left, right)) if order in flipped:
            if left == over and over.uid not in free(right):
                return order, right
            if right == over and over.uid not in free(left):
                return flipped[order], left
    return None


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
    return whole if base == _NEUTRAL[symbol](at) else Op(at, _UNORDERED.get(symbol, symbol), (base, whole))


def _contribution(step: Expr, result: Bound) -> tuple[str, Expr] | None:  # noqa: PLR0911
    """The operator that joins ``result`` with what does not depend on it; ``""``: nothing is joined."""
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
            joined = one[0] or two[0]
            images = [each[1] if each[0] else _NEUTRAL[joined](step.location) for each in (one, two)]
            return joined, Op(step.location, "IF", (test, *images))
    return None


def _extreme(step: Expr, result: Bound) -> tuple[str, Expr] | None:
    """``IF e > result THEN e ELSE result`` and its like."""
    match step:
        case Op(
            symbol="IF",
            arguments=(Op(symbol="<" | "<=" | ">" | ">=" as symbol, arguments=(left, right)), then, other),
        ) if _same_pair((left, right), (then, other)) and result in (left, right):
            image = right if left == result else left
            larger = (symbol in (">", ">=")) == alike(then, left)
            return None if result.uid in free(image) else ("Max" if larger else "Min", image)
    return None


def _same_pair(one: tuple[Expr, Expr], other: tuple[Expr, Expr]) -> bool:
    return any(alike(one[0], a) and alike(one[1], b) for a, b in (other, other[::-1]))


def smaller_stays(  # noqa: PLR0911 (one for each domain)
    variable: Bound, argument: Expr, domain: Expr, body: Expr
) -> bool:
    """Whether ``argument``, made of an element of ``domain`` that does not end the recursion, is one too."""
    match domain:
        case Op(symbol="SUBSET"):
            return isinstance(argument, Op) and argument.symbol == "\\"
        case Op(symbol="Seq"):
            return isinstance(argument, Op) and argument.symbol in ("Tail", "SubSeq")
        case Op(symbol="Int"):
            return True
    ends = None
    if isinstance(body, Op) and body.arguments:
        test = body.arguments[0]
        ends = _end(_positive(test), variable) or _end(_positive(Op(test.location, "~", (test,))), variable)
    if ends is None:
        return False
    order, bound = ends
    match argument, domain:
        case Op(symbol="+"), Op(symbol="Nat"):
            return True
        case Op(symbol="+"), Op(symbol="..", arguments=(_, high)):
            return bound == high and order in ("=", ">=", "<")
        case Op(symbol="-"), _ if isinstance(bound, Literal) and (least := _least(domain)) is not None:
            # the last application is at the bound, or just below it
            last = int(bound.value) if order in ("=", "<=", ">") else int(bound.value) - 1
            return last >= least
    return False


def _least(domain: Expr) -> int | None:
    """The smallest of all integers from it on."""
    match domain:
        case Op(symbol="Nat"):
            return 0
        case Op(symbol="..", arguments=(Literal(value=int() as low), _)):
            return low
    return None
