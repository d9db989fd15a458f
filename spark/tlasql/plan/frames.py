"""The relational plan of a definition: frames of rows, and the predicates computed on each row.

A history or record frame joins the tables its ranges run over and names one column for every state expression
of its predicates; a state frame holds whole values, for predicates that do not fit the others. No
frame looks back into another row: what a predicate needs beyond its row is an ``Aggregate``,
grouped by the equality that relates the two and joined back.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from tlasql.lang.ir import Expr, Op
from tlasql.lang.types import BOOL, Type
from tlasql.mapping.model import History, Records, Whole
from tlasql.plan.clauses import Clause


@dataclass(frozen=True)
class Column:
    """A physical column of a scan."""

    alias: str
    name: str


@dataclass(frozen=True)
class Leaf:
    """A state expression (its TLA+ text) and the column that holds its value; ``primed``: in the next row."""

    text: str
    column: Column
    primed: bool = False


@dataclass(frozen=True)
class Scan:
    """One use of a table."""

    alias: str
    table: str


@dataclass(frozen=True)
class Witness:
    """A quantified variable and the column that identifies its value."""

    name: str
    column: Column


@dataclass(frozen=True)
class Predicates:
    """``antecedents => conjuncts`` over the leaves of a frame; ``evaluates``: where TLC finds a value.
    ``stops``: TLC may find none, and the SQL is null there by itself.
    """

    antecedents: tuple[Expr, ...]
    conjuncts: tuple[Expr, ...]
    evaluates: Expr | None = None
    stops: bool = False

    @property
    def every(self) -> tuple[Expr, ...]:
        """All of them."""
        return (*self.antecedents, *self.conjuncts, *([] if self.evaluates is None else [self.evaluates]))

    @property
    def whole(self) -> Expr:
        """The implication as one formula."""
        found = self.conjuncts[0]
        if len(self.conjuncts) > 1:
            found = Op(found.location, "/\\", self.conjuncts, type=BOOL)
        for test in reversed(self.antecedents):
            found = Op(found.location, "=>", (test, found), type=BOOL)
        return found


@dataclass(frozen=True)
class HistoryFrame:
    """Rows of one or more histories, joined on scope and ``equal`` columns wherever their intervals overlap.

    ``ordered``: of two bindings that only swap these columns one is kept. ``stepped``: each row beside the
    next one of the same ``keys``; ``persistent``: also across a gap.
    """

    scans: tuple[Scan, ...]
    equal: tuple[tuple[Column, Column], ...]
    ordered: tuple[tuple[Column, Column], ...]
    witnesses: tuple[Witness, ...]
    leaves: tuple[Leaf, ...]
    predicates: Predicates
    stepped: bool = False
    keys: tuple[Column, ...] = ()
    persistent: bool = False

    @property
    def conjuncts(self) -> tuple[Expr, ...]:
        """What has to be true of each row."""
        return self.predicates.conjuncts

    @property
    def beside(self) -> bool:
        """Whether a row is judged beside others of its scope."""
        return self.stepped or len(self.scans) > 1

    def compared(self, table: str) -> list[str]:
        """The columns of a table by which its rows find others: one that lacks such a value finds none."""
        aliases = {each.alias for each in self.scans if each.table == table}
        columns = (*chain(*self.equal, *self.ordered), *(self.keys if self.stepped else ()))
        return list(dict.fromkeys(each.name for each in columns if each.alias in aliases))


@dataclass(frozen=True)
class Aggregate:
    r"""A quantifier inside a predicate: over all rows with equal ``equal`` fields, is ``predicate`` true?

    ``text`` is the TLA+ text that stands for it in the outer predicate, ``label`` what verdicts show.
    ``outer``: what the predicate reads of the record that the rows are compared with; ``identical``: the text
    that stands in it for their being one row.
    """

    text: str
    label: str
    universal: bool
    equal: tuple[str, ...]
    leaves: tuple[Leaf, ...]
    predicate: Expr
    outer: tuple[Leaf, ...] = ()
    identical: str | None = None

    @property
    def compares(self) -> bool:
        """Whether each row is compared with each: the predicate speaks of both."""
        return bool(self.outer) or self.identical is not None


@dataclass(frozen=True)
class RecordFrame:
    """Rows of a record set: one per element and alternative."""

    records: Records
    scan: Scan
    witness: str
    leaves: tuple[Leaf, ...]
    aggregates: tuple[Aggregate, ...]
    predicates: Predicates

    @property
    def conjuncts(self) -> tuple[Expr, ...]:
        """What has to be true of each record."""
        return self.predicates.conjuncts

    @property
    def gives(self) -> Type | None:
        """The type of what is computed of each row: of a decision, whatever it decides by."""
        return self.predicates.conjuncts[0].type


@dataclass(frozen=True)
class StateFrame:
    """One row for each state of a scope, with the whole value of every variable; for any predicate.

    ``variables``: where each variable of the clause is found. ``clause.ranges`` become one row for each
    element, so that a verdict has its witness. ``stepped``: each state beside the next one; a step stutters
    that leaves all ``variables`` as they are. ``evaluates``: the states, or steps, in which TLC finds a value
    for the definition the clause is a part of.
    """

    variables: tuple[History | Whole, ...]
    clause: Clause
    stepped: bool
    evaluates: Expr | None = None

    @property
    def stored(self) -> bool:
        """Whether each state is a row of a table; others are gathered from many."""
        homes = {each.table if isinstance(each, Whole) else None for each in self.variables}
        return len(homes) == 1 and None not in homes

    @property
    def beside(self) -> bool:
        """Whether a row is judged beside others of its scope."""
        return self.stepped or not self.stored

    @property
    def parts(self) -> tuple[Expr, ...]:
        """All that is computed of a state, or an element of it."""
        return (*self.clause.every, *(() if self.evaluates is None else (self.evaluates,)))

    @property
    def conjuncts(self) -> tuple[Expr, ...]:
        """What has to be true of each state, or step."""
        return self.clause.conjuncts


Frame = HistoryFrame | RecordFrame | StateFrame
