"""Several definitions over one table in one pass: it is read, joined, and its rows put in order, once."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Dict
from dataclasses import dataclass

from sqlglot import exp

from tlasql import tree
from tlasql.dialect import Dialect
from tlasql.mapping import INTERVAL, Mapping, Schemas
from tlasql.plan import Column, Frame, HistoryFrame, Leaf, RecordFrame
from tlasql.sql import from_uncovered, printed, uncovered, union
from tlasql.sql_histories import or_open, successor, unchanged
from tlasql.sql_records import decision_query, records_query
from tlasql.sql_rows import Judged, Names, Query, fanned, judge, unless_holds, verdict_row
from tlasql.values import value

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
        fitting = (group for each, group in groups if each == what and _fits(frames[0], group.values()))
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
    if not isinstance(frame, HistoryFrame) or len(frame.scans) > 1:
        return False
    return all(
        isinstance(each, HistoryFrame)
        and each.scans == frame.scans
        and (each.keys == frame.keys or not (each.stepped and frame.stepped))
        and _agree(_labels(each), _labels(frame))
        for each in others
    )


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
    judged = _Pass(histories, mapping, dialect).query()
    rows = {identity: uncovered(mapping, each.stepped) for identity, each in histories.items()}
    unseen = fanned(rows, from_uncovered(mapping), dialect)
    return Query(judged.ctes, union([judged.select, unseen]))


@dataclass(frozen=True)
class _Part:
    """One definition; ``tag`` ends the names of its columns."""

    identity: str
    frame: HistoryFrame
    tag: str
    judged: Judged

    def column(self, name: str) -> exp.Column:
        return tree.col(f"{name}{self.tag}")


class _Pass:
    def __init__(self, frames: Dict[str, HistoryFrame], mapping: Mapping, dialect: Dialect) -> None:
        self._mapping, self._dialect = mapping, dialect
        self._table = next(iter(frames.values())).scans[0].table
        tags = {identity: f"_{n}" for n, identity in enumerate(frames, start=1)}
        own = ("antecedent", "unchanged", "verdict", *(f"c{n}" for n in range(1, 100)))
        taken = [name + tag for name in own for tag in tags.values()]
        self._names = Names([*mapping.scope, *INTERVAL, *_NEXT.values(), "evidence", "gap", "parted", *taken])
        self._witnesses = {each.name: each for frame in frames.values() for each in frame.witnesses}
        self._leaves = {each.text: each for frame in frames.values() for each in frame.leaves}
        for name in (*self._witnesses, *self._leaves):
            self._names.add(name)
        columns: dict[str, exp.Expr] = {each: tree.col(name) for each, name in self._names.columns.items()}
        self._parts = [
            _Part(
                identity,
                frame,
                tags[identity],
                judge(frame.predicates, lambda each: value(each, columns, dialect), tags[identity]),
            )
            for identity, frame in frames.items()
        ]
        self._steps = [part for part in self._parts if part.frame.stepped]
        self._persistent = any(part.frame.persistent for part in self._steps)

    def query(self) -> Query:
        ctes = [("frame", self._scanned())]
        if self._persistent:
            ctes.append(("seen", self._seen("frame")))
        judged = [column for part in self._parts for column in part.judged.columns]
        judged += [
            tree.alias(unchanged(part.frame, self._names), f"unchanged{part.tag}") for part in self._steps
        ]
        ctes.append(("judged", exp.select("*", *judged).from_(tree.table(ctes[-1][0]))))
        verdicts = [tree.alias(self._verdict(part), f"verdict{part.tag}") for part in self._parts]
        ctes.append(("weighed", exp.select("*", *verdicts).from_(tree.table("judged"))))
        rows = {part.identity: self._row(part) for part in self._parts}
        applies = {part.identity: self._applies(part) for part in self._steps}
        source = exp.select().from_(tree.table("weighed"))
        return Query(tuple(ctes), fanned(rows, source, self._dialect, applies))

    def _scanned(self) -> exp.Select:
        columns: list[exp.Expr] = [tree.col(each) for each in (*self._mapping.scope, *INTERVAL)]
        if self._steps:
            columns += [tree.alias(successor(tree.col(each)), then) for each, then in _NEXT.items()]
        columns += [
            tree.alias(tree.col(each.column.name), self._names.columns[name])
            for name, each in self._witnesses.items()
        ]
        columns += [self._leaf(each) for each in self._leaves.values()]
        cited = tree.json_object([tree.col(each) for each in self._mapping.evidence.get(self._table, ())])
        found = exp.select(*columns, tree.alias(cited, "evidence")).from_(tree.table(self._table))
        if self._steps:
            keys = [*self._mapping.scope, *(each.name for each in self._steps[0].frame.keys)]
            order = exp.Ordered(this=tree.col("from_position"), nulls_first=True)
            window = exp.Window(
                this=tree.name("successive"),
                partition_by=[tree.col(each) for each in keys],
                order=exp.Order(expressions=[order]),
            )
            found.set("windows", [window])
        return found

    def _leaf(self, leaf: Leaf) -> exp.Expr:
        found: exp.Expr = tree.col(leaf.column.name)
        return tree.alias(successor(found) if leaf.primed else found, self._names.columns[leaf.text])

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

    def _applies(self, part: _Part) -> exp.Expr:
        """A step is a row with a next one: where they meet, or across a hole where that is sound."""
        then = tree.col(_NEXT["from_position"])
        adjacent = exp.EQ(this=then, expression=tree.col("to_position"))
        if not part.frame.persistent:
            return adjacent
        return tree.any_of([adjacent, tree.all_of([tree.is_known(then.copy()), tree.col("parted")])])

    def _verdict(self, part: _Part) -> exp.Expr:
        step = part.judged.verdict
        if not part.frame.stepped:
            return step
        verdict = tree.any_of([part.column("unchanged"), step])
        if not part.frame.persistent:
            return verdict
        parted = tree.case([(tree.negation(step.copy()), exp.false())])
        return exp.Case(this=None, ifs=[exp.If(this=tree.col("gap"), true=parted)], default=verdict)

    def _row(self, part: _Part) -> list[exp.Expr]:
        frame, antecedent = part.frame, part.judged.antecedent
        exercised, failed = [] if antecedent is None else [antecedent.copy()], part.judged.failed
        if frame.stepped:
            moved = tree.negation(part.column("unchanged"))
            exercised.append(moved)
            failed = tree.case([(moved.copy(), failed)])
        shown = [tree.alias(tree.col(self._names.columns[each.text]), each.text) for each in frame.leaves]
        verdict = f"verdict{part.tag}"
        return verdict_row(
            self._mapping,
            interval=self._interval(part),
            exercised=tree.surely(tree.all_of(exercised)) if exercised else exp.true(),
            witness=unless_holds(tree.json_object(self._witness(frame)), verdict),
            verdict=tree.col(verdict),
            failed=failed,
            values=unless_holds(tree.json_object(shown), verdict),
            evidence=unless_holds(tree.col("evidence"), verdict),
        )

    def _witness(self, frame: HistoryFrame) -> list[exp.Expr]:
        return [tree.alias(tree.col(self._names.columns[each.name]), each.name) for each in frame.witnesses]

    def _interval(self, part: _Part) -> list[exp.Expr]:
        if not part.frame.stepped:
            return [tree.col(each) for each in INTERVAL]
        found: list[exp.Expr] = [tree.col(each) for each in _NEXT.values()]
        if part.frame.persistent:
            met = tree.case([(tree.negation(tree.col("gap")), tree.col(_NEXT["from_time"]))])
            found[0] = tree.col("to_position")
            found[2] = exp.Coalesce(this=met, expressions=[tree.col("to_time")])
        return found
