"""Whole values, state by state: all rows that are true in a stretch of a log, gathered into one value.

A stretch lies between two positions at which any of the rows begins or ends. Only covered stretches are
built: there, no row for a key means that the key is not in the DOMAIN.
"""

from __future__ import annotations

from collections.abc import Mapping as Dict

from sqlglot import exp

from tlasql.lang.types import Function, SetOf, Type
from tlasql.mapping.model import INTERVAL, History, Home, Mapping, TupleOf, Whole
from tlasql.plan.frames import StateFrame
from tlasql.sql import tree
from tlasql.sql.dialect import Dialect
from tlasql.sql.rows import Ctes

_SPAN = ("from_position", "to_position", "from_time", "to_time")


def whole_values(
    frame: StateFrame, mapping: Mapping, dialect: Dialect, names: Dict[str, str], suffix: str
) -> Ctes:
    """CTEs of which the last has a row per state: scope, interval, a column per variable, ``evidence``.

    ``names``: variable -> column.
    """
    if frame.stored:
        return [(f"states{suffix}", _as_stored(frame, mapping, dialect, names))]
    return _Gathered(frame, mapping, dialect, names, suffix).ctes()


def _as_stored(frame: StateFrame, mapping: Mapping, dialect: Dialect, names: Dict[str, str]) -> exp.Select:
    (table,) = tables_of(frame.variables[0])
    columns: list[exp.Expr] = [tree.col(each) for each in (*mapping.scope, *INTERVAL)]
    columns += [
        tree.alias(tree.col(v.column), names[v.name]) for v in frame.variables if isinstance(v, Whole)
    ]
    evidence = tree.alias(dialect.cited(mapping.evidence.get(table, {})), "evidence")
    return exp.select(*columns, evidence).from_(tree.table(table))


def tables_of(variable: History | Whole) -> list[str]:
    """The tables with the rows of a whole value."""
    if isinstance(variable, Whole):
        return [variable.table]
    return [each.table for each in (variable.homes[0], variable.domain) if each is not None]


class _Gathered:
    def __init__(
        self, frame: StateFrame, mapping: Mapping, dialect: Dialect, names: Dict[str, str], suffix: str
    ) -> None:
        self._frame, self._mapping, self._dialect, self._suffix = frame, mapping, dialect, suffix
        self._names = names
        self._ctes: Ctes = []

    def ctes(self) -> Ctes:
        """Points where anything changes, stretches between them, a value for each variable, all joined."""
        self._add("points", self._points())
        self._add("spans", self._spans())
        self._add("unplaced", self._unplaced())
        self._add("covered", self._covered())
        gathered = [(each.name, self._variable(each), each.type) for each in self._frame.variables]
        columns: list[exp.Expr] = [tree.col(each, self._name("covered")) for each in self._key()]
        columns += [tree.col(each, self._name("covered")) for each in _SPAN[1:]]
        for name, cte, kind in gathered:
            found: exp.Expr = tree.col("gathered", cte)
            if isinstance(kind, SetOf | Function):
                rows = tree.col("gathered_rows", cte)
                none = self._dialect.empty(kind)
                found = exp.Case(ifs=[exp.If(this=tree.is_null(rows), true=none)], default=found)
            columns.append(tree.alias(found, self._names[name]))
        whole = exp.select(*columns, tree.alias(tree.string("{}"), "evidence"))
        whole = whole.from_(tree.table(self._name("covered")))
        for _, cte, _ in gathered:
            whole = whole.join(tree.table(cte), on=self._same(self._name("covered"), cte), join_type="left")
        self._add("states", whole)
        return self._ctes

    def _name(self, stem: str) -> str:
        return f"{stem}{self._suffix}"

    def _add(self, stem: str, query: exp.Query) -> str:
        name = self._name(stem)
        self._ctes.append((name, query))
        return name

    def _key(self) -> tuple[str, ...]:
        return (*self._mapping.scope, "from_position")

    def _same(self, left: str, right: str) -> exp.Expr:
        return tree.all_of(
            exp.EQ(this=tree.col(each, left), expression=tree.col(each, right)) for each in self._key()
        )

    def _tables(self) -> list[str]:
        every = (table for each in self._frame.variables for table in tables_of(each))
        return list(dict.fromkeys((self._mapping.coverage, *every)))

    def _points(self) -> exp.Select:
        union: exp.Query | None = None
        for table in self._tables():
            for position, time in (("from_position", "from_time"), ("to_position", "to_time")):
                columns = [tree.col(each) for each in self._mapping.scope]
                select = exp.select(
                    *columns, tree.alias(tree.col(position), "position"), tree.alias(tree.col(time), "moment")
                ).from_(tree.table(table))
                select = select.where(tree.is_known(tree.col(position)))
                union = select if union is None else exp.union(union, select, distinct=False)
        assert union is not None
        keys = [tree.col(each) for each in (*self._mapping.scope, "position")]
        moment = tree.alias(exp.Min(this=tree.col("moment")), "moment")
        return (
            exp.select(*keys, moment).from_(union.subquery("ends")).group_by(*(each.copy() for each in keys))
        )

    def _spans(self) -> exp.Select:
        scope = [tree.col(each) for each in self._mapping.scope]
        columns: list[exp.Expr] = [*scope, tree.alias(tree.col("position"), "from_position")]
        columns.append(tree.alias(self._later("position"), "to_position"))
        columns.append(tree.alias(tree.col("moment"), "from_time"))
        columns.append(tree.alias(self._later("moment"), "to_time"))
        found = exp.select(*columns).from_(tree.table(self._name("points")))
        order = exp.Order(expressions=[exp.Ordered(this=tree.col("position"), nulls_first=True)])
        window = exp.Window(
            this=tree.name("onwards"), partition_by=[each.copy() for each in scope], order=order
        )
        found.set("windows", [window])
        return found

    @staticmethod
    def _later(column: str) -> exp.Expr:
        return exp.Window(this=exp.Lead(this=tree.col(column)), alias=tree.name("onwards"))

    def _unplaced(self) -> exp.Select:
        """Where rows of a scope may be true that do not say whose they are, or from where on they are."""
        scope = [tree.col(each) for each in self._mapping.scope]
        begin, end = tree.col("from_position"), tree.col("to_position")
        union: exp.Query | None = None
        for table in self._tables()[1:]:
            select = exp.select(*(each.copy() for each in (*scope, begin, end))).from_(tree.table(table))
            select = select.where(tree.any_of(tree.is_null(each.copy()) for each in (begin, *scope)))
            union = select if union is None else exp.union(union, select, distinct=False)
        assert union is not None

        def bound(position: exp.Expr, furthest: type[exp.Min | exp.Max], name: str) -> exp.Expr:
            every = exp.EQ(this=exp.Count(this=position.copy()), expression=exp.Count(this=exp.Star()))
            return tree.alias(tree.case([(every, furthest(this=position.copy()))]), name)

        ends = [bound(begin, exp.Min, "since"), bound(end, exp.Max, "until")]
        found = exp.select(*scope, *ends, tree.alias(exp.true(), "lost")).from_(union.subquery("rows_alone"))
        return found.group_by(*(each.copy() for each in scope))

    def _covered(self) -> exp.Select:
        spans, coverage, unplaced = self._name("spans"), "known", self._name("unplaced")
        columns = [tree.col(each, spans) for each in (*self._mapping.scope, *_SPAN)]
        on = [*self._within(spans, coverage), tree.surely(tree.col(self._mapping.covered, coverage))]
        found = exp.select(*columns).from_(tree.table(spans))
        found = found.join(tree.table(self._mapping.coverage, coverage), on=tree.all_of(on))
        of_any = {
            each: tree.is_null(tree.col(each, unplaced)) for each in (*self._mapping.scope, "since", "until")
        }
        near = [
            tree.any_of(
                [of_any[each], exp.EQ(this=tree.col(each, spans), expression=tree.col(each, unplaced))]
            )
            for each in self._mapping.scope
        ]
        begins = exp.LT(this=tree.col("from_position", spans), expression=tree.col("until", unplaced))
        near.append(tree.any_of([of_any["until"], begins]))
        ends = exp.LT(this=tree.col("since", unplaced), expression=tree.col("to_position", spans))
        near.append(tree.any_of([of_any["since"], tree.is_null(tree.col("to_position", spans)), ends]))
        found = found.join(tree.table(unplaced), on=tree.all_of(near), join_type="left")
        return found.where(tree.is_null(tree.col("lost", unplaced)))

    def _within(self, spans: str, rows: str) -> list[exp.Expr]:
        """The rows of this scope that are true when the stretch begins, hence all through it."""
        found: list[exp.Expr] = [
            exp.EQ(this=tree.col(each, spans), expression=tree.col(each, rows))
            for each in self._mapping.scope
        ]
        begin, end = tree.col("from_position", spans), tree.col("to_position", rows)
        found.append(exp.LTE(this=tree.col("from_position", rows), expression=begin))
        still = exp.LT(this=begin.copy(), expression=end)
        found.append(exp.Paren(this=tree.any_of([tree.is_null(end.copy()), still])))
        return found

    def _variable(self, variable: History | Whole) -> str:
        """The CTE with the variable's value (``gathered``) in each stretch in which it has rows."""
        if isinstance(variable, Whole):
            return self._scalar(variable, Home(variable.table, (), variable.column))
        home = variable.homes[0]
        if not home.key and not isinstance(variable.type, SetOf):
            return self._scalar(variable, home)
        rows = self._alive(self._names[variable.name], home)
        return self._fold(variable, rows)

    def _scalar(self, variable: History | Whole, home: Home) -> str:
        alive = self._alive(self._names[variable.name], home)
        keys = [tree.col(each) for each in self._key()]
        columns = [*keys, tree.alias(tree.col("element"), "gathered")]
        columns.append(tree.alias(exp.Literal.number(1), "gathered_rows"))
        return self._add(f"value_{self._names[variable.name]}", exp.select(*columns).from_(tree.table(alive)))

    def _alive(self, name: str, home: Home) -> str:
        """Each stretch beside the rows of a home that are true in it: keys as ``key_1``..., ``element``."""
        spans, rows = self._name("covered"), "held"
        columns: list[exp.Expr] = [tree.col(each, spans) for each in self._key()]
        columns += [tree.alias(self._key_of(c, rows), f"key_{n}") for n, c in enumerate(home.key, start=1)]
        if home.column is not None:
            columns.append(tree.alias(tree.col(home.column, rows), "element"))
        found = exp.select(*columns).from_(tree.table(spans))
        found = found.join(tree.table(home.table, rows), on=tree.all_of(self._within(spans, rows)))
        return self._add(f"rows_{name}", found)

    def _key_of(self, given: str | TupleOf, rows: str) -> exp.Expr:
        """An argument, not known where a part of it is not."""
        if isinstance(given, str):
            return tree.col(given, rows)
        parts = [tree.col(each, rows) for each in given.columns]
        whole = self._dialect.struct([(f"_{n}", each.copy()) for n, each in enumerate(parts, start=1)])
        typed = exp.Cast(this=whole, to=self._dialect.data_type(given.type))
        return tree.case([(tree.all_of(map(tree.is_known, parts)), typed)])

    def _fold(self, variable: History, rows: str) -> str:
        """From the innermost level outwards: a set of elements, then maps from the last key to the first."""
        levels, kind = _levels(variable.type)
        last, content = rows, "element"
        name = self._names[variable.name]
        if isinstance(kind, SetOf):
            found = self._dialect.collected(tree.col(content))
            last, content = self._grouped(name, len(levels), last, found), "gathered"
        for depth in range(len(levels), 0, -1):
            if depth == 1 and variable.domain is not None:
                last = self._with_domain(variable, last, content, levels[0].result)
                content = "gathered"
            entries = self._dialect.collected_map(tree.col(f"key_{depth}"), tree.col(content))
            last, content = self._grouped(name, depth - 1, last, entries), "gathered"
        return last

    def _grouped(self, name: str, depth: int, rows: str, gathered: exp.Expr) -> str:
        keys = [tree.col(each) for each in (*self._key(), *(f"key_{n}" for n in range(1, depth + 1)))]
        columns = [
            *keys,
            tree.alias(gathered, "gathered"),
            tree.alias(exp.Count(this=exp.Star()), "gathered_rows"),
        ]
        found = exp.select(*columns).from_(tree.table(rows)).group_by(*(each.copy() for each in keys))
        return self._add(f"value_{name}" if depth == 0 else f"value_{name}_{depth}", found)

    def _with_domain(self, variable: History, rows: str, content: str, inner: Type) -> str:
        """The keys that have a row in the domain's home; without values their value is empty."""
        assert variable.domain is not None
        domain = self._alive(f"{self._names[variable.name]}_keys", variable.domain)
        value: exp.Expr = tree.col(content, rows)
        if isinstance(inner, SetOf | Function):
            missing = tree.is_null(tree.col("key_1", rows))
            value = exp.Case(ifs=[exp.If(this=missing, true=self._dialect.empty(inner))], default=value)
        columns = [*(tree.col(each, domain) for each in self._key()), tree.col("key_1", domain)]
        on = [
            self._same(domain, rows),
            exp.EQ(this=tree.col("key_1", domain), expression=tree.col("key_1", rows)),
        ]
        found = exp.select(*columns, tree.alias(value, "gathered")).from_(tree.table(domain))
        found = found.join(tree.table(rows), on=tree.all_of(on), join_type="left")
        # of whose value nobody knows the argument: of the function nothing is known (``collected_map``)
        columns = [*(tree.col(each) for each in self._key()), tree.col("key_1"), tree.col(content)]
        lost = exp.select(*columns).from_(tree.table(rows)).where(tree.is_null(tree.col("key_1")))
        both = exp.union(found, lost, distinct=False)
        return self._add(f"keyed_{self._names[variable.name]}", both)


def _levels(kind: Type) -> tuple[list[Function], Type]:
    levels = []
    while isinstance(kind, Function):
        levels.append(kind)
        kind = kind.result
    return levels, kind
