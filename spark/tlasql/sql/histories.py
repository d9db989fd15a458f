"""Judges rows of histories: of one table, or of several joined where their intervals overlap."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tlasql.mapping.model import INTERVAL
from tlasql.plan.frames import Column, HistoryFrame, Leaf
from tlasql.sql import tree
from tlasql.sql.judging import Judging, or_open, successor
from tlasql.sql.predicates import Part
from tlasql.sql.reasons import NOT_KNOWN, Why, no_value, of_table, own_reasons
from tlasql.sql.rows import Ctes


class Histories(Judging[HistoryFrame]):
    """A column for each witness and state expression; frames of several definitions have one scan and agree
    on what their labels name.
    """

    def _add_names(self) -> None:
        self._first = next(iter(self._frames.values()))
        self._witnesses = {each.name: each for frame in self._frames.values() for each in frame.witnesses}
        self._leaves = {each.text: each for frame in self._frames.values() for each in frame.leaves}
        for name in (*self._witnesses, *self._leaves):
            self._names.add(name)
        # what a row says of itself, and what the next one says
        rows = [(scan, of_table(self._mapping, scan.table).row) for scan in self._first.scans]
        self._said = {
            self._names.add(f"reason of {scan.alias}", "reason"): tree.col(row, self._only(scan.alias))
            for scan, row in rows
            if row is not None
        }
        self._said_next = {
            self._names.add(f"next {name}", f"next_{name}"): successor(found.copy())
            for name, found in self._said.items()
            if any(frame.stepped for frame in self._frames.values())
        }

    def _scanned(self) -> Ctes:
        first, *others = self._first.scans
        columns: list[exp.Expr] = [tree.col(each, self._only(first.alias)) for each in self._mapping.scope]
        columns += self._overlap() if others else self._placed()
        columns += [
            tree.alias(self._physical(each.column), self._names.columns[name])
            for name, each in self._witnesses.items()
        ]
        columns += [self._leaf(each) for each in self._leaves.values()]
        said = {**self._said, **self._said_next}
        columns += [tree.alias(found, name) for name, found in said.items()]
        cited = self._mapping.evidence.get(first.table, {})
        evidence = self._dialect.cited(cited, lambda name: tree.col(name, self._only(first.alias)))
        found = exp.select(*columns, tree.alias(evidence, "evidence"))
        found = found.from_(tree.table(first.table, self._only(first.alias)))
        seen = [first.alias]
        for scan in others:
            found = found.join(tree.table(scan.table, scan.alias), on=tree.all_of(self._on(scan.alias, seen)))
            seen.append(scan.alias)
        if others:
            found = found.where(*(tree.is_known(tree.col("from_position", each)) for each in seen))
        if self._steps:
            found = self._in_order(found, [each.name for each in self._steps[0].frame.keys])
        return [(f"frame{self._suffix}", found)]

    def _leaf(self, leaf: Leaf) -> exp.Expr:
        found: exp.Expr = self._physical(leaf.column)
        return tree.alias(successor(found) if leaf.primed else found, self._names.columns[leaf.text])

    def _physical(self, column: Column) -> exp.Column:
        return tree.col(column.name, self._only(column.alias))

    def _only(self, alias: str) -> str | None:
        """The qualifier of a column: none where there is one table."""
        return alias if len(self._first.scans) > 1 else None

    def _overlap(self) -> list[exp.Expr]:
        """The intersection of the scans' intervals, each end with the time of the scan that sets it."""
        aliases = [scan.alias for scan in self._first.scans]
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
        for left, right in self._first.equal:
            if {left.alias, right.alias} <= {alias, *seen} and alias in (left.alias, right.alias):
                found.append(exp.EQ(this=self._physical(left), expression=self._physical(right)))
        for left, right in self._first.ordered:
            if {left.alias, right.alias} <= {alias, *seen} and alias in (left.alias, right.alias):
                found.append(exp.LTE(this=self._physical(left), expression=self._physical(right)))
        for other in seen:
            found += [_begins_before_end(other, alias), _begins_before_end(alias, other)]
        return found

    def _unchanged(self, part: Part[HistoryFrame]) -> exp.Expr:
        plain = [each.text for each in part.frame.leaves if not each.primed]
        primed = [each.text for each in part.frame.leaves if each.primed]
        names = self._names.columns
        return tree.all_of(
            exp.EQ(this=tree.col(names[b]), expression=tree.col(names[a]))
            for a, b in zip(plain, primed, strict=True)
        )

    def _keys(self, part: Part[HistoryFrame]) -> Sequence[exp.Expr]:
        return [tree.col(self._names.columns[each.name]) for each in part.frame.witnesses]

    def _witness(self, part: Part[HistoryFrame]) -> Sequence[str]:
        return [each.name for each in part.frame.witnesses]

    def _why(self, part: Part[HistoryFrame]) -> Why:
        tables = {scan.alias: scan.table for scan in part.frame.scans}
        read = [
            (tree.col(self._names.columns[each.text]), tables[each.column.alias], each.column.name)
            for each in part.frame.leaves
        ]
        own = own_reasons(self._mapping, read)
        if part.frame.predicates.stops:
            own.append(no_value(value for value, _, _ in read))
        last = of_table(self._mapping, part.frame.scans[0].table).otherwise or NOT_KNOWN
        said = [*self._said, *(self._said_next if part.frame.stepped else ())]
        return Why(own, [tree.col(each) for each in said], last)

    def _shown(self, part: Part[HistoryFrame]) -> list[exp.Expr]:
        return [self._column(leaf.text) for leaf in part.frame.leaves]


def _begins_before_end(one: str, other: str) -> exp.Expr:
    return or_open(exp.LT(this=tree.col("from_position", one), expression=tree.col("to_position", other)))


def _spread(parts: list[exp.Column]) -> dict[str, object]:
    return {"this": parts[0], "expressions": list(parts[1:]), "ignore_nulls": True}
