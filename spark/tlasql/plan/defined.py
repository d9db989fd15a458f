r"""The states in which TLC finds a value for an expression, as a formula of the same fragment.

``defined(e)`` is true in the states in which TLC evaluates ``e`` to the end: it applies no function outside
its DOMAIN, divides by no zero, chooses from no empty set, and so on. TLC reads connectives from left to right
and stops reading once it knows the answer; so does the formula. Of a quantifier, a set or a function it asks
that every part has a value, though TLC may have found its answer before it met the one that has none.

Where the text itself shows it (``x \in DOMAIN f`` around ``f[x]``) the formula is TRUE, as most are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tlasql.lang.ir import (
    Bound,
    Except,
    Expr,
    Field,
    Fold,
    Index,
    Literal,
    Op,
    Prime,
    Quantified,
    RecordSet,
    Variable,
    children,
    free,
    substitute,
    walk,
)
from tlasql.lang.shapes import has_field, may_lack, type_of
from tlasql.lang.types import BOOL, INT, Function, Record, SeqOf, SetOf, Tuple, Type
from tlasql.plan.facts import (
    NOTHING,
    Facts,
    in_domain,
    inside_domain,
    learned,
    length_of,
    negated,
    operator,
    ranged,
    refuted,
    shape_shown,
    some_element,
)

_UNLISTED = {"Nat", "Int", "STRING", "SUBSET", "->", "Seq", "\\X"}
_APART = 10**15
"""Between the number of a variable and that of the one that takes its place: no module has as many."""
_IN_ORDER = {"/\\", "\\/", "=>", "IF", "CASE"}


def defined(expr: Expr, *, by_row: bool = False) -> Expr:
    """The formula; TRUE itself where nothing can go wrong.

    ``by_row``: a function or sequence that is a variable is applied inside its DOMAIN, since a row says so.
    """
    return _Definedness(by_row).of(expr, NOTHING)


def always(expr: Expr) -> bool:
    """Whether the formula is TRUE itself."""
    return isinstance(expr, Literal) and expr.value is True


def total(expr: Expr) -> bool:
    """Whether TLC evaluates ``expr`` in every state, as far as the text shows."""
    return always(defined(expr))


def silent(expr: Expr, *, by_row: bool = False) -> bool:
    """Whether the SQL of ``expr`` is null wherever ``expr`` has no value, so that nothing needs to ask."""
    return _Definedness(by_row).silent(expr)


@dataclass(frozen=True)
class _Definedness:
    by_row: bool

    def of(self, expr: Expr, facts: Facts) -> Expr:  # noqa: PLR0911 (one for each kind)
        match expr:
            case Op(symbol=symbol) if symbol in _IN_ORDER:
                return self._in_order(expr, facts)
            case Op(symbol="\\in" | "\\subseteq", arguments=(left, right)):
                parts = self._each((left,), facts)
                return _and(expr, [*parts, self._container(expr, left, right, _known(facts, parts))])
            case Op(arguments=arguments):
                parts = self._each(arguments, facts)
                return _and(expr, [*parts, *self._needs(expr, _known(facts, parts))])
            case Index(function=function, key=key):
                parts = self._each((function, key), facts)
                if not isinstance(function.type, Tuple | Record):
                    parts.append(self._applicable(expr, function, key, _known(facts, parts)))
                return _and(expr, parts)
            case Except(function=function, key=key, value=value):
                return self._except(expr, function, key, value, facts)
            case Field(record=record, name=name) if may_lack(record, name):
                parts = self._each((record,), facts)
                return _and(expr, [*parts, self._has_field(record, name, _known(facts, parts))])
            case Quantified():
                return self._quantified(expr, facts)
            case Fold():
                return self._fold(expr, facts)
            case _:
                return _and(expr, self._each(tuple(children(expr)), facts))

    def silent(self, expr: Expr) -> bool:  # noqa: PLR0911 (one for each kind)
        """See :func:`silent`."""
        match expr:
            case _ if always(self.of(expr, NOTHING)):
                return True
            case Op(symbol="/\\" | "\\/" | "=>", arguments=(*first, last)):
                return all(always(self.of(each, NOTHING)) for each in first) and self.silent(last)
            case Op(symbol="IF" | "CASE", arguments=(test, *arms)) if _scalar(expr.type):
                values, tests = _arms(expr, arms)
                plain = all(always(self.of(each, NOTHING)) for each in (test, *tests))
                return plain and all(self.silent(each) for each in values)
            case Op(
                symbol="=" | "<=>" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "-." | "~", arguments=parts
            ):
                return all(_scalar(each.type) and self.silent(each) for each in parts)
            case Op(symbol="\\div" | "%", arguments=parts):
                return all(self.silent(each) for each in parts)
            case Index(function=function, key=key) if not isinstance(function, Quantified | Except):
                return all(always(self.of(each, NOTHING)) for each in (function, key))
            case _:
                return False

    def _each(self, parts: Iterable[Expr], facts: Facts) -> list[Expr]:
        """The conditions of all parts, each under the assumption that those before it have a value."""
        found: list[Expr] = []
        for each in parts:
            found.append(self.of(each, _known(facts, found)))
        return found

    def _in_order(self, expr: Op, facts: Facts) -> Expr:
        match expr:
            case Op(symbol="=>", arguments=(test, then)):
                first = self._each((test,), facts)
                later = self.of(then, _known(facts, first) | learned(test))
                return _and(expr, [*first, _implies(expr, test, later)])
            case Op(symbol="IF", arguments=(test, then, other)):
                first = self._each((test,), facts)
                after = _known(facts, first)
                yes, no = self.of(then, after | learned(test)), self.of(other, after | refuted(test))
                return _and(expr, [*first, _either(expr, test, yes, no)])
            case Op(symbol="CASE", arguments=arguments):
                return self._case(expr, arguments, facts)
        found, before = [], facts
        stops = expr.symbol == "\\/"
        for number, part in enumerate(expr.arguments):
            needed = self.of(part, before)
            if not always(needed):
                earlier = _join(expr, expr.arguments[:number], expr.symbol)
                found.append(_either_of(expr, earlier, needed) if stops else _guarded(expr, earlier, needed))
            before = _known(before, [needed]) | (refuted(part) if stops else learned(part))
        return _and(expr, found)

    def _case(self, expr: Op, arguments: Sequence[Expr], facts: Facts) -> Expr:
        if not arguments:
            return _literal(expr, False)
        if len(arguments) == 1:
            return self.of(arguments[0], facts)
        test, arm, *rest = arguments
        first = self._each((test,), facts)
        after = _known(facts, first)
        yes = self.of(arm, after | learned(test))
        no = self._case(expr, rest, after | refuted(test))
        return _and(expr, [*first, _either(expr, test, yes, no)])

    def _needs(self, expr: Op, facts: Facts) -> list[Expr]:  # noqa: PLR0911 (one for each operator)
        """The conditions on the arguments under which an operator has a value."""
        match expr.symbol, expr.arguments:
            case ("\\div" | "%") as symbol, (_, divisor):
                zero = _literal(expr, 0)
                if isinstance(divisor, Literal) and int(divisor.value) > 0:
                    return []
                if symbol == "%":
                    return [operator(expr, ">", (divisor, zero))]
                return [negated(expr, operator(expr, "=", (divisor, zero)))]
            case (("Head" | "Tail" | "Last"), (sequence,)):
                known = some_element(sequence, facts)
                return [] if known else [operator(expr, ">", (length_of(sequence), _literal(expr, 0)))]
            case "SubSeq", (sequence, low, high):
                inside = _and(
                    expr,
                    [
                        _ordered(expr, ">=", low, _literal(expr, 1), facts),
                        _ordered(expr, "<=", high, length_of(sequence), facts),
                    ],
                )
                empty = operator(expr, ">", (low, high))
                return [] if always(inside) else [operator(expr, "\\/", (empty, inside))]
            case (("Min" | "Max"), (base,)):
                while isinstance(base, Quantified) and base.kind == "map":  # empty only where S is
                    base = base.domain
                some = negated(expr, _is_empty(base))
                return [] if some in facts else [some]
        return []

    def _except(self, expr: Except, function: Expr, key: Expr, value: Expr, facts: Facts) -> Expr:
        """TLC reads the new value only where there is an old one."""
        parts = self._each((function, key), facts)
        facts = _known(facts, parts)
        if isinstance(expr.type, Record):
            name = str(key.value) if isinstance(key, Literal) else ""
            if not may_lack(function, name):
                return _and(expr, [*parts, self.of(value, facts)])
            inside = has_field(function, name)
        else:
            inside = inside_domain(key, function)
        return _and(expr, [*parts, _implies(expr, inside, self.of(value, facts | {inside}))])

    def _quantified(self, expr: Quantified, facts: Facts) -> Expr:
        variable, domain = expr.variable, expr.domain
        parts = self._each((domain,), facts)
        body = self.of(expr.body, _known(facts, parts) | ranged(variable, domain))
        parts.append(self._every(expr, variable, domain, body))
        if expr.kind == "choose":
            parts.append(Quantified(expr.location, "\\E", variable, domain, expr.body, type=BOOL))
        return _and(expr, parts)

    def _fold(self, expr: Fold, facts: Facts) -> Expr:
        """A fold of pairs: the value so far, and whether each step until here had one."""
        so_far, place = expr.parameters
        parts = self._each((expr.start, expr.places), facts)
        needed = self.of(expr.body, _known(facts, parts) | ranged(place, expr.places))
        if always(needed):
            return _and(expr, parts)
        kind = Tuple((type_of(expr), BOOL))
        pair = Bound(so_far.location, so_far.name, so_far.uid - _APART, type=kind)
        value = Index(expr.location, pair, _literal(expr, 1), type=type_of(expr))
        passed = Index(expr.location, pair, _literal(expr, 2), type=BOOL)
        step = (expr.body, operator(expr, "/\\", (passed, needed)))
        start, body = (
            operator(expr, "<<>>", each, kind) for each in ((expr.start, _literal(expr, True)), step)
        )
        whole = replace(
            expr, parameters=(pair, place), start=start, body=substitute(body, so_far, value), type=kind
        )
        parts.append(Index(expr.location, whole, _literal(expr, 2), type=BOOL))
        return _and(expr, parts)

    @staticmethod
    def _every(expr: Expr, variable: Bound, domain: Expr, body: Expr) -> Expr:
        """What is not about the element is asked once, and not of each: where any element asks for it."""
        found, left = list[Expr](), list[Expr]()
        for part in _parts(body):
            idle, needed = _is_empty(domain), part
            match part:
                case Op(symbol="=>" | "\\/" as symbol, arguments=(test, needed)):
                    none = negated(expr, test) if symbol == "=>" else test
                    idle = Quantified(expr.location, "\\A", variable, domain, none, type=BOOL)
            same = [each for each in _parts(needed) if _walks(each) and variable.uid not in free(each)]
            found += [operator(expr, "\\/", (idle, each)) for each in same]
            rest = _and(expr, [each for each in _parts(needed) if each not in same])
            if isinstance(part, Op) and needed is not part and not always(rest):
                rest = replace(part, arguments=(part.arguments[0], rest))
            left.append(rest)
        rest = _and(expr, left)
        if not always(rest):
            found.append(Quantified(expr.location, "\\A", variable, domain, rest, type=BOOL))
        return _and(expr, found)

    def _container(self, expr: Expr, element: Expr, container: Expr, facts: Facts) -> Expr:
        r"""Where the set to the right of ``\in`` or ``\subseteq`` has a value."""
        match container:
            case Quantified(kind="filter", variable=variable, domain=domain, body=body) if not _listed(
                domain
            ):
                # TLC keeps such a set as its text, and asks the predicate of the element alone
                outer = self._container(expr, element, domain, facts)
                if isinstance(expr, Op) and expr.symbol == "\\subseteq":
                    needed = self.of(body, facts | ranged(variable, element))
                    return _and(expr, [outer, self._every(expr, variable, element, needed)])
                condition = substitute(body, variable, element)
                inside = operator(expr, "\\in", (element, domain))
                return _and(expr, [outer, _implies(expr, inside, self.of(condition, facts | {inside}))])
        return self.of(container, facts)

    @staticmethod
    def _has_field(record: Expr, name: str, facts: Facts) -> Expr:
        """Whether the record has a field that others of its type lack."""
        known = shape_shown(record, name, facts)
        return has_field(record, name) if known is None else _literal(record, known)

    def _applicable(self, expr: Expr, function: Expr, key: Expr, facts: Facts) -> Expr:
        by_row = self.by_row and isinstance(_root(function), Variable | Prime)
        if by_row or in_domain(key, function, facts):
            return _literal(expr, True)
        return inside_domain(key, function)


def _known(facts: Facts, needed: Iterable[Expr]) -> Facts:
    """The formulas that are true wherever all of ``needed`` are."""
    return facts.union(*(learned(each) for each in needed if not always(each)))


def _parts(formula: Expr) -> Sequence[Expr]:
    return formula.arguments if isinstance(formula, Op) and formula.symbol == "/\\" else (formula,)


def _walks(formula: Expr) -> bool:
    """Whether it looks at each element of something."""
    return any(isinstance(each, Quantified | Fold) for each in walk(formula))


def _is_empty(base: Expr) -> Expr:
    return operator(base, "=", (base, operator(base, "{}", (), base.type)))


def _listed(domain: Expr) -> bool:
    """Whether TLC lists the elements of a set when it meets a filter of it."""
    match domain:
        case Op(symbol=symbol) if symbol in _UNLISTED:
            return False
        case RecordSet():
            return False
        case Op(symbol="\\cup" | "\\cap" | "\\", arguments=parts):
            return all(_listed(each) for each in parts)
        case Quantified(kind="filter", domain=base):
            return _listed(base)
    return True


def _root(function: Expr) -> Expr:
    while isinstance(function, Index):
        function = function.function
    return function


def _arms(expr: Op, rest: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
    """The values, and the tests but the first, of IF or CASE."""
    if expr.symbol == "IF":
        return list(rest), []
    values = [*rest[::2]] if len(rest) % 2 else [*rest[:-1:2], rest[-1]]
    return values, list(rest[1:-1:2] if len(rest) % 2 == 0 else rest[1::2])


def _scalar(kind: Type | None) -> bool:
    return not isinstance(kind, SetOf | SeqOf | Function | Record | Tuple)


def _literal(at: Expr, value: int | bool) -> Literal:
    return Literal(at.location, value, type=BOOL if isinstance(value, bool) else INT)


def _and(at: Expr, parts: Iterable[Expr]) -> Expr:
    kept: list[Expr] = []
    for each in parts:
        if not always(each) and each not in kept:
            kept.append(each)
    return _join(at, kept, "/\\")


def _join(at: Expr, parts: Sequence[Expr], symbol: str) -> Expr:
    if not parts:
        return _literal(at, symbol == "/\\")
    return parts[0] if len(parts) == 1 else operator(at, symbol, tuple(parts))


def _guarded(at: Expr, earlier: Expr, needed: Expr) -> Expr:
    return needed if always(earlier) else _implies(at, earlier, needed)


def _either_of(at: Expr, earlier: Expr, needed: Expr) -> Expr:
    none = isinstance(earlier, Literal) and earlier.value is False
    return needed if none else operator(at, "\\/", (earlier, needed))


def _implies(at: Expr, test: Expr, needed: Expr) -> Expr:
    return needed if always(needed) else operator(at, "=>", (test, needed))


def _ordered(at: Expr, symbol: str, left: Expr, right: Expr, facts: Facts) -> Expr:
    """``left symbol right``, either way round; TRUE where the text shows it."""
    match left, right:
        case Literal(value=int() as one), Literal(value=int() as two) if symbol == ">=" and one >= two:
            return _literal(at, True)
    ordered, turned = (
        operator(at, symbol, (left, right)),
        operator(at, "<=" if symbol == ">=" else ">=", (right, left)),
    )
    return _literal(at, True) if facts & {ordered, turned} else ordered


def _either(at: Expr, test: Expr, yes: Expr, no: Expr) -> Expr:
    if always(yes) and always(no):
        return yes
    if always(no):
        return _implies(at, test, yes)
    if always(yes):
        return operator(at, "\\/", (test, no))
    return operator(at, "IF", (test, yes, no))
