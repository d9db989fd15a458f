"""What TLC and the evaluator say of every definition in every state and step of given traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tlasql_evaluator import evaluate, unchanged

from tlasql import Compiled, CompiledModule
from tlasql.lang.ir import Expr
from tlasql.replay.confirm import verdicts

Trace = Sequence[Mapping[str, Any]]
Traces = Mapping[str, Trace]
Verdicts = dict[tuple[str, str, int], bool | None]
"""(definition, trace, index of the state or of the state stepped into) -> verdict"""


def by_tlc(module: CompiledModule, traces: Traces) -> Verdicts:
    """Every state of every trace is an initial state, so that each is judged."""
    judged = [each for each in module.definitions if each.mark.kind != "decision"]
    places = [(name, n) for name, states in traces.items() for n in range(len(states))]
    ends = frozenset(i for i, (name, n) in enumerate(places) if n == len(traces[name]) - 1)
    said = verdicts(module, judged, [dict(traces[name][n]) for name, n in places], ends)
    return {(identity, *places[index]): verdict for (identity, index), verdict in said.items()}


def by_evaluator(module: CompiledModule, traces: Traces) -> Verdicts:
    """The representation, evaluated."""
    judged = [each for each in module.definitions if each.mark.kind != "decision"]
    return {key: verdict for each in judged for key, verdict in evaluated(each, each.body, traces).items()}


def evaluated(each: Compiled, body: Expr, traces: Traces) -> Verdicts:
    """The verdicts of one definition, had it this ``body``; a step may leave its variables as they are."""
    found: Verdicts = {}
    for name, states in traces.items():
        if each.mark.kind == "invariant":
            found |= {(each.mark.id, name, n): evaluate(body, now) for n, now in enumerate(states)}
        else:
            for n, (now, after) in enumerate(pairwise(states), start=1):
                said = evaluate(body, now, after) or unchanged(body, now, after)
                found[each.mark.id, name, n] = said
    return found
