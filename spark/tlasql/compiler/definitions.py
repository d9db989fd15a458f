"""One marked definition: typed, planned, and written as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tlasql.compiler.compiled import Compiled
from tlasql.inference.check import Checker
from tlasql.lang.errors import Diagnostic, TlaSqlError, fail
from tlasql.lang.ir import Expr, Op, Variable, walk
from tlasql.lang.types import BOOL, Scalar, Type
from tlasql.mapping.model import Mapping, Records, Schemas
from tlasql.plan.choice import by_rows, by_states
from tlasql.plan.clauses import Clause, clauses, push_primes
from tlasql.plan.exchanges import holds_when_unchanged
from tlasql.plan.frames import Frame, Predicates, RecordFrame
from tlasql.plan.records import plan_record
from tlasql.read.inline import Inliner
from tlasql.read.marks import Mark
from tlasql.read.module import Definition, Module
from tlasql.sql.dialect import Dialect
from tlasql.sql.queries import decision_sql, verdict_sql


@dataclass(frozen=True)
class Plan:
    """The frames of an invariant or step, and their SQL. ``because``: why it looks at whole states; None
    where rows are judged by themselves.
    """

    frames: tuple[Frame, ...]
    sql: str
    because: str | None = None


@dataclass(frozen=True)
class Definitions:
    """Compiles the definitions of one module."""

    parsed: Module
    mapping: Mapping
    schemas: Schemas
    dialect: Dialect
    checker: Checker
    inliner: Inliner

    def compiled(self, mark: Mark, definition: Definition) -> Compiled:
        """A marked definition with its frames and its SQL. Raises TlaSqlError."""
        if mark.kind == "decision":
            return self._decision(mark, definition)
        if mark.scope and mark.scope != self.mapping.scope:
            message = f"the mapping tells behaviours apart by {', '.join(self.mapping.scope)}"
            raise fail(mark.location, message, "make @scope and the mapping's scope the same")
        body = self._typed(definition, {}, self._guard(mark, definition))
        if body.type != BOOL:
            message = f"{definition.name} has type {body.type}, a marked definition is true or false"
            raise fail(definition.location, message, "compare the value with something")
        parts = clauses(body)
        still = self._still(parts, mark, definition, body)
        plan = self._planned(parts, body, still, mark)
        names = {each.name for each in (*walk(body), *still) if isinstance(each, Variable)}
        return Compiled(mark, definition, body, plan.frames, plan.sql, tuple(sorted(names)), plan.because)

    def _planned(self, parts: list[Clause], body: Expr, still: Sequence[Variable], mark: Mark) -> Plan:
        """Rows by themselves wherever they can be planned and written; else whole states, with the reason."""
        step, across = mark.kind == "step", mark.transitive
        try:
            rows = by_rows(parts, body, self.mapping, step=step, transitive=across, still=still)
            return Plan(tuple(rows), self._written(rows))
        except TlaSqlError as error:
            if across:  # whole states are not compared across a gap
                raise TlaSqlError([_by_histories(each) for each in error.diagnostics]) from error
            because = error.diagnostics[0].message
        states = by_states(parts, body, self.mapping, step=step, still=still)
        return Plan(tuple(states), self._written(states), because)

    def _written(self, frames: Sequence[Frame]) -> str:
        return verdict_sql(frames, self.mapping, self.schemas, self.dialect)

    def _still(self, parts: list[Clause], mark: Mark, definition: Definition, body: Expr) -> list[Variable]:
        """Variables that are written in a step and decide nothing but whether it stutters.

        A step that is true when nothing changes may stutter anyway.
        """
        if mark.kind != "step" or all(holds_when_unchanged(part) for part in parts):
            return []
        guard = self._guard(mark, definition)
        written = self.parsed.mentioned(definition.uid)
        written |= self.parsed.mentioned(guard.uid) if guard is not None else frozenset()
        read = {each.name for each in walk(body) if isinstance(each, Variable)}
        return [self.checker.variable(name, definition.location) for name in sorted(written - read)]

    def _guard(self, mark: Mark, definition: Definition) -> Definition | None:
        """The predicate of the states in which the mark applies; None for all of them."""
        if mark.when is None:
            return None
        if definition.always:  # of a part of a temporal formula TLA+ has no name
            box = f"[][{mark.when} => ...]_v" if mark.kind == "step" else f"[]({mark.when} => ...)"
            message = f'{definition.name} is a box, beside which @when("{mark.when}") has no place'
            raise fail(mark.location, message, f"write {box} in the definition, without @when")
        found = self.parsed.named.get(mark.when)
        if found is None or found.parameters or found.level > 1:
            message = f'@when("{mark.when}") names no predicate of a state'
            raise fail(mark.location, message, f"define {mark.when} == ... without parameters and primes")
        return found

    def _typed(self, definition: Definition, bound: dict[int, Type], guard: Definition | None = None) -> Expr:
        inlined = self.inliner.body(definition)
        if guard is not None:
            inlined = Op(inlined.location, "=>", (self.inliner.body(guard), inlined))
        return push_primes(self.checker.check(inlined, bound))

    def _records_decided(self, mark: Mark) -> Records:
        """The set that a decision is about: the named one, the mapping's choice, or the only one."""
        known = {name: each for name, each in self.mapping.variables.items() if isinstance(each, Records)}
        name = mark.records or self.mapping.decisions or (next(iter(known)) if len(known) == 1 else None)
        if name in known:
            return known[name]
        message = f'"{name}" is no set of records of the mapping' if name else f"what is {mark.id} about?"
        remedy = f"the sets of records it maps: {', '.join(known) or 'none'}"
        raise fail(mark.location, message, remedy)

    def _decision(self, mark: Mark, definition: Definition) -> Compiled:
        records = self._records_decided(mark)
        if len(records.identity) > 1:
            where = self.mapping.source.place("variables", records.name, "identity")
            message = f"{mark.id} decides about {records.name}, whose identity has several columns"
            raise fail(where, message, "give them one column that names them: the subject of a decision")
        element = definition.parameters[0]
        label = f"{definition.name}({element.name})"
        body = replace(self._typed(definition, {element.uid: records.type}), label=label)
        if not isinstance(body.type, Scalar):
            message = f"{definition.name} has type {body.type}, a decision gives a truth, a text or a number"
            raise fail(definition.location, message, "decide each part by an operator of its own")
        frame: RecordFrame = plan_record(element, Predicates((), (body,)), records, self.mapping)
        sql = decision_sql(frame, self.mapping, self.schemas, self.dialect)
        return Compiled(mark, definition, body, (frame,), sql)


def _by_histories(problem: Diagnostic) -> Diagnostic:
    if problem.remedy:
        return problem
    message = f"{problem.message}: a @transitive step is judged by rows of histories alone"
    return replace(problem, message=message, remedy="leave out @transitive")
