"""Lifts values that lambdas name out of the columns that need them, into a select before these.

SQL has no LET: a lambda over an array of one element names a value (``Dialect.let``). DuckDB then makes an
array for each row, which costs several times the value itself. What can be a column becomes one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from sqlglot import exp

from tlasql.sql import tree
from tlasql.sql.rows import Ctes

_SAFE = (
    exp.Boolean,
    exp.Case,
    exp.Column,
    exp.Connector,
    exp.Identifier,
    exp.If,
    exp.Literal,
    exp.Neg,
    exp.Not,
    exp.Null,
    exp.Paren,
    exp.Predicate,
)
"""What fails for no row: a column is computed for all of them, also where a choice would not ask for it."""


class Before:
    """Columns that selects compute before the one that needs them. ``name``: what they are called by."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._columns: dict[str, str] = {}
        self._steps: dict[str, int] = {}
        self._values: defaultdict[int, list[exp.Expr]] = defaultdict(list)

    def column(self, value: exp.Expr) -> str:
        """The column of a value, which may need columns given before; equal values have one."""
        text = value.sql()
        if text not in self._columns:
            name = f"{self._name}.{len(self._columns) + 1}"
            before = (self._steps.get(each.name, 0) for each in value.find_all(exp.Column))
            self._columns[text], self._steps[name] = name, 1 + max(before, default=0)
            self._values[self._steps[name]].append(tree.alias(value, name))
        return self._columns[text]

    def selects(self, rows: str) -> Ctes:
        """The selects that compute them, each over the one before; the first is over ``rows``."""
        found: Ctes = []
        for step, values in sorted(self._values.items()):
            source = found[-1][0] if found else rows
            found.append((f"{self._name}_{step}", exp.select("*", *values).from_(tree.table(source))))
        return found


class Lifting:
    """Lifts out of columns into those ``before``; ``transform`` and ``index`` are what a let calls."""

    def __init__(self, before: Before, transform: str, index: str) -> None:
        self._before, self._transform, self._index = before, transform, index

    def lifted(self, columns: Iterable[exp.Expr]) -> list[exp.Expr]:
        """The columns, over the last of the selects before."""
        return [self._lifted(each.copy()) for each in columns]

    def _lifted(self, part: exp.Expr) -> exp.Expr:
        """Inside a lambda that remains nothing is lifted, since it may be about what the lambda names."""
        if self._is_let(part):
            array, lambda_ = part.expressions[0].expressions
            value = self._lifted(array.expressions[0].copy())
            if all(map(_is_safe, value.walk())):
                (name,) = (each.name for each in lambda_.expressions)
                return self._lifted(_replaced(lambda_.this.copy(), name, self._before.column(value)))
            array.set("expressions", [value])
        elif not isinstance(part, exp.Lambda):
            for child in list(part.iter_expressions()):
                if (lifted := self._lifted(child)) is not child:
                    child.replace(lifted)
        return part

    def _is_let(self, part: exp.Expr) -> bool:
        if not (isinstance(part, exp.Anonymous) and part.name == self._index):
            return False
        bound = part.expressions[0]
        if not (isinstance(bound, exp.Anonymous) and bound.name == self._transform):
            return False
        array = bound.expressions[0]
        return isinstance(array, exp.Array) and len(array.expressions) == 1


def _is_safe(part: exp.Expr) -> bool:
    if isinstance(part, exp.Cast):
        return isinstance(part.this, exp.Null)
    return isinstance(part, _SAFE) or isinstance(part.parent, exp.Cast)


def _replaced(body: exp.Expr, name: str, column: str) -> exp.Expr:
    """``body`` with a column in place of the parameter."""

    def each(part: exp.Expr) -> exp.Expr:
        is_parameter = isinstance(part, exp.Column) and part.name == name and not part.table
        return tree.col(column) if is_parameter else part

    return body.transform(each, copy=False)
