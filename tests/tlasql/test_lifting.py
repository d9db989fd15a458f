"""What is lifted out of a column into one before changes no row; what may fail, or is in a lambda, stays."""

from __future__ import annotations

import duckdb
from sqlglot import exp

from tlasql.sql import tree
from tlasql.sql.duckdb import DUCKDB
from tlasql.sql.values import eq

ROWS = """
SELECT a, b, c FROM (VALUES (TRUE), (FALSE), (NULL)) AS x (a), (VALUES (TRUE), (FALSE), (NULL)) AS y (b),
  (VALUES (1), (2), (NULL)) AS z (c)
"""


def let(name: str, value: exp.Expr, body: exp.Expr) -> exp.Expr:
    """However short the value is."""
    bound = DUCKDB.transformed(exp.Array(expressions=[value]), name, lambda _: body)
    return tree.call(DUCKDB.AT_INDEX, bound, exp.Literal.number(1))


def choice(test: exp.Expr, then: exp.Expr, other: exp.Expr) -> exp.Expr:
    return tree.case_of(test, [(exp.true(), then), (exp.false(), other)])


def rows(columns: list[exp.Expr], *, lifted: bool) -> tuple[list[object], str]:
    ctes: list[tuple[str, exp.Select]] = []
    if lifted:
        ctes, columns = DUCKDB.lifted(columns, "source", "given")
    select = exp.select("a", "b", "c", *columns).from_(ctes[-1][0] if ctes else "source")
    query = select.with_("source", as_=ROWS)
    for name, each in ctes:
        query = query.with_(name, as_=each)
    text = query.sql(dialect="duckdb")
    return sorted(duckdb.sql(text).fetchall(), key=str), text


def test_a_value_inside_a_value_is_lifted_before_it() -> None:
    both = exp.and_(tree.col("a"), tree.col("b"))
    inner = let("x", both, choice(tree.col("a"), tree.col("x"), exp.Not(this=tree.col("x"))))
    outer = let("y", inner, exp.or_(tree.col("y"), eq(tree.col("c"), exp.Literal.number(1))))
    columns: list[exp.Expr] = [
        exp.alias_(outer, "one"),
        exp.alias_(let("z", both.copy(), tree.col("z")), "two"),
    ]
    found, text = rows(columns, lifted=True)
    assert found == rows(columns, lifted=False)[0]
    assert DUCKDB.TRANSFORM not in text
    assert text.count("AS given_") + text.count("given_1 AS") == 1
    assert '"given.2"' in text
    assert '"given.3"' not in text  # equal values have one column


def test_what_may_fail_or_belongs_to_a_lambda_stays() -> None:
    """A choice may be why a division is never done."""
    halved = exp.Div(this=exp.Literal.number(4), expression=tree.col("c"))
    divided = let("x", halved, eq(tree.col("x"), tree.col("x")))
    listed = tree.call(DUCKDB.TRANSFORM, exp.Array(expressions=[tree.col("a"), tree.col("b")]))
    inner = let("y", tree.is_known(tree.col("e")), exp.or_(tree.col("y"), tree.col("a")))
    listed.append("expressions", DUCKDB.lambda_(["e"], inner))
    columns: list[exp.Expr] = [exp.alias_(divided, "one"), exp.alias_(listed, "two")]
    found, text = rows(columns, lifted=True)
    assert (found, text) == rows(columns, lifted=False)
