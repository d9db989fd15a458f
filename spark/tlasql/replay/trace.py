"""States of a log written as TLA+, so that TLC can judge them again.

A state is a mapping from variable to value: integers, booleans and strings; lists for sets and sequences;
dicts for functions (or lists of pairs) and records; None for a value that is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tlasql.lang.types import BOOL, INT, Function, Record, Scalar, SeqOf, SetOf, Tuple, Type

State = Mapping[str, Any]
LARGEST = 2**31 - 1
"""TLC's integers have 32 bits; a larger one in a trace would wrap without a word."""


_ESCAPED = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class TooLargeError(ValueError):
    """The states hold integers beyond 32 bits that cannot be moved without changing what is judged."""


Models = Mapping[tuple[str, Type], str]
"""(text, type) of a model value -> what stands for it in the module"""


def literal(value: Any, kind: Type, models: Models | None = None) -> str:
    """A value of ``kind`` as a TLA+ expression; what is unknown is completed, since a sound verdict holds for
    every completion.
    """
    return Printer(models or {}).text(value, kind)


class Printer:
    """Prints values as TLA+ expressions. ``models``: what of them is a model value."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def text(self, value: Any, kind: Type) -> str:  # noqa: PLR0911 (one for each kind)
        """The expression of a value of ``kind``. Raises TooLargeError."""
        match kind:
            case SetOf(element=element):
                return "{" + self._listed([each for each in value or () if each is not None], element) + "}"
            case SeqOf(element=element):
                return "<<" + self._listed(value or (), element) + ">>"
            case Function():
                return self._function(entries(value, kind), kind)
            case Record(fields=fields, optional=optional):
                found = {name.lower(): part for name, part in (value or {}).items()}
                inside = list[str]()
                for column, (name, part) in zip(kind.columns, fields, strict=True):
                    held = found.get(column.lower())
                    held = self._held(held) if name in optional else [held]
                    inside += [f"{name} |-> {self.text(each, part)}" for each in held]
                return "[" + ", ".join(inside) + "]" if inside else "<<>>"
            case Tuple(parts=parts):
                values = zip(_parts(value, parts), parts, strict=True)
                return "<<" + ", ".join(self.text(v, p) for v, p in values) + ">>"
            case _ if (value, kind) in self._models:
                return self._models[value, kind]
            case _:
                return _scalar(value, kind)

    def _held(self, field: Any) -> Any:
        """What a field holds that some records lack: nothing, or its value."""
        return field or []

    def _listed(self, values: Iterable[Any], kind: Type) -> str:
        return ", ".join(self.text(each, kind) for each in values)

    def _function(self, pairs: list[tuple[Any, Any]], kind: Function) -> str:
        if not pairs:
            # of nested functions the inner type is the shorter, and no name may be bound twice
            return f"[trace_none_{len(str(kind))} \\in {{}} |-> {self.text(None, kind.result)}]"
        inside = (f"{self.text(k, kind.argument)} :> {self.text(v, kind.result)}" for k, v in pairs)
        return "(" + " @@ ".join(inside) + ")"


def entries(value: Any, kind: Function) -> list[tuple[Any, Any]]:
    """The (argument, value) pairs of a function."""
    if value is None:
        return []
    if not isinstance(value, Mapping):
        return [(key, found) for key, found in value]
    if isinstance(kind.argument, Scalar) or set(value) != {"key", "value"}:
        return list(value.items())
    # DuckDB's client gives arguments that Python cannot hash, as records and tuples, in a list of their own
    return list(zip(value["key"], value["value"], strict=True))


def _parts(value: Any, parts: Sequence[Type]) -> Sequence[Any]:
    if value is None:
        return [None] * len(parts)
    return list(value.values()) if isinstance(value, Mapping) else list(value)


def _scalar(value: Any, kind: Type) -> str:
    if kind == BOOL:
        return "TRUE" if value else "FALSE"
    if kind == INT:
        if abs(int(value or 0)) > LARGEST:
            raise TooLargeError(f"{value} does not fit TLC's 32-bit integers")
        return str(int(value or 0))
    return '"' + "".join(map(_sign, str("" if value is None else value))) + '"'


def _sign(sign: str) -> str:
    """A sign in a string. What cannot be written is numbered, so that different texts stay different."""
    code = ord(sign)
    if sign in _ESCAPED:
        return _ESCAPED[sign]
    # of signs beyond ASCII SANY's lexer looks at the lower byte alone
    written = code & 0xFF >= 0x80 and code < 0x10000 if code >= 0x80 else 0x20 <= code < 0x7F
    return sign if written else f"_u{code:x}_"


def rebased(states: Sequence[State], types: Mapping[str, Type]) -> list[State]:
    """The states with every integer beyond 30 bits moved below 2^31, their order kept.

    Only comparisons survive this: the caller must know that the definition does no arithmetic.
    """
    large = sorted({n for state in states for name in types for n in _integers(state[name]) if is_large(n)})
    moved = {n: (2**30 if n > 0 else -(2**30) - len(large)) + rank for rank, n in enumerate(large)}
    if not moved:
        return list(states)
    return [{name: _moved(state[name], moved) for name in types} for state in states]


def is_large(number: int) -> bool:
    """Whether it is moved: beyond 30 bits."""
    return abs(number) >= 2**30


def _integers(value: Any) -> Iterable[int]:
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield value
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from _integers(list(pair))
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _integers(each)


def _moved(value: Any, moved: Mapping[int, int]) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return moved.get(value, value)
    if isinstance(value, Mapping):
        return {_moved(key, moved): _moved(found, moved) for key, found in value.items()}
    return [_moved(each, moved) for each in value]


@dataclass(frozen=True)
class Behaviour:
    """Successive ``states``; after those whose index is in ``ends`` there is no step.

    ``models``: what of them is a model value.
    """

    states: Sequence[State]
    types: Mapping[str, Type]
    ends: frozenset[int] = frozenset()
    models: Models = field(default_factory=dict)


def module(
    name: str,
    extends: Sequence[str],
    behaviour: Behaviour,
    unmapped: Sequence[str],
    goal: str,
    *,
    constants: Iterable[str] = (),
) -> str:
    """A module whose behaviours start at any of the states and go on in their order (the "fan").

    Each state is initial, so that a counterexample has one state or two, however long the trace. ``unmapped``
    variables, of which no definition under judgement speaks, stay at 0. ``goal``: what is to be checked.
    ``constants``: what the states name and no module declares.
    """
    states, types, printer = behaviour.states, behaviour.types, Printer(behaviour.models)
    ends = ", ".join(str(each + 1) for each in sorted(behaviour.ends | {len(states) - 1}))
    shown = ",\n    ".join(
        "["
        + ",\n     ".join(f"{each} |-> {printer.text(state[each], kind)}" for each, kind in types.items())
        + "]"
        for state in states
    )
    now = [f"{each} = TraceStates[trace_index].{each}" for each in types] + [
        f"{each} = 0" for each in unmapped
    ]
    later = [f"{each}' = TraceStates[trace_index + 1].{each}" for each in types]
    later += [f"{each}' = {each}" for each in unmapped]
    declared = "".join(f"CONSTANT {each}\n" for each in constants)
    return f"""---- MODULE {name} ----
EXTENDS {", ".join(extends)}
{declared}VARIABLE trace_index
TraceStates == <<
    {shown}>>
TraceInit ==
    /\\ trace_index \\in DOMAIN TraceStates
{_conjuncts(now)}
TraceNext ==
    /\\ trace_index \\notin {{{ends}}}
    /\\ trace_index' = trace_index + 1
{_conjuncts(later)}
{goal}
====
"""


def _conjuncts(parts: Iterable[str]) -> str:
    return "\n".join(f"    /\\ {each}" for each in parts)
