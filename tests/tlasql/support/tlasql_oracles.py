"""What TLC and the evaluator say of every definition in every state and step of given traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

from tlasql_evaluator import evaluate, unchanged

from tlasql import Compiled, CompiledModule
from tlasql.ir import Expr
from tlasql.replay import verdicts

Trace = Sequence[Mapping[str, Any]]
Traces = Mapping[str, Trace]
Verdicts = dict[tuple[str, str, int], bool | None]
"""(definition, trace, index of the state or of the state stepped into) -> verdict"""

_BATCH = 130
"""Traces in one run of TLC, which holds every state of a generated module in memory."""


def by_tlc(module: CompiledModule, traces: Traces) -> Verdicts:
    """Every state of every trace is an initial state, so that each is judged."""
    judged = [each for each in module.definitions if each.mark.kind != "decision"]
    found: Verdicts = {}
    names = iter(traces)
    while part := list(islice(names, _BATCH)):
        places = [(name, n) for name in part for n in range(len(traces[name]))]
        ends = frozenset(i for i, (name, n) in enumerate(places) if n == len(traces[name]) - 1)
        states = [traces[name][n] for name, n in places]
        said = verdicts(module, judged, [dict(state) for state in states], ends)
        found |= {(identity, *places[index]): verdict for (identity, index), verdict in said.items()}
    return found


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
