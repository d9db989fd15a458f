"""What each element contributes to a fold, and the one operator that joins the contributions."""

from __future__ import annotations

from collections.abc import Callable

from tlasql.lang.errors import Location
from tlasql.lang.ir import Bound, Expr, Literal, Op, Quantified, alike, free

NEUTRAL: dict[str, Callable[[Location], Expr]] = {
    "+": lambda at: Literal(at, 0),
    "*": lambda at: Literal(at, 1),
    "\\cup": lambda at: Op(at, "{}", ()),
    "\\o": lambda at: Op(at, "<<>>", ()),
    "/\\": lambda at: Literal(at, True),
    "\\/": lambda at: Literal(at, False),
}
"""What changes nothing, by the operator that joins it."""
_UNORDERED = {"/\\": "AND", "\\/": "OR"}
"""The end of a recursion may be read before or after its elements: what has no value decides nothing."""
_OF_A_FUNCTION = {"+": "SumOf", "*": "ProductOf"}


def joined(
    step: Expr, result: Bound, element: Bound, domain: Expr, base: Expr, *, beside: bool = True
) -> Expr | None:
    """``base`` and what every ``element`` of ``domain`` contributes to it, where ``step`` makes the next
    ``result`` of one element and the result so far. None where no one operator does that. Where ``base`` is
    not ``beside`` the elements, it is what the last one of them contributes.
    """
    extreme = _extreme(step, result)
    if extreme is not None:
        symbol, image = extreme
        images = Quantified(step.location, "map", element, domain, image)
        if not beside:
            return Op(step.location, symbol, (images,)) if alike(base, image) else None
        start = Op(step.location, "{}", (base,))
        return Op(step.location, symbol, (Op(step.location, "\\cup", (start, images)),))
    found = _contribution(step, result)
    if found is None or found[0] == "":
        return None
    symbol, image = found
    if not beside and not alike(base, image):
        return None
    at = step.location
    if symbol == "+" and image == element:
        whole: Expr = Op(at, "Sum", (domain,))
    elif symbol in _OF_A_FUNCTION:
        whole = Op(at, _OF_A_FUNCTION[symbol], (Quantified(at, "function", element, domain, image),))
    elif symbol == "\\cup":
        whole = Op(at, "UNION", (Quantified(at, "map", element, domain, image),))
    else:
        whole = Quantified(at, "\\A" if symbol == "/\\" else "\\E", element, domain, image)
    return (
        whole
        if not beside or base == NEUTRAL[symbol](at)
        else Op(at, _UNORDERED.get(symbol, symbol), (base, whole))
    )


def _contribution(step: Expr, result: Bound) -> tuple[str, Expr] | None:  # noqa: PLR0911
    """The operator that joins ``result`` with what does not depend on it; ``""``: nothing is joined."""
    if step == result:
        return "", step
    match step:
        case Op(symbol="+" | "*" | "\\cup" | "/\\" | "\\/" as symbol, arguments=arguments):
            (*inside,) = (each for each in arguments if result.uid in free(each))
            others = tuple(each for each in arguments if result.uid not in free(each))
            if len(inside) != 1:
                return None
            inner = _contribution(inside[0], result)
            if inner is None or inner[0] not in ("", symbol):
                return None
            parts = others if inner[0] == "" else (*others, inner[1])
            return symbol, parts[0] if len(parts) == 1 else Op(step.location, symbol, parts)
        case Op(symbol="-", arguments=(left, right)) if result.uid not in free(right):
            less = Op(step.location, "-.", (right,))
            return _contribution(Op(step.location, "+", (left, less)), result)
        case Op(symbol="IF", arguments=(test, Literal(value=bool() as ends), other)):
            return _decided(test, ends, other, result)
        case Op(symbol="IF", arguments=(test, then, Literal(value=bool() as ends))):
            return _decided(Op(test.location, "~", (test,)), ends, then, result)
        case Op(symbol="IF", arguments=(test, then, other)) if result.uid not in free(test):
            one, two = _contribution(then, result), _contribution(other, result)
            if one is None or two is None or len({one[0], two[0]} - {""}) != 1:
                return None
            common = one[0] or two[0]
            images = [each[1] if each[0] else NEUTRAL[common](step.location) for each in (one, two)]
            return common, Op(step.location, "IF", (test, *images))
    return None


def _decided(test: Expr, ends: bool, other: Expr, result: Bound) -> tuple[str, Expr] | None:
    """``IF test THEN ends ELSE other``: ``test \\/ other``, or ``~test /\\ other``."""
    symbol = "\\/" if ends else "/\\"
    inner = _contribution(other, result)
    if result.uid in free(test) or inner is None or inner[0] not in ("", symbol):
        return None
    own = test if ends else Op(test.location, "~", (test,))
    return symbol, own if inner[0] == "" else Op(test.location, symbol, (own, inner[1]))


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
