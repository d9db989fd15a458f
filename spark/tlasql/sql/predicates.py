"""The columns that judge a row: its antecedent and conjuncts, its verdict, and the conjunct that is false."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlglot import exp

from tlasql.lang.ir import Expr
from tlasql.lang.source import cited
from tlasql.plan.clauses import Clause
from tlasql.plan.frames import Predicates
from tlasql.sql import tree

F = TypeVar("F")


@dataclass(frozen=True)
class Judged:
    """The columns that judge a row: ``ctes`` columns to add to the frame, then expressions over these."""

    columns: list[exp.Expr]
    verdict: exp.Expr
    antecedent: exp.Expr | None
    failed: exp.Expr


@dataclass(frozen=True)
class Part(Generic[F]):
    """One of the definitions judged on a row; ``tag`` ends the names of its columns."""

    frame: F
    tag: str
    judged: Judged

    def column(self, name: str, table: str | None = None) -> exp.Column:
        """Its column of this name."""
        return tree.col(f"{name}{self.tag}", table)


def judge(predicates: Predicates | Clause, translate: Callable[[Expr], exp.Expr], tag: str = "") -> Judged:
    """``antecedent`` and ``c1``, ``c2``... once each; verdict and failed conjunct in terms of these.

    ``tag`` ends the names of the columns, where several definitions are judged on one row.
    """
    found: list[exp.Expr] = []
    antecedent = None
    if predicates.antecedents:
        parts = [translate(each) for each in predicates.antecedents]
        found.append(tree.alias(tree.all_of(parts), f"antecedent{tag}"))
        antecedent = tree.col(f"antecedent{tag}")
    numbered = [(f"c{n}{tag}", each) for n, each in enumerate(predicates.conjuncts, start=1)]
    found += [tree.alias(translate(each), column) for column, each in numbered]
    together = tree.all_of(tree.col(column) for column, _ in numbered)
    verdict = together
    if antecedent is not None:
        verdict = tree.any_of([tree.negation(antecedent.copy()), together])
    if isinstance(predicates, Predicates) and predicates.evaluates is not None:
        found.append(tree.alias(translate(predicates.evaluates), f"evaluates{tag}"))
        verdict = tree.case([(tree.col(f"evaluates{tag}"), verdict)])
    failed = [(_false(antecedent, column), tree.string(cited(each))) for column, each in numbered]
    return Judged(found, verdict, antecedent, tree.case(failed))


def _false(antecedent: exp.Expr | None, column: str) -> exp.Expr:
    wrong = tree.negation(tree.col(column))
    return wrong if antecedent is None else tree.all_of([antecedent.copy(), wrong])
