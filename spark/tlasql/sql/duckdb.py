"""How values and operators are written for DuckDB."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tlasql.lang.types import Type
from tlasql.sql import tree
from tlasql.sql.dialect import Body, Dialect, Names, Step
from tlasql.sql.lifting import Before, Lifting


class DuckDb(Dialect):
    """DuckDB: any integer is an index of an array; its aggregates pass over nulls."""

    name = "duckdb"
    SIZE, AT_INDEX, SLICE = "LEN", "LIST_EXTRACT", "LIST_SLICE"
    FILTER, TRANSFORM, ROWS = "LIST_FILTER", "LIST_TRANSFORM", "UNNEST"
    MIN, MAX = "LIST_MIN", "LIST_MAX"
    MAP, AT_KEY = "MAP", "MAP_EXTRACT_VALUE"
    SORT, REVERSE = "LIST_SORT", "LIST_REVERSE"
    ALONE_APART = True

    def printed(self, query: exp.Expr) -> str:
        return super().printed(query.copy().transform(_in_its_words, copy=False))

    def computed(self, operation: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return tree.call("TRY", operation(this=left, expression=right))

    def struct(self, fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
        return exp.Struct(
            expressions=[exp.PropertyEQ(this=tree.name(name), expression=value) for name, value in fields]
        )

    def field(self, record: exp.Expr, name: str) -> exp.Expr:
        return tree.call("STRUCT_EXTRACT", record, tree.string(name))

    def _from_one(self, at: exp.Expr) -> exp.Expr:
        return at

    def _before(self, at: exp.Expr) -> exp.Expr:
        return exp.Sub(this=at, expression=exp.Literal.number(1))

    def lifted(
        self, columns: Sequence[exp.Expr], rows: str, name: str
    ) -> tuple[list[tuple[str, exp.Query]], list[exp.Expr]]:
        before = Before(name)
        found = Lifting(before, self.TRANSFORM, self.AT_INDEX).lifted(columns)
        return before.selects(rows), found

    def slice(self, array: exp.Expr, first: exp.Expr, length: exp.Expr) -> exp.Expr:
        last = exp.Sub(this=exp.Add(this=first, expression=length), expression=exp.Literal.number(1))
        return tree.call(self.SLICE, array, first.copy(), last)

    def concatenated(self, one: exp.Expr, other: exp.Expr) -> exp.Expr:
        return exp.DPipe(this=tree.grouped(one), expression=tree.grouped(other))

    def flattened(self, arrays: exp.Expr) -> exp.Expr:
        """FLATTEN passes over arrays that are null."""

        def flat(found: exp.Expr) -> exp.Expr:
            return tree.case(
                [(self.every(found, "inner_", tree.is_known), tree.call("FLATTEN", found.copy()))]
            )

        return self.let("arrays_", arrays, flat)

    def between(self, low: exp.Expr, high: exp.Expr) -> exp.Expr:
        return tree.call("GENERATE_SERIES", exp.cast(low, "bigint"), exp.cast(high, "bigint"))

    def _moment(self, column: exp.Expr) -> exp.Expr:
        return tree.call("STRFTIME", column, tree.string("%Y-%m-%dT%H:%M:%S.%gZ"))

    def every(self, array: exp.Expr, name: str, test: Body) -> exp.Expr:
        return self._folded(array, name, test(tree.col(name)), exp.And, exp.true())

    def some(self, array: exp.Expr, name: str, test: Body) -> exp.Expr:
        return self._folded(array, name, test(tree.col(name)), exp.Or, exp.false())

    def _folded(
        self, array: exp.Expr, name: str, test: exp.Expr, connective: type[exp.Connector], start: exp.Expr
    ) -> exp.Expr:
        """By AND and OR, which do not pass over nulls."""
        tested = tree.call(self.TRANSFORM, array, self.lambda_([name], test))
        both = connective(this=tree.col("p_"), expression=tree.col("q_"))
        return tree.call("LIST_REDUCE", tested, self.lambda_(["p_", "q_"], both), start)

    def folded(self, array: exp.Expr, start: exp.Expr, names: Names, step: Step, kind: Type) -> exp.Expr:
        """LIST_REDUCE wants values of the type of the elements: both are pairs of a value and a number."""
        value, number = names
        so_far, here = self.field(tree.col(value), "value"), self.field(tree.col(number), "at")

        def pair(value: exp.Expr, at: exp.Expr) -> exp.Expr:
            typed = exp.Cast(this=value, to=self.data_type(kind))
            return self.struct([("value", typed), ("at", exp.cast(at, "bigint"))])

        places = self.transformed(array, number, lambda at: pair(exp.null(), at))
        next_ = self.lambda_([value, number], pair(step(so_far, here), here.copy()))
        return self.field(tree.call("LIST_REDUCE", places, next_, pair(start, exp.null())), "value")

    def summed(self, array: exp.Expr) -> exp.Expr:
        zero = exp.cast(exp.Literal.number(0), "bigint")
        whole = exp.Coalesce(this=tree.call("LIST_SUM", array), expressions=[zero])
        found = exp.TryCast(this=whole, to=exp.DataType.build("bigint"))
        return tree.case([(tree.is_known(array.copy()), found)])

    def multiplied(self, array: exp.Expr) -> exp.Expr:
        one = exp.cast(exp.Literal.number(1), "bigint")
        return tree.call("LIST_REDUCE", array, self._product(), one)

    def collected(self, column: exp.Expr) -> exp.Expr:
        return tree.call("LIST", column)

    def _entries(self, key: exp.Expr, value: exp.Expr) -> exp.Expr:
        return tree.call("LIST", tree.call("ROW", key, value))


def _in_its_words(node: exp.Expr) -> exp.Expr:
    """Translates the functions that the builders of :mod:`tlasql.sql.tree` name as Spark does."""
    if not isinstance(node, exp.Anonymous):
        return node
    match str(node.this).upper():
        case "TO_JSON":
            parts = []
            for column in node.expressions[0].expressions:
                parts += [
                    tree.string(column.alias_or_name),
                    column.this if isinstance(column, exp.Alias) else column,
                ]
            return exp.cast(tree.call("JSON_OBJECT", *parts), "string")
        case "MIN_BY":
            return tree.call("ARG_MIN", *node.expressions)
        case _:
            return node


DUCKDB = DuckDb()
