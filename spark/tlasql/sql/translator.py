"""The translation of one expression: the columns it reads, and what its quantified variables stand for. All
parts of the translation share it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import count

from sqlglot import exp

from tlasql.lang.errors import Location, fail
from tlasql.lang.ir import E_, Bound, Expr, Op, put, rebuild
from tlasql.lang.types import INT, SeqOf, Type
from tlasql.sql import tree
from tlasql.sql.dialect import Dialect
from tlasql.sql.equality import certain, equal

MOST_PARTS = 2_000
"""What one predicate may have when each of its parts is counted as often as it is written. Definitions of
published modules have some tens; beyond a few thousand an engine takes minutes to read the query.
"""
Columns = Mapping[str, exp.Expr]


class Translator(ABC):
    """Translates the parts of one expression; quantified variables become parameters of lambdas.

    ``columns`` has the column of every state expression by its TLA+ text.
    """

    def __init__(self, columns: Columns, dialect: Dialect) -> None:
        self.dialect = dialect
        self.columns = columns
        self.bound: dict[int, exp.Expr] = {}
        self.fresh = tree.parameters(each.name for each in columns.values() if isinstance(each, exp.Column))
        self._uids = count(-(10**9), -1)
        self.parts = 0
        """how many parts of expressions have been translated, each as often as it is written"""

    @abstractmethod
    def of(self, expr: Expr) -> exp.Expr:
        """The value of an expression."""

    @abstractmethod
    def has_field(self, record: Expr, name: str) -> exp.Expr:
        r"""``"name" \in DOMAIN record``"""

    def count(self, expr: Expr) -> None:
        """One more part. Raises TlaSqlError where they are too many."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            message = f"written as SQL this has more than {MOST_PARTS:,} parts"
            remedy = "each set is written out wherever it is asked for: split the definition"
            raise fail(expr.location, message, remedy)

    def sized(self, expr: Expr) -> exp.Expr:
        """The value, integers as BIGINT: what is put into sets, records and functions."""
        return big(self.of(expr)) if expr.type == INT else self.of(expr)

    def variable(self, location: Location, name: str, kind: Type) -> Bound:
        """A quantified variable that the specification does not have."""
        return Bound(location, name, next(self._uids), type=kind)

    def bound_to(self, variable: Bound) -> exp.Expr:
        """The SQL that a quantified variable stands for here."""
        return self.bound[variable.uid].copy()

    def inside(self, variable: Bound, element: exp.Expr, body: Callable[[], exp.Expr]) -> exp.Expr:
        """``body`` with a quantified variable bound to ``element``.

        It may be bound already: two quantifiers, one in the other, may range over one filtered set.
        """
        outer = dict(self.bound)
        self.bound[variable.uid] = element
        try:
            return body()
        finally:
            self.bound = outer

    def once(self, places: Expr, expr: E_, translated: Callable[[E_], exp.Expr]) -> exp.Expr:
        """An expression over the places of a sequence, which is computed once, and not for each of them."""
        match places:
            case Op(symbol="DOMAIN", arguments=(Op(type=SeqOf() as kind) as over,)):
                pass
            case Op(
                symbol="..", arguments=(_, Op(symbol="Len", arguments=(Op(type=SeqOf() as kind) as over,)))
            ):
                pass
            case _:
                return translated(expr)
        name = self.variable(expr.location, "over", kind)
        inner = rebuild(expr, lambda part: put(part, lambda each: each == over, name))
        bound = lambda found: self.inside(name, found, lambda: translated(inner))  # noqa: E731
        return self.dialect.let(self.fresh("over"), self.of(over), bound)

    def same(self, left: exp.Expr, right: exp.Expr, kind: Type) -> exp.Expr:
        """Kleene's equality of two values of one type."""
        return equal(left, right, kind, self.dialect, self.fresh)

    def known(self, found: exp.Expr, kind: Type) -> exp.Expr:
        """TRUE where nothing inside the value is unknown."""
        return certain(found, kind, self.dialect, self.fresh)


def big(part: exp.Expr) -> exp.Expr:
    """64-bit arithmetic: an overflow is an error on both engines, never a wrap."""
    return exp.cast(part, "bigint")
