"""Several definitions over one table in one pass: it is read, joined, and its rows put in order, once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dict
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlglot import exp

from tlasql import tree
from tlasql.dialect import Dialect
from tlasql.ir import Expr
from tlasql.mapping import INTERVAL, Mapping, Schemas, Whole
from tlasql.normalise import Clause
from tlasql.plan import Column, Frame, HistoryFrame, Leaf, Predicates, RecordFrame, StateFrame
from tlasql.sql import from_uncovered, printed, uncovered, union
from tlasql.sql_histories import or_open, successor, unchanged
from tlasql.sql_records import decision_query, records_query
from tlasql.sql_rows import Judged, Names, Query, fanned, judge, unless_holds, verdict_row
from tlasql.sql_states import shown_leaves, stutters
from tlasql.sql_values import whole_values
from tlasql.steps import holds_when_unchanged
from tlasql.values import value

WIDEST = 16
"""Definitions in one pass at most: beyond, planning the query costs more than reading the table again."""
Ctes = list[tuple[str, exp.Select]]
_NEXT = {each: f"next_{each}" for each in INTERVAL}


@dataclass(frozen=True)
class Pass:
    """Definitions judged by one query; its rows begin with ``definition``, whose they are."""

    ids: tuple[str, ...]
    decisions: bool
    sql: str


def passes(
    definitions: Dict[str, tuple[str, tuple[Frame, ...]]],
    mapping: Mapping,
    schemas: Schemas,
    dialect: Dialect,
) -> tuple[Pass, ...]:
    """The queries for ``definitions`` (id -> kind, frames) that can share one; the others are not in any.

    The other columns are those of :func:`tlasql.sql.verdict_sql` or, of decisions, ``decision_sql``.
    """
    groups: list[tuple[str, dict[str, Frame]]] = []
    for identity, (kind, frames) in definitions.items():
        what = "decision" if kind == "decision" else "verdict"
        if len(frames) != 1:
            continue
        fitting = (
            group
            for each, group in groups
            if each == what and len(group) < WIDEST and _fits(frames[0], group.values())
        )
        group = next(fitting, None)
        if group is None:
            group = {}
            groups.append((what, group))
        group[identity] = frames[0]
    return tuple(
        Pass(
            tuple(group), what == "decision", printed(_query(what, group, mapping, schemas, dialect), dialect)
        )
        for what, group in groups
        if len(group) > 1
    )


def _fits(frame: Frame, others: Iterable[Frame]) -> bool:
    """Whether all can be columns of one scan."""
    if isinstance(frame, RecordFrame):
        return all(isinstance(each, RecordFrame) and each.records == frame.records for each in others)
    if isinstance(frame, StateFrame):
        return _stands_alone(frame) and all(
            isinstance(each, StateFrame) and _stands_alone(each) for each in others
        )
    if not isinstance(frame, HistoryFrame) or len(frame.scans) > 1:
        return False
    return all(
        isinstance(each, HistoryFrame)
        and each.scans == frame.scans
        and (each.keys == frame.keys or not (each.stepped and frame.stepped))
        and _agree(_labels(each), _labels(frame))
        for each in others
    )


def _stands_alone(frame: StateFrame) -> bool:
    """Whether each state is a row of the table of states, and gives one row."""
    return not frame.clause.ranges and all(isinstance(each, Whole) for each in frame.variables)


def _labels(frame: HistoryFrame) -> dict[str, tuple[Column, bool]]:
    return {each.name: (each.column, False) for each in frame.witnesses} | {
        each.text: (each.column, each.primed) for each in frame.leaves
    }


def _agree(one: dict[str, tuple[Column, bool]], other: dict[str, tuple[Column, bool]]) -> bool:
    return all(other[label] == found for label, found in one.items() if label in other)


def _query(what: str, group: dict[str, Frame], mapping: Mapping, schemas: Schemas, dialect: Dialect) -> Query:
    records = {identity: each for identity, each in group.items() if isinstance(each, RecordFrame)}
    if what == "decision":
        return decision_query(records, mapping, schemas, dialect)
    if records:
        return records_query(records, mapping, schemas, dialect)
    histories = {identity: each for identity, each in group.items() if isinstance(each, HistoryFrame)}
    states = {identity: each for identity, each in group.items() if isinstance(each, StateFrame)}
    if histories:
        judged = _Histories(histories, mapping, dialect).query()
    else:
        judged = _States(states, mapping, dialect).query()
    stepped = {identity for identity, each in histories.items() if each.stepped}
    stepped |= {identity for identity, each in states.items() if each.stepped}
    rows = {identity: uncovered(mapping, identity in stepped) for identity in group}
    unseen = fanned(rows, from_uncovered(mapping), dialect)
    return Query(judged.ctes, union([judged.select, unseen]))


F = TypeVar("F", bound=HistoryFrame | StateFrame)


@dataclass(frozen=True)
class _Part(Generic[F]):
    """One definition; ``tag`` ends the names of its columns."""

    identity: str
    frame: F
    tag: str
    judged: Judged

    @property
    def persistent(self) -> bool:
        """Whether its steps are also judged across a hole."""
        return isinstance(self.frame, HistoryFrame) and self.frame.persistent

    def column(self, name: str) -> exp.Column:
        return tree.col(f"{name}{self.tag}")


class _Pass(Generic[F]):
    """Rows that have their successor's columns beside them, judged for each part."""

    _frames: Dict[str, F]
    _parts: list[_Part[F]]
    _steps: list[_Part[F]]

    def __init__(self, frames: Dict[str, F], mapping: Mapping, dialect: Dialect) -> None:
        self._mapping: Mapping = mapping
        self._dialect: Dialect = dialect
        self._frames = frames
        tags = {identity: f"_{n}" for n, identity in enumerate(frames, start=1)}
        own = ("antecedent", "unchanged", "verdict", *(f"c{n}" for n in range(1, 100)))
        self._names = Names(
            (
                *(*mapping.scope, *INTERVAL, *_NEXT.values(), "evidence", "gap", "parted"),
                *(name + tag for name in own for tag in tags.values()),
            )
        )
        self._add_names()
        self._parts = [
            _Part(identity, frame, tags[identity], judge(_predicates(frame), self._value, tags[identity]))
            for identity, frame in frames.items()
        ]
        self._steps = [part for part in self._parts if part.frame.stepped]
        self._persistent = any(part.persistent for part in self._steps)

    def _add_names(self) -> None:
        raise NotImplementedError

    def _scanned(self) -> Ctes:
        """The rows, in the last one."""
        raise NotImplementedError

    def _unchanged(self, part: _Part[F]) -> exp.Expr:
        raise NotImplementedError

    def _may_stutter(self, part: _Part[F]) -> bool:
        """Whether its steps say nothing of what stays as it is."""
        raise NotImplementedError

    def _witness(self, part: _Part[F]) -> list[exp.Expr]:
        raise NotImplementedError

    def _shown(self, part: _Part[F]) -> list[exp.Expr]:
        """The values that explain a verdict."""
        raise NotImplementedError

    def _value(self, expr: Expr) -> exp.Expr:
        columns: dict[str, exp.Expr] = {each: tree.col(name) for each, name in self._names.columns.items()}
        return value(expr, columns, self._dialect)

    def query(self) -> Query:
        """Common table expressions and one SELECT of all parts' rows."""
        ctes = self._scanned()
        if self._persistent:
            ctes.append(("seen", self._seen(ctes[-1][0])))
        judged = [column for part in self._parts for column in part.judged.columns]
        judged += [tree.alias(self._unchanged(part), f"unchanged{part.tag}") for part in self._steps]
        ctes.append(("judged", exp.select("*", *judged).from_(tree.table(ctes[-1][0]))))
        verdicts = [tree.alias(self._verdict(part), f"verdict{part.tag}") for part in self._parts]
        ctes.append(("weighed", exp.select("*", *verdicts).from_(tree.table("judged"))))
        rows = {part.identity: self._row(part) for part in self._parts}
        applies = {part.identity: self._applies(part) for part in self._steps}
        source = exp.select().from_(tree.table("weighed"))
        return Query(tuple(ctes), fanned(rows, source, self._dialect, applies))

    def _in_order(self, select: exp.Select, keys: Sequence[str]) -> exp.Select:
        """With the window that ``successor`` looks ahead in."""
        order = exp.Ordered(this=tree.col("from_position"), nulls_first=True)
        window = exp.Window(
            this=tree.name("successive"),
            partition_by=[tree.col(each) for each in (*self._mapping.scope, *keys)],
            order=exp.Order(expressions=[order]),
        )
        select.set("windows", [window])
        return select

    def _placed(self) -> list[exp.Expr]:
        """Scope and interval of a row, and of the next one."""
        columns: list[exp.Expr] = [tree.col(each) for each in (*self._mapping.scope, *INTERVAL)]
        if any(frame.stepped for frame in self._frames.values()):
            columns += [tree.alias(successor(tree.col(each)), then) for each, then in _NEXT.items()]
        return columns

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
            )
            .from_(tree.table(rows))
            .join(tree.table(self._mapping.coverage, unseen), on=tree.all_of(on), join_type="left")
        )

    def _applies(self, part: _Part[F]) -> exp.Expr:
        """A step is a row with a next one: where they meet, or across a hole where that is sound."""
        then = tree.col(_NEXT["from_position"])
        adjacent = exp.EQ(this=then, expression=tree.col("to_position"))
        if not part.persistent:
            return adjacent
        return tree.any_of([adjacent, tree.all_of([tree.is_known(then.copy()), tree.col("parted")])])

    def _verdict(self, part: _Part[F]) -> exp.Expr:
        step = part.judged.verdict
        if not part.frame.stepped:
            return step
        verdict = tree.any_of([part.column("unchanged"), step]) if self._may_stutter(part) else step
        if not part.persistent:
            return verdict
        parted = tree.case([(tree.negation(step.copy()), exp.false())])
        return exp.Case(this=None, ifs=[exp.If(this=tree.col("gap"), true=parted)], default=verdict)

    def _row(self, part: _Part[F]) -> list[exp.Expr]:
        antecedent, failed = part.judged.antecedent, part.judged.failed
        exercised = [] if antecedent is None else [antecedent.copy()]
        if part.frame.stepped:
            moved = tree.negation(part.column("unchanged"))
            exercised.append(moved)
            failed = tree.case([(moved.copy(), failed)])
        verdict = f"verdict{part.tag}"
        return verdict_row(
            self._mapping,
            interval=self._interval(part),
            exercised=tree.surely(tree.all_of(exercised)) if exercised else exp.true(),
            witness=unless_holds(tree.json_object(self._witness(part)), verdict),
            verdict=tree.col(verdict),
            failed=failed,
            values=unless_holds(tree.json_object(self._shown(part)), verdict),
            evidence=unless_holds(tree.col("evidence"), verdict),
        )

    def _interval(self, part: _Part[F]) -> list[exp.Expr]:
        if not part.frame.stepped:
            return [tree.col(each) for each in INTERVAL]
        found: list[exp.Expr] = [tree.col(each) for each in _NEXT.values()]
        if part.persistent:
            met = tree.case([(tree.negation(tree.col("gap")), tree.col(_NEXT["from_time"]))])
            found[0] = tree.col("to_position")
            found[2] = exp.Coalesce(this=met, expressions=[tree.col("to_time")])
        return found


class _Histories(_Pass[HistoryFrame]):
    """Over one history: a column for each state expression."""

    def _add_names(self) -> None:
        self._witnesses = {each.name: each for frame in self._frames.values() for each in frame.witnesses}
        self._leaves = {each.text: each for frame in self._frames.values() for each in frame.leaves}
        for name in (*self._witnesses, *self._leaves):
            self._names.add(name)

    def _scanned(self) -> Ctes:
        table = next(iter(self._frames.values())).scans[0].table
        columns = self._placed()
        columns += [
            tree.alias(tree.col(each.column.name), self._names.columns[name])
            for name, each in self._witnesses.items()
        ]
        columns += [self._leaf(each) for each in self._leaves.values()]
        cited = tree.json_object([tree.col(each) for each in self._mapping.evidence.get(table, ())])
        found = exp.select(*columns, tree.alias(cited, "evidence")).from_(tree.table(table))
        if self._steps:
            found = self._in_order(found, [each.name for each in self._steps[0].frame.keys])
        return [("frame", found)]

    def _leaf(self, leaf: Leaf) -> exp.Expr:
        found: exp.Expr = tree.col(leaf.column.name)
        return tree.alias(successor(found) if leaf.primed else found, self._names.columns[leaf.text])

    def _unchanged(self, part: _Part[HistoryFrame]) -> exp.Expr:
        return unchanged(part.frame, self._names)

    def _may_stutter(self, part: _Part[HistoryFrame]) -> bool:
        return True

    def _witness(self, part: _Part[HistoryFrame]) -> list[exp.Expr]:
        names = [each.name for each in part.frame.witnesses]
        return [tree.alias(tree.col(self._names.columns[each]), each) for each in names]

    def _shown(self, part: _Part[HistoryFrame]) -> list[exp.Expr]:
        return [tree.alias(tree.col(self._names.columns[leaf.text]), leaf.text) for leaf in part.frame.leaves]


class _States(_Pass[StateFrame]):
    """Over a table of states: a column for each variable."""

    def _add_names(self) -> None:
        self._variables = {each.name: each for frame in self._frames.values() for each in frame.variables}
        moving = (each for frame in self._frames.values() if frame.stepped for each in frame.variables)
        self._primed = dict.fromkeys(each.name for each in moving)
        for name in self._variables:
            self._names.add(name)
        for name in self._primed:
            self._names.add(f"{name}'", f"{name}_next")

    def _scanned(self) -> Ctes:
        held = StateFrame(tuple(self._variables.values()), Clause((), (), ()), stepped=False)
        ctes = whole_values(held, self._mapping, self._dialect, "")
        if not self._steps:
            return ctes
        names = self._names.columns
        columns = [*self._placed(), *(tree.col(names[each]) for each in self._variables)]
        columns += [tree.alias(successor(tree.col(names[each])), names[f"{each}'"]) for each in self._primed]
        found = exp.select(*columns, tree.col("evidence")).from_(tree.table(ctes[-1][0]))
        return [*ctes, ("steps", self._in_order(found, ()))]

    def _unchanged(self, part: _Part[StateFrame]) -> exp.Expr:
        return tree.all_of(self._value(each) for each in stutters(part.frame))

    def _may_stutter(self, part: _Part[StateFrame]) -> bool:
        return not holds_when_unchanged(part.frame.clause)

    def _witness(self, part: _Part[StateFrame]) -> list[exp.Expr]:
        return []

    def _shown(self, part: _Part[StateFrame]) -> list[exp.Expr]:
        return [tree.alias(self._value(leaf), label) for label, leaf in shown_leaves(part.frame).items()]


def _predicates(frame: HistoryFrame | StateFrame) -> Predicates | Clause:
    return frame.predicates if isinstance(frame, HistoryFrame) else frame.clause
