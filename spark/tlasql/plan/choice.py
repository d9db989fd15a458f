"""The two plans that a definition may have: it is judged row by row, or on whole states.

Rows are faster, but do not suit every definition; whole states do.
"""

from __future__ import annotations

from collections.abc import Sequence

from tlasql.lang.errors import fail
from tlasql.lang.ir import Expr, Variable, tell, walk
from tlasql.mapping.model import History, Mapping, Records, Whole
from tlasql.plan.clauses import Clause
from tlasql.plan.defined import always, defined, silent
from tlasql.plan.frames import Frame
from tlasql.plan.histories import plan_history
from tlasql.plan.records import plan_records, records_of
from tlasql.plan.states import plan_state


def by_rows(
    parts: Sequence[Clause],
    body: Expr,
    mapping: Mapping,
    *,
    step: bool,
    transitive: bool,
    still: Sequence[Variable],
) -> list[Frame]:
    """Frames of joined rows for the clauses of a definition. ``body``: the whole of it; ``still``: variables
    that its rows do not have, and a step leaves as they are if it stutters.

    Raises TlaSqlError, which says why no row can be judged by itself.
    """
    records = [_records(part, mapping) for part in parts]
    if all(each is None for each in records):
        _check_rows(parts, body, step)
    if still:
        raise fail(still[0].location, f"{still[0].name} decides only whether this step stutters")
    return [
        plan_history(part, mapping, step, transitive) if found is None else plan_records(part, found, mapping)
        for part, found in zip(parts, records, strict=True)
    ]


def by_states(
    parts: Sequence[Clause], body: Expr, mapping: Mapping, *, step: bool, still: Sequence[Variable]
) -> list[Frame]:
    """Frames of whole states, which have ``still`` too; of records, their rows all the same. Raises
    TlaSqlError. A part that speaks of constants alone is judged where the rest is.
    """
    read = [
        each for each in _variables(body) if isinstance(mapping.variables.get(each.name), History | Whole)
    ]

    def frame(part: Clause) -> Frame:
        records = _records(part, mapping)
        if records is not None:
            return plan_records(part, records, mapping)
        needed = None if always(defined(body)) or (not part.ranges and silent(body)) else body
        beside = still if any(map(_variables, part.every)) else (*still, *read[:1])
        return plan_state(part, mapping, step, body if step else needed, beside)

    return [frame(part) for part in parts]


def _variables(expr: Expr) -> list[Variable]:
    return [each for each in walk(expr) if isinstance(each, Variable)]


def _records(part: Clause, mapping: Mapping) -> Records | None:
    return records_of(part.ranges[0].domain, mapping) if part.ranges else None


def _check_rows(parts: Sequence[Clause], body: Expr, step: bool) -> None:
    """Whether each row can be judged by itself. Raises TlaSqlError."""
    if step and len(parts) > 1:
        where = parts[1].conjuncts[0].location
        raise fail(where, "a step whose conjuncts range over different sets")
    alone = len(parts) == 1 and not parts[0].ranges and not step
    if not always(defined(body, by_row=True)) and not (alone and silent(body, by_row=True)):
        remedy = "write in front of it when it does: x # 0 => ..."
        raise fail(body.location, f"TLC may find no value for {tell(body)}", remedy)
