"""Sizes and sums of sets: each element counts once, and the result is known only if the set is."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tlasql.lang.ir import Expr, Op, Quantified
from tlasql.lang.shapes import FLIPPED, counts, element_of, repeats, type_of
from tlasql.lang.types import Function, SeqOf, SetOf, Type
from tlasql.sql import tree
from tlasql.sql.dialect import Body
from tlasql.sql.translator import Translator

COMPARED = {"<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}


class Counting:
    """The part of a translation that counts."""

    def __init__(self, values: Translator) -> None:
        self._values, self._dialect = values, values.dialect

    def compared(self, symbol: str, left: Expr, right: Expr) -> exp.Expr:
        """``Cardinality(S)`` compared with a number: the part of S that is known may decide."""
        if counts(right):
            return self.compared(FLIPPED[symbol], right, left)
        assert isinstance(left, Op)
        values, dialect, element = self._values, self._dialect, element_of(left.arguments[0])
        number = values.of(right)

        def decided(array: exp.Expr, count: exp.Expr) -> exp.Expr:
            sure = dialect.filtered(array.copy(), values.fresh("e"), lambda each: values.known(each, element))
            least, most = dialect.size(sure), dialect.size(array.copy())
            if symbol == "=":
                beyond = [exp.GT(this=least, expression=count), exp.LT(this=most, expression=count.copy())]
                exact = [
                    exp.EQ(this=least.copy(), expression=count.copy()),
                    exp.EQ(this=most.copy(), expression=count.copy()),
                ]
                return tree.case([(tree.any_of(beyond), exp.false()), (tree.all_of(exact), exp.true())])
            enough, possible = (least, most) if symbol in (">", ">=") else (most, least)
            surely_true = COMPARED[symbol](this=enough, expression=count.copy())
            possibly_true = COMPARED[symbol](this=possible, expression=count.copy())
            return tree.case([(surely_true, exp.true()), (tree.negation(possibly_true), exp.false())])

        return dialect.let(
            values.fresh("all"),
            self.once(left.arguments[0]),
            lambda array: dialect.let(values.fresh("n"), number, lambda n: decided(array, n)),
        )

    def cardinality(self, counted: Expr) -> exp.Expr:
        return self.when_known(counted, self._dialect.size, self.once(counted))

    def of_images(self, function: Expr, measure: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
        """The sum, or another measure, of f[x] for x in DOMAIN f."""
        values, dialect = self._values, self._dialect
        if isinstance(function.type, SeqOf) and not isinstance(function, Quantified):
            return dialect.let(values.fresh("f"), values.of(function), lambda f: self._complete(f, measure))

        def of_keys(keys: exp.Expr, kind: Type, name: str, image: Body) -> exp.Expr:
            """Keys are used twice, and computed once."""

            def measured(found: exp.Expr) -> exp.Expr:
                images = dialect.transformed(found.copy(), values.fresh(name), image)
                whole = dialect.let(
                    values.fresh("images"), images, lambda each: self._complete(each, measure)
                )
                return tree.case([(values.known(found, kind), whole)])

            return dialect.let(values.fresh("keys"), keys, measured)

        def of_each(function: Quantified) -> exp.Expr:
            variable, body = function.variable, function.body
            return of_keys(
                self.once(function.domain),
                type_of(function.domain),
                variable.name,
                lambda e: values.inside(variable, e, lambda: values.sized(body)),
            )

        if isinstance(function, Quantified) and function.kind == "function":
            return values.once(function.domain, function, of_each)
        assert isinstance(function.type, Function)
        argument = SetOf(function.type.argument)
        return dialect.let(
            values.fresh("f"),
            values.of(function),
            lambda f: of_keys(dialect.keys(f), argument, "k", lambda k: dialect.at_key(f.copy(), k)),
        )

    def _complete(self, images: exp.Expr, measure: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
        """A measure of an array of numbers, once all of them are known."""
        known = self._dialect.every(images.copy(), self._values.fresh("e"), tree.is_known)
        return tree.case([(known, measure(images))])

    def once(self, expr: Expr) -> exp.Expr:
        """The array of a set in which each element stands once: one that a table holds may repeat itself."""
        found = self._values.of(expr)
        return self.distinct(found, element_of(expr)) if repeats(expr) else found

    def when_known(self, counted: Expr, measure: Callable[[exp.Expr], exp.Expr], array: exp.Expr) -> exp.Expr:
        """A measure of a set, once all of it is known."""
        values = self._values

        def measured(array: exp.Expr) -> exp.Expr:
            return tree.case([(values.known(array.copy(), type_of(counted)), measure(array.copy()))])

        return self._dialect.let(values.fresh("all"), array, measured)

    def distinct(self, array: exp.Expr, kind: Type) -> exp.Expr:
        return self._dialect.distinct(
            array, self._values.fresh("d"), lambda one, other: self._values.same(one, other, kind)
        )
