r"""Recursion that is a fold over a set, a sequence or a range of integers, in the usual shapes::

    Sum(S) == IF S = {} THEN 0 ELSE LET x == CHOOSE x \in S : TRUE IN f(x) + Sum(S \ {x})
    Sum(s) == IF s = <<>> THEN 0 ELSE f(Head(s)) + Sum(Tail(s))
    Sum(n) == IF n = 0 THEN 0 ELSE f(n) + Sum(n - 1)
    Max(S) == IF Cardinality(S) = 1 THEN f(x) ELSE LET m == Max(S \ {x}) IN IF f(x) > m THEN f(x) ELSE m
    Has(s) == s # <<>> /\ (f(Head(s)) \/ Has(Tail(s)))

or with accumulators. Sums, products, unions, conjunctions, disjunctions, maxima and minima are made of all
elements alike; any other step is taken element by element, where the text says in which order; it may look at
all that is left of a sequence. Neither what is folded over nor where it ends may move with an accumulator;
everything else is no fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tlasql.lang.ir import (
    Bound,
    Call,
    Expr,
    Field,
    Fold,
    Index,
    Literal,
    Op,
    Quantified,
    RecordOf,
    alike,
    free,
    put,
    rebuild,
    substitute,
    walk,
)
from tlasql.lang.shapes import FLIPPED, counted_of, empty_of, positive
from tlasql.read.contributions import NEUTRAL, joined

_ASSOCIATIVE = {each: NEUTRAL[each] for each in ("\\o", "+", "*", "\\cup")}


@dataclass(frozen=True)
class _Loop:
    """Each ``element`` of ``domain`` contributes, as ``value``; in a step it is every part that ``hit`` says.

    ``guard``: what must be true for the recursion to end. ``last``: it ends at the last element, not behind
    it; in what it ends with, the element is every part that ``last`` says. ``first``: which of the numbers in
    the domain is taken first, "least" or "greatest"; None where nobody knows. ``before``: the numbers that
    are taken before the last one, and the last one. ``end``: what is left of what is folded over at the end.
    ``rest``: what is left of what is folded over when a step takes ``element``; None where nobody knows.
    """

    element: Bound
    domain: Expr
    value: Expr
    hit: Callable[[Expr], bool]
    guard: Expr | None = None
    last: Callable[[Expr], bool] | None = None
    first: str | None = None
    before: tuple[Expr, Expr] | None = None
    end: Expr | None = None
    rest: Expr | None = None


def closed_form(body: Expr, own: int, parameters: Sequence[Expr], fresh: Callable[[], int]) -> Expr | None:
    """What a definition numbered ``own`` says without applying itself; None when it is no fold.

    ``body``: inlined but for its applications of itself, which are Calls. ``fresh`` numbers new variables.
    """
    body = _by_choices(body, own)
    forms = [_closed(parts, own, parameters, fresh) for parts in _endings(body, own)]
    # what ends in any case is known of more states
    return min((each for each in forms if each is not None), key=_is_guarded, default=None)


def _is_guarded(form: Expr) -> bool:
    return isinstance(form, Op) and form.symbol == "CASE" and len(form.arguments) == 2


def _closed(
    parts: tuple[Expr, Expr, Expr], own: int, parameters: Sequence[Expr], fresh: Callable[[], int]
) -> Expr | None:
    test, base, step = parts
    if _applied(base, own) or _applied(test, own):
        return None
    form = _folded((test, base, step), own, parameters, fresh)
    if form is not None or _ways(step, own) is not None:
        return form
    # what is joined on the way out may be joined on the way in
    for symbol, neutral in _ASSOCIATIVE.items():
        out = Bound(step.location, "out", fresh())
        carried = _carried(step, own, symbol, out)
        if carried is not None:
            base = Op(base.location, symbol, (out, base))
            form = _folded((test, base, carried), own, (*parameters, out), fresh)
            return None if form is None else substitute(form, out, neutral(step.location))
    return None


def _folded(
    parts: tuple[Expr, Expr, Expr], own: int, parameters: Sequence[Expr], fresh: Callable[[], int]
) -> Expr | None:
    test, base, step = parts
    ways = _ways(step, own)
    if ways is not None and ways.call is not None and ways.leave is None:
        step = ways.call
    calls: list[Call] = []
    for each in walk(step):
        if isinstance(each, Call) and each.uid == own and not any(alike(each, other) for other in calls):
            calls.append(each)
    if not calls:
        return None
    ways = ways or _Ways(Literal(step.location, False), calls[0], None)
    call = ways.call
    if call is None or len(call.arguments) != len(parameters) or (len(calls) > 1 and ways.leave is None):
        return None
    return _Fold((test, base, step), ways, call, parameters, fresh).form()


def _carried(step: Expr, own: int, symbol: str, out: Expr) -> Expr | None:
    """A step that gives ``x \\o F(rest)`` as one that hands ``out \\o x`` on: ``F(rest, out \\o x)``."""
    if not _applied(step, own):
        return Op(step.location, symbol, (out, step))
    match step:
        case Call(uid=uid, arguments=arguments) if uid == own:
            nested = any(_applied(each, own) for each in arguments)
            return None if nested else replace(step, arguments=(*arguments, out))
        case Op(symbol="IF", arguments=(test, then, other)) if not _applied(test, own):
            one, two = (_carried(each, own, symbol, out) for each in (then, other))
            return None if one is None or two is None else Op(step.location, "IF", (test, one, two))
        case Op(symbol=joining, arguments=arguments) if joining == symbol:
            inside = [each for each in arguments if _applied(each, own)]
            if len(inside) == 1 and (symbol != "\\o" or inside[0] is arguments[-1]):
                others = (each for each in arguments if each is not inside[0])
                return _carried(inside[0], own, symbol, Op(step.location, symbol, (out, *others)))
    return None


@dataclass(frozen=True)
class _Ways:
    """Where a step goes on with ``call``, and where it ``stops`` and gives ``leave``."""

    stops: Expr
    call: Call | None
    leave: Expr | None


def _ways(step: Expr, own: int) -> _Ways | None:
    """None where the step does more with its call than to give what that gives."""
    at = step.location
    match step:
        case Call(uid=uid, arguments=arguments) if uid == own:
            nested = any(_applied(each, own) for each in arguments)
            return None if nested else _Ways(Literal(at, False), step, None)
        case _ if not _applied(step, own):
            return _Ways(Literal(at, True), None, step)
        case Op(symbol="IF", arguments=(test, then, other)) if not _applied(test, own):
            one, two = _ways(then, own), _ways(other, own)
            if one is None or two is None:
                return None
            call = one.call or two.call
            if one.call is not None and two.call is not None:
                pairs = zip(one.call.arguments, two.call.arguments, strict=True)
                call = replace(one.call, arguments=tuple(_either(test, *pair) for pair in pairs))
            leave = one.leave or two.leave
            if one.leave is not None and two.leave is not None:
                leave = _either(test, one.leave, two.leave)
            return _Ways(_chosen(test, one.stops, two.stops), call, leave)
    return None


def _chosen(test: Expr, one: Expr, two: Expr) -> Expr:
    """``IF test THEN one ELSE two``, of truths."""
    match one, two:
        case Literal(value=True), Literal(value=False):
            return test
        case Literal(value=False), Literal(value=True):
            return Op(test.location, "~", (test,))
    return _either(test, one, two)


def _ending(body: Expr, own: int) -> tuple[Expr, Expr, Expr] | None:
    """When the recursion ends, with what, and what it does otherwise."""
    match _as_conditional(body, own):
        case Op(symbol="IF", arguments=(test, base, step)):
            pass
        case Op(symbol="CASE", arguments=(test, base, otherwise, step)) if _opposite(test, otherwise):
            pass
        case _:
            return None
    if _applied(base, own) and not _applied(step, own):
        return Op(test.location, "~", (test,)), step, base
    return test, base, step


def _endings(body: Expr, own: int) -> Iterator[tuple[Expr, Expr, Expr]]:
    """When the recursion may end, with what, and what it does otherwise; also where something else may end it
    before: of ``IF a \\/ b THEN x ELSE IF c THEN y ELSE z`` each test in turn.
    """
    tests: list[tuple[Expr, Expr]] = []
    step: Expr = body
    while (parts := _ending(step, own)) is not None and not _applied(parts[0], own):
        test, base, step = parts
        if not tests:
            yield parts
        tests += [(each, base) for each in _any_of(test)]
    for place, (end, value) in enumerate(tests if len(tests) > 1 else ()):
        base, rest = value, step
        for test, other in reversed(tests[:place]):
            base = _either(test, other, base)
        for test, other in reversed(tests[:place] + tests[place + 1 :]):
            rest = Op(test.location, "IF", (test, other, rest))
        yield end, base, rest


def _any_of(test: Expr) -> Iterator[Expr]:
    """The tests of which one must be true, from the left."""
    match test:
        case Op(symbol="\\/", arguments=several):
            for each in several:
                yield from _any_of(each)
        case Op(symbol="~", arguments=(Op(symbol="/\\", arguments=several),)):
            for each in several:
                yield from _any_of(positive(Op(each.location, "~", (each,))))
        case _:
            yield test


def _by_choices(expr: Expr, own: int) -> Expr:
    """Each CASE with OTHER, and each ``=>``, in which the definition applies itself, as IFs."""
    if not _applied(expr, own):
        return expr
    match expr:
        case Op(symbol="=>", arguments=arguments):
            arms = (*arguments, Literal(expr.location, True))
            return _by_choices(Op(expr.location, "IF", arms), own)
        case Op(symbol="CASE", arguments=(test, then, *others)) if len(others) % 2:
            other = others[0] if len(others) == 1 else replace(expr, arguments=tuple(others))
            return _by_choices(Op(expr.location, "IF", (test, then, other)), own)
    return rebuild(expr, lambda part: _by_choices(part, own))


def _as_conditional(expr: Expr, own: int) -> Expr:
    """``test /\\ F(rest)`` as ``IF test THEN F(rest) ELSE FALSE``."""
    match expr:
        case Op(symbol="/\\" | "\\/" as symbol, arguments=(test, *others)) if not _applied(test, own):
            rest = others[0] if len(others) == 1 else replace(expr, arguments=tuple(others))
            if symbol == "/\\":
                return Op(expr.location, "IF", (test, rest, Literal(expr.location, False)))
            return Op(expr.location, "IF", (test, Literal(expr.location, True), rest))
    return expr


def _opposite(one: Expr, other: Expr) -> bool:
    """Whether exactly one of two tests is true, as the text shows."""
    negated = Op(one.location, "~", (one,))
    return other in (negated, positive(negated)) or one == Op(one.location, "~", (other,))


def _either(test: Expr, one: Expr, other: Expr) -> Expr:
    return one if alike(one, other) else Op(test.location, "IF", (test, one, other))


def _applied(expr: Expr, own: int) -> bool:
    return any(isinstance(each, Call) and each.uid == own for each in walk(expr))


class _Fold:
    def __init__(
        self,
        parts: tuple[Expr, Expr, Expr],
        ways: _Ways,
        call: Call,
        parameters: Sequence[Expr],
        fresh: Callable[[], int],
    ) -> None:
        test, self._base, self._step = parts
        self._ways = ways
        self._test, self._call, self._parameters, self._fresh = positive(test), call, parameters, fresh
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
            if loop is None:
                continue
            base = self._base if loop.last is None else put(self._base, loop.last, loop.element)
            if loop.end is not None:
                base = substitute(base, over, loop.end)
            elif over.uid in free(base):
                continue
            if loop.last is not None and loop.element.uid not in free(base):
                loop = self._without_last(loop, over)
            # what moves with every call can neither be ranged over nor end the recursion
            if any(moved.uid in free(loop.domain) | free(self._test) for moved, _ in rest):
                continue
            formed = self._accumulated(loop, over, base, rest) if rest else self._direct(loop, over, base)
            if formed is not None:
                return formed if loop.guard is None else Op(self._at, "CASE", (loop.guard, formed))
        return None

    def _without_last(self, loop: _Loop, over: Bound) -> _Loop:
        """The loop over all elements but the last, which adds nothing. ``Len(s) <= 1`` needs no element."""
        if loop.before is None:
            return loop
        counted = counted_of(self._test, over)
        guard = loop.guard if counted is None or counted[1] == "=" else None
        return replace(loop, guard=guard, domain=loop.before[0], last=None)

    def _direct(self, loop: _Loop, over: Bound, base: Expr) -> Expr | None:
        """``g(x) + F(rest)``"""
        result = Bound(self._at, "rest", self._fresh())
        step = self._taken(put(self._step, lambda each: alike(each, self._call), result), loop, over)
        if step is None or _applied(step, self._call.uid):
            return None
        base = put(base, lambda each: each == loop.element, loop.value)
        form = joined(step, result, loop.element, loop.domain, base, beside=loop.last is None)
        if form is None and loop.before is not None and loop.last is not None:
            places, last = loop.before
            base = substitute(base, loop.element, last)
            form = joined(step, result, loop.element, places, base)
        return form or self._in_order(step, result, base, loop, backward=loop.first == "least")

    def _accumulated(
        self, loop: _Loop, over: Bound, base: Expr, moved: Sequence[tuple[Bound, Expr]]
    ) -> Expr | None:
        """``F(rest, g(x) + sum)``, where the end gives ``sum`` or something made of it."""
        steps = [(each, self._taken(argument, loop, over)) for each, argument in moved]
        known = [(each, step) for each, step in steps if step is not None]
        if len(known) < len(steps) or loop.last is not None:
            return None
        if not alike(self._step, self._call):
            return self._stopped(loop, over, base, known)
        (result, step), *more = known
        if not more:
            form = joined(step, result, loop.element, loop.domain, result)
            form = form or self._in_order(step, result, result, loop, backward=loop.first == "greatest")
            return None if form is None else put(base, lambda each: each == result, form)
        whole = Bound(self._at, "so_far", self._fresh())
        values = {each.name: _put_all(step, self._parts(whole, known)) for each, step in known}
        start = self._record({each.name: each for each, _ in known})
        form = self._in_order(self._record(values), whole, start, loop, backward=loop.first == "greatest")
        return None if form is None else _put_all(base, self._parts(form, known))

    def _stopped(
        self, loop: _Loop, over: Bound, base: Expr, known: Sequence[tuple[Bound, Expr]]
    ) -> Expr | None:
        """The same where an element may end it: from there on nothing moves any more."""
        if self._ways.leave is None:
            return None
        stops, leave = (self._taken(each, loop, over) for each in (self._ways.stops, self._ways.leave))
        if stops is None or leave is None:
            return None
        taken = "".join(each.name for each, _ in known)
        ended, place = f"ended_{taken}", f"place_{taken}"
        whole, no = Bound(self._at, "so_far", self._fresh()), Literal(self._at, False)
        parts = self._parts(whole, known)
        here = {each.name: parts[each.uid] for each, _ in known}
        after = {each.name: _put_all(step, parts) for each, step in known}
        at = Field(self._at, whole, place)
        left = self._record(here | {ended: Literal(self._at, True), place: loop.element})
        goes_on = self._record(after | {ended: no, place: at})
        step = Op(self._at, "IF", (_put_all(stops, parts), left, goes_on))
        step = Op(self._at, "IF", (Field(self._at, whole, ended), whole, step))
        start = self._record(
            {each.name: each for each, _ in known} | {ended: no, place: Literal(self._at, 0)}
        )
        form = self._in_order(step, whole, start, loop, backward=loop.first == "greatest")
        if form is None:
            return None
        ends: dict[int, Expr] = self._parts(form, known)
        given = _put_all(leave, {**ends, loop.element.uid: Field(self._at, form, place)})
        return Op(self._at, "IF", (Field(self._at, form, ended), given, _put_all(base, ends)))

    def _taken(self, step: Expr, loop: _Loop, over: Bound) -> Expr | None:
        """The step of one element; None where what is left matters, and nobody knows what that is."""
        left = Bound(self._at, "left", self._fresh())
        step = put(step, loop.hit, loop.element)
        if over.uid in free(step) and loop.rest is None:
            return None
        step = put(substitute(step, over, left), lambda each: each == loop.element, loop.value)
        if loop.first == "least":
            step = _placed(step, left, over, loop.element)
        return substitute(step, left, loop.rest or left)

    def _parts(self, whole: Expr, known: Sequence[tuple[Bound, Expr]]) -> dict[int, Expr]:
        """What the accumulators are in the record of them."""
        return {each.uid: Field(self._at, whole, each.name) for each, _ in known}

    def _record(self, values: Mapping[str, Expr]) -> Expr:
        return RecordOf(self._at, tuple(values), tuple(values.values()))

    def _in_order(self, step: Expr, result: Bound, base: Expr, loop: _Loop, *, backward: bool) -> Expr | None:
        """Element by element, where it is known which one is taken first."""
        if loop.first is None:
            return None
        places, element = loop.domain, loop.element
        if loop.last is not None:
            if loop.before is None:
                return None
            places = loop.before[0]
        return Fold(self._at, (result, element), base, places, step, backward)

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
                name, first = variable.name, None
            case Op(symbol="Min" | "Max" as symbol, arguments=(domain,)) if domain == over:
                name, first = "x", "least" if symbol == "Min" else "greatest"
            case _:
                return None
        element = Bound(self._at, name, self._fresh())
        loop = _Loop(element, over, element, lambda each: alike(each, taken), first=first)
        return self._until(loop, over, loop.hit)

    def _sequence(self, over: Bound, argument: Expr) -> _Loop | None:
        before: tuple[Expr, Expr]
        element = Bound(self._at, "i", self._fresh())
        length = Op(self._at, "Len", (over,))
        one = Literal(self._at, 1)
        front = Op(self._at, "SubSeq", (over, one, Op(self._at, "-", (length, one))))
        tail = Op(self._at, "SubSeq", (over, Literal(self._at, 2), length))
        if argument in (Op(self._at, "Tail", (over,)), tail):
            taken, first = (Op(self._at, "Head", (over,)), Index(self._at, over, one)), "least"
            before = (Op(self._at, "..", (one, Op(self._at, "-", (length, one)))), length)
            rest = Op(self._at, "SubSeq", (over, element, length))
        elif argument == front:
            taken, first = (Op(self._at, "Last", (over,)), Index(self._at, over, length)), "greatest"
            before = (Op(self._at, "..", (Literal(self._at, 2), length)), one)
            rest = Op(self._at, "SubSeq", (over, one, element))
        else:
            return None
        at = Index(self._at, over, element)
        domain = Op(self._at, "DOMAIN", (over,))
        loop = _Loop(element, domain, at, lambda each: each in taken, first=first, before=before, rest=rest)
        ends = (Op(self._at, "Head", (over,)), Op(self._at, "Last", (over,)))
        places = (Index(self._at, over, one), Index(self._at, over, length))
        return self._until(loop, over, lambda each: each in ends or each in places)

    def _until(self, loop: _Loop, over: Bound, last: Callable[[Expr], bool]) -> _Loop | None:
        """The loop when the recursion ends with nothing left, or with one element, which ``last`` says."""
        empty = empty_of(self._test, over)
        if empty is not None:
            return replace(loop, end=empty)
        symbol = "{}" if loop.before is None else "<<>>"
        counted = _is_single(self._test, over, last)
        if counted is None:
            return None
        some = Op(self._at, ">=", (Op(self._at, counted, (over,)), Literal(self._at, 1)))
        return replace(loop, guard=some, last=last, end=Op(self._at, symbol, (loop.element,)))

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
        first, back = ("greatest", "+") if sign == "-" else ("least", "-")
        near = bound if order in ("<", ">") else Op(self._at, back, (bound, one))
        domain = Op(self._at, "..", (near, over) if sign == "-" else (over, near))
        if order == "=":
            guard = Op(self._at, ">=" if sign == "-" else "<=", (over, bound))
            return _Loop(element, domain, element, lambda each: each == over, guard, first=first, end=bound)
        past = bound if order in ("<=", ">=") else Op(self._at, sign, (bound, one))
        left = _either(Op(self._at, order, (over, bound)), over, past)
        return _Loop(element, domain, element, lambda each: each == over, first=first, end=left)


def _placed(step: Expr, left: Bound, over: Bound, place: Bound) -> Expr:
    """Elements of what is ``left`` from a place on as elements of the whole sequence."""
    match step:
        case Index(function=sequence, key=Literal(value=int() as n)) if sequence == left and n > 0:
            pass
        case Op(symbol="Head", arguments=(Op(symbol="Tail", arguments=(sequence,)),)) if sequence == left:
            n = 2
        case _:
            return rebuild(step, lambda part: _placed(part, left, over, place))
    return Index(step.location, over, Op(step.location, "+", (place, Literal(step.location, n - 1))))


def _end(test: Expr, over: Bound) -> tuple[str, Expr] | None:
    """The test as a comparison of ``over`` with something else."""
    match test:
        case Op(symbol=order, arguments=(left, right)) if order in FLIPPED:
            if left == over and over.uid not in free(right):
                return order, right
            if right == over and over.uid not in free(left):
                return FLIPPED[order], left
    return None


def _is_single(test: Expr, over: Bound, element: Callable[[Expr], bool]) -> str | None:
    """``Cardinality(S) = 1``, ``S = {x}``, ``Len(s) = 1``: the operator that counts what ``over`` holds."""
    counted = counted_of(test, over)
    if counted is not None and counted[1:] in (("=", 1), ("<=", 1), ("<", 2)):
        return counted[0]
    match test:
        case Op(symbol="=", arguments=(left, right)):
            for one, other in ((left, right), (right, left)):
                match other:
                    case Op(symbol="{}", arguments=(only,)) if one == over and element(only):
                        return "Cardinality"
    return None


def _put_all(expr: Expr, values: Mapping[int, Expr]) -> Expr:
    """The values in place of the parameters with these numbers, all at once."""
    if isinstance(expr, Bound) and expr.uid in values:
        return values[expr.uid]
    return rebuild(expr, lambda part: _put_all(part, values))


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
        ends = _end(positive(test), variable) or _end(positive(Op(test.location, "~", (test,))), variable)
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
