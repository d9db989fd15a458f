"""Types as Apalache writes them: ``Int``, ``Bool``, ``Str``, ``SORT``, ``Set(T)``, ``Seq(T)``, ``A -> B``,
records, tuples. ``{type: Str, bal?: Int}`` is a record of several shapes: it may lack the field ``bal``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*(->|<<|>>|[A-Za-z_$]\w*|[(){}\[\]:,?])")
_END = ""
_RECORDS = {"{": "}", "[": "]"}


@dataclass(frozen=True)
class Type:
    """Base of all types."""


@dataclass(frozen=True)
class Scalar(Type):
    """``Int``, ``Bool``, ``Str``, or an uninterpreted sort such as ``MEMBER``."""

    name: str

    def __str__(self) -> str:
        return self.name


INT, BOOL, STR = Scalar("Int"), Scalar("Bool"), Scalar("Str")


@dataclass(frozen=True)
class SetOf(Type):
    """``Set(element)``"""

    element: Type

    def __str__(self) -> str:
        return f"Set({self.element})"


@dataclass(frozen=True)
class SeqOf(Type):
    """``Seq(element)``"""

    element: Type

    def __str__(self) -> str:
        return f"Seq({self.element})"


@dataclass(frozen=True)
class Function(Type):
    """``argument -> result``"""

    argument: Type
    result: Type

    def __str__(self) -> str:
        left = f"({self.argument})" if isinstance(self.argument, Function) else str(self.argument)
        return f"{left} -> {self.result}"


@dataclass(frozen=True)
class Record(Type):
    """``{name: T, ...}``; a value may lack the fields that are ``optional``."""

    fields: tuple[tuple[str, Type], ...]
    optional: frozenset[str] = frozenset()

    def field(self, name: str) -> Type | None:
        """The type of a field, None when there is no such field."""
        return dict(self.fields).get(name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the fields in a struct, where names that differ in case only are one: a number tells
        the later ones apart.
        """
        found: list[str] = []
        for name, _ in self.fields:
            column, number = name, 1
            while column.lower() in (each.lower() for each in found):
                number += 1
                column = f"{name}_{number}"
            found.append(column)
        return tuple(found)

    def column(self, name: str) -> str:
        """The name of a field in a struct."""
        return self.columns[[each for each, _ in self.fields].index(name)]

    @property
    def stored(self) -> tuple[tuple[str, Type], ...]:
        """(column in a struct, type of what it holds) of each field. An optional one is an array of one
        value, or of none where the record lacks the field.
        """
        kinds = (SeqOf(kind) if name in self.optional else kind for name, kind in self.fields)
        return tuple(zip(self.columns, kinds, strict=True))

    def __str__(self) -> str:
        named = (f"{name}{'?' * (name in self.optional)}: {kind}" for name, kind in self.fields)
        return "{" + ", ".join(named) + "}"


@dataclass(frozen=True)
class Tuple(Type):
    """``<<A, B>>``"""

    parts: tuple[Type, ...]

    def __str__(self) -> str:
        return "<<" + ", ".join(str(part) for part in self.parts) + ">>"


_MEANT = {
    **dict.fromkeys(("int", "integer", "nat", "natural", "number", "long", "bigint"), "Int"),
    **dict.fromkeys(("bool", "boolean"), "Bool"),
    **dict.fromkeys(("str", "string", "text"), "Str"),
    **dict.fromkeys(("list", "array", "seq", "sequence"), "Seq(T)"),
    "set": "Set(T)",
    **dict.fromkeys(("map", "function", "dict"), "A -> B"),
}
"""What other languages call them."""
_NO_SORTS = {"INT", "INTEGER", "NAT", "BOOL", "BOOLEAN", "STR", "STRING"}


TYPES_ARE = "a type is Int, Bool, Str, Set(T), Seq(T), A -> B, <<A, B>>, {field: T} or a sort in capitals"


def parts_of(kind: Type) -> Sequence[Type]:
    """The types that a type is made of: none for a scalar."""
    match kind:
        case SetOf(element=element) | SeqOf(element=element):
            return (element,)
        case Function(argument=argument, result=result):
            return (argument, result)
        case Tuple(parts=parts):
            return parts
        case Record(fields=fields):
            return [part for _, part in fields]
    return ()


class TypeSyntaxError(Exception):
    """A type annotation that cannot be read; the message says what was met."""


def parse_type(text: str, aliases: Mapping[str, Type] | None = None) -> Type:
    """Read one type; ``$name`` stands for an alias, and so does ``NAME``, as Apalache once wrote it, with a
    record as ``[epoch: Int]``.

    >>> str(parse_type("MEMBER -> Set({epoch: Int})"))
    'MEMBER -> Set({epoch: Int})'
    >>> str(parse_type("Seq(STATE)", {"STATE": parse_type("[epoch: Int]")}))
    'Seq({epoch: Int})'

    Raises TypeSyntaxError.
    """
    reader = _Reader(text, aliases or {})
    parsed = reader.function()
    reader.expect(_END)
    return parsed


class _Reader:
    def __init__(self, text: str, aliases: Mapping[str, Type]) -> None:
        self._aliases = aliases
        self._tokens: list[str] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise TypeSyntaxError(f"cannot read the type at {text[position:].strip()!r}")
            self._tokens.append(match.group(1))
            position = match.end()
        self._tokens.append(_END)

    def expect(self, token: str) -> None:
        if self._tokens[0] != token:
            wanted, next_token = token or "the end of the type", self._tokens[0] or "the end"
            raise TypeSyntaxError(f"expected {wanted}, met {next_token}")
        if token:
            self._tokens.pop(0)

    def function(self) -> Type:
        left = self.primary()
        if self._tokens[0] != "->":
            return left
        self.expect("->")
        return Function(left, self.function())

    def primary(self) -> Type:
        token = self._tokens[0]
        if token == "(":
            self.expect("(")
            inner = self.function()
            self.expect(")")
            return inner
        if token == "<<":
            return self._tuple()
        if token in _RECORDS:
            return self._record(token, _RECORDS[token])
        return self._named(self._name())

    def _named(self, name: str) -> Type:
        if name in ("Set", "Seq"):
            self.expect("(")
            element = self.function()
            self.expect(")")
            return SetOf(element) if name == "Set" else SeqOf(element)
        if (alias := self._aliases.get(name.removeprefix("$"))) is not None:
            return alias
        if name.startswith("$"):
            raise TypeSyntaxError(f"there is no @typeAlias named {name[1:]}")
        if name in ("Int", "Bool", "Str") or (name.isupper() and name not in _NO_SORTS):
            return Scalar(name)
        meant = _MEANT.get(name.lower())
        known = "Int, Bool, Str, Set(T), Seq(T), A -> B, a record, or a SORT"
        raise TypeSyntaxError(f"unknown type {name}: {f'did you mean {meant}?' if meant else known}")

    def _name(self) -> str:
        token = self._tokens[0]
        if not re.fullmatch(r"[A-Za-z_$]\w*", token):
            raise TypeSyntaxError(f"expected a type, met {token or 'the end'}")
        return self._tokens.pop(0)

    def _tuple(self) -> Type:
        self.expect("<<")
        parts = [self.function()]
        while self._tokens[0] == ",":
            self.expect(",")
            parts.append(self.function())
        self.expect(">>")
        return Tuple(tuple(parts))

    def _record(self, begin: str, end: str) -> Type:
        self.expect(begin)
        fields: list[tuple[str, Type]] = []
        optional = set()
        while self._tokens[0] != end:
            if fields:
                self.expect(",")
            name = self._name()
            if self._tokens[0] == "?":
                self.expect("?")
                optional.add(name)
            self.expect(":")
            fields.append((name, self.function()))
        self.expect(end)
        return Record(tuple(fields), frozenset(optional))
