"""Plan a clause over whole states: every variable it speaks of as one value per state."""

from __future__ import annotations

from tlasql.errors import fail
from tlasql.ir import Expr, Prime, Variable, walk
from tlasql.mapping import History, Mapping, Whole
from tlasql.normalise import Clause
from tlasql.plan import StateFrame


def plan_state(clause: Clause, mapping: Mapping, step: bool) -> StateFrame:
    """The frame of any clause whose variables are mapped. Raises TlaSqlError."""
    parts = [*(each.domain for each in clause.ranges), *clause.antecedents, *clause.conjuncts]
    found: dict[str, History | Whole] = {}
    for part in parts:
        for expr in walk(part):
            if isinstance(expr, Variable):
                found.setdefault(expr.name, _place(expr, mapping))
            elif isinstance(expr, Prime) and not step:
                raise fail(expr.location, "this is primed", "mark it as a @step")
    if not found:
        raise fail(_where(clause).location, "this definition reads no variable", "state it as an ASSUME")
    return StateFrame(tuple(found[name] for name in sorted(found)), clause, step)


def _place(variable: Variable, mapping: Mapping) -> History | Whole:
    mapped = mapping.variables.get(variable.name)
    if mapped is None:
        remedy = f"add [variables.{variable.name}] to {mapping.file}"
        raise fail(variable.location, f"the variable {variable.name} is mapped to no table", remedy)
    if isinstance(mapped, History | Whole):
        return mapped
    raise fail(
        variable.location,
        f"{variable.name} is a set of records: each is judged in the states it may have met, never beside others",
        f"quantify over it first: \\A c \\in {variable.name} : ...",
    )


def _where(clause: Clause) -> Expr:
    return (*clause.conjuncts, *clause.antecedents)[0]
