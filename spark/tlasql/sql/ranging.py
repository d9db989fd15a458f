r"""Quantifiers over sets. A set that is written as an expression, such as ``{y \in S : P} \cup T``, is not
built: the quantifier ranges over ``S`` and ``T`` instead. The elements of other sets are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tlasql.lang.ir import Bound, Expr, Literal, Model, Op, Quantified, RecordOf, RecordSet
from tlasql.lang.shapes import domain_of, element_of, strict, type_of
from tlasql.lang.types import BOOL, Record
from tlasql.sql import tree
from tlasql.sql.translator import Translator


class Ranging:
    """The part of a translation that knows quantifiers."""

    def __init__(self, values: Translator) -> None:
        self._values, self._dialect = values, values.dialect

    def quantified(self, expr: Quantified) -> exp.Expr:
        """``\\A`` and ``\\E``."""
        every = expr.kind == "\\A"
        return self.over(expr.domain, expr.variable, lambda: self._values.of(expr.body), expr.body, every)

    def over(  # noqa: C901, PLR0911 (one each)
        self, domain: Expr, variable: Bound | None, test: Callable[[], exp.Expr], body: Expr, every: bool
    ) -> exp.Expr:
        """A quantifier over ``domain``; ``test`` gives the predicate once ``variable`` is bound."""
        values, dialect = self._values, self._dialect

        def bound(element: exp.Expr) -> exp.Expr:
            if variable is None:
                return exp.Case(ifs=[exp.If(this=tree.is_known(element), true=test())])
            found = values.inside(variable, element, test)
            if strict(body, variable.uid):
                return found
            return exp.Case(ifs=[exp.If(this=tree.is_known(element.copy()), true=found)])

        together = tree.all_of if every else tree.any_of
        match domain:
            case Quantified(kind="filter", variable=inner, domain=base, body=condition):

                def guarded() -> exp.Expr:
                    element = values.bound_to(inner)
                    holds = test() if variable is None else values.inside(variable, element, test)
                    condition_holds = values.of(condition)
                    return (
                        tree.any_of([tree.negation(condition_holds), holds])
                        if every
                        else tree.all_of([condition_holds, holds])
                    )

                whole = Op(body.location, "/\\", (condition, body), type=BOOL)
                return self.over(base, inner, guarded, whole, every)
            case Quantified(kind="map", domain=base) if variable is None:
                return self.over(base, None, test, body, every)
            case Quantified(kind="map", variable=inner, domain=base, body=image) if variable is not None:

                def imaged() -> exp.Expr:
                    return values.inside(variable, values.of(image), test)

                return self.over(base, inner, imaged, Literal(body.location, True), every)
            case Op(symbol="\\cup", arguments=parts):
                return together([self.over(each, variable, test, body, every) for each in parts])
            case Op(symbol="{}", arguments=members) if variable is None:
                return together(test() for _ in members)
            case Op(symbol="{}", arguments=members) if variable is not None and members:
                return self._over_written(domain, members, variable, test, every)
            case Op(symbol="UNION", arguments=(sets,)):
                family = self._values.variable(domain.location, "family", element_of(sets))
                return self.over(
                    sets,
                    family,
                    lambda: self.over(family, variable, test, body, every),
                    Literal(body.location, True),
                    every,
                )
            case RecordSet(names=names, arguments=parts) if variable is not None and isinstance(
                variable.type, Record
            ):
                fields = [
                    values.variable(domain.location, name, element_of(part))
                    for name, part in zip(names, parts, strict=True)
                ]
                record = RecordOf(domain.location, names, tuple(fields), type=variable.type)

                def field(index: int) -> exp.Expr:
                    if index == len(parts):
                        return values.inside(variable, values.of(record), test)
                    return self.over(
                        parts[index],
                        fields[index],
                        lambda: field(index + 1),
                        Literal(body.location, True),
                        every,
                    )

                return field(0)
            case Op(symbol="DOMAIN", arguments=(function,)) if domain_of(function) is not None:
                inner_domain = domain_of(function)
                assert inner_domain is not None
                return self.over(inner_domain, variable, test, body, every)
        array = values.of(domain)
        name = values.fresh(variable.name if variable is not None else "e")
        return dialect.every(array, name, bound) if every else dialect.some(array, name, bound)

    def _over_written(
        self,
        domain: Expr,
        members: Sequence[Expr],
        variable: Bound,
        test: Callable[[], exp.Expr],
        every: bool,
    ) -> exp.Expr:
        """A quantifier over a set that is written out: the test stands in the SQL once for each element, but
        a long one, where the elements are known, once for all of them.
        """
        values, dialect = self._values, self._dialect
        parts = values.parts
        found = [values.inside(variable, values.of(members[0]), test)]
        known = all(isinstance(each, Literal | Model) for each in members)
        if len(members) > 1 and known and tree.is_long(found[0]):
            values.parts = parts
            array = dialect.array([values.sized(each) for each in members], type_of(domain))
            ranged = dialect.every if every else dialect.some
            name = values.fresh(variable.name)
            return ranged(array, name, lambda each: values.inside(variable, each, test))
        found += [values.inside(variable, values.of(each), test) for each in members[1:]]
        return tree.all_of(found) if every else tree.any_of(found)
