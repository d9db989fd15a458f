"""Judges whole states: a row has the values of all variables, and one binding of the ranges."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from sqlglot import exp

from tlasql.lang.errors import TlaSqlError
from tlasql.lang.ir import Op, Prime, Variable, free
from tlasql.lang.shapes import strict
from tlasql.lang.types import BOOL
from tlasql.mapping.model import Whole
from tlasql.plan.clauses import Clause, Range
from tlasql.plan.exchanges import holds_when_unchanged
from tlasql.plan.folds import folds
from tlasql.plan.frames import StateFrame
from tlasql.sql import tree
from tlasql.sql.judging import Judging, successor
from tlasql.sql.lifting import Before
from tlasql.sql.predicates import Part
from tlasql.sql.reasons import NOT_KNOWN, Why, of_table
from tlasql.sql.rows import Ctes
from tlasql.sql.values import label_of
from tlasql.sql.whole_values import whole_values


class States(Judging[StateFrame]):
    """A column for each variable; frames of several definitions have no ranges."""

    def _add_names(self) -> None:
        frames = self._frames.values()
        self._variables = {each.name: each for frame in frames for each in frame.variables}
        self._primed = dict.fromkeys(v.name for frame in frames if frame.stepped for v in frame.variables)
        self._ranges = [ranged for frame in frames for ranged in frame.clause.ranges]
        for name in self._variables:
            self._names.add(name)
            if name in self._primed:
                self._names.add(f"{name}'", f"{name}_next")
        for ranged in self._ranges:
            self._names.add(ranged.variable.name)
        self._folded = [
            Before(f"fold{self._suffix}{f'_{n}' if n else ''}") for n in range(len(self._ranges) + 1)
        ]
        places = {each.variable.uid: place for place, each in enumerate(self._ranges, start=1)}
        for fold in (fold for frame in frames for part in frame.parts for fold in folds(part)):
            place = max((places[each] for each in free(fold)), default=0)
            # folds that differ in names alone have one column
            if (label := label_of(fold)) not in self._names.columns:
                self._names.columns[label] = self._folded[place].column(self._value(fold))

    def _scanned(self) -> Ctes:
        held = StateFrame(tuple(self._variables.values()), Clause((), (), ()), stepped=False)
        ctes = whole_values(held, self._mapping, self._dialect, self._names.columns, self._suffix)
        if self._steps:
            ctes.append((f"steps{self._suffix}", self._paired(ctes[-1][0])))
        ctes += self._folded[0].selects(ctes[-1][0])
        if self._ranges and (answers := self._answers()):  # of a state, not of each element
            ctes.append((f"asked{self._suffix}", exp.select("*", *answers).from_(tree.table(ctes[-1][0]))))
        for number, ranged in enumerate(self._ranges, start=1):
            ctes.append((f"range{self._suffix}_{number}", self._ranged(ranged, ctes[-1][0])))
            ctes += self._folded[number].selects(ctes[-1][0])
        return ctes

    def _paired(self, states: str) -> exp.Select:
        names = self._names.columns
        columns: list[exp.Expr] = [tree.col(each) for each in self._mapping.scope] + self._placed()
        for each in self._variables:
            columns.append(tree.col(names[each]))
            if each in self._primed:
                columns.append(tree.alias(successor(tree.col(names[each])), names[f"{each}'"]))
        return self._in_order(exp.select(*columns, tree.col("evidence")).from_(tree.table(states)))

    def _ranged(self, ranged: Range, rows: str) -> exp.Select:
        """One row for each element; an unknown set, and a state without a value, give one unknown element."""
        domain = self._value(ranged.domain)
        (part,) = self._frames.values()  # of several frames none has ranges
        if part.evaluates is not None:
            domain = tree.case([(tree.col("evaluates"), domain)])
        assert ranged.variable.type is not None
        elements = self._dialect.elements(domain, ranged.variable.type)
        name = self._names.columns[ranged.variable.name]
        return exp.select("*", tree.alias(elements, name)).from_(tree.table(rows))

    def _meets(self, part: Part[StateFrame]) -> exp.Expr:
        """The verdict of an element that may not be there is unknown."""
        clause, antecedent = part.frame.clause, part.judged.antecedent
        unknown = [
            tree.is_null(tree.col(self._names.columns[each.variable.name]))
            for each in clause.ranges
            if not all(strict(conjunct, each.variable.uid) for conjunct in clause.conjuncts)
        ]
        if not unknown:
            return part.judged.verdict
        together = tree.all_of(part.column(f"c{n}") for n in range(1, len(clause.conjuncts) + 1))
        verdict = exp.Case(
            ifs=[exp.If(this=tree.any_of(unknown), true=tree.null("boolean"))], default=together
        )
        return verdict if antecedent is None else tree.any_of([tree.negation(antecedent.copy()), verdict])

    def _evaluates(self, part: Part[StateFrame]) -> exp.Expr | None:
        return None if part.frame.evaluates is None else part.column("evaluates")

    def _asked(self) -> list[exp.Expr]:
        return [] if self._ranges else self._answers()

    def _answers(self) -> list[exp.Expr]:
        return [
            tree.alias(self._value(part.frame.evaluates), f"evaluates{part.tag}")
            for part in self._parts.values()
            if part.frame.evaluates is not None
        ]

    def _may_stutter(self, part: Part[StateFrame]) -> bool:
        return part.frame.stepped and not holds_when_unchanged(part.frame.clause)

    def _unchanged(self, part: Part[StateFrame]) -> exp.Expr:
        where = (*part.frame.clause.conjuncts, *part.frame.clause.antecedents)[0].location
        variables = [Variable(where, each.name, type=each.type) for each in part.frame.variables]
        return tree.all_of(
            self._value(Op(where, "=", (Prime(where, each, type=each.type), each), type=BOOL))
            for each in variables
        )

    def _witness(self, part: Part[StateFrame]) -> Sequence[str]:
        return [each.variable.name for each in part.frame.clause.ranges]

    def _why(self, part: Part[StateFrame]) -> Why:
        tables = [
            each.table if isinstance(each, Whole) else each.homes[0].table for each in part.frame.variables
        ]
        words = (of_table(self._mapping, each).otherwise for each in tables)
        return Why(otherwise=next((each for each in words if each is not None), NOT_KNOWN))

    def _shown(self, part: Part[StateFrame]) -> list[exp.Expr]:
        """The value of each state expression, as the source names it, witnesses left out."""
        columns = []
        for label, leaf in part.frame.clause.named().items():
            with contextlib.suppress(TlaSqlError):  # a set too large to be listed explains nothing
                columns.append(tree.alias(self._value(leaf), label))
        return columns
