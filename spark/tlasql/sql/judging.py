"""The query that judges rows in their order: for one definition or for several, each row by itself or beside
the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping as Dict
from collections.abc import Sequence
from typing import Generic, TypeVar

from sqlglot import exp

from tlasql.lang.ir import Expr
from tlasql.mapping.model import INTERVAL, Mapping
from tlasql.plan.clauses import Clause
from tlasql.plan.frames import HistoryFrame, Predicates, StateFrame
from tlasql.sql import tree
from tlasql.sql.dialect import Dialect
from tlasql.sql.predicates import Part, judge
from tlasql.sql.reasons import NO_VALUE, Why, reason_uncovered
from tlasql.sql.rows import Ctes, Names, Query, fanned, verdict_row
from tlasql.sql.values import value

_NEXT = {each: f"next_{each}" for each in INTERVAL}
_OWN = ("antecedent", "evaluates", "unchanged", "verdict", *(f"c{n}" for n in range(1, 100)))
F = TypeVar("F", bound=HistoryFrame | StateFrame)


class Judging(ABC, Generic[F]):
    """The query of ``frames`` (id -> frame) over the same rows; of several, each row of the result says in
    ``definition`` whose it is. ``suffix`` keeps its CTEs apart from those of other queries.
    """

    def __init__(self, frames: Dict[str, F], mapping: Mapping, dialect: Dialect, suffix: str = "") -> None:
        self._frames: Dict[str, F] = frames
        self._mapping: Mapping = mapping
        self._dialect: Dialect = dialect
        self._suffix: str = suffix
        tags = [f"_{n}" if len(frames) > 1 else "" for n in range(1, len(frames) + 1)]
        self._names: Names = Names(
            (
                *(*mapping.scope, *INTERVAL, *_NEXT.values(), "evidence", "gap", "parted", "gap_reason"),
                *(name + tag for name in _OWN for tag in tags),
            )
        )
        self._add_names()
        self._parts: Dict[str, Part[F]] = {
            identity: Part(frame, tag, judge(_predicates(frame), self._value, tag))
            for (identity, frame), tag in zip(frames.items(), tags, strict=True)
        }
        self._steps: list[Part[F]] = [part for part in self._parts.values() if part.frame.stepped]

    @abstractmethod
    def _add_names(self) -> None:
        """Name every column that a predicate may read."""

    @abstractmethod
    def _scanned(self) -> Ctes:
        """Common table expressions, of which the last has the rows to judge."""

    @abstractmethod
    def _unchanged(self, part: Part[F]) -> exp.Expr:
        """Whether a step leaves the variables that it mentions as they are."""

    @abstractmethod
    def _witness(self, part: Part[F]) -> Sequence[str]:
        """The names of quantified variables."""

    @abstractmethod
    def _why(self, part: Part[F]) -> Why:
        """The reasons for which the values that it reads may not be known."""

    @abstractmethod
    def _shown(self, part: Part[F]) -> list[exp.Expr]:
        """The values that explain a verdict."""

    def _meets(self, part: Part[F]) -> exp.Expr:
        """The verdict of a row by itself, or of a step that moves."""
        return part.judged.verdict

    def _evaluates(self, part: Part[F]) -> exp.Expr | None:
        """Where TLC finds a value for the whole definition, if that is not everywhere."""
        return None

    def _keys(self, part: Part[F]) -> Sequence[exp.Expr]:
        """What two rows have in common of which one comes after the other."""
        return []

    def _may_stutter(self, part: Part[F]) -> bool:
        """Whether a step that changes nothing is allowed only because it changes nothing."""
        return part.frame.stepped

    def query(self) -> Query:
        """Common table expressions, and one SELECT of the rows of all."""
        ctes = self._scanned()
        if any(_persistent(part) for part in self._steps):
            ctes.append((f"seen{self._suffix}", self._seen(ctes[-1][0])))
        rows, judged, weighed = ctes[-1][0], f"judged{self._suffix}", f"weighed{self._suffix}"
        columns = [tree.alias(self._unchanged(part), f"unchanged{part.tag}") for part in self._steps]
        columns += [column for part in self._parts.values() for column in part.judged.columns]
        columns += self._asked()
        add = exp.select("*", *columns).from_(tree.table(rows))
        applies = {each: self._applies(part) for each, part in self._parts.items() if part.frame.stepped}
        if len(self._parts) == 1:  # what is no step need not be judged
            add = add.where(*applies.values())
        verdicts = [tree.alias(self._verdict(part), f"verdict{part.tag}") for part in self._parts.values()]
        weigh = exp.select("*", *verdicts).from_(tree.table(judged))
        found, source = self._rows(), exp.select().from_(tree.table(weighed))
        source = source.where(tree.is_known(tree.col("from_position")))  # of others see tlasql.sql.queries
        if len(found) == 1:
            final = source.select(*next(iter(found.values())))
        else:
            final = fanned(found, source, self._dialect, applies)
        return Query((*ctes, (judged, add), (weighed, weigh)), final)

    def _asked(self) -> list[exp.Expr]:
        """The columns of ``_evaluates``, where the rows do not have them yet."""
        return []

    def _rows(self) -> dict[str, list[exp.Expr]]:
        return {identity: self._row(part) for identity, part in self._parts.items()}

    def _value(self, expr: Expr) -> exp.Expr:
        columns: dict[str, exp.Expr] = {each: tree.col(name) for each, name in self._names.columns.items()}
        return value(expr, columns, self._dialect)

    def _column(self, label: str) -> exp.Expr:
        """The column of ``label``, under that name."""
        return tree.alias(tree.col(self._names.columns[label]), label)

    def _placed(self) -> list[exp.Expr]:
        """The interval of a row, and of the next one."""
        columns: list[exp.Expr] = [tree.col(each) for each in INTERVAL]
        if self._steps:
            columns += [tree.alias(successor(tree.col(each)), then) for each, then in _NEXT.items()]
        return columns

    def _in_order(self, rows: exp.Select, keys: Sequence[str] = ()) -> exp.Select:
        """With the window in which ``successor`` looks ahead."""
        order = exp.Ordered(this=tree.col("from_position"), nulls_first=True)
        window = exp.Window(
            this=tree.name("successive"),
            partition_by=[tree.col(each) for each in (*self._mapping.scope, *keys)],
            order=exp.Order(expressions=[order]),
        )
        rows.set("windows", [window])
        return rows

    def _seen(self, rows: str) -> exp.Select:
        """Beside each row the uncovered piece that begins where it ends."""
        unseen = self._mapping.coverage.rsplit(".", 1)[-1]
        ends = tree.col("to_position", rows)
        on: list[exp.Expr] = [
            exp.EQ(this=tree.col(each, rows), expression=tree.col(each, unseen))
            for each in self._mapping.scope
        ]
        on += [
            tree.negation(tree.surely(tree.col(self._mapping.covered, unseen))),
            exp.LTE(this=tree.col("from_position", unseen), expression=ends),
            or_open(exp.LT(this=ends.copy(), expression=tree.col("to_position", unseen))),
        ]
        then = tree.col(_NEXT["from_position"], rows)
        return (
            exp.select(
                exp.Column(this=exp.Star(), table=tree.name(rows)),
                tree.alias(exp.NEQ(this=then, expression=ends.copy()), "gap"),
                tree.alias(tree.is_known(tree.col("from_position", unseen)), "parted"),
                tree.alias(reason_uncovered(self._mapping, unseen), "gap_reason"),
            )
            .from_(tree.table(rows))
            .join(tree.table(self._mapping.coverage, unseen), on=tree.all_of(on), join_type="left")
        )

    def _applies(self, part: Part[F]) -> exp.Expr:
        """A step is a row with a next one: where they meet, or across a hole where that is sound."""
        then = tree.col(_NEXT["from_position"])
        adjacent = exp.EQ(this=then, expression=tree.col("to_position"))
        scope = [tree.is_known(tree.col(each)) for each in self._mapping.scope]
        if not _persistent(part):
            return tree.all_of([adjacent, *scope, *map(tree.is_known, self._keys(part))])
        parted = tree.all_of([tree.is_known(then.copy()), tree.col("parted")])
        return tree.all_of([tree.any_of([adjacent, parted]), *scope])

    def _verdict(self, part: Part[F]) -> exp.Expr:
        holds = self._meets(part)
        verdict = tree.any_of([part.column("unchanged"), holds]) if self._may_stutter(part) else holds
        evaluates = self._evaluates(part)
        if evaluates is not None:
            verdict = tree.case([(evaluates, verdict)])
        if not _persistent(part):
            return verdict
        # across a gap the way between is unseen: the end may prove a fall, never that there was none
        over_gap = tree.case([(tree.negation(holds.copy()), exp.false())])
        return exp.Case(ifs=[exp.If(this=tree.col("gap"), true=over_gap)], default=verdict)

    def _row(self, part: Part[F]) -> list[exp.Expr]:
        exercised = [] if part.judged.antecedent is None else [part.judged.antecedent.copy()]
        if part.frame.stepped:
            exercised.append(tree.negation(part.column("unchanged")))
        verdict = part.column("verdict")

        def unless_holds(shown: exp.Expr) -> exp.Expr:
            # of the many rows that hold nobody asks why, and to say it costs more than judging
            return tree.case([(tree.negation(tree.surely(verdict.copy())), shown)])

        return verdict_row(
            self._mapping,
            interval=self._interval(part),
            exercised=tree.surely(tree.all_of(exercised)) if exercised else exp.true(),
            witness=unless_holds(tree.json_object([self._column(each) for each in self._witness(part)])),
            verdict=verdict,
            failed=tree.case([(tree.negation(verdict.copy()), part.judged.failed)]),
            reason=tree.case([(tree.is_null(verdict.copy()), self._reason(part))]),
            observed=unless_holds(tree.json_object(self._shown(part))),
            evidence=unless_holds(tree.col("evidence")),
        )

    def _reason(self, part: Part[F]) -> exp.Expr:
        why = self._why(part)
        evaluates = self._evaluates(part)
        if evaluates is not None:
            why.own.insert(0, (tree.negation(evaluates), tree.string(NO_VALUE)))
        if _persistent(part):
            why.own.insert(0, (tree.col("gap"), tree.col("gap_reason")))
        return why.said()

    def _interval(self, part: Part[F]) -> list[exp.Expr]:
        if not part.frame.stepped:
            return [tree.col(each) for each in INTERVAL]
        found: list[exp.Expr] = [tree.col(each) for each in _NEXT.values()]
        if _persistent(part):
            adjacent = tree.case([(tree.negation(tree.col("gap")), tree.col(_NEXT["from_time"]))])
            found[0] = tree.col("to_position")
            found[2] = exp.Coalesce(this=adjacent, expressions=[tree.col("to_time")])
        return found


def successor(column: exp.Expr) -> exp.Expr:
    """The value in the next row of the window ``successive``."""
    return exp.Window(this=exp.Lead(this=column), alias=tree.name("successive"))


def or_open(before_end: exp.LT) -> exp.Expr:
    """``before_end``, also where the end is open."""
    return exp.Paren(this=tree.any_of([tree.is_null(before_end.expression.copy()), before_end]))


def _predicates(frame: HistoryFrame | StateFrame) -> Predicates | Clause:
    return frame.predicates if isinstance(frame, HistoryFrame) else frame.clause


def _persistent(part: Part[F]) -> bool:
    """Whether its steps are also judged across a hole."""
    return isinstance(part.frame, HistoryFrame) and part.frame.persistent
