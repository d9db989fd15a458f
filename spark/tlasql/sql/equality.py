"""Kleene's equality of values of any type: SQL's own takes two unknown parts of a record for equal."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tlasql.lang.types import Function, Record, SeqOf, SetOf, Tuple, Type
from tlasql.sql import tree
from tlasql.sql.dialect import Dialect

Fresh = Callable[[str], str]


def equal(left: exp.Expr, right: exp.Expr, kind: Type, dialect: Dialect, fresh: Fresh) -> exp.Expr:
    """TRUE or FALSE only where it is that for every completion of both."""
    if not isinstance(kind, SetOf | SeqOf | Function | Record | Tuple):
        return exp.EQ(this=tree.grouped(left), expression=tree.grouped(right))
    return dialect.let(
        fresh("l"),
        left,
        lambda one: dialect.let(
            fresh("r"), right, lambda other: _equal(one.copy(), other.copy(), kind, dialect, fresh)
        ),
    )


def _equal(left: exp.Expr, right: exp.Expr, kind: Type, dialect: Dialect, fresh: Fresh) -> exp.Expr:
    match kind:
        case Record():
            return _records(left, right, kind, dialect, fresh)
        case Tuple(parts=parts):
            return _by_field(
                left, right, [(f"_{n}", p) for n, p in enumerate(parts, start=1)], dialect, fresh
            )
        case SetOf(element=element):
            return tree.all_of(
                [_subset(left, right, element, dialect, fresh), _subset(right, left, element, dialect, fresh)]
            )
        case SeqOf(element=element):
            return _sequences(left, right, element, dialect, fresh)
        case Function():
            return _functions(left, right, kind, dialect, fresh)
    raise AssertionError(kind)


def contains(array: exp.Expr, element: exp.Expr, kind: Type, dialect: Dialect, fresh: Fresh) -> exp.Expr:
    """``element \\in array``; ``kind`` is the element's type."""
    return dialect.some(
        array,
        fresh("e"),
        lambda each: _unless_null(each, equal(each.copy(), element.copy(), kind, dialect, fresh), kind),
    )


def certain(value: exp.Expr, kind: Type, dialect: Dialect, fresh: Fresh) -> exp.Expr:
    """TRUE where nothing inside ``value`` is unknown, else FALSE."""
    return dialect.let(fresh("v"), value, lambda found: _certain(found.copy(), kind, dialect, fresh))


def _certain(value: exp.Expr, kind: Type, dialect: Dialect, fresh: Fresh) -> exp.Expr:
    known = tree.is_known(value.copy())
    match kind:
        case Record(stored=stored):
            inner = [certain(dialect.field(value, name), part, dialect, fresh) for name, part in stored]
        case Tuple(parts=parts):
            inner = [
                certain(dialect.field(value, f"_{n}"), part, dialect, fresh)
                for n, part in enumerate(parts, start=1)
            ]
        case SetOf(element=element) | SeqOf(element=element):
            inner = [dialect.every(value, fresh("e"), lambda each: certain(each, element, dialect, fresh))]
        case Function(result=result):
            inner = [
                dialect.every(
                    dialect.keys(value),
                    fresh("k"),
                    lambda key: certain(dialect.at_key(value.copy(), key), result, dialect, fresh),
                )
            ]
        case _:
            return known
    return tree.all_of([known, *(tree.surely(each) for each in inner)])


def _by_field(
    left: exp.Expr, right: exp.Expr, fields: list[tuple[str, Type]], dialect: Dialect, fresh: Fresh
) -> exp.Expr:
    return tree.all_of(
        equal(dialect.field(left.copy(), name), dialect.field(right.copy(), name), part, dialect, fresh)
        for name, part in fields
    )


def _records(left: exp.Expr, right: exp.Expr, kind: Record, dialect: Dialect, fresh: Fresh) -> exp.Expr:
    """The same fields, and in each the same; of an optional one there is an array."""
    tests: list[exp.Expr] = []
    for column, (name, part) in zip(kind.columns, kind.fields, strict=True):
        one, other = dialect.field(left.copy(), column), dialect.field(right.copy(), column)
        if name in kind.optional:
            size, first = dialect.size(one), exp.Literal.number(1)
            tests.append(exp.EQ(this=size, expression=dialect.size(other)))
            contents = dialect.at_index(one.copy(), first), dialect.at_index(other.copy(), first.copy())
            lacking = exp.EQ(this=size.copy(), expression=exp.Literal.number(0))
            tests.append(tree.any_of([lacking, equal(*contents, part, dialect, fresh)]))
        else:
            tests.append(equal(one, other, part, dialect, fresh))
    return tree.all_of(tests)


def _subset(left: exp.Expr, right: exp.Expr, element: Type, dialect: Dialect, fresh: Fresh) -> exp.Expr:
    def found(each: exp.Expr) -> exp.Expr:
        return _unless_null(
            each, contains(right.copy(), each.copy(), element, dialect, fresh), element, force=True
        )

    return dialect.every(left.copy(), fresh("e"), found)


def _sequences(left: exp.Expr, right: exp.Expr, element: Type, dialect: Dialect, fresh: Fresh) -> exp.Expr:
    def alike(index: exp.Expr) -> exp.Expr:
        return equal(
            dialect.at_index(left.copy(), index),
            dialect.at_index(right.copy(), index.copy()),
            element,
            dialect,
            fresh,
        )

    length = exp.EQ(this=dialect.size(left), expression=dialect.size(right))
    positions = dialect.between(exp.Literal.number(1), dialect.size(left.copy()))
    return tree.all_of([length, dialect.every(positions, fresh("i"), alike)])


def _functions(left: exp.Expr, right: exp.Expr, kind: Function, dialect: Dialect, fresh: Fresh) -> exp.Expr:
    """Keys are known and each there once: as many on both sides, and each on both."""
    sizes = exp.EQ(this=dialect.size(dialect.keys(left)), expression=dialect.size(dialect.keys(right)))

    def alike(key: exp.Expr) -> exp.Expr:
        left_image, right_image = dialect.at_key(left.copy(), key), dialect.at_key(right.copy(), key.copy())
        present = contains(dialect.keys(right.copy()), key.copy(), kind.argument, dialect, fresh)
        return tree.all_of([present, equal(left_image, right_image, kind.result, dialect, fresh)])

    return tree.all_of([sizes, dialect.every(dialect.keys(left.copy()), fresh("k"), alike)])


def _unless_null(each: exp.Expr, test: exp.Expr, kind: Type, force: bool = False) -> exp.Expr:
    """An element that may not be there decides nothing; of a scalar, a comparison says so by itself."""
    if not force and not isinstance(kind, SetOf | SeqOf | Function | Record | Tuple):
        return test
    return exp.Case(ifs=[exp.If(this=tree.is_known(each.copy()), true=test)])
