"""The two engines that run compiled definitions: how each says what SQL has no common word for.

Values of TLA+ are columns: integers BIGINT, sets and sequences arrays, functions maps, records and tuples
structs. NULL is what is not known. Among the elements of a set it stands for one that may be there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as Dict
from dataclasses import dataclass

from sqlglot import exp

from tlasql import tree
from tlasql.mapping import spark_type
from tlasql.types import INT, Function, Record, SeqOf, SetOf, Tuple, Type

Body = Callable[[exp.Expr], exp.Expr]
_TRIED = {exp.Add: "TRY_ADD", exp.Sub: "TRY_SUBTRACT", exp.Mul: "TRY_MULTIPLY"}
LARGEST_BASE = 10
"""Elements of a set whose subsets are listed."""
_SHORT = 8
"""Nodes of a tree that may as well be written twice."""


@dataclass(frozen=True)
class Dialect:
    """Builds and prints trees for one engine; ``name`` is what sqlglot calls it."""

    name: str

    @property
    def spark(self) -> bool:
        """Spark, else DuckDB."""
        return self.name == "spark"

    def printed(self, query: exp.Expr) -> str:
        """The text of a query, laid out for reading."""
        found = query if self.spark else query.copy().transform(_for_duckdb, copy=False)
        return found.sql(dialect=self.name, pretty=True, max_text_width=100)

    def data_type(self, kind: Type) -> exp.DataType:
        """The type of a column of ``kind``."""
        return exp.DataType.build(_cased(kind), dialect="spark")

    def null(self, kind: Type) -> exp.Expr:
        """An unknown value."""
        return exp.Cast(this=exp.null(), to=self.data_type(kind))

    def computed(self, operation: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        """A sum, difference or product of 64 bits; unknown where it has more."""
        if self.spark:
            return tree.call(_TRIED[operation], left, right)
        return tree.call("TRY", operation(this=left, expression=right))

    def array(self, elements: Sequence[exp.Expr], kind: Type) -> exp.Expr:
        """An array of type ``kind``."""
        return exp.Cast(this=exp.Array(expressions=list(elements)), to=self.data_type(kind))

    def empty(self, kind: Type) -> exp.Expr:
        """The empty set, sequence or function."""
        if not isinstance(kind, Function):
            return self.array([], kind)
        none = self.array([], SetOf(kind.argument)), self.array([], SetOf(kind.result))
        return self.map_of(*none)

    def struct(self, fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
        """A record."""
        if self.spark:
            named = [part for name, value in fields for part in (tree.string(name), value)]
            return tree.call("NAMED_STRUCT", *named)
        return exp.Struct(
            expressions=[exp.PropertyEQ(this=tree.name(name), expression=value) for name, value in fields]
        )

    def field(self, record: exp.Expr, name: str) -> exp.Expr:
        """A field of a record."""
        if self.spark:
            inner = record if isinstance(record, exp.Column | exp.Dot) else exp.Paren(this=record)
            return exp.Dot(this=inner, expression=exp.to_identifier(name, quoted=True))
        return tree.call("STRUCT_EXTRACT", record, tree.string(name))

    def map_of(self, keys: exp.Expr, values: exp.Expr) -> exp.Expr:
        """A function from two arrays."""
        return tree.call("MAP_FROM_ARRAYS" if self.spark else "MAP", keys, values)

    def keys(self, function: exp.Expr) -> exp.Expr:
        """DOMAIN"""
        return tree.call("MAP_KEYS", function)

    def at_key(self, function: exp.Expr, key: exp.Expr) -> exp.Expr:
        """``function[key]``, null when there is no such key."""
        return tree.call("TRY_ELEMENT_AT" if self.spark else "MAP_EXTRACT_VALUE", function, key)

    def at_index(self, array: exp.Expr, index: exp.Expr) -> exp.Expr:
        """The element at ``index`` from 1, null beyond the ends."""
        if isinstance(index, exp.Literal) and int(index.this) >= 1:
            return tree.call("TRY_ELEMENT_AT" if self.spark else "LIST_EXTRACT", array, index)
        inside = exp.GTE(this=index, expression=exp.Literal.number(1))
        place = exp.TryCast(this=index.copy(), to=exp.DataType.build("int", dialect="spark"))
        found = tree.call("TRY_ELEMENT_AT", array, place)
        if not self.spark:
            found = tree.call("LIST_EXTRACT", array, index.copy())
        return tree.case([(inside, found)])

    def size(self, array: exp.Expr) -> exp.Expr:
        """Number of elements, as BIGINT."""
        return exp.cast(tree.call("SIZE" if self.spark else "LEN", array), "bigint")

    def rest(self, array: exp.Expr) -> exp.Expr:
        """All elements but the first, of an array that has one; its length is more than are left."""
        size = exp.cast(self.size(array), "int") if self.spark else self.size(array)
        return tree.call("SLICE" if self.spark else "LIST_SLICE", array.copy(), exp.Literal.number(2), size)

    def slice(self, array: exp.Expr, first: exp.Expr, length: exp.Expr) -> exp.Expr:
        """``length`` elements from ``first`` on."""
        if self.spark:
            return tree.call("SLICE", array, exp.cast(first, "int"), exp.cast(length, "int"))
        last = exp.Sub(this=exp.Add(this=first, expression=length), expression=exp.Literal.number(1))
        return tree.call("LIST_SLICE", array, first.copy(), last)

    def concatenated(self, one: exp.Expr, other: exp.Expr) -> exp.Expr:
        """Two arrays, one after the other; null when either is."""
        if self.spark:
            return tree.call("CONCAT", one, other)
        return exp.DPipe(this=tree.grouped(one), expression=tree.grouped(other))

    def flattened(self, arrays: exp.Expr) -> exp.Expr:
        """All elements of the arrays; null when one of them is."""
        if self.spark:
            return tree.call("FLATTEN", arrays)

        def flat(found: exp.Expr) -> exp.Expr:
            return tree.case(
                [(self.every(found, "inner_", tree.is_known), tree.call("FLATTEN", found.copy()))]
            )

        return self.let("arrays_", arrays, flat)

    def between(self, low: exp.Expr, high: exp.Expr) -> exp.Expr:
        """The integers from ``low`` to ``high``."""
        if not self.spark:
            return tree.call("GENERATE_SERIES", exp.cast(low, "bigint"), exp.cast(high, "bigint"))
        low, high = exp.cast(low, "bigint"), exp.cast(high, "bigint")
        some = exp.LTE(this=low.copy(), expression=high.copy())
        none = exp.Cast(
            this=exp.Array(expressions=[]), to=exp.DataType.build("array<bigint>", dialect="spark")
        )
        series = tree.call("SEQUENCE", low, high)
        return tree.case([(some, series), (tree.negation(exp.Paren(this=some.copy())), none)])

    def cited(self, columns: Dict[str, str], placed: Callable[[str], exp.Expr] = tree.col) -> exp.Expr:
        """The cited columns (name -> type) as one JSON object, alike in both engines.

        ``placed`` gives the column of a name. Sessions are in UTC.
        """
        found = [(name, placed(name), kind == "timestamp") for name, kind in columns.items()]
        cited = [tree.alias(self._moment(at), name) if timed else at for name, at, timed in found]
        return tree.json_object(cited)

    def _moment(self, column: exp.Expr) -> exp.Expr:
        if self.spark:
            return column
        return tree.call("STRFTIME", column, tree.string("%Y-%m-%dT%H:%M:%S.%gZ"))

    def lambda_(self, names: Sequence[str], body: exp.Expr) -> exp.Expr:
        """``x -> body``"""
        return exp.Lambda(this=body, expressions=[exp.to_identifier(name) for name in names])

    def every(self, array: exp.Expr, name: str, test: Body) -> exp.Expr:
        """Kleene's conjunction over the elements."""
        if self.spark:
            return tree.call("FORALL", array, self.lambda_([name], test(tree.col(name))))
        return self._folded(array, name, test(tree.col(name)), exp.And, exp.true())

    def some(self, array: exp.Expr, name: str, test: Body) -> exp.Expr:
        """Kleene's disjunction over the elements."""
        if self.spark:
            return tree.call("EXISTS", array, self.lambda_([name], test(tree.col(name))))
        return self._folded(array, name, test(tree.col(name)), exp.Or, exp.false())

    def _folded(
        self, array: exp.Expr, name: str, test: exp.Expr, connective: type[exp.Connector], start: exp.Expr
    ) -> exp.Expr:
        """DuckDB's aggregates skip nulls; its AND and OR do not."""
        tested = tree.call("LIST_TRANSFORM", array, self.lambda_([name], test))
        both = connective(this=tree.col("p_"), expression=tree.col("q_"))
        return tree.call("LIST_REDUCE", tested, self.lambda_(["p_", "q_"], both), start)

    def let(self, name: str, given: exp.Expr, body: Body) -> exp.Expr:
        """``body`` of a value that is computed once; SQL has no LET, a lambda over one element is one."""
        if isinstance(given, exp.Column | exp.Literal | exp.Boolean) or len(list(given.walk())) < _SHORT:
            return body(given)
        one = exp.Array(expressions=[given])
        function = "TRANSFORM" if self.spark else "LIST_TRANSFORM"
        bound = tree.call(function, one, self.lambda_([name], body(tree.col(name))))
        return tree.call("TRY_ELEMENT_AT" if self.spark else "LIST_EXTRACT", bound, exp.Literal.number(1))

    def filtered(self, array: exp.Expr, name: str, test: Body) -> exp.Expr:
        """The elements for which ``test`` is true."""
        function = "FILTER" if self.spark else "LIST_FILTER"
        return tree.call(function, array, self.lambda_([name], test(tree.col(name))))

    def transformed(self, array: exp.Expr, name: str, change: Body) -> exp.Expr:
        """``change`` of each element, in order."""
        function = "TRANSFORM" if self.spark else "LIST_TRANSFORM"
        return tree.call(function, array, self.lambda_([name], change(tree.col(name))))

    def with_index(
        self, array: exp.Expr, name: str, change: Callable[[exp.Expr, exp.Expr], exp.Expr]
    ) -> exp.Expr:
        """``change(element, index from 1)`` of each element."""
        index = tree.col(f"{name}_at")
        counted = (
            exp.Paren(this=exp.Add(this=index, expression=exp.Literal.number(1))) if self.spark else index
        )
        body = change(tree.col(name), counted)
        function = "TRANSFORM" if self.spark else "LIST_TRANSFORM"
        return tree.call(function, array, self.lambda_([name, f"{name}_at"], body))

    def distinct(
        self, array: exp.Expr, name: str, same: Callable[[exp.Expr, exp.Expr], exp.Expr]
    ) -> exp.Expr:
        """Each element once: the first of those that are surely the same."""
        here, index = tree.col(name), tree.col(f"{name}_at")
        one = exp.Literal.number(1)
        count = exp.cast(index, "int") if self.spark else exp.Sub(this=index, expression=one)

        def once(whole: exp.Expr) -> exp.Expr:
            before = self.slice(whole.copy(), one.copy(), count)
            earlier = self.some(before, f"{name}_before", lambda each: same(each, here))
            fresh = tree.negation(tree.surely(earlier))
            function = "FILTER" if self.spark else "LIST_FILTER"
            return tree.call(function, whole, self.lambda_([name, f"{name}_at"], fresh))

        return self.let(f"{name}_all", array, once)

    def subsets(self, array: exp.Expr, name: str) -> exp.Expr:
        """Every choice among the elements, each as an array; null for more than ``LARGEST_BASE`` elements.

        The choices are numbered: bit n of a number says whether element n is chosen.
        """
        number, place = tree.col(f"{name}_choice"), tree.col(f"{name}_at")
        powers = self.array([exp.Literal.number(2**bit) for bit in range(LARGEST_BASE + 1)], SetOf(INT))
        two, one = exp.Literal.number(2), exp.Literal.number(1)

        def power(elements: exp.Expr) -> exp.Expr:
            """Two to the power of one less than their number."""
            if self.spark:
                return tree.call("TRY_ELEMENT_AT", powers.copy(), exp.cast(elements, "int"))
            return tree.call("LIST_EXTRACT", powers.copy(), elements)

        counted = exp.Add(this=place, expression=one) if self.spark else place
        bit = exp.Paren(this=exp.IntDiv(this=number, expression=power(counted)))
        chosen = exp.EQ(this=exp.Mod(this=bit, expression=two), expression=one.copy())
        function = "FILTER" if self.spark else "LIST_FILTER"
        choice = tree.call(function, array.copy(), self.lambda_([name, f"{name}_at"], chosen))
        count = power(exp.Add(this=self.size(array.copy()), expression=one.copy()))
        numbers = self.between(exp.Literal.number(0), exp.Sub(this=count, expression=one.copy()))
        every = self.transformed(numbers, f"{name}_choice", lambda _: choice)
        few = exp.LTE(this=self.size(array), expression=exp.Literal.number(LARGEST_BASE))
        return tree.case([(few, every)])

    def summed(self, array: exp.Expr) -> exp.Expr:
        """The sum of an array without nulls; unknown where it has more than 64 bits."""
        zero = exp.cast(exp.Literal.number(0), "bigint")
        if self.spark:
            added = self.computed(exp.Add, tree.col("total_"), tree.col("part_"))
            return tree.call("AGGREGATE", array, zero, self.lambda_(["total_", "part_"], added))
        whole = exp.Coalesce(this=tree.call("LIST_SUM", array), expressions=[zero])
        found = exp.TryCast(this=whole, to=exp.DataType.build("bigint"))
        return tree.case([(tree.is_known(array.copy()), found)])

    def multiplied(self, array: exp.Expr) -> exp.Expr:
        """The product of an array without nulls; unknown where it, or a product before it, has more than 64
        bits.
        """
        one = exp.cast(exp.Literal.number(1), "bigint")
        both = self.lambda_(
            ["product_", "part_"], self.computed(exp.Mul, tree.col("product_"), tree.col("part_"))
        )
        if self.spark:
            return tree.call("AGGREGATE", array, one, both)
        return tree.call("LIST_REDUCE", array, both, one)

    def extreme(self, array: exp.Expr, largest: bool) -> exp.Expr:
        """The largest or smallest element, null of an empty array."""
        stem = "ARRAY_" if self.spark else "LIST_"
        return tree.call(stem + ("MAX" if largest else "MIN"), array)

    def elements(self, array: exp.Expr, kind: Type) -> exp.Expr:
        """One row per element, in a SELECT list; one null element where the array is not known."""
        unknown = exp.Cast(this=exp.Array(expressions=[exp.null()]), to=self.data_type(SetOf(kind)))
        known = exp.Coalesce(this=array, expressions=[unknown])
        return tree.call("EXPLODE" if self.spark else "UNNEST", known)

    def collected(self, column: exp.Expr) -> exp.Expr:
        """The column's values over a group, nulls kept."""
        if not self.spark:
            return tree.call("LIST", column)
        boxed = tree.call("COLLECT_LIST", tree.call("NAMED_STRUCT", tree.string("v"), column))
        return self.transformed(boxed, "boxed_", lambda each: self.field(each, "v"))

    def collected_map(self, key: exp.Expr, value: exp.Expr) -> exp.Expr:
        """The function of a group's keys and values; null where a key is not known."""
        if self.spark:
            pair = tree.call("NAMED_STRUCT", tree.string("k"), key, tree.string("v"), value)
            gathered = tree.call("MAP_FROM_ENTRIES", tree.call("COLLECT_LIST", pair))
        else:
            gathered = tree.call("MAP_FROM_ENTRIES", tree.call("LIST", tree.call("ROW", key, value)))
        every = exp.Count(this=exp.Star())
        return tree.case([(exp.EQ(this=every, expression=exp.Count(this=key.copy())), gathered)])


SPARK, DUCKDB = Dialect("spark"), Dialect("duckdb")
DIALECTS = {each.name: each for each in (SPARK, DUCKDB)}


def _cased(kind: Type) -> str:
    """The Spark type with the fields' own spelling."""
    match kind:
        case Record(stored=stored):
            return "struct<" + ",".join(f"`{name}`:{_cased(part)}" for name, part in stored) + ">"
        case Tuple(parts=parts):
            return "struct<" + ",".join(f"_{n}:{_cased(part)}" for n, part in enumerate(parts, 1)) + ">"
        case Function(argument=argument, result=result):
            return f"map<{_cased(argument)},{_cased(result)}>"
        case SetOf(element=element) | SeqOf(element=element):
            return f"array<{_cased(element)}>"
        case _:
            return spark_type(kind)


def _for_duckdb(node: exp.Expr) -> exp.Expr:
    """What the builders of :mod:`tlasql.tree` write in Spark's words."""
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
