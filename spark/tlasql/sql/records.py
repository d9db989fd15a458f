"""Judges a set of records: each state that a record may have met, and then what these agree on."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Dict

from sqlglot import exp

from tlasql.lang.ir import Expr
from tlasql.lang.types import BOOL, Type
from tlasql.mapping.model import INTERVAL, Mapping, Schemas
from tlasql.plan.frames import Aggregate, Leaf, RecordFrame
from tlasql.sql import tree
from tlasql.sql.alone import apart
from tlasql.sql.dialect import Dialect
from tlasql.sql.predicates import Part, judge
from tlasql.sql.reasons import (
    NO_VALUE,
    NOT_KNOWN,
    SEVERAL_STATES,
    Read,
    first_of,
    no_value,
    of_table,
    own_reasons,
)
from tlasql.sql.rows import Ctes, Names, Query, fanned, unless_held, verdict_row
from tlasql.sql.values import value

_FIRST = "first_state"


def records_query(
    frames: Dict[str, RecordFrame], mapping: Mapping, schemas: Schemas, dialect: Dialect, suffix: str = ""
) -> Query:
    """One row per element: holds or violated where all its alternatives are, unknown otherwise.

    ``frames``: id -> frame, all of one record set; of several each row says in ``definition`` whose it is.
    """
    build = _Records(frames, mapping, schemas, dialect, suffix)
    return Query(tuple(build.ctes()), build.verdicts())


def decision_query(
    frames: Dict[str, RecordFrame], mapping: Mapping, schemas: Schemas, dialect: Dialect
) -> Query:
    """One row per element: the outcome all its alternatives agree on; ``frames`` as above."""
    build = _Records(frames, mapping, schemas, dialect, "")
    return Query(tuple(build.decided()), build.outcomes())


class _Records:
    def __init__(
        self,
        frames: Dict[str, RecordFrame],
        mapping: Mapping,
        schemas: Schemas,
        dialect: Dialect,
        suffix: str,
    ) -> None:
        self._dialect = dialect
        self._mapping, self._schemas, self._suffix = mapping, schemas, suffix
        first = next(iter(frames.values()))
        self._ids, self._records, self._scan = list(frames), first.records, first.scan
        self._leaves = {leaf.text: leaf for frame in frames.values() for leaf in frame.leaves}
        self._aggregates = {each.text: each for frame in frames.values() for each in frame.aggregates}
        tags = [f"_{n}" if len(frames) > 1 else "" for n in range(1, len(frames) + 1)]
        taken = (*mapping.scope, *INTERVAL, *self._records.identity, *self._state_columns())
        fixed = (
            "verdict",
            "exercised",
            "failed_conjunct",
            "observed",
            "evidence",
            "antecedent",
            "evaluates",
            "scope",
            "states",
            "reason",
            _FIRST,
        )
        numbered = [f"c{n}" for n in range(1, 100)]
        self._names = Names([*taken, *(name + tag for name in (*fixed, *numbered) for tag in tags)])
        for leaf in self._leaves.values():
            self._names.add(leaf.text)
        for aggregate in self._aggregates.values():
            self._names.add(aggregate.text, aggregate.label)
        # the columns with the reasons of quantifiers, where those have reasons of their own
        self._reasons = {
            each.text: self._names.add(f"reason of {each.text}", "reason")
            for each in self._aggregates.values()
            if own_reasons(mapping, self._read(each.leaves, self._names))
        }
        self._parts = [
            Part(frame, tag, judge(frame.predicates, lambda each: self._value(each, self._names), tag))
            for frame, tag in zip(frames.values(), tags, strict=True)
        ]

    def _read(self, leaves: Iterable[Leaf], names: Names) -> list[Read]:
        table = self._records.table
        return [(tree.col(names.columns.get(each.text, "")), table, each.column.name) for each in leaves]

    def _value(self, expr: Expr, names: Names) -> exp.Expr:
        columns: dict[str, exp.Expr] = {label: tree.col(each) for label, each in names.columns.items()}
        return value(expr, columns, self._dialect)

    def ctes(self) -> Ctes:
        """Aggregates, frame, judged rows and their alternatives, in order."""
        found = self._frame_ctes()
        judged, weighed = f"judged{self._suffix}", f"weighed{self._suffix}"
        return [*found, (weighed, self._weighed(judged)), *self._grouped(weighed)]

    def _grouped(self, weighed: str) -> Ctes:
        agreed = self._agreed(weighed)
        if not self._dialect.ALONE_APART:
            return [(self._agreed_name, agreed)]
        key = [self._mapping.scope[0], *self._records.identity]
        return apart(self._agreed_name, agreed, weighed, self._records.table, key)

    def decided(self) -> Ctes:
        """The same for a decision: nothing but the outcome."""
        judged = f"judged{self._suffix}"
        return [*self._frame_ctes(), (self._agreed_name, self._agreed_outcome(judged))]

    def _frame_ctes(self) -> Ctes:
        found: Ctes = []
        for number, aggregate in enumerate(self._aggregates.values(), start=1):
            found += self._aggregate(aggregate, f"quantified{self._suffix}_{number}")
        rows, judged = f"frame{self._suffix}", f"judged{self._suffix}"
        found.append((rows, self._scanned()))
        columns = [column for part in self._parts for column in part.judged.columns]
        given, columns = self._dialect.lifted(columns, rows, f"given{self._suffix}")
        found += given
        found.append((judged, exp.select("*", *columns).from_(tree.table(given[-1][0] if given else rows))))
        return found

    def verdicts(self) -> exp.Select:
        """The uniform rows; an element whose states are not all known is unknown."""
        interval = [tree.col(each, self._agreed_name) for each in INTERVAL]
        universe = self._records.universe
        for position, column in ((2, universe.from_time), (3, universe.to_time)):
            if column is not None:
                known = [tree.col(column, self._universe_name)]
                interval[position] = exp.Coalesce(this=interval[position], expressions=known)  # type: ignore[call-overload]
        rows = [self._row(part, interval) for part in self._parts]
        return self._beside_the_universe(rows, explained=True)

    def _row(self, part: Part[RecordFrame], interval: list[exp.Column]) -> list[exp.Expr]:
        return verdict_row(
            self._mapping,
            scope=[tree.alias(self._scope_column(each), each) for each in self._mapping.scope],
            interval=interval,
            exercised=tree.surely(part.column("exercised", self._agreed_name)),
            witness=self._unless_all_hold(tree.json_object([self._identity_witness(part)])),
            verdict=self._complete(part.column("verdict", self._agreed_name)),
            failed=self._complete(self._failed(part)),
            reason=self._reason(part),
            observed=self._values(part),
            evidence=self._unless_all_hold(self._evidence()),
        )

    def _unless_all_hold(self, text: exp.Expr) -> exp.Expr:
        """``text`` where some definition does not hold of the element. Nobody reads it of the many others,
        and to make it costs more than to judge them.
        """
        verdicts = [
            tree.surely(self._complete(part.column("verdict", self._agreed_name))) for part in self._parts
        ]
        return tree.case([(tree.negation(exp.paren(tree.all_of(verdicts))), text)])

    def _values(self, part: Part[RecordFrame]) -> exp.Expr:
        """The values of the first state that the element may have met, unless the definition holds of it."""
        leaves = [(leaf.text, leaf.text) for leaf in part.frame.leaves]
        leaves += [(each.text, each.label) for each in part.frame.aggregates]
        shown = [tree.alias(self._of_first(self._names.columns[text]), label) for text, label in leaves]
        agreed = tree.is_known(tree.col("states", self._agreed_name))
        holds = self._complete(part.column("verdict", self._agreed_name))
        return tree.case(
            [(tree.all_of([agreed, tree.negation(tree.surely(holds))]), tree.json_object(shown))]
        )

    def _failed(self, part: Part[RecordFrame]) -> exp.Expr:
        """The conjunct of one alternative explains a verdict only where all alternatives are violated."""
        violated = tree.negation(part.column("verdict", self._agreed_name))
        return tree.case([(violated, self._of_first(f"failed_conjunct{part.tag}"))])

    def outcomes(self) -> exp.Select:
        """The first column of the scope, then DECISION."""
        cluster = self._mapping.scope[0]
        subject = tree.col(self._records.identity[0])
        rows = [
            [
                tree.col(cluster),
                tree.alias(subject, "subject"),
                tree.alias(self._complete(part.column("verdict", self._agreed_name)), "outcome"),
                tree.alias(self._reason(part), "reason"),
            ]
            for part in self._parts
        ]
        return self._beside_the_universe(rows, explained=False)

    def _beside_the_universe(self, rows: list[list[exp.Expr]], explained: bool) -> exp.Select:
        """Every element there is, also one without any state; ``explained`` unless it holds."""
        universe = tree.table(self._records.universe.table, self._universe_name)
        source = exp.select().from_(universe)
        source = source.join(tree.table(self._agreed_name), join_type="full outer", using=self._element_key())
        if len(rows) == 1:
            return source.select(*rows[0])
        found = fanned(dict(zip(self._ids, rows, strict=True)), source, self._dialect)
        if explained:
            found.set("expressions", unless_held(found.expressions))
        return found

    @property
    def _agreed_name(self) -> str:
        return f"agreed{self._suffix}"

    @property
    def _universe_name(self) -> str:
        return self._records.universe.table.rsplit(".", 1)[-1]

    def _element_key(self) -> list[int | str | exp.Expr]:
        return [tree.name(each) for each in (self._mapping.scope[0], *self._records.identity)]

    def _state_columns(self) -> list[str]:
        return [self._records.alternatives] if self._records.alternatives else []

    def _scanned(self) -> exp.Select:
        alias = self._scan.alias
        own = list(
            dict.fromkeys((*self._mapping.scope, *self._records.identity, *self._state_columns(), *INTERVAL))
        )
        qualifier = alias if self._aggregates else None
        columns: list[exp.Expr] = [tree.col(each, qualifier) for each in own]
        columns += [
            tree.alias(tree.col(leaf.column.name, qualifier), self._names.columns[leaf.text])
            for leaf in self._leaves.values()
        ]
        joins = []
        for number, aggregate in enumerate(self._aggregates.values(), start=1):
            joined = f"quantified{self._suffix}_{number}"
            joins.append((joined, self._joined(aggregate, alias, joined)))
            holds = self._compared(aggregate, joined) if aggregate.compares else tree.col("holds", joined)
            columns.append(tree.alias(holds, self._names.columns[aggregate.text]))
            if aggregate.text in self._reasons:
                columns.append(tree.alias(tree.col("reason", joined), self._reasons[aggregate.text]))
        found = exp.select(*columns).from_(tree.table(self._scan.table, qualifier))
        for joined, on in joins:
            found = found.join(tree.table(joined), on=on, join_type="left")
        return found

    def _group(self, aggregate: Aggregate) -> list[str]:
        """The columns that name one state: the first of the scope, related fields, the alternative."""
        fields = [self._records.fields[each] for each in aggregate.equal]
        return list(dict.fromkeys((self._mapping.scope[0], *fields, *self._state_columns())))

    def _joined(self, aggregate: Aggregate, alias: str, joined: str) -> exp.Expr:
        return tree.all_of(
            exp.EQ(this=tree.col(each, alias), expression=tree.col(each, joined))
            for each in self._group(aggregate)
        )

    def _compared(self, aggregate: Aggregate, joined: str) -> exp.Expr:
        """The quantifier's truth for one row, beside all members of its group."""
        alias, member = self._scan.alias, f"{joined}_member"

        def of_member(column: str) -> exp.Expr:
            return self._dialect.field(tree.col(member), self._members(aggregate)[column])

        columns = {leaf.text: of_member(leaf.column.name) for leaf in aggregate.leaves}
        columns |= {leaf.text: tree.col(leaf.column.name, alias) for leaf in aggregate.outer}
        if aggregate.identical is not None:
            columns[aggregate.identical] = tree.all_of(
                exp.EQ(this=of_member(each), expression=tree.col(each, alias))
                for each in self._records.identity
            )
        test = value(aggregate.predicate, columns, self._dialect)
        of_all = self._dialect.every if aggregate.universal else self._dialect.some
        found = of_all(tree.col("members", joined), member, lambda _: test)
        # while a member is missing, those that are there can decide it one way only
        whole = tree.case(
            [(tree.col("complete", joined), exp.true() if aggregate.universal else exp.false())]
        )
        return (tree.all_of if aggregate.universal else tree.any_of)([found, whole])

    def _members(self, aggregate: Aggregate) -> Dict[str, str]:
        """Column of the table -> the field that has it in each member of a group."""
        read = [leaf.column.name for leaf in aggregate.leaves]
        own = self._records.identity if aggregate.identical is not None else ()
        return {column: f"m{n}" for n, column in enumerate(dict.fromkeys((*read, *own)), start=1)}

    def _aggregate(self, aggregate: Aggregate, as_name: str) -> Ctes:
        """The quantifier's truth for each group; unknown while an element is missing from it."""
        group = self._group(aggregate)
        if aggregate.compares:
            return self._gathered(aggregate, group, as_name)
        names = Names((*group, "predicate", "reason", "expected", "holds"))
        leaves = [(names.add(leaf.text), leaf) for leaf in aggregate.leaves]
        rows, judged, expected = (f"{as_name}_{each}" for each in ("rows", "judged", "expected"))
        scan = exp.select(
            *(tree.col(each) for each in group),
            *(tree.alias(tree.col(leaf.column.name), column) for column, leaf in leaves),
        ).from_(tree.table(self._records.table))
        predicate = tree.alias(self._value(aggregate.predicate, names), "predicate")
        added = [predicate]
        if aggregate.text in self._reasons:
            own = tree.case(own_reasons(self._mapping, self._read(aggregate.leaves, names)))
            added.append(tree.alias(tree.case([(tree.is_null(predicate.this.copy()), own)]), "reason"))
        add = exp.select(*(tree.col(each) for each in group), *added).from_(tree.table(rows))
        return [
            (rows, scan),
            (judged, add),
            *self._expected(aggregate, as_name),
            (as_name, self._folded(aggregate, group, judged, expected)),
        ]

    def _gathered(self, aggregate: Aggregate, group: list[str], as_name: str) -> Ctes:
        """The members of each group in an array, and whether these are all."""
        rows, expected = self._records.table.rsplit(".", 1)[-1], f"{as_name}_expected"
        fields = [(field, tree.col(column, rows)) for column, field in self._members(aggregate).items()]
        columns = [
            tree.alias(self._dialect.collected(self._dialect.struct(fields)), "members"),
            tree.alias(_whole(expected), "complete"),
        ]
        if aggregate.text in self._reasons:
            read = [
                (tree.col(each.column.name, rows), self._records.table, each.column.name)
                for each in aggregate.leaves
            ]
            columns.append(tree.alias(exp.Min(this=tree.case(own_reasons(self._mapping, read))), "reason"))
        return [
            *self._expected(aggregate, as_name),
            (as_name, self._by_group(aggregate, group, columns, (self._records.table, rows), expected)),
        ]

    def _by_group(
        self,
        aggregate: Aggregate,
        group: list[str],
        columns: list[exp.Expr],
        rows: tuple[str, str],
        expected: str,
    ) -> exp.Select:
        """``columns`` for each group of a table, with its alias, beside the number of rows to expect."""
        table, alias = rows
        keys = [tree.col(each, alias) for each in group]
        shared = [self._mapping.scope[0], *(self._records.fields[each] for each in aggregate.equal)]
        on = [exp.EQ(this=tree.col(each, alias), expression=tree.col(each, expected)) for each in shared]
        return (
            exp.select(*keys, *columns)
            .from_(tree.table(table, None if table == alias else alias))
            .join(tree.table(expected), on=tree.all_of(on), join_type="left")
            .group_by(*(each.copy() for each in keys))
        )

    def _expected(self, aggregate: Aggregate, as_name: str) -> Ctes:
        """The number of rows of each group; of none while a row may be of any group (``<as_name>_lost``)."""
        lost, universe = f"{as_name}_lost", self._records.universe
        cluster = self._mapping.scope[0]
        shared = {cluster: cluster} | {
            universe.fields[each]: self._records.fields[each] for each in aggregate.equal
        }
        keys = [tree.col(each, self._universe_name) for each in shared]
        columns = [tree.alias(key.copy(), name) for key, name in zip(keys, shared.values(), strict=True)]
        count = tree.alias(exp.Count(this=exp.Star()), "expected")
        nowhere = exp.select(tree.col(cluster), tree.alias(exp.true(), "lost")).from_(
            tree.table(universe.table)
        )
        nowhere = nowhere.where(tree.any_of(tree.is_null(tree.col(each)) for each in shared)).distinct()
        of_any = tree.is_null(tree.col(cluster, lost))
        near = tree.any_of([of_any, exp.EQ(this=keys[0].copy(), expression=tree.col(cluster, lost))])
        found = exp.select(*columns, count).from_(tree.table(universe.table, self._universe_name))
        found = found.join(tree.table(lost), on=near, join_type="left")
        found = found.where(tree.is_null(tree.col("lost", lost))).group_by(*keys)
        return [(lost, nowhere), (f"{as_name}_expected", found)]

    def _folded(self, aggregate: Aggregate, group: list[str], judged: str, expected: str) -> exp.Select:
        predicate = tree.col("predicate", judged)
        known = _every(tree.is_known(predicate.copy()))
        decided, otherwise = (exp.false(), exp.true()) if aggregate.universal else (exp.true(), exp.false())
        decisive = tree.negation(predicate) if aggregate.universal else predicate
        fold = tree.case([(_some(decisive), decided), (tree.all_of([_whole(expected), known]), otherwise)])
        columns = [tree.alias(fold, "holds")]
        if aggregate.text in self._reasons:
            columns.append(tree.alias(exp.Min(this=tree.col("reason", judged)), "reason"))
        return self._by_group(aggregate, group, columns, (judged, judged), expected)

    def _weighed(self, judged: str) -> exp.Select:
        kept = dict.fromkeys(
            (*self._mapping.scope, *self._records.identity, *self._state_columns(), *INTERVAL)
        )
        kept |= dict.fromkeys((*self._leaf_columns(), *self._reasons.values()))
        columns = [column for part in self._parts for column in self._weight(part)]
        return exp.select(*(tree.col(each) for each in kept), *columns).from_(tree.table(judged))

    def _leaf_columns(self) -> list[str]:
        """The columns whose values explain a verdict."""
        return [self._names.columns[each] for each in (*self._leaves, *self._aggregates)]

    def _own_reasons(self, part: Part[RecordFrame]) -> list[tuple[exp.Expr, exp.Expr]]:
        """(test, reason) of the values in one alternative that have a reason of their own."""
        frame, names = part.frame, self._names.columns
        own = own_reasons(self._mapping, self._read(frame.leaves, self._names))
        own += [
            (tree.is_null(tree.col(names[each.text])), tree.col(self._reasons[each.text]))
            for each in frame.aggregates
            if each.text in self._reasons
        ]
        if frame.predicates.evaluates is not None:
            own.insert(0, (tree.negation(part.column("evaluates")), tree.string(NO_VALUE)))
        if frame.predicates.stops:
            read = [each.text for each in frame.leaves] + [each.text for each in frame.aggregates]
            own.append(no_value(tree.col(names[each]) for each in read))
        return own

    def _weight(self, part: Part[RecordFrame]) -> list[exp.Expr]:
        antecedent = part.judged.antecedent
        exercised = exp.true() if antecedent is None else tree.surely(antecedent.copy())
        kept = [] if part.frame.predicates.evaluates is None else [part.column("evaluates")]
        return [
            *kept,
            tree.alias(part.judged.verdict, f"verdict{part.tag}"),
            tree.alias(exercised, f"exercised{part.tag}"),
            tree.alias(part.judged.failed, f"failed_conjunct{part.tag}"),
        ]

    def _agreed(self, weighed: str) -> exp.Select:
        cluster, *scope = self._mapping.scope
        key = [tree.col(each) for each in (cluster, *self._records.identity)]
        failed = [f"failed_conjunct{part.tag}" for part in self._parts]
        columns: list[exp.Expr] = [
            *key,
            tree.alias(exp.Min(this=tree.col("from_position")), "from_position"),
            tree.alias(_end("to_position"), "to_position"),
            tree.alias(exp.Min(this=tree.col("from_time")), "from_time"),
            tree.alias(_end("to_time"), "to_time"),
            tree.alias(exp.Count(this=exp.Star()), "states"),
            tree.alias(self._first([*scope, *failed, *self._leaf_columns()]), _FIRST),
        ]
        for part in self._parts:
            columns += [
                tree.alias(_unanimous(part.column("verdict")), f"verdict{part.tag}"),
                tree.alias(_every(part.column("exercised")), f"exercised{part.tag}"),
                *self._agreed_reason(part, part.column("verdict"), BOOL),
            ]
        return exp.select(*columns).from_(tree.table(weighed)).group_by(*(each.copy() for each in key))

    def _agreed_outcome(self, judged: str) -> exp.Select:
        key = [tree.col(each) for each in (self._mapping.scope[0], *self._records.identity)]
        columns = [
            tree.alias(exp.Count(this=exp.Star()), "states"),
            *(tree.alias(self._outcome(part), f"verdict{part.tag}") for part in self._parts),
        ]
        for part in self._parts:
            columns += self._agreed_reason(part, part.judged.verdict, part.frame.gives)
        return exp.select(*key, *columns).from_(tree.table(judged)).group_by(*(each.copy() for each in key))

    def _outcome(self, part: Part[RecordFrame]) -> exp.Expr:
        return (_unanimous if part.frame.gives == BOOL else _alike)(part.judged.verdict)

    def _agreed_reason(
        self, part: Part[RecordFrame], verdict: exp.Expr, gives: Type | None
    ) -> list[exp.Expr]:
        """The column with the reason that the alternatives give together, if they can: that they differ,
        else the first word of those that are unknown.
        """
        own, branches = self._own_reasons(part), []
        if self._records.alternatives is not None:
            branches.append((_differ(verdict, gives), tree.string(SEVERAL_STATES)))
        if not own:
            return [tree.alias(tree.case(branches), f"reason{part.tag}")] if branches else []
        unknown = tree.case([(tree.is_null(verdict.copy()), tree.case(own))])
        said: exp.Expr = exp.Min(this=unknown)
        if branches:
            said = exp.Case(ifs=[exp.If(this=test, true=then) for test, then in branches], default=said)
        return [tree.alias(said, f"reason{part.tag}")]

    def _reason(self, part: Part[RecordFrame]) -> exp.Expr:
        """Why an element is unknown: the reason of its alternatives, else its own."""
        states, universe = self._records.table, self._records.universe.table
        of_states, of_universe = of_table(self._mapping, states), of_table(self._mapping, universe)
        found: list[exp.Expr] = []
        if self._records.alternatives is not None or self._own_reasons(part):
            found.append(self._complete(part.column("reason", self._agreed_name)))
        if of_universe.row is not None:
            found.append(tree.col(of_universe.row, self._universe_name))
        if of_states.otherwise != of_universe.otherwise:
            met = tree.is_known(tree.col("states", self._agreed_name))
            found.append(tree.case([(met, tree.string(of_states.otherwise or NOT_KNOWN))]))
        verdict = self._complete(part.column("verdict", self._agreed_name))
        return tree.case([(tree.is_null(verdict), first_of(found, of_universe.otherwise or NOT_KNOWN))])

    def _first(self, columns: list[str]) -> exp.Expr:
        """The first alternative, so that one state is shown and not a mixture. It is a record: the text of it
        is made only for verdicts that do not hold.
        """
        state = self._dialect.struct([(each, tree.col(each)) for each in columns])
        if self._records.alternatives is None:
            return exp.AnyValue(this=state)
        return tree.call("MIN_BY", state, tree.col(self._records.alternatives))

    def _of_first(self, column: str) -> exp.Expr:
        return self._dialect.field(tree.col(_FIRST, self._agreed_name), column)

    def _complete(self, value: exp.Expr) -> exp.Expr:
        """``value`` if every state the element may have met was judged, else null."""
        count = self._records.universe.count
        known = tree.col("states", self._agreed_name)
        if count is None:
            return value
        return tree.case([(exp.EQ(this=known, expression=tree.col(count, self._universe_name)), value)])

    def _identity_witness(self, part: Part[RecordFrame]) -> exp.Expr:
        identity = [(each, tree.col(each)) for each in self._records.identity]
        whole = identity[0][1] if len(identity) == 1 else self._dialect.struct(identity)
        return tree.alias(whole, part.frame.witness)

    def _scope_column(self, column: str) -> exp.Expr:
        if column == self._mapping.scope[0]:
            return tree.col(column)
        agreed = self._of_first(column)
        if column not in self._universe_schema():
            return agreed
        return exp.Coalesce(this=agreed, expressions=[tree.col(column, self._universe_name)])

    def _universe_schema(self) -> Dict[str, str]:
        return self._schemas[self._records.universe.table]

    def _evidence(self) -> exp.Expr:
        cited = self._mapping.evidence.get(self._records.universe.table, {})
        joined = {self._mapping.scope[0], *self._records.identity}
        return self._dialect.cited(
            cited, lambda name: tree.col(name, None if name in joined else self._universe_name)
        )


def _whole(expected: str) -> exp.Expr:
    """Whether a group has all the rows that there are of it."""
    return exp.EQ(this=exp.Count(this=exp.Star()), expression=exp.Max(this=tree.col("expected", expected)))


def _unanimous(verdict: exp.Expr) -> exp.Expr:
    """TRUE or FALSE where all rows of the group are, else null."""
    wrong = tree.negation(verdict.copy())
    return tree.case([(_every(tree.surely(verdict)), exp.true()), (_every(tree.surely(wrong)), exp.false())])


def _differ(value: exp.Expr, gives: Type | None) -> exp.Expr:
    """Whether two rows of the group have different values; what is unknown is not different."""
    if gives == BOOL:
        return tree.all_of([_some(value.copy()), _some(tree.negation(value.copy()))])
    return exp.LT(this=exp.Min(this=value.copy()), expression=exp.Max(this=value.copy()))


def _alike(value: exp.Expr) -> exp.Expr:
    """The value that all rows of the group have, else null."""
    known = exp.EQ(this=exp.Count(this=exp.Star()), expression=exp.Count(this=value.copy()))
    least, most = exp.Min(this=value), exp.Max(this=value.copy())
    return tree.case([(tree.all_of([known, exp.EQ(this=least, expression=most)]), least.copy())])


def _every(test: exp.Expr) -> exp.Expr:
    return tree.call("BOOL_AND", test)


def _some(test: exp.Expr) -> exp.Expr:
    return tree.call("BOOL_OR", test)


def _end(column: str) -> exp.Expr:
    """The latest end, open when any is open."""
    position = tree.col("to_position")
    closed = exp.EQ(this=exp.Count(this=exp.Star()), expression=exp.Count(this=position))
    return tree.case([(closed, exp.Max(this=tree.col(column)))])
