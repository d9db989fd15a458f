"""Groups of one row: what an aggregate of one row is, and a query that groups the other rows only.

Nearly every element has met one state. For each group DuckDB keeps the states of all aggregates, which takes
longer than the rest of the query, and more memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tlasql.sql import tree
from tlasql.sql.rows import Ctes

_OF_THE_ROW = ("BOOL_AND", "BOOL_OR", "MIN_BY")


def apart(name: str, grouped: exp.Select, rows: str, table: str, key: Sequence[str]) -> Ctes:
    """``grouped``, a query of ``rows`` grouped by ``key``, but rows that are alone in their group are not
    grouped. The rows of ``table`` have the same keys as ``rows``.
    """
    several = f"several_{name}"
    columns = [tree.col(each) for each in key]
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    found = exp.select(*columns).from_(tree.table(table)).group_by(*(each.copy() for each in columns))
    # a group may be that of null
    same = [exp.NullSafeEQ(this=tree.col(each, several), expression=tree.col(each, rows)) for each in key]
    is_several = exp.Exists(
        this=exp.select("1").from_(tree.table(several)).where(tree.all_of(same), copy=False)
    )
    alone = _of_one_row(grouped).where(exp.Not(this=is_several.copy()))
    return [
        (several, found.having(many)),
        (name, exp.union(alone, grouped.where(is_several), distinct=False, copy=False)),
    ]


def _of_one_row(grouped: exp.Select) -> exp.Select:
    """The columns of ``grouped`` for a group of one row."""
    found = grouped.copy().transform(_plain, copy=False)
    assert isinstance(found, exp.Select)
    assert not any(each.find(exp.AggFunc) for each in found.expressions), "an aggregate without a group"
    found.set("group", None)
    return found


def _plain(node: exp.Expr) -> exp.Expr:
    of_the_row: exp.Expr = node
    match node:
        case exp.Count(this=exp.Star()):
            of_the_row = exp.cast(exp.Literal.number(1), "bigint")
        case exp.Count():
            of_the_row = exp.cast(tree.is_known(node.this), "bigint")
        case exp.Min() | exp.Max() | exp.AnyValue():
            of_the_row = node.this
        case exp.Anonymous() if node.this in _OF_THE_ROW:
            of_the_row = node.expressions[0]
    return of_the_row
