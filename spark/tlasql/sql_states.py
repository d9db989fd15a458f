"""SQL over whole states: rebuild each state's values, one row per binding of the ranges, then predicates."""

from __future__ import annotations

from sqlglot import exp

from tlasql import tree
from tlasql.access import leaves
from tlasql.dialect import Dialect
from tlasql.errors import Location
from tlasql.ir import Bound, Expr, Op, Prime, Variable, text
from tlasql.mapping import INTERVAL, Mapping
from tlasql.membership import strict
from tlasql.normalise import Range
from tlasql.plan import StateFrame
from tlasql.sql_rows import Judged, Names, Query, judge, unless_holds, verdict_row
from tlasql.sql_values import whole_values
from tlasql.steps import holds_when_unchanged
from tlasql.types import BOOL
from tlasql.values import value

_ADDED = ("left_at", "unchanged", "antecedent", "verdict", "evidence")
Ctes = list[tuple[str, exp.Select]]


def state_query(frame: StateFrame, mapping: Mapping, dialect: Dialect, suffix: str) -> Query:
    """The query of one frame; ``suffix`` keeps its CTEs apart from those of other frames."""
    return _States(frame, mapping, dialect, suffix).query()


class _States:
    def __init__(self, frame: StateFrame, mapping: Mapping, dialect: Dialect, suffix: str) -> None:
        self._frame, self._mapping, self._dialect, self._suffix = frame, mapping, dialect, suffix
        self._names = Names((*mapping.scope, *INTERVAL, *_ADDED, *(f"c{n}" for n in range(1, 100))))
        self._variables = [Variable(_nowhere(frame), each.name, type=each.type) for each in frame.variables]
        for each in self._variables:
            self._names.add(each.name)
            if frame.stepped:
                self._names.add(f"{each.name}'", f"{each.name}_next")
        for ranged in frame.clause.ranges:
            self._names.add(ranged.variable.name)

    def query(self) -> Query:
        ctes: Ctes = whole_values(self._frame, self._mapping, self._dialect, self._suffix)
        last = ctes[-1][0]
        if self._frame.stepped:
            ctes.append((f"steps{self._suffix}", self._paired(last)))
            last = f"steps{self._suffix}"
        for number, ranged in enumerate(self._frame.clause.ranges, start=1):
            ctes.append((f"range{self._suffix}_{number}", self._ranged(ranged, last)))
            last = f"range{self._suffix}_{number}"
        judged, columns = self._judged()
        kept = exp.select("*", *columns).from_(tree.table(last))
        if self._frame.stepped:
            kept = kept.where(exp.EQ(this=tree.col("from_position"), expression=tree.col("left_at")))
        ctes.append((f"judged{self._suffix}", kept))
        ctes.append((f"weighed{self._suffix}", self._weighed(judged, f"judged{self._suffix}")))
        final = exp.select(*self._row(judged)).from_(tree.table(f"weighed{self._suffix}"))
        return Query(tuple(ctes), final)

    def _columns(self) -> dict[str, exp.Expr]:
        return {label: tree.col(column) for label, column in self._names.columns.items()}

    def _value(self, expr: Expr) -> exp.Expr:
        return value(expr, self._columns(), self._dialect)

    def _paired(self, states: str) -> exp.Select:
        scope = [tree.col(each) for each in self._mapping.scope]
        columns: list[exp.Expr] = [*scope, tree.alias(tree.col("to_position"), "left_at")]
        columns += [tree.alias(_next(each), each) for each in INTERVAL]
        for each in self._variables:
            column = self._names.columns[each.name]
            columns += [tree.col(column), tree.alias(_next(column), self._names.columns[f"{each.name}'"])]
        order = exp.Order(expressions=[exp.Ordered(this=tree.col("from_position"), nulls_first=True)])
        window = exp.Window(
            this=tree.name("successive"), partition_by=[each.copy() for each in scope], order=order
        )
        found = exp.select(*columns, tree.col("evidence")).from_(tree.table(states))
        found.set("windows", [window])
        return found

    def _ranged(self, ranged: Range, rows: str) -> exp.Select:
        """One row for each element; an unknown set gives one unknown element."""
        domain = self._value(ranged.domain)
        assert ranged.variable.type is not None
        elements = self._dialect.elements(domain, ranged.variable.type)
        name = self._names.columns[ranged.variable.name]
        return exp.select("*", tree.alias(elements, name)).from_(tree.table(rows))

    def _judged(self) -> tuple[Judged, list[exp.Expr]]:
        judged = judge(self._frame.clause, self._value)
        columns = judged.columns
        if self._frame.stepped:
            same = stutters(self._frame)
            columns = [tree.alias(tree.all_of(self._value(each) for each in same), "unchanged"), *columns]
        return judged, columns

    def _weighed(self, judged: Judged, rows: str) -> exp.Select:
        verdict = tree.all_of(tree.col(f"c{n}") for n in range(1, len(self._frame.clause.conjuncts) + 1))
        unknown = [
            tree.is_null(tree.col(self._names.columns[each.variable.name]))
            for each in self._frame.clause.ranges
            if not all(strict(conjunct, each.variable.uid) for conjunct in self._frame.clause.conjuncts)
        ]
        if unknown:
            verdict = exp.Case(
                ifs=[exp.If(this=tree.any_of(unknown), true=tree.null("boolean"))], default=verdict
            )
        if judged.antecedent is not None:
            verdict = tree.any_of([tree.negation(judged.antecedent.copy()), verdict])
        if self._frame.stepped and not holds_when_unchanged(self._frame.clause):
            verdict = tree.any_of([tree.col("unchanged"), verdict])
        return exp.select("*", tree.alias(verdict, "verdict")).from_(tree.table(rows))

    def _row(self, judged: Judged) -> list[exp.Expr]:
        exercised: list[exp.Expr] = [judged.antecedent.copy()] if judged.antecedent is not None else []
        if self._frame.stepped:
            exercised.append(tree.negation(tree.col("unchanged")))
        violated = tree.negation(tree.col("verdict"))
        return verdict_row(
            self._mapping,
            interval=[tree.col(each) for each in INTERVAL],
            exercised=tree.surely(tree.all_of(exercised)),
            witness=unless_holds(tree.json_object(self._witnesses())),
            verdict=tree.col("verdict"),
            failed=tree.case([(violated, judged.failed)]),
            values=unless_holds(tree.json_object(self._leaves())),
            evidence=unless_holds(tree.col("evidence")),
        )

    def _witnesses(self) -> list[exp.Expr]:
        names = [each.variable.name for each in self._frame.clause.ranges]
        return [tree.alias(tree.col(self._names.columns[each]), each) for each in names]

    def _leaves(self) -> list[exp.Expr]:
        return [tree.alias(self._value(leaf), label) for label, leaf in shown_leaves(self._frame).items()]


def shown_leaves(frame: StateFrame) -> dict[str, Expr]:
    """Each state expression by how the source names it, witnesses left out."""
    found: dict[str, Expr] = {}
    for predicate in (*frame.clause.antecedents, *frame.clause.conjuncts):
        for leaf in leaves(predicate):
            if not isinstance(leaf, Bound):
                found.setdefault(leaf.label or text(leaf), leaf)
    return found


def stutters(frame: StateFrame) -> list[Expr]:
    """``v' = v`` for each variable of the frame."""
    where = _nowhere(frame)
    variables = [Variable(where, each.name, type=each.type) for each in frame.variables]
    return [Op(where, "=", (Prime(where, each, type=each.type), each), type=BOOL) for each in variables]


def _next(column: str) -> exp.Expr:
    return exp.Window(this=exp.Lead(this=tree.col(column)), alias=tree.name("successive"))


def _nowhere(frame: StateFrame) -> Location:
    return (*frame.clause.conjuncts, *frame.clause.antecedents)[0].location
