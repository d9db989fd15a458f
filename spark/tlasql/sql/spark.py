"""How values and operators are written for Spark."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tlasql.lang.types import Type
from tlasql.sql import tree
from tlasql.sql.dialect import Body, Dialect, Names, Step

_TRIED = {exp.Add: "TRY_ADD", exp.Sub: "TRY_SUBTRACT", exp.Mul: "TRY_MULTIPLY"}


class Spark(Dialect):
    """Spark SQL: indexes of arrays are INT; FORALL and EXISTS are Kleene's."""

    name = "spark"
    SIZE, AT_INDEX, SLICE = "SIZE", "TRY_ELEMENT_AT", "SLICE"
    FILTER, TRANSFORM, ROWS = "FILTER", "TRANSFORM", "EXPLODE"
    MIN, MAX = "ARRAY_MIN", "ARRAY_MAX"
    MAP, AT_KEY = "MAP_FROM_ARRAYS", "TRY_ELEMENT_AT"
    SORT, REVERSE = "SORT_ARRAY", "REVERSE"

    def computed(self, operation: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return tree.call(_TRIED[operation], left, right)

    def struct(self, fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
        named = [part for name, value in fields for part in (tree.string(name), value)]
        return tree.call("NAMED_STRUCT", *named)

    def field(self, record: exp.Expr, name: str) -> exp.Expr:
        inner = record if isinstance(record, exp.Column | exp.Dot) else exp.Paren(this=record)
        return exp.Dot(this=inner, expression=exp.to_identifier(name, quoted=True))

    def _index(self, number: exp.Expr) -> exp.Expr:
        return exp.TryCast(this=number, to=exp.DataType.build("int", dialect="spark"))

    def _int(self, number: exp.Expr) -> exp.Expr:
        return exp.cast(number, "int")

    def _from_one(self, at: exp.Expr) -> exp.Expr:
        return exp.Add(this=at, expression=exp.Literal.number(1))

    def _before(self, at: exp.Expr) -> exp.Expr:
        return self._int(at)

    def slice(self, array: exp.Expr, first: exp.Expr, length: exp.Expr) -> exp.Expr:
        return tree.call(self.SLICE, array, self._int(first), self._int(length))

    def concatenated(self, one: exp.Expr, other: exp.Expr) -> exp.Expr:
        return tree.call("CONCAT", one, other)

    def flattened(self, arrays: exp.Expr) -> exp.Expr:
        return tree.call("FLATTEN", arrays)

    def between(self, low: exp.Expr, high: exp.Expr) -> exp.Expr:
        """SEQUENCE counts down where ``high`` is below ``low``."""
        low, high = exp.cast(low, "bigint"), exp.cast(high, "bigint")
        some = exp.LTE(this=low.copy(), expression=high.copy())
        none = exp.Cast(
            this=exp.Array(expressions=[]), to=exp.DataType.build("array<bigint>", dialect="spark")
        )
        series = tree.call("SEQUENCE", low, high)
        return tree.case([(some, series), (tree.negation(exp.Paren(this=some.copy())), none)])

    def every(self, array: exp.Expr, name: str, test: Body) -> exp.Expr:
        return tree.call("FORALL", array, self.lambda_([name], test(tree.col(name))))

    def some(self, array: exp.Expr, name: str, test: Body) -> exp.Expr:
        return tree.call("EXISTS", array, self.lambda_([name], test(tree.col(name))))

    def folded(self, array: exp.Expr, start: exp.Expr, names: Names, step: Step, kind: Type) -> exp.Expr:
        def typed(value: exp.Expr) -> exp.Expr:
            return exp.Cast(this=value, to=self.data_type(kind))

        value, number = names
        next_ = self.lambda_([value, number], typed(step(tree.col(value), tree.col(number))))
        return tree.call("AGGREGATE", array, typed(start), next_)

    def summed(self, array: exp.Expr) -> exp.Expr:
        zero = exp.cast(exp.Literal.number(0), "bigint")
        added = self.computed(exp.Add, tree.col("total_"), tree.col("part_"))
        return tree.call("AGGREGATE", array, zero, self.lambda_(["total_", "part_"], added))

    def multiplied(self, array: exp.Expr) -> exp.Expr:
        one = exp.cast(exp.Literal.number(1), "bigint")
        return tree.call("AGGREGATE", array, one, self._product())

    def collected(self, column: exp.Expr) -> exp.Expr:
        """COLLECT_LIST passes over nulls, and so not over structs that hold them."""
        boxed = tree.call("COLLECT_LIST", self.struct([("v", column)]))
        return self.transformed(boxed, "boxed_", lambda each: self.field(each, "v"))

    def _entries(self, key: exp.Expr, value: exp.Expr) -> exp.Expr:
        return tree.call("COLLECT_LIST", self.struct([("k", key), ("v", value)]))


SPARK = Spark()
