"""One violated verdict as a story: the line that broke, the states, what changed, where the evidence is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.lang.ir import Quantified, text, walk
from tlasql.lang.types import INT, Function, Record, Scalar, SetOf, Type, parts_of
from tlasql.lang.words import as_tla
from tlasql.plan.frames import Frame, RecordFrame, StateFrame
from tlasql.replay.trace import Printer, entries
from tlasql.replay.window import Window, frame_of

_WIDEST = 110


def explanation(
    compiled: CompiledModule, definition: Compiled, verdict: Mapping[str, Any], window: Window
) -> str:
    """Text for a person who reads TLA+ but no SQL. ``verdict``: a row as the compiled SQL gives it."""
    first = compiled.mapping.scope[0]
    scope = {first: verdict[first], **json.loads(verdict["scope"])}
    witness = json.loads(verdict["witness"] or "{}")
    lines = [
        f"{definition.mark.id} is violated",
        "  "
        + ", ".join(f"{name} {value}" for name, value in scope.items())
        + f", position {verdict['from_position']}"
        + (f", {verdict['from_time']}" if verdict.get("from_time") else ""),
        "",
        f"{definition.definition.location}",
        *(f"    {line}" for line in definition.formula.split("\n")),
        "",
        f"False: {_placed(definition, verdict['failed_conjunct'])}",
    ]
    frame = frame_of(definition, verdict)
    types = _types(definition, frame)
    if isinstance(frame, RecordFrame):
        lines += [f"    {name}: {_row(frame, value)}" for name, value in witness.items()]
        witness = {}
    values = {**witness, **json.loads(verdict["observed"] or "{}")}
    shown = window.states[-1] if window.states else {}
    lines += [
        f"    {name} = {_cut(_shown(value, types.get(name)))}"
        for name, value in values.items()
        if name not in shown
    ]
    lines += _states(compiled, definition, window)
    evidence = verdict["evidence"] if verdict["evidence"] != "{}" else "no row of its own is cited"
    lines += ["", f"Evidence: {evidence}"]
    return "\n".join(lines)


def _placed(definition: Compiled, conjunct: str) -> str:
    places = definition.conjuncts.get(conjunct, ())
    return f"{conjunct} ({', '.join(map(str, places))})" if places else conjunct


def _states(compiled: CompiledModule, definition: Compiled, window: Window) -> list[str]:
    if not window.states:
        return ["", "The states are not in the data given."]
    step = definition.mark.kind == "step"
    last = window.states[-1]
    if len(window.states) < 2:
        return ["", *_state("The state", window.positions[-1], last, compiled)]
    before = window.states[-2]
    lines = ["", *_state("The state before", window.positions[-2], before, compiled)]
    lines += ["", *_state("The next state" if step else "The state", window.positions[-1], last, compiled)]
    changed = [
        line
        for name in sorted(last)
        for line in _changes(name, before[name], last[name], compiled.types[name])
    ]
    return [*lines, "", "What changed:", *(f"    {each}" for each in changed or ["nothing"])]


def _state(title: str, position: int | None, state: Mapping[str, Any], compiled: CompiledModule) -> list[str]:
    lines = [f"{title} (position {position}):"]
    for name in sorted(state):
        lines.append(f"    {name} = {_cut(_text(state[name], compiled.types[name]))}")
    return lines


def _changes(name: str, before: Any, after: Any, kind: Type) -> list[str]:
    """The differences, by arguments of functions and fields of records."""
    if _text(before, kind) == _text(after, kind):
        return []
    if isinstance(kind, Function) and before is not None and after is not None:
        old, new = _by_key(before, kind), _by_key(after, kind)
        found = []
        for key in sorted(old.keys() | new.keys()):
            if key not in new:
                found.append(f"{name}[{key}]: {_text(old[key], kind.result)} -> not in the DOMAIN")
            elif key not in old:
                found.append(f"{name}[{key}]: not in the DOMAIN -> {_text(new[key], kind.result)}")
            else:
                found += _changes(f"{name}[{key}]", old[key], new[key], kind.result)
        return found
    if isinstance(kind, Record) and not kind.optional and before is not None and after is not None:
        named = zip(kind.columns, kind.fields, strict=True)
        return [
            line
            for column, (field, part) in named
            for line in _changes(f"{name}.{field}", _part(before, column), _part(after, column), part)
        ]
    return [f"{name}: {_cut(_text(before, kind))} -> {_cut(_text(after, kind))}"]


def _part(record: Mapping[str, Any], column: str) -> Any:
    """A field of a struct; engines do not agree on the case of its names."""
    return {name.lower(): value for name, value in record.items()}[column.lower()]


def _by_key(value: Any, kind: Function) -> dict[str, Any]:
    return {_text(key, kind.argument): found for key, found in entries(value, kind)}


class _Told(Printer):
    """Values as they are told: in order, each once; ``?`` stands for what is not known."""

    def text(self, value: Any, kind: Type) -> str:
        if value is None:
            return "?"
        if isinstance(kind, SetOf):
            return "{" + ", ".join(sorted({self.text(each, kind.element) for each in value})) + "}"
        # TLC's integers are smaller than those of a log
        return str(value) if kind == INT else super().text(value, kind)

    def _held(self, field: Any) -> Any:
        return [None] if field is None else field

    def _function(self, pairs: list[tuple[Any, Any]], kind: Function) -> str:
        told = sorted(f"{self.text(k, kind.argument)} :> {self.text(v, kind.result)}" for k, v in pairs)
        return "(" + " @@ ".join(told) + ")" if told else "<<>>"


_text = _Told({}).text


def _types(definition: Compiled, frame: Frame) -> dict[str, Type]:
    """The types of what a verdict of a frame names: parts of the definition, and what it quantifies."""
    found: dict[str, Type] = {}
    for part in walk(definition.body):
        if isinstance(part, Quantified) and part.variable.type is not None:
            found[part.variable.name] = part.variable.type
        if part.type is not None:
            found |= {name: part.type for name in (text(part), part.label) if name}
    if isinstance(frame, StateFrame):
        named = frame.clause.named().items()
        found |= {name: part.type for name, part in named if part.type is not None}
    return found


def _row(frame: RecordFrame, identity: Any) -> str:
    """What names a record in its table: no value of the specification."""
    columns = identity if isinstance(identity, dict) else {frame.records.identity[0]: identity}
    named = ", ".join(f"{column} {as_tla(value)}" for column, value in columns.items())
    return f"the row of {frame.records.universe.table} with {named}"


def _shown(value: Any, kind: Type | None) -> str:
    """A value of a verdict, which is JSON, as TLA+; as JSON where that has other keys than the function."""
    if kind is None or any(
        isinstance(each, Function) and not isinstance(each.argument, Scalar) for each in _inside(kind)
    ):
        return as_tla(value)
    return _text(value, kind)


def _inside(kind: Type) -> Iterator[Type]:
    """A type and its parts."""
    yield kind
    for part in parts_of(kind):
        yield from _inside(part)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
