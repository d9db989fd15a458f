r"""A predicate over the columns of a frame. SQL's AND, OR, NOT and comparisons are Kleene's; the rest is made
so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from tlasql import tree
from tlasql.errors import fail
from tlasql.ir import Expr, Literal, Op, text

Binary = Callable[[exp.Expr, exp.Expr], exp.Expr]

_BINARY: Mapping[str, Binary] = {
    "<=>": lambda a, b: exp.EQ(this=a, expression=b),
    "=": lambda a, b: exp.EQ(this=a, expression=b),
    "<": lambda a, b: exp.LT(this=a, expression=b),
    "<=": lambda a, b: exp.LTE(this=a, expression=b),
    ">": lambda a, b: exp.GT(this=a, expression=b),
    ">=": lambda a, b: exp.GTE(this=a, expression=b),
    "+": lambda a, b: exp.Add(this=_big(a), expression=b),
    "-": lambda a, b: exp.Sub(this=_big(a), expression=b),
    "*": lambda a, b: exp.Mul(this=_big(a), expression=b),
}


def translate(expr: Expr, columns: Mapping[str, str]) -> exp.Expr:
    """``expr`` as SQL; ``columns`` names the column of every state expression by its TLA+ text."""
    column = columns.get(text(expr))
    if column is not None:
        return tree.col(column)
    match expr:
        case Literal(value=bool() as value):
            return exp.true() if value else exp.false()
        case Literal(value=int() as value):
            return exp.Literal.number(value)
        case Literal(value=str() as value):
            return tree.string(value)
        case Op(symbol="\\in", arguments=(element, Op(symbol="{}", arguments=members))):
            one = translate(element, columns)
            return tree.any_of(
                exp.EQ(this=one.copy(), expression=translate(each, columns)) for each in members
            )
        case Op(symbol=symbol, arguments=arguments):
            found = _operator(symbol, [translate(each, columns) for each in arguments])
            if found is not None:
                return found
    raise fail(
        expr.location, f"{text(expr)} is outside the fragment", "range over it with a quantifier in front"
    )


def _operator(symbol: str, parts: list[exp.Expr]) -> exp.Expr | None:  # noqa: PLR0911 (one each)
    match symbol:
        case "/\\":
            return tree.all_of(parts)
        case "\\/":
            return tree.any_of(parts)
        case "~":
            return tree.negation(parts[0])
        case "-.":
            return exp.Neg(this=_big(_grouped(parts[0])))
        case "=>":
            return tree.any_of([tree.negation(parts[0]), parts[1]])
        case "IF":
            test, then, other = parts
            # an unknown test decides nothing unless both branches agree
            agree = exp.EQ(this=_grouped(then.copy()), expression=_grouped(other.copy()))
            return tree.case([(test, then), (tree.negation(test.copy()), other), (agree, then.copy())])
        case _ if symbol in _BINARY:
            return _BINARY[symbol](_grouped(parts[0]), _grouped(parts[1]))
    return None


def _grouped(part: exp.Expr) -> exp.Expr:
    return exp.Paren(this=part) if isinstance(part, exp.Binary | exp.Not) else part


def _big(part: exp.Expr) -> exp.Expr:
    """64-bit arithmetic: an overflow is an error in Spark's ANSI mode, never a wrap."""
    return exp.cast(part, "bigint")
