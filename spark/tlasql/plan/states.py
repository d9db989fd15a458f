"""Plans a clause over whole states: each of its variables is one value per state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tlasql.lang.errors import fail
from tlasql.lang.ir import Expr, Op, Prime, Variable, walk
from tlasql.lang.types import BOOL
from tlasql.mapping.model import History, Mapping, Whole
from tlasql.plan.clauses import Clause, Range
from tlasql.plan.defined import always, defined
from tlasql.plan.frames import StateFrame


def plan_state(
    clause: Clause, mapping: Mapping, step: bool, body: Expr | None, still: Sequence[Variable] = ()
) -> StateFrame:
    """The frame of any clause whose variables are mapped.

    ``body``: the definition the clause is a part of, where that must have a value, or be a step, as a whole.
    ``still``: more variables that a step leaves as they are if it stutters. Raises TlaSqlError.
    """
    clause = _once_each(clause)
    parts = [*clause.every]
    evaluates = None if body is None else defined(body)
    parts += [*still, *([] if body is None else [body])]
    found: dict[str, History | Whole] = {}
    for part in parts:
        for expr in walk(part):
            if isinstance(expr, Variable):
                found.setdefault(expr.name, _place(expr, mapping))
            elif isinstance(expr, Prime) and not step:
                raise fail(expr.location, "this is primed", "mark it as a @step")
    if not found:
        raise fail(_where(clause).location, "this speaks of constants alone", "state it as an ASSUME")
    variables = tuple(found[name] for name in sorted(found))
    return StateFrame(variables, clause, step, None if evaluates is None or always(evaluates) else evaluates)


def _once_each(clause: Clause) -> Clause:
    """One range for each variable; the other parts of an intersection become antecedents."""
    ranges: dict[int, Range] = {}
    inside: list[Expr] = []
    for each in clause.ranges:
        if each.variable.uid in ranges:
            inside.append(Op(each.domain.location, "\\in", (each.variable, each.domain), type=BOOL))
        ranges.setdefault(each.variable.uid, each)
    return replace(clause, ranges=tuple(ranges.values()), antecedents=(*inside, *clause.antecedents))


def _place(variable: Variable, mapping: Mapping) -> History | Whole:
    mapped = mapping.variables.get(variable.name)
    if mapped is None:
        remedy = f"add [variables.{variable.name}] to {mapping.file}"
        raise fail(variable.location, f"the variable {variable.name} is mapped to no table", remedy)
    if isinstance(mapped, History | Whole):
        return mapped
    raise fail(
        variable.location,
        f"{variable.name} is a set of records: each is judged in the states it may have met",
        f"quantify over it first: \\A c \\in {variable.name} : ...",
    )


def _where(clause: Clause) -> Expr:
    return (*clause.conjuncts, *clause.antecedents)[0]
