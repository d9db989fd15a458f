"""How values and operators of TLA+ are written in SQL, and where the engines differ in that.

Values of TLA+ are columns: integers BIGINT, sets and sequences arrays, functions maps, records and tuples
structs. NULL is a value that is not known. Among the elements of a set it is an element that may be there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from collections.abc import Mapping as Dict

from sqlglot import exp

from tlasql.lang.types import INT, Function, Record, SeqOf, SetOf, Tuple, Type
from tlasql.mapping.model import spark_type
from tlasql.sql import tree

Body = Callable[[exp.Expr], exp.Expr]
Step = Callable[[exp.Expr, exp.Expr], exp.Expr]
Names = tuple[str, str]
LARGEST_BASE = 10
"""Elements of a set whose subsets are listed."""
_SHORT = 8
"""Nodes of a tree that may as well be written twice."""


class Dialect(ABC):
    """Builds and prints trees for one engine.

    ``name`` is what sqlglot calls it. The words in capitals are its functions: of an array the number of
    elements, the element at an index, some elements in a row, those that pass a test, the image of each, the
    least and the largest, and a row for each; of two arrays a map, and of a map the value at a key.
    """

    name: str
    SIZE: str
    AT_INDEX: str
    SLICE: str
    FILTER: str
    TRANSFORM: str
    MIN: str
    MAX: str
    ROWS: str
    MAP: str
    AT_KEY: str
    SORT: str
    REVERSE: str
    ALONE_APART = False
    """Whether rows that are alone in their group are better not grouped (:mod:`tlasql.sql.alone`)."""

    def printed(self, query: exp.Expr) -> str:
        """The text of a query, laid out for reading."""
        return query.sql(dialect=self.name, pretty=True, max_text_width=100)

    def data_type(self, kind: Type) -> exp.DataType:
        """The type of a column of ``kind``."""
        return exp.DataType.build(_cased(kind), dialect="spark")

    def null(self, kind: Type) -> exp.Expr:
        """An unknown value."""
        return exp.Cast(this=exp.null(), to=self.data_type(kind))

    @abstractmethod
    def computed(self, operation: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        """A sum, difference or product of 64 bits; unknown where it has more."""

    def array(self, elements: Sequence[exp.Expr], kind: Type) -> exp.Expr:
        """An array of type ``kind``."""
        return exp.Cast(this=exp.Array(expressions=list(elements)), to=self.data_type(kind))

    def empty(self, kind: Type) -> exp.Expr:
        """The empty set, sequence or function."""
        if not isinstance(kind, Function):
            return self.array([], kind)
        none = self.array([], SetOf(kind.argument)), self.array([], SetOf(kind.result))
        return self.map_of(*none)

    @abstractmethod
    def struct(self, fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
        """A record."""

    @abstractmethod
    def field(self, record: exp.Expr, name: str) -> exp.Expr:
        """A field of a record."""

    def map_of(self, keys: exp.Expr, values: exp.Expr) -> exp.Expr:
        """A function from two arrays."""
        return tree.call(self.MAP, keys, values)

    def keys(self, function: exp.Expr) -> exp.Expr:
        """DOMAIN"""
        return tree.call("MAP_KEYS", function)

    def at_key(self, function: exp.Expr, key: exp.Expr) -> exp.Expr:
        """``function[key]``, null when there is no such key."""
        return tree.call(self.AT_KEY, function, key)

    def at_index(self, array: exp.Expr, index: exp.Expr) -> exp.Expr:
        """The element at ``index`` from 1, null beyond the ends."""
        if isinstance(index, exp.Literal) and int(index.this) >= 1:
            return tree.call(self.AT_INDEX, array, index)
        inside = exp.GTE(this=index, expression=exp.Literal.number(1))
        return tree.case([(inside, tree.call(self.AT_INDEX, array, self._index(index.copy())))])

    def _index(self, number: exp.Expr) -> exp.Expr:
        """Any number as an index of an array; null where it is too large for one."""
        return number

    def _int(self, number: exp.Expr) -> exp.Expr:
        """A number that is an index, or a length, with the type of these."""
        return number

    @abstractmethod
    def _from_one(self, at: exp.Expr) -> exp.Expr:
        """The index that a lambda is given, counted from 1."""

    @abstractmethod
    def _before(self, at: exp.Expr) -> exp.Expr:
        """How many elements are before the index that a lambda is given."""

    def size(self, array: exp.Expr) -> exp.Expr:
        """Number of elements, as BIGINT."""
        return exp.cast(tree.call(self.SIZE, array), "bigint")

    def rest(self, array: exp.Expr) -> exp.Expr:
        """The array without its first element; it has one at least."""
        # a slice may ask for more elements than are left
        return tree.call(self.SLICE, array.copy(), exp.Literal.number(2), self._int(self.size(array)))

    @abstractmethod
    def slice(self, array: exp.Expr, first: exp.Expr, length: exp.Expr) -> exp.Expr:
        """``length`` elements from ``first`` on."""

    @abstractmethod
    def concatenated(self, one: exp.Expr, other: exp.Expr) -> exp.Expr:
        """Two arrays, one after the other; null when either is."""

    @abstractmethod
    def flattened(self, arrays: exp.Expr) -> exp.Expr:
        """All elements of the arrays; null when one of them is."""

    @abstractmethod
    def between(self, low: exp.Expr, high: exp.Expr) -> exp.Expr:
        """The integers from ``low`` to ``high``."""

    def cited(self, columns: Dict[str, str], placed: Callable[[str], exp.Expr] = tree.col) -> exp.Expr:
        """The cited columns (name -> type) as one JSON object, the same text from every engine.

        ``placed`` gives the column of a name. Sessions are in UTC.
        """
        found = [(name, placed(name), kind == "timestamp") for name, kind in columns.items()]
        cited = [tree.alias(self._moment(at), name) if timed else at for name, at, timed in found]
        return tree.json_object(cited)

    def _moment(self, column: exp.Expr) -> exp.Expr:
        """A time, as it is written in JSON."""
        return column

    def lambda_(self, names: Sequence[str], body: exp.Expr) -> exp.Expr:
        """``x -> body``"""
        return exp.Lambda(this=body, expressions=[exp.to_identifier(name) for name in names])

    @abstractmethod
    def every(self, array: exp.Expr, name: str, test: Body) -> exp.Expr:
        """Kleene's conjunction over the elements."""

    @abstractmethod
    def some(self, array: exp.Expr, name: str, test: Body) -> exp.Expr:
        """Kleene's disjunction over the elements."""

    def let(self, name: str, given: exp.Expr, body: Body) -> exp.Expr:
        """``body`` of a value that is computed once; SQL has no LET, a lambda over one element is one."""
        if isinstance(given, exp.Column | exp.Literal | exp.Boolean) or len(list(given.walk())) < _SHORT:
            return body(given)
        bound = self.transformed(exp.Array(expressions=[given]), name, body)
        return tree.call(self.AT_INDEX, bound, exp.Literal.number(1))

    def lifted(
        self, columns: Sequence[exp.Expr], rows: str, name: str
    ) -> tuple[list[tuple[str, exp.Query]], list[exp.Expr]]:
        """Common table expressions over ``rows``, and the columns over the last of them: where the engine is
        slow to name a value inside a column, the value is a column before.
        """
        return [], list(columns)

    def filtered(self, array: exp.Expr, name: str, test: Body) -> exp.Expr:
        """The elements for which ``test`` is true."""
        return tree.call(self.FILTER, array, self.lambda_([name], test(tree.col(name))))

    def transformed(self, array: exp.Expr, name: str, change: Body) -> exp.Expr:
        """``change`` of each element, in order."""
        return tree.call(self.TRANSFORM, array, self.lambda_([name], change(tree.col(name))))

    def with_index(self, array: exp.Expr, name: str, change: Step) -> exp.Expr:
        """``change(element, index from 1)`` of each element."""
        index = f"{name}_at"
        body = change(tree.col(name), tree.grouped(self._from_one(tree.col(index))))
        return tree.call(self.TRANSFORM, array, self.lambda_([name, index], body))

    def distinct(self, array: exp.Expr, name: str, same: Step) -> exp.Expr:
        """Each element once: the first of those that are surely the same."""
        here, index = tree.col(name), f"{name}_at"

        def once(whole: exp.Expr) -> exp.Expr:
            before = self.slice(whole.copy(), exp.Literal.number(1), self._before(tree.col(index)))
            earlier = self.some(before, f"{name}_before", lambda each: same(each, here))
            fresh = tree.negation(tree.surely(earlier))
            return tree.call(self.FILTER, whole, self.lambda_([name, index], fresh))

        return self.let(f"{name}_all", array, once)

    def subsets(self, array: exp.Expr, name: str) -> exp.Expr:
        """Every choice among the elements, each as an array; null for more than ``LARGEST_BASE`` elements.

        The choices are numbered: bit n of a number says whether element n is chosen.
        """
        number, place = tree.col(f"{name}_choice"), f"{name}_at"
        powers = self.array([exp.Literal.number(2**bit) for bit in range(LARGEST_BASE + 1)], SetOf(INT))
        two, one = exp.Literal.number(2), exp.Literal.number(1)

        def power(elements: exp.Expr) -> exp.Expr:
            """Two to the power of one less than their number."""
            return tree.call(self.AT_INDEX, powers.copy(), self._int(elements))

        bit = exp.Paren(this=exp.IntDiv(this=number, expression=power(self._from_one(tree.col(place)))))
        chosen = exp.EQ(this=exp.Mod(this=bit, expression=two), expression=one.copy())
        choice = tree.call(self.FILTER, array.copy(), self.lambda_([name, place], chosen))
        count = power(exp.Add(this=self.size(array.copy()), expression=one.copy()))
        numbers = self.between(exp.Literal.number(0), exp.Sub(this=count, expression=one.copy()))
        every = self.transformed(numbers, f"{name}_choice", lambda _: choice)
        few = exp.LTE(this=self.size(array), expression=exp.Literal.number(LARGEST_BASE))
        return tree.case([(few, every)])

    @abstractmethod
    def summed(self, array: exp.Expr) -> exp.Expr:
        """The sum of an array without nulls; unknown where it has more than 64 bits."""

    @abstractmethod
    def multiplied(self, array: exp.Expr) -> exp.Expr:
        """The product of an array without nulls; unknown where it, or a product before it, has more than 64
        bits.
        """

    def _product(self) -> exp.Expr:
        """The product of a product so far and the next factor, as a lambda of both."""
        both = self.computed(exp.Mul, tree.col("product_"), tree.col("part_"))
        return self.lambda_(["product_", "part_"], both)

    def in_order(self, array: exp.Expr) -> exp.Expr:
        """The numbers of an array without nulls, the least first."""
        return tree.call(self.SORT, array)

    def reversed(self, array: exp.Expr) -> exp.Expr:
        """The elements from the last to the first."""
        return tree.call(self.REVERSE, array)

    @abstractmethod
    def folded(self, array: exp.Expr, start: exp.Expr, names: Names, step: Step, kind: Type) -> exp.Expr:
        """What ``step(value so far, number)`` makes of ``start``, a value of type ``kind``, for each number
        of an array, in order. ``names`` of both.
        """

    def extreme(self, array: exp.Expr, largest: bool) -> exp.Expr:
        """The largest or smallest element, null of an empty array."""
        return tree.call(self.MAX if largest else self.MIN, array)

    def rows(self, array: exp.Expr) -> exp.Expr:
        """One row per element, in a SELECT list."""
        return tree.call(self.ROWS, array)

    def elements(self, array: exp.Expr, kind: Type) -> exp.Expr:
        """The same; one null element where the array is not known."""
        unknown = exp.Cast(this=exp.Array(expressions=[exp.null()]), to=self.data_type(SetOf(kind)))
        return self.rows(exp.Coalesce(this=array, expressions=[unknown]))

    @abstractmethod
    def collected(self, column: exp.Expr) -> exp.Expr:
        """The column's values over a group, nulls kept."""

    def collected_map(self, key: exp.Expr, value: exp.Expr) -> exp.Expr:
        """The function of a group's keys and values; null where a key is not known."""
        gathered = tree.call("MAP_FROM_ENTRIES", self._entries(key, value))
        every = exp.Count(this=exp.Star())
        return tree.case([(exp.EQ(this=every, expression=exp.Count(this=key.copy())), gathered)])

    @abstractmethod
    def _entries(self, key: exp.Expr, value: exp.Expr) -> exp.Expr:
        """The pairs of key and value over a group, as an array."""


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
