r"""Plans a clause or a decision over a set of records: fields become columns of one scan.

A quantifier inside a predicate, ``\A d \in S : d.f = c.f => P(d)``, is grouped by the fields its equalities
name and joined back. Where ``P`` speaks of ``c`` too, each record is compared with all of its group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from tlasql.lang.errors import Location, fail
from tlasql.lang.ir import (
    Bound,
    Expr,
    Field,
    Fold,
    Literal,
    Op,
    Prime,
    Quantified,
    Variable,
    children,
    free,
    rebuild,
    tell,
    text,
    walk,
)
from tlasql.lang.types import BOOL, Record
from tlasql.mapping.model import Mapping, Records
from tlasql.plan.clauses import Clause, Range, access, conjuncts, leaves
from tlasql.plan.defined import defined, silent, total
from tlasql.plan.frames import Aggregate, Column, Leaf, Predicates, RecordFrame, Scan

_CALLED = {
    **{"\\A": "a quantifier over", "\\E": "a quantifier over", "filter": "a set made of"},
    **{"map": "a set made of", "function": "a function over", "choose": "CHOOSE from"},
}
_WITHIN = 'add within = ["{0}"] to the mapping, and {0} to the fields of its universe, if every record has it'


def records_of(domain: Expr, mapping: Mapping) -> Records | None:
    """The record set a range runs over, None when it runs over something else."""
    read = access(domain)
    mapped = mapping.variables.get(read.name) if read is not None else None
    if read is None or not isinstance(mapped, Records):
        return None
    if read.primed:
        raise fail(domain.location, f"{tell(domain)} is primed", "records are judged in the state they met")
    return mapped


def plan_records(clause: Clause, records: Records, mapping: Mapping) -> RecordFrame:
    """The frame of a clause with one range over ``records``, or two. Raises TlaSqlError."""
    element, *others = clause.ranges
    predicates = Predicates(clause.antecedents, clause.conjuncts)
    if len(others) == 1 and records_of(others[0].domain, mapping) == records:
        predicates = _quantified(clause, others[0])
    elif others:
        remedy = "quantify over at most two records of one set"
        raise fail(others[0].domain.location, "a further range beside a set of records", remedy)
    return plan_record(element.variable, predicates, records, mapping)


def _quantified(clause: Clause, inner: Range) -> Predicates:
    r"""``\A c, d \in S : P`` as ``\A c \in S : (\A d \in S : P)``."""
    uid, where = inner.variable.uid, inner.variable.location
    antecedents = [part for each in clause.antecedents for part in conjuncts(each)]
    own = tuple(each for each in antecedents if uid not in free(each))
    tests = tuple(each for each in antecedents if uid in free(each))

    def quantified(kind: str, body: Expr) -> Expr:
        return Quantified(body.location, kind, inner.variable, inner.domain, body, type=BOOL)

    def every(conjunct: Expr) -> Expr:
        match conjunct:
            case Op(symbol="~", arguments=(refuted,)):
                some = quantified("\\E", Op(conjunct.location, "/\\", (*tests, refuted), type=BOOL))
                return Op(conjunct.location, "~", (some,), type=BOOL)
        both = tests[0] if len(tests) == 1 else Op(where, "/\\", tests, type=BOOL)
        body = Op(conjunct.location, "=>", (both, conjunct), type=BOOL) if tests else conjunct
        return quantified("\\A", body)

    return Predicates(own, tuple(every(each) for each in clause.conjuncts))


def plan_record(element: Bound, predicates: Predicates, records: Records, mapping: Mapping) -> RecordFrame:
    """The frame of predicates over one element of ``records``."""
    alias = records.table.rsplit(".", 1)[-1]
    found: dict[str, Leaf] = {}
    aggregates: dict[str, Aggregate] = {}
    whole = predicates.whole
    asked = None if silent(whole) else defined(whole)
    predicates = replace(predicates, evaluates=asked, stops=asked is None and not total(whole))
    for predicate in predicates.every:
        for leaf in leaves(predicate):
            if isinstance(leaf, Quantified):
                aggregates.setdefault(text(leaf), _aggregate(leaf, element, records, mapping))
                continue
            for each in _read_by(leaf) if any(isinstance(part, Fold) for part in walk(leaf)) else (leaf,):
                found.setdefault(text(each), _leaf(each, element, records, alias))
    return RecordFrame(
        records,
        Scan(alias, records.table),
        element.name,
        tuple(found.values()),
        tuple(aggregates.values()),
        predicates,
    )


def _read_by(expr: Expr, own: frozenset[int] = frozenset()) -> Iterator[Expr]:
    """What an expression with folds reads. ``own``: the numbers of the variables that these bind."""
    match expr:
        case Field(record=Bound(uid=uid)) | Bound(uid=uid):
            if uid not in own:
                yield expr
        case Quantified() | Variable() | Prime():
            yield expr
        case _:
            if isinstance(expr, Fold):
                own |= {each.uid for each in expr.parameters}
            for part in children(expr):
                yield from _read_by(part, own)


def _leaf(expr: Expr, element: Bound, records: Records, alias: str) -> Leaf:
    match expr:
        case Field(record=Bound(uid=uid), name=name) if uid == element.uid:
            return Leaf(text(expr), Column(alias, records.fields[name]))
        case _:
            remedy = f"a rule over {records.name} reads the fields of {element.name} only"
            raise fail(expr.location, f"{tell(expr)} beside the records of {records.name}", remedy)


def _aggregate(expr: Quantified, outer: Bound, records: Records, mapping: Mapping) -> Aggregate:
    if expr.kind == "filter" or records_of(expr.domain, mapping) != records:
        message = f"{_CALLED[expr.kind]} {tell(expr.domain)} inside a predicate over {records.name}"
        remedy = f"compare two {records.name} by \\A or \\E, or map each variable to a column of [states]"
        raise fail(expr.location, message, remedy)
    universal, inner = expr.kind == "\\A", expr.variable
    tests, body = _parts(expr, universal)
    pairs = [(test, _equality(test, inner, outer)) for test in tests]
    equal = tuple(pair[0] for _, pair in pairs if pair is not None and _is_within(pair, records))
    rest = [test for test, pair in pairs if pair is None or not _is_within(pair, records)]
    _check_related(expr, outer, equal, [pair for _, pair in pairs if pair is not None], records)
    location = expr.body.location
    if universal:
        refuted = [Op(each.location, "~", (each,)) for each in rest]
        predicate: Expr = Op(location, "\\/", (*refuted, *body)) if refuted else body[0]
    else:
        predicate = Op(location, "/\\", tuple(rest)) if len(rest) > 1 else _only(rest, location)
    for part in walk(predicate):
        if isinstance(part, Quantified):
            raise fail(
                part.location, "a quantifier inside a quantifier inside a predicate", "mark it by itself"
            )
    own = {inner.uid, outer.uid} if equal else {inner.uid}
    if free(predicate) - own:
        remedy = f"relate {inner.name} and {outer.name} by equalities of fields before the =>"
        raise fail(location, f"{tell(predicate)} speaks of more than {inner.name}", remedy)
    identical = Bound(location, f"{inner.name} = {outer.name}", -inner.uid, type=BOOL)
    predicate = _fieldwise(predicate, inner, outer, identical)
    read = {text(leaf): leaf for leaf in leaves(predicate)}
    is_compared = read.pop(identical.name, None) is not None
    alias = records.table.rsplit(".", 1)[-1]
    of_outer = {name: leaf for name, leaf in read.items() if outer.uid in free(leaf)}
    of_inner = {name: leaf for name, leaf in read.items() if name not in of_outer}
    return Aggregate(
        text(expr),
        expr.label or text(expr),
        universal,
        equal,
        tuple(_leaf(leaf, inner, records, alias) for leaf in of_inner.values()),
        predicate,
        tuple(_leaf(leaf, outer, records, alias) for leaf in of_outer.values()),
        identical.name if is_compared else None,
    )


def _fieldwise(expr: Expr, inner: Bound, outer: Bound, identical: Bound) -> Expr:
    """Each ``d = c`` as what the mapping gives of two records: they are one row, or all fields are equal."""
    match expr:
        case Op(symbol="=", arguments=(Bound(uid=a), Bound(uid=b))) if {a, b} == {inner.uid, outer.uid}:
            at = expr.location
            assert isinstance(inner.type, Record)
            equalities = [
                Op(
                    at,
                    "=",
                    (Field(at, inner, name, type=kind), Field(at, outer, name, type=kind)),
                    type=BOOL,
                )
                for name, kind in inner.type.fields
            ]
            alike = Op(at, "/\\", tuple(equalities), type=BOOL) if len(equalities) > 1 else equalities[0]
            return Op(at, "\\/", (identical, alike), type=BOOL)
    return rebuild(expr, lambda part: _fieldwise(part, inner, outer, identical))


def _parts(expr: Quantified, universal: bool) -> tuple[list[Expr], tuple[Expr, ...]]:
    r"""The tests of ``\A d : tests => body``, or the conjuncts of ``\E d : tests`` with no body."""
    if not universal:
        return conjuncts(expr.body), ()
    match expr.body:
        case Op(symbol="=>", arguments=(test, then)):
            return conjuncts(test), (then,)
        case Op(symbol="\\/", arguments=arguments):
            refuted = [each.arguments[0] for each in arguments if _negates(each)]
            kept = tuple(each for each in arguments if not _negates(each))
            return [part for each in refuted for part in conjuncts(each)], kept
        case _:
            return [], (expr.body,)


def _negates(expr: Expr) -> TypeGuard[Op]:
    return isinstance(expr, Op) and expr.symbol == "~"


def _is_within(pair: tuple[str, str], records: Records) -> bool:
    return pair[0] == pair[1] and pair[0] in records.within


def _equality(expr: Expr, inner: Bound, outer: Bound) -> tuple[str, str] | None:
    """(inner's field, outer's field) of ``d.f = c.g``, either way round."""
    match expr:
        case Op(
            symbol="=", arguments=(Field(record=Bound(uid=a), name=f), Field(record=Bound(uid=b), name=g))
        ):
            if (a, b) == (inner.uid, outer.uid):
                return f, g
            if (b, a) == (inner.uid, outer.uid):
                return g, f
    return None


def _check_related(
    expr: Quantified,
    outer: Bound,
    equal: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    records: Records,
) -> None:
    one, other = expr.variable.name, outer.name
    for field in records.within:
        if field not in equal:
            raise fail(
                expr.location,
                f"this quantifier compares records whose states are not known together (not of one {field})",
                f"restrict it: {one}.{field} = {other}.{field} => ...",
            )
    for inner, of_outer in pairs:
        if not equal:
            message = f"{one}.{inner} = {other}.{of_outer} may be unknown for some records"
            raise fail(expr.location, message, _WITHIN.format(inner))


def _only(rest: list[Expr], location: Location) -> Expr:
    return rest[0] if rest else Literal(location, True)
