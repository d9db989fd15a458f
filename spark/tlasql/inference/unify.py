"""Unification: types that are not known yet become known when they meet others.

An ``Unknown`` may carry a *shape*, which says what has been seen of it so far: ``Text`` (a string literal:
Str, or a model value), ``Row`` (a record with at least, or exactly, these fields), ``Listing`` (``<<a, b>>``:
a tuple or a sequence), ``Numbered`` (a function whose domain is ``1..n``: a function of Int or a sequence).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tlasql.lang.types import BOOL, INT, STR, Function, Record, Scalar, SeqOf, SetOf, Tuple, Type, parts_of


@dataclass(frozen=True)
class Unknown(Type):
    """A type to be found."""

    number: int

    def __str__(self) -> str:
        return "?"


@dataclass(frozen=True)
class Text:
    """Str or any sort. ``model``: only model values are among it so far."""

    model: bool = False


@dataclass(frozen=True)
class Row:
    """A record with these fields; ``closed``: and no others; some values lack the ``optional`` ones."""

    fields: tuple[tuple[str, Type], ...]
    closed: bool
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Listing:
    """A tuple of these parts, or a sequence of elements of one type."""

    parts: tuple[Type, ...]


@dataclass(frozen=True)
class Numbered:
    """``Int -> result`` or ``Seq(result)``."""

    result: Type


MODEL = Scalar("MODEL")
"""The sort of model values that meet nothing else, as in the cardinality of a constant."""

Shape = Text | Row | Listing | Numbered


class MismatchError(Exception):
    """Two types that cannot be one."""


class Unifier:
    """The types that Unknowns stand for."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._bound: dict[int, Type] = {}
        self._shapes: dict[int, Shape] = {}
        self._orders: dict[frozenset[str], tuple[str, ...]] = {}
        self._trail: list[tuple[int, Shape | None]] = []

    def unknown(self, shape: Shape | None = None) -> Unknown:
        """A new Unknown."""
        found = Unknown(next(self._numbers))
        if shape is not None:
            self._shapes[found.number] = shape
        return found

    def saved(self) -> Callable[[], None]:
        """A function that takes back all that is learned from here on."""
        mark = len(self._trail)

        def restore() -> None:
            while len(self._trail) > mark:
                number, shape = self._trail.pop()
                self._bound.pop(number, None)
                self._shapes.pop(number, None)
                if shape is not None:
                    self._shapes[number] = shape

        return restore

    def head(self, kind: Type) -> Type:
        """The type as far as its outermost form is known."""
        while isinstance(kind, Unknown) and kind.number in self._bound:
            kind = self._bound[kind.number]
        return kind

    def shape(self, kind: Type) -> Shape | None:
        """The shape of a type that is still unknown."""
        kind = self.head(kind)
        return self._shapes.get(kind.number) if isinstance(kind, Unknown) else None

    def resolve(self, kind: Type) -> Type:
        """The type with all that is known put in; a record's fields in the order of their first use."""
        match self.head(kind):
            case SetOf(element=element):
                return SetOf(self.resolve(element))
            case SeqOf(element=element):
                return SeqOf(self.resolve(element))
            case Function(argument=argument, result=result):
                return Function(self.resolve(argument), self.resolve(result))
            case Tuple(parts=parts):
                return Tuple(tuple(self.resolve(part) for part in parts))
            case Record(fields=fields, optional=optional):
                given = dict(fields)
                order = self._orders.setdefault(frozenset(given), tuple(given))
                return Record(tuple((name, self.resolve(given[name])) for name in order), optional)
            case head:
                return head

    def unify(self, one: Type, other: Type) -> None:
        """Make the two types one. Raises MismatchError."""
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
            case Record(fields=left_fields, optional=left_optional), Record(
                fields=right_fields, optional=right_optional
            ) if left_optional == right_optional:
                self._fields(left_fields, right_fields)
            case _:
                raise MismatchError

    def settle(self, kind: Type) -> bool:
        """Give what is still unknown the simplest type of its shape; False when some of it has none."""
        kind = self.head(kind)
        if isinstance(kind, Unknown):
            simplest = _simplest(self._shapes.get(kind.number))
            if simplest is None:
                return False
            self._put(kind, simplest)
        settled = [self.settle(part) for part in self._parts(kind)]  # all of them, though one stays open
        return all(settled)

    def is_open(self, kind: Type) -> bool:
        """Whether any part of the type is still unknown."""
        kind = self.head(kind)
        return isinstance(kind, Unknown) or any(self.is_open(part) for part in self._parts(kind))

    def _parts(self, kind: Type) -> Sequence[Type]:
        """The parts of a type, or of the shape of an unknown."""
        kind = self.head(kind)
        return _seen(self._shapes.get(kind.number)) if isinstance(kind, Unknown) else parts_of(kind)

    def _all(self, pairs: Iterable[tuple[Type, Type]]) -> None:
        for one, other in pairs:
            self.unify(one, other)

    def _fields(self, left: tuple[tuple[str, Type], ...], right: tuple[tuple[str, Type], ...]) -> None:
        a, b = dict(left), dict(right)
        if a.keys() != b.keys():
            raise MismatchError
        self._all((a[name], b[name]) for name in a)

    def _bind(self, open_kind: Unknown, kind: Type) -> None:
        seen = self._parts(open_kind)
        if self._occurs(open_kind, kind) or any(self._occurs(kind, part) for part in seen):
            raise MismatchError
        shape = self._put(open_kind, kind)
        if shape is None:
            return
        if isinstance(kind, Unknown):
            known = self._shapes.get(kind.number)
            if known is None:
                self._see(kind, shape)
            else:
                self._merge(kind, known, shape)
        else:
            self._fit(shape, kind)

    def _put(self, open_kind: Unknown, kind: Type) -> Shape | None:
        """Gives an unknown its type, and returns the shape it had."""
        shape = self._shapes.pop(open_kind.number, None)
        self._trail.append((open_kind.number, shape))
        self._bound[open_kind.number] = kind
        return shape

    def _see(self, open_kind: Unknown, shape: Shape) -> None:
        self._trail.append((open_kind.number, self._shapes.get(open_kind.number)))
        self._shapes[open_kind.number] = shape

    def _fit(self, shape: Shape, kind: Type) -> None:
        match shape, kind:
            case Text(), Scalar() if kind not in (INT, BOOL):
                return
            case Row(fields=fields, closed=closed, optional=lacking), Record(fields=whole, optional=optional):
                have, named = dict(whole), {name for name, _ in fields}
                if named - have.keys() or (closed and have.keys() - named - optional) or lacking - optional:
                    raise MismatchError
                self._all((part, have[name]) for name, part in fields)
            case Row(fields=fields, closed=False), Function(argument=argument, result=result):
                self.unify(argument, STR)  # f.a is f["a"]
                self._all((part, result) for _, part in fields)
            case Listing(parts=parts), Tuple(parts=others) if len(parts) == len(others):
                self._all(zip(parts, others, strict=True))
            case Listing(parts=()), Function():  # the function without arguments is also written <<>>
                return
            case Listing(parts=parts), SeqOf(element=element):
                self._all((part, element) for part in parts)
            case Numbered(result=result), SeqOf(element=element):
                self.unify(result, element)
            case Numbered(result=result), Function(argument=argument, result=other):
                self.unify(argument, INT)
                self.unify(result, other)
            case _:
                raise MismatchError

    def _merge(self, kind: Unknown, one: Shape, other: Shape) -> None:
        """Two shapes of one unknown become one."""
        match one, other:
            case Text(model=left_model), Text(model=right_model):
                self._see(kind, Text(left_model and right_model))
            case Row(), Row():
                self._see(kind, _joined(one, other))
                a, b = dict(one.fields), dict(other.fields)
                self._all((a[name], b[name]) for name in a.keys() & b.keys())
            case Listing(parts=left), Listing(parts=right) if len(left) == len(right):
                self._all(zip(left, right, strict=True))
            case (Listing(), Listing()) | (Listing(), Numbered()) | (Numbered(), Listing()):
                element = self.unknown()
                self._put(kind, SeqOf(element))
                self._fit(one, SeqOf(element))
                self._fit(other, SeqOf(element))
            case Numbered(result=first_result), Numbered(result=second_result):
                self.unify(first_result, second_result)
            case _:
                raise MismatchError

    def _occurs(self, open_kind: Type, kind: Type) -> bool:
        kind = self.head(kind)
        return kind == open_kind or any(self._occurs(open_kind, part) for part in self._parts(kind))


def _joined(one: Row, other: Row) -> Row:
    """A row with the fields of both: what one of two whole records lacks is optional. Raises MismatchError
    where a field is read that no record has.
    """
    a, b = dict(one.fields), dict(other.fields)
    optional = one.optional | other.optional
    if one.closed and other.closed:
        optional |= a.keys() ^ b.keys()
    elif (one.closed and b.keys() - a.keys()) or (other.closed and a.keys() - b.keys()):
        raise MismatchError
    first = one if one.closed else other
    merged = {**dict(first.fields), **a, **b}
    return Row(tuple(merged.items()), one.closed or other.closed, optional)


def _simplest(shape: Shape | None) -> Type | None:
    match shape:
        case Text(model=model):
            return MODEL if model else STR
        case Listing(parts=parts) if parts:
            return Tuple(parts)
        case Numbered(result=result):
            return Function(INT, result)
        case Row(fields=fields, closed=True, optional=optional):
            return Record(fields, optional)
    return None


def _seen(shape: Shape | None) -> Sequence[Type]:
    match shape:
        case Row(fields=fields):
            return [part for _, part in fields]
        case Listing(parts=parts):
            return parts
        case Numbered(result=result):
            return (result,)
    return ()
