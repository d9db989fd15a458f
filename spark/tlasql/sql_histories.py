"""SQL over histories: scan or interval join, then predicates; for steps, each row beside its successor."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tlasql import tree
from tlasql.dialect import Dialect
from tlasql.mapping import INTERVAL, Mapping
from tlasql.plan import Column, HistoryFrame, Leaf
from tlasql.sql_rows import Names, Query, judge, unless_holds, verdict_row
from tlasql.values import value

_ADDED = ("left_at", "gap", "unchanged", "antecedent", "verdict", "evidence")


def history_query(frame: HistoryFrame, mapping: Mapping, dialect: Dialect, suffix: str) -> Query:
    """The query of one frame; ``suffix`` keeps its CTEs apart from those of other frames."""
    names = Names((*mapping.scope, *INTERVAL, *_ADDED, *(f"c{n}" for n in range(1, 100))))
    for witness in frame.witnesses:
        names.add(witness.name)
    for leaf in frame.leaves:
        names.add(leaf.text)
    build = _Steps if frame.stepped else _States
    return build(frame, mapping, dialect, suffix, names).query()


class _States:
    """Rows of a frame as they are: the verdict of a row is true or false all through its interval."""

    def __init__(
        self, frame: HistoryFrame, mapping: Mapping, dialect: Dialect, suffix: str, names: Names
    ) -> None:
        self._frame, self._mapping, self._suffix, self._names = frame, mapping, suffix, names
        columns: dict[str, exp.Expr] = {label: tree.col(each) for label, each in names.columns.items()}
        self._judged = judge(frame.predicates, lambda each: value(each, columns, dialect))

    def query(self) -> Query:
        rows, judged, weighed = (f"{each}{self._suffix}" for each in ("frame", "judged", "weighed"))
        add = exp.select("*", *self._judged.columns).from_(tree.table(rows))
        return Query(
            ((rows, self._scanned()), (judged, add), (weighed, self._weighed(judged))),
            exp.select(*self._row()).from_(tree.table(weighed)),
        )

    def _weighed(self, judged: str) -> exp.Select:
        return exp.select("*", tree.alias(self._verdict(), "verdict")).from_(tree.table(judged))

    def _verdict(self) -> exp.Expr:
        return self._judged.verdict

    def _row(self) -> list[exp.Expr]:
        antecedent = self._judged.antecedent
        return verdict_row(
            self._mapping,
            interval=[tree.col(each) for each in INTERVAL],
            exercised=exp.true() if antecedent is None else tree.surely(antecedent.copy()),
            witness=unless_holds(self._witness()),
            verdict=tree.col("verdict"),
            failed=self._judged.failed,
            values=unless_holds(self._values()),
            evidence=unless_holds(tree.col("evidence")),
        )

    def _witness(self) -> exp.Expr:
        return tree.json_object(
            [
                tree.alias(tree.col(self._names.columns[each.name]), each.name)
                for each in self._frame.witnesses
            ]
        )

    def _values(self) -> exp.Expr:
        return tree.json_object(
            [tree.alias(tree.col(self._names.columns[each.text]), each.text) for each in self._frame.leaves]
        )

    def _scanned(self) -> exp.Select:
        first, *others = self._frame.scans
        columns: list[exp.Expr] = [tree.col(each, self._only(first.alias)) for each in self._mapping.scope]
        columns += (
            self._interval() + self._named_witnesses() + [self._named(each) for each in self._frame.leaves]
        )
        found = exp.select(*columns, tree.alias(self._evidence(), "evidence"))
        found = found.from_(tree.table(first.table, self._only(first.alias)))
        seen = [first.alias]
        for scan in others:
            found = found.join(tree.table(scan.table, scan.alias), on=tree.all_of(self._on(scan.alias, seen)))
            seen.append(scan.alias)
        return found

    def _named_witnesses(self) -> list[exp.Expr]:
        return [
            tree.alias(self._physical(each.column), self._names.columns[each.name])
            for each in self._frame.witnesses
        ]

    def _named(self, leaf: Leaf) -> exp.Expr:
        return tree.alias(self._physical(leaf.column), self._names.columns[leaf.text])

    def _physical(self, column: Column) -> exp.Column:
        return tree.col(column.name, self._only(column.alias))

    def _only(self, alias: str) -> str | None:
        """The qualifier of a column: none where there is one table."""
        return alias if len(self._frame.scans) > 1 else None

    def _evidence(self) -> exp.Expr:
        first = self._frame.scans[0]
        cited = self._mapping.evidence.get(first.table, ())
        return tree.json_object([tree.col(each, self._only(first.alias)) for each in cited])

    def _interval(self) -> list[exp.Expr]:
        """The intersection of the scans' intervals, each end with the time of the scan that sets it."""
        aliases = [scan.alias for scan in self._frame.scans]
        if len(aliases) == 1:
            return [tree.col(each) for each in INTERVAL]
        # GREATEST and LEAST must pass over nulls: an open end never bounds the intersection
        begin = exp.Greatest(**_spread([tree.col("from_position", each) for each in aliases]))
        end = exp.Least(**_spread([tree.col("to_position", each) for each in aliases]))
        times = [
            tree.case_of(bound, [(tree.col(position, each), tree.col(time, each)) for each in aliases])
            for bound, position, time in (
                (begin, "from_position", "from_time"),
                (end, "to_position", "to_time"),
            )
        ]
        ends = [begin.copy(), end.copy(), *times]
        return [tree.alias(part, each) for part, each in zip(ends, INTERVAL, strict=True)]

    def _on(self, alias: str, seen: Sequence[str]) -> list[exp.Expr]:
        found: list[exp.Expr] = [
            exp.EQ(this=tree.col(each, seen[0]), expression=tree.col(each, alias))
            for each in self._mapping.scope
        ]
        for left, right in self._frame.equal:
            if {left.alias, right.alias} <= {alias, *seen} and alias in (left.alias, right.alias):
                found.append(exp.EQ(this=_physical(left), expression=_physical(right)))
        for left, right in self._frame.ordered:
            if {left.alias, right.alias} <= {alias, *seen} and alias in (left.alias, right.alias):
                found.append(exp.LTE(this=_physical(left), expression=_physical(right)))
        for other in seen:
            found += [_begins_before_end(other, alias), _begins_before_end(alias, other)]
        return found


class _Steps(_States):
    """Each row beside the next row of its key: ``[A]_v`` where they meet, or across a gap where that is
    sound.
    """

    def query(self) -> Query:
        parts = ("pairs", "frame", "judged", "weighed")
        pairs, rows, judged, weighed = (f"{each}{self._suffix}" for each in parts)
        changed = [tree.alias(unchanged(self._frame, self._names), "unchanged"), *self._judged.columns]
        add = exp.select("*", *changed).from_(tree.table(rows))
        return Query(
            (
                (pairs, self._paired()),
                (rows, self._met(pairs)),
                (judged, add),
                (weighed, self._weighed(judged)),
            ),
            exp.select(*self._row()).from_(tree.table(weighed)),
        )

    def _paired(self) -> exp.Select:
        first = self._frame.scans[0]
        columns: list[exp.Expr] = [tree.col(each) for each in self._mapping.scope]
        columns.append(tree.alias(tree.col("to_position"), "left_at"))
        if self._frame.persistent:
            columns.append(tree.alias(tree.col("to_time"), "left_at_time"))
        columns += [tree.alias(successor(tree.col(each)), each) for each in INTERVAL]
        columns += self._named_witnesses() + [self._named(each) for each in self._frame.leaves]
        found = exp.select(*columns, tree.alias(self._evidence(), "evidence"))
        found = found.from_(tree.table(first.table))
        keys = [*self._mapping.scope, *(each.name for each in self._frame.keys)]
        order = exp.Order(expressions=[exp.Ordered(this=tree.col("from_position"), nulls_first=True)])
        window = exp.Window(
            this=tree.name("successive"),
            partition_by=[tree.col(each) for each in keys],
            order=order,
        )
        found.set("windows", [window])
        return found

    def _named(self, leaf: Leaf) -> exp.Expr:
        value = self._physical(leaf.column)
        return tree.alias(successor(value) if leaf.primed else value, self._names.columns[leaf.text])

    def _met(self, pairs: str) -> exp.Select:
        adjacent = exp.EQ(this=tree.col("from_position", pairs), expression=tree.col("left_at", pairs))
        if not self._frame.persistent:
            return exp.select("*").from_(tree.table(pairs)).where(adjacent)
        return self._met_or_parted(pairs, adjacent)

    def _met_or_parted(self, pairs: str, adjacent: exp.Expr) -> exp.Select:
        """Also pairs parted by an uncovered piece that begins where the first row ends."""
        unseen = self._mapping.coverage.rsplit(".", 1)[-1]
        on: list[exp.Expr] = [
            exp.EQ(this=tree.col(each, pairs), expression=tree.col(each, unseen))
            for each in self._mapping.scope
        ]
        on += [
            tree.negation(tree.surely(tree.col(self._mapping.covered, unseen))),
            exp.LTE(this=tree.col("from_position", unseen), expression=tree.col("left_at", pairs)),
            or_open(exp.LT(this=tree.col("left_at", pairs), expression=tree.col("to_position", unseen))),
        ]
        gap = exp.NEQ(this=tree.col("from_position", pairs), expression=tree.col("left_at", pairs))
        parted = tree.is_known(tree.col("from_position", unseen))
        later = tree.is_known(tree.col("from_position", pairs))
        star = exp.Column(this=exp.Star(), table=tree.name(pairs))
        return (
            exp.select(star, tree.alias(gap, "gap"))
            .from_(tree.table(pairs))
            .join(tree.table(self._mapping.coverage, unseen), on=tree.all_of(on), join_type="left")
            .where(tree.any_of([adjacent, tree.all_of([later, parted])]))
        )

    def _verdict(self) -> exp.Expr:
        step = self._judged.verdict
        verdict = tree.any_of([tree.col("unchanged"), step])
        if not self._frame.persistent:
            return verdict
        # across a gap the way between is unseen: the end may prove a fall, never that there was none
        parted = tree.case([(tree.negation(step.copy()), exp.false())])
        return exp.Case(this=None, ifs=[exp.If(this=tree.col("gap"), true=parted)], default=verdict)

    def _row(self) -> list[exp.Expr]:
        begin: list[exp.Expr] = [tree.col(each) for each in INTERVAL]
        if self._frame.persistent:
            begin[0] = tree.col("left_at")
            begin[2] = tree.case([(tree.negation(tree.col("gap")), tree.col("from_time"))])
            begin[2] = exp.Coalesce(this=begin[2], expressions=[tree.col("left_at_time")])
        moved = tree.negation(tree.col("unchanged"))
        antecedent = self._judged.antecedent
        failed = tree.case([(moved.copy(), self._judged.failed)])
        exercised = moved if antecedent is None else tree.all_of([moved, antecedent.copy()])
        return verdict_row(
            self._mapping,
            interval=begin,
            exercised=tree.surely(exercised),
            witness=unless_holds(self._witness()),
            verdict=tree.col("verdict"),
            failed=failed,
            values=unless_holds(self._values()),
            evidence=unless_holds(tree.col("evidence")),
        )


def unchanged(frame: HistoryFrame, names: Names) -> exp.Expr:
    """Whether a step leaves what it speaks of as it is."""
    plain = [each.text for each in frame.leaves if not each.primed]
    primed = [each.text for each in frame.leaves if each.primed]
    return tree.all_of(
        exp.EQ(this=tree.col(names.columns[b]), expression=tree.col(names.columns[a]))
        for a, b in zip(plain, primed, strict=True)
    )


def _physical(column: Column) -> exp.Column:
    return tree.col(column.name, column.alias)


def successor(value: exp.Expr) -> exp.Expr:
    """The value in the next row of the window ``successive``."""
    return exp.Window(this=exp.Lead(this=value), alias=tree.name("successive"))


def _begins_before_end(one: str, other: str) -> exp.Expr:
    return or_open(exp.LT(this=tree.col("from_position", one), expression=tree.col("to_position", other)))


def or_open(before_end: exp.LT) -> exp.Expr:
    """``before_end``, also where the end is open."""
    return exp.Paren(this=tree.any_of([tree.is_null(before_end.expression.copy()), before_end]))


def _spread(parts: list[exp.Column]) -> dict[str, object]:
    return {"this": parts[0], "expressions": list(parts[1:]), "ignore_nulls": True}
