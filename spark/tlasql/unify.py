r"""Types that are not known yet, and what makes them known: unification.

An ``Unknown`` may carry a *shape*, what has been seen of it so far: ``Text`` (a string literal: Str, or a model
value of any sort), ``Row`` (a record with at least, or exactly, these fields), ``Listing`` (``<<a, b>>``: a tuple
or a sequence), ``Numbered`` (a function whose domain is ``1..n``: a function of Int or a sequence).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tlasql.types import BOOL, INT, STR, Function, Record, Scalar, SeqOf, SetOf, Tuple, Type


@dataclass(frozen=True)
class Unknown(Type):
    """A type to be found."""

    number: int

    def __str__(self) -> str:
        return "?"


@dataclass(frozen=True)
class Text:
    """Str or any sort."""


@dataclass(frozen=True)
class Row:
    """A record with these fields; ``closed``: and no others."""

    fields: tuple[tuple[str, Type], ...]
    closed: bool


@dataclass(frozen=True)
class Listing:
    """A tuple of these parts, or a sequence of elements of one type."""

    parts: tuple[Type, ...]


@dataclass(frozen=True)
class Numbered:
    """``Int -> result`` or ``Seq(result)``."""

    result: Type


Shape = Text | Row | Listing | Numbered


class Mismatch(Exception):
    """Two types that cannot be one."""


class Unifier:
    """Knows what every Unknown stands for."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._bound: dict[int, Type] = {}
        self._shapes: dict[int, Shape] = {}
        self._orders: dict[frozenset[str], tuple[str, ...]] = {}

    def unknown(self, shape: Shape | None = None) -> Unknown:
        """A new Unknown."""
        found = Unknown(next(self._numbers))
        if shape is not None:
            self._shapes[found.number] = shape
        return found

    def saved(self) -> Callable[[], None]:
        """What takes everything learned from here on back."""
        bound, shapes = dict(self._bound), dict(self._shapes)

        def restore() -> None:
            self._bound, self._shapes = bound, shapes

        return restore

    def head(self, kind: Type) -> Type:
        """The type as far as its outermost form is known."""
        while isinstance(kind, Unknown) and kind.number in self._bound:
            kind = self._bound[kind.number]
        return kind

    def shape(self, kind: Type) -> Shape | None:
        """What has been seen of a type that is still unknown."""
        kind = self.head(kind)
        return self._shapes.get(kind.number) if isinstance(kind, Unknown) else None

    def resolve(self, kind: Type) -> Type:
        """The type with everything put in that is known; fields of records in the order of their first use."""
        match self.head(kind):
            case SetOf(element=element):
                return SetOf(self.resolve(element))
            case SeqOf(element=element):
                return SeqOf(self.resolve(element))
            case Function(argument=argument, result=result):
                return Function(self.resolve(argument), self.resolve(result))
            case Tuple(parts=parts):
                return Tuple(tuple(self.resolve(part) for part in parts))
            case Record(fields=fields):
                given = dict(fields)
                order = self._orders.setdefault(frozenset(given), tuple(given))
                return Record(tuple((name, self.resolve(given[name])) for name in order))
            case head:
                return head

    def unify(self, one: Type, other: Type) -> None:
        """Make the two types one. Raises Mismatch."""
        one, other = self.head(one), self.head(other)
        if one == other:
            return
        match one, other:
            case Unknown(), _:
                self._bind(one, other)
            case _, Unknown():
                self._bind(other, one)
            case (SetOf(element=a), SetOf(element=b)) | (SeqOf(element=a), SeqOf(element=b)):
                self.unify(a, b)
            case Function(argument=a1, result=a2), Function(argument=b1, result=b2):
                self.unify(a1, b1)
                self.unify(a2, b2)
            case Tuple(parts=left), Tuple(parts=right) if len(left) == len(right):
                self._all(zip(left, right, strict=True))
            case Record(fields=left_fields), Record(fields=right_fields):
                self._fields(left_fields, right_fields)
            case _:
                raise Mismatch

    def settle(self, kind: Type) -> bool:
        """Give what is still unknown the simplest type of its shape; False when there is none."""
        match self.head(kind):
            case Unknown() as open_kind:
                match self._shapes.pop(open_kind.number, None):
                    case Text():
                        self._bound[open_kind.number] = STR
                    case Listing(parts=parts) if parts:
                        self._bound[open_kind.number] = Tuple(parts)
                    case Numbered(result=result):
                        self._bound[open_kind.number] = Function(INT, result)
                    case Row(fields=fields, closed=True):
                        self._bound[open_kind.number] = Record(fields)
                    case _:
                        return False
                return self.settle(open_kind)
            case SetOf(element=element) | SeqOf(element=element):
                return self.settle(element)
            case Function(argument=argument, result=result):
                return self.settle(argument) and self.settle(result)
            case Tuple(parts=parts):
                return all([self.settle(part) for part in parts])
            case Record(fields=fields):
                return all([self.settle(part) for _, part in fields])
        return True

    def _all(self, pairs: Iterable[tuple[Type, Type]]) -> None:
        for one, other in pairs:
            self.unify(one, other)

    def _fields(self, left: tuple[tuple[str, Type], ...], right: tuple[tuple[str, Type], ...]) -> None:
        a, b = dict(left), dict(right)
        if a.keys() != b.keys():
            raise Mismatch
        self._all((a[name], b[name]) for name in a)

    def _bind(self, open_kind: Unknown, kind: Type) -> None:
        if self._occurs(open_kind, kind):
            raise Mismatch
        shape = self._shapes.pop(open_kind.number, None)
        self._bound[open_kind.number] = kind
        if shape is None:
            return
        if isinstance(kind, Unknown):
            met = self._shapes.get(kind.number)
            if met is None:
                self._shapes[kind.number] = shape
            else:
                self._merge(kind, met, shape)
        else:
            self._fit(shape, kind)

    def _fit(self, shape: Shape, kind: Type) -> None:
        match shape, kind:
            case Text(), Scalar() if kind not in (INT, BOOL):
                return
            case Row(fields=fields, closed=closed), Record(fields=whole):
                have = dict(whole)
                if any(name not in have for name, _ in fields) or (closed and len(fields) != len(have)):
                    raise Mismatch
                self._all((part, have[name]) for name, part in fields)
            case Row(fields=fields, closed=False), Function(argument=argument, result=result):
                self.unify(argument, STR)  # f.a is f["a"]
                self._all((part, result) for _, part in fields)
            case Listing(parts=parts), Tuple(parts=others) if len(parts) == len(others):
                self._all(zip(parts, others, strict=True))
            case Listing(parts=parts), SeqOf(element=element):
                self._all((part, element) for part in parts)
            case Numbered(result=result), SeqOf(element=element):
                self.unify(result, element)
            case Numbered(result=result), Function(argument=argument, result=other):
                self.unify(argument, INT)
                self.unify(result, other)
            case _:
                raise Mismatch

    def _merge(self, kind: Unknown, one: Shape, other: Shape) -> None:
        """Two shapes of one unknown become one."""
        match one, other:
            case Text(), Text():
                return
            case Row(), Row():
                a, b = dict(one.fields), dict(other.fields)
                if (one.closed and b.keys() - a.keys()) or (other.closed and a.keys() - b.keys()):
                    raise Mismatch
                first = one if one.closed else other
                merged = {**dict(first.fields), **a, **b}
                self._shapes[kind.number] = Row(tuple(merged.items()), one.closed or other.closed)
                self._all((a[name], b[name]) for name in a.keys() & b.keys())
            case Listing(parts=left), Listing(parts=right) if len(left) == len(right):
                self._all(zip(left, right, strict=True))
            case (Listing(), Listing()) | (Listing(), Numbered()) | (Numbered(), Listing()):
                element = self.unknown()
                del self._shapes[kind.number]
                self._bound[kind.number] = SeqOf(element)
                self._fit(one, SeqOf(element))
                self._fit(other, SeqOf(element))
            case Numbered(result=first_result), Numbered(result=second_result):
                self.unify(first_result, second_result)
            case _:
                raise Mismatch

    def _occurs(self, open_kind: Unknown, kind: Type) -> bool:
        match self.head(kind):
            case Unknown() as other:
                if other == open_kind:
                    return True
                match self._shapes.get(other.number):
                    case Row(fields=fields):
                        return any(self._occurs(open_kind, part) for _, part in fields)
                    case Listing(parts=parts):
                        return any(self._occurs(open_kind, part) for part in parts)
                    case Numbered(result=result):
                        return self._occurs(open_kind, result)
                return False
            case SetOf(element=element) | SeqOf(element=element):
                return self._occurs(open_kind, element)
            case Function(argument=argument, result=result):
                return self._occurs(open_kind, argument) or self._occurs(open_kind, result)
            case Tuple(parts=parts):
                return any(self._occurs(open_kind, part) for part in parts)
            case Record(fields=fields):
                return any(self._occurs(open_kind, part) for _, part in fields)
        return False
