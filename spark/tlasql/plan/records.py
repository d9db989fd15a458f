r"""Plans a clause or a decision over a set of records: fields become columns of one scan.

A quantifier inside a predicate, ``\A d \in S : d.f = c.f => P(d)``, is grouped by the fields its equalities
name and joined back; it may relate the two records by such equalities only.
"""

from __future__ import annotations

from dataclasses import replace

from tlasql.lang.errors import Location, fail
from tlasql.lang.ir import Bound, Expr, Field, Literal, Op, Quantified, free, text, walk
from tlasql.lang.types import BOOL
from tlasql.mapping.model import Mapping, Records
from tlasql.plan.clauses import Clause, Range, access, conjuncts, leaves
from tlasql.plan.defined import defined, silent, total
from tlasql.plan.frames import Aggregate, Column, Leaf, Predicates, RecordFrame, Scan

_WITHIN = 'add within = ["{0}"] to the mapping, and {0} to the fields of its universe, if every record has it'


def records_of(domain: Expr, mapping: Mapping) -> Records | None:
    """The record set a range runs over, None when it runs over something else."""
    read = access(domain)
    mapped = mapping.variables.get(read.name) if read is not None else None
    if read is None or not isinstance(mapped, Records):
        return None
    if read.primed:
        raise fail(domain.location, f"{text(domain)} is primed", "records are judged in the state they met")
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
            else:
                found.setdefault(text(leaf), _leaf(leaf, element, records, alias))
    return RecordFrame(
        records,
        Scan(alias, records.table),
        element.name,
        tuple(found.values()),
        tuple(aggregates.values()),
        predicates,
    )


def _leaf(expr: Expr, element: Bound, records: Records, alias: str) -> Leaf:
    match expr:
        case Field(record=Bound(uid=uid), name=name) if uid == element.uid:
            return Leaf(text(expr), Column(alias, records.fields[name]))
        case _:
            remedy = f"a rule over {records.name} reads the fields of {element.name} only"
            raise fail(expr.location, f"{text(expr)} beside the records of {records.name}", remedy)


def _aggregate(expr: Quantified, outer: Bound, records: Records, mapping: Mapping) -> Aggregate:
    if expr.kind == "filter" or records_of(expr.domain, mapping) != records:
        raise fail(
            expr.location, f"a quantifier over {text(expr.domain)} inside a predicate over {records.name}"
        )
    universal, inner = expr.kind == "\\A", expr.variable
    tests, body = _parts(expr, universal)
    equal = [pair for pair in (_equality(test, inner, outer) for test in tests) if pair is not None]
    rest = [test for test in tests if _equality(test, inner, outer) is None]
    _check_related(expr.location, equal, records)
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
    if free(predicate) - {inner.uid}:
        remedy = f"relate {inner.name} and {outer.name} by equalities of fields before the =>"
        raise fail(location, f"{text(predicate)} speaks of more than {inner.name}", remedy)
    alias = records.table.rsplit(".", 1)[-1]
    found = {text(leaf): _leaf(leaf, inner, records, alias) for leaf in leaves(predicate)}
    return Aggregate(
        text(expr),
        expr.label or text(expr),
        universal,
        tuple(f for f, _ in equal),
        tuple(found.values()),
        predicate,
    )


def _parts(expr: Quantified, universal: bool) -> tuple[list[Expr], tuple[Expr, ...]]:
    r"""The tests of ``\A d : tests => body``, or the conjuncts of ``\E d : tests`` with no body."""
    if not universal:
        return conjuncts(expr.body), ()
    match expr.body:
        case Op(symbol="=>", arguments=(test, then)):
            return conjuncts(test), (then,)
        case _:
            return [], (expr.body,)


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


def _check_related(location: Location, equal: list[tuple[str, str]], records: Records) -> None:
    for field in records.within:
        if (field, field) not in equal:
            raise fail(
                location,
                f"this quantifier compares records whose states are not known together (not of one {field})",
                f"restrict it: d.{field} = c.{field} => ...",
            )
    for inner, outer in equal:
        if inner != outer or inner not in records.within:
            known = ", ".join(records.within)
            remedy = f"only equal {known} is known for every record" if known else _WITHIN.format(inner)
            raise fail(location, f"d.{inner} = c.{outer} may be unknown for some records", remedy)


def _only(rest: list[Expr], location: Location) -> Expr:
    return rest[0] if rest else Literal(location, True)
