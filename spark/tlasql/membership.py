r"""Sets and what ranges over them: infinite and large sets are never built, ``\in`` and quantifiers follow
the set's own text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from tlasql import tree
from tlasql.equality import contains
from tlasql.errors import fail
from tlasql.ir import (
    Bound,
    Except,
    Expr,
    Field,
    Index,
    Literal,
    Op,
    Prime,
    Quantified,
    RecordOf,
    RecordSet,
    Variable,
    text,
    walk,
)
from tlasql.types import BOOL, INT, STR, Function, Record, SeqOf, SetOf, Tuple, Type

if TYPE_CHECKING:
    from tlasql.values import Values

COMPARED = {"<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}
_FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_STRICT = {"=", "<", "<=", ">", ">=", "+", "-", "*", "-."}


class Membership:
    """The part of :class:`tlasql.values.Values` that knows sets."""

    def __init__(self, values: Values) -> None:
        self._values, self._dialect = values, values.dialect

    def quantified(self, expr: Quantified) -> exp.Expr:
        """``\\A`` and ``\\E``."""
        every = expr.kind == "\\A"
        return self._over(expr.domain, expr.variable, lambda: self._values.of(expr.body), expr.body, every)

    def equality(self, left: Expr, right: Expr) -> exp.Expr:
        """``left = right``; with ``{}``, and of parts written out, without building what is compared."""
        kind = _type(left)
        if text(left) == text(right) and all(_total(each) for each in walk(left)):
            return exp.true()
        for one, other in ((left, right), (right, left)):
            if isinstance(other, Op) and other.symbol in ("{}", "<<>>") and not other.arguments:
                return self._empty(one)
            if counts(one) and not counts(other):
                return self.counted("=", one, other)
        pairs = _written_out(left, right)
        if pairs is not None:
            return tree.all_of(self.equality(a, b) for a, b in pairs)
        if isinstance(kind, SetOf) and (_virtual(left) or _virtual(right)):
            return tree.all_of([self._subset(left, right), self._subset(right, left)])
        return self._values.same(self._values.of(left), self._values.of(right), kind)

    def _empty(self, expr: Expr) -> exp.Expr:
        """Whether a set, sequence or function has no element."""
        if isinstance(expr.type, SetOf):
            return self._over(expr, None, exp.false, Literal(expr.location, False, type=BOOL), True)
        found = self._values.of(expr)
        array = self._dialect.keys(found) if isinstance(expr.type, Function) else found
        return exp.EQ(this=self._dialect.size(array), expression=exp.Literal.number(0))

    def filtered(self, expr: Quantified) -> exp.Expr:
        """``{x \\in S : P}``; an element whose P is unknown may be there."""
        dialect, kind = self._dialect, _type(expr)
        none = dialect.array([], kind)

        def kept(each: exp.Expr) -> exp.Expr:
            test = self._values.inside(expr.variable, each, lambda: self._values.of(expr.body))
            here, perhaps = dialect.array([each.copy()], kind), dialect.array([exp.null()], kind)
            return tree.case_of(test, [(exp.true(), here), (exp.false(), none)], perhaps)

        name = self._values.fresh(expr.variable.name)
        domain = self._values.of(expr.domain)
        return tree.call("FLATTEN", dialect.transformed(domain, name, kept))

    def mapped(self, expr: Quantified) -> exp.Expr:
        """``{e : x \\in S}``"""
        return self._distinct(self._images(expr), _element(expr))

    def _images(self, expr: Expr) -> exp.Expr:
        """The array of a set, for what asks neither how many elements it has nor which one is first: of
        ``{e : x \\in S}`` an element may stand there for each x.
        """
        if not (isinstance(expr, Quantified) and expr.kind == "map"):
            return self._values.of(expr)

        def change(each: exp.Expr) -> exp.Expr:
            found = self._values.inside(expr.variable, each, lambda: self._values.sized(expr.body))
            return exp.Case(ifs=[exp.If(this=tree.is_known(each.copy()), true=found)])

        return self._dialect.transformed(
            self._values.of(expr.domain), self._values.fresh(expr.variable.name), change
        )

    def function(self, expr: Quantified) -> exp.Expr:
        """``[x \\in S |-> e]``; not known while an argument is not."""
        values, dialect = self._values, self._dialect
        if isinstance(expr.type, SeqOf):  # over 1..n, or the DOMAIN of another
            return dialect.transformed(
                values.of(expr.domain),
                values.fresh(expr.variable.name),
                lambda each: values.inside(expr.variable, each, lambda: values.sized(expr.body)),
            )

        def built(keys: exp.Expr) -> exp.Expr:
            images = dialect.transformed(
                keys.copy(),
                values.fresh(expr.variable.name),
                lambda each: values.inside(expr.variable, each, lambda: values.sized(expr.body)),
            )
            complete = dialect.every(keys.copy(), values.fresh("k"), tree.is_known)
            return tree.case([(complete, dialect.map_of(keys.copy(), images))])

        return dialect.let(values.fresh("keys"), self._once(expr.domain), built)

    def chosen(self, expr: Quantified) -> exp.Expr:
        """``CHOOSE x \\in S : P``: the one that there is; of several nobody knows which."""
        variable, fresh = expr.variable, self._values.fresh

        def test(each: exp.Expr) -> exp.Expr:
            return self._values.inside(variable, each, lambda: self._values.of(expr.body))

        def only(domain: exp.Expr) -> exp.Expr:
            known = self._dialect.every(
                domain.copy(),
                fresh("e"),
                lambda each: tree.all_of(
                    [tree.is_known(each), tree.is_known(tree.grouped(test(each.copy())))]
                ),
            )
            matching = self._dialect.filtered(domain.copy(), fresh(variable.name), test)
            return self._dialect.let(fresh("found"), matching, lambda found: single(known, found))

        def single(known: exp.Expr, found: exp.Expr) -> exp.Expr:
            one = exp.Literal.number(1)
            alone = exp.EQ(this=self._dialect.size(found.copy()), expression=one)
            return tree.case(
                [(tree.all_of([known, alone]), self._dialect.at_index(found.copy(), one.copy()))]
            )

        return self._dialect.let(fresh("domain"), self._once(expr.domain), only)

    def operator(self, expr: Op) -> exp.Expr:  # noqa: PLR0911 (one each)
        """Everything else that makes or measures sets."""
        match expr.symbol, expr.arguments:
            case "\\in", (element, container):
                return self._member(element, container)
            case "\\subseteq", (left, right):
                return self._subset(left, right)
            case "Cardinality", (counted,):
                return self._cardinality(counted)
            case "IsFiniteSet", (base,):
                return exp.true() if _finite(base) else exp.false()
            case ("Min" | "Max") as symbol, (counted,):
                largest = symbol == "Max"
                array = self._images(counted)
                return self._when_known(counted, lambda known: self._dialect.extreme(known, largest), array)
            case "Sum", (counted,):
                return self._when_known(counted, self._dialect.summed, self._once(counted))
            case "SumOf", (function,):
                return self._sum_of(function)
            case "@@", (left, right):
                return self._joined(expr, left, right)
            case ":>", (key, image):
                return self._single(key, image)
        return self._set(expr)

    def _set(self, expr: Op) -> exp.Expr:  # noqa: C901, PLR0911 (one each)
        values, dialect = self._values, self._dialect
        match expr.symbol, expr.arguments:
            case "{}", members:
                array = dialect.array([values.sized(each) for each in members], _type(expr))
                return self._distinct(array, _element(expr)) if len(members) > 1 else array
            case "..", (low, high):
                return dialect.between(values.of(low), values.of(high))
            case "BOOLEAN", ():
                return dialect.array([exp.false(), exp.true()], _type(expr))
            case "DOMAIN", (function,):
                return self._domain(function)
            case "\\cup", (left, right):
                one, other = values.of(left), values.of(right)
                kind = _element(expr)
                added = dialect.filtered(
                    other,
                    values.fresh("e"),
                    lambda each: tree.negation(
                        tree.surely(contains(one.copy(), each, kind, dialect, values.fresh))
                    ),
                )
                return dialect.concatenated(one, added)
            case ("\\cap" | "\\") as symbol, (left, right):
                variable = self._values.variable(expr.location, "e", _element(expr))
                test: Expr = Op(expr.location, "\\in", (variable, right), type=BOOL)
                if symbol == "\\":
                    test = Op(expr.location, "~", (test,), type=BOOL)
                return self.filtered(
                    Quantified(expr.location, "filter", variable, left, test, type=expr.type)
                )
            case "UNION", (sets,):
                return self._distinct(dialect.flattened(self._images(sets)), _element(expr))
            case "\\X", parts:
                return self._product([f"_{n}" for n in range(1, len(parts) + 1)], parts)
            case "SUBSET", (Op(symbol="{}", arguments=members),) if len(members) <= 8:
                chosen = [
                    Op(
                        expr.location,
                        "{}",
                        tuple(m for m, k in zip(members, bits, strict=True) if k),
                        type=_element(expr),
                    )
                    for bits in product((False, True), repeat=len(members))
                ]
                array = dialect.array([values.of(each) for each in chosen], _type(expr))
                return self._distinct(array, _element(expr)) if len(members) > 1 else array
        raise fail(
            expr.location,
            f"{text(expr)} is too large to be listed",
            "test membership in it (x \\in ...), or range over a finite set",
        )

    def _domain(self, function: Expr) -> exp.Expr:
        kind = function.type
        if isinstance(kind, SeqOf):
            length = self._dialect.size(self._values.of(function))
            return self._dialect.between(exp.Literal.number(1), length)
        if isinstance(kind, Record):
            return self._dialect.array([tree.string(name) for name, _ in kind.fields], SetOf(STR))
        if isinstance(kind, Tuple):
            numbers = [exp.Literal.number(n) for n in range(1, len(kind.parts) + 1)]
            return self._dialect.array(list(numbers), SetOf(INT))
        inner = domain_of(function)
        if inner is not None:
            return self._values.of(inner)
        return self._dialect.keys(self._values.of(function))

    def _over(  # noqa: C901, PLR0911 (one each)
        self, domain: Expr, variable: Bound | None, test: Callable[[], exp.Expr], body: Expr, every: bool
    ) -> exp.Expr:
        """A quantifier over ``domain``; ``test`` gives the predicate once ``variable`` is bound."""
        values, dialect = self._values, self._dialect

        def bound(element: exp.Expr) -> exp.Expr:
            if variable is None:
                return exp.Case(ifs=[exp.If(this=tree.is_known(element), true=test())])
            found = values.inside(variable, element, test)
            if strict(body, variable.uid):
                return found
            return exp.Case(ifs=[exp.If(this=tree.is_known(element.copy()), true=found)])

        together = tree.all_of if every else tree.any_of
        match domain:
            case Quantified(kind="filter", variable=inner, domain=base, body=condition):

                def guarded() -> exp.Expr:
                    element = values.bound_to(inner)
                    met = test() if variable is None else values.inside(variable, element, test)
                    condition_met = values.of(condition)
                    return (
                        tree.any_of([tree.negation(condition_met), met])
                        if every
                        else tree.all_of([condition_met, met])
                    )

                whole = Op(body.location, "/\\", (condition, body), type=BOOL)
                return self._over(base, inner, guarded, whole, every)
            case Quantified(kind="map", domain=base) if variable is None:
                return self._over(base, None, test, body, every)
            case Quantified(kind="map", variable=inner, domain=base, body=image) if variable is not None:

                def imaged() -> exp.Expr:
                    return values.inside(variable, values.of(image), test)

                return self._over(base, inner, imaged, Literal(body.location, True), every)
            case Op(symbol="\\cup", arguments=parts):
                return together([self._over(each, variable, test, body, every) for each in parts])
            case Op(symbol="{}", arguments=members):
                if variable is None:
                    return together(test() for _ in members)
                return together(values.inside(variable, values.of(each), test) for each in members)
            case Op(symbol="UNION", arguments=(sets,)):
                family = self._values.variable(domain.location, "family", _element(sets))
                return self._over(
                    sets,
                    family,
                    lambda: self._over(family, variable, test, body, every),
                    Literal(body.location, True),
                    every,
                )
            case RecordSet(names=names, arguments=parts) if variable is not None and isinstance(
                variable.type, Record
            ):
                fields = [
                    values.variable(domain.location, name, _element(part))
                    for name, part in zip(names, parts, strict=True)
                ]
                record = RecordOf(domain.location, names, tuple(fields), type=variable.type)

                def field(index: int) -> exp.Expr:
                    if index == len(parts):
                        return values.inside(variable, values.of(record), test)
                    return self._over(
                        parts[index],
                        fields[index],
                        lambda: field(index + 1),
                        Literal(body.location, True),
                        every,
                    )

                return field(0)
            case Op(symbol="DOMAIN", arguments=(function,)) if domain_of(function) is not None:
                inner_domain = domain_of(function)
                assert inner_domain is not None
                return self._over(inner_domain, variable, test, body, every)
        array = values.of(domain)
        name = values.fresh(variable.name if variable is not None else "e")
        return dialect.every(array, name, bound) if every else dialect.some(array, name, bound)

    def _member(self, element: Expr, container: Expr) -> exp.Expr:  # noqa: C901, PLR0911, PLR0912 (one each)
        values = self._values
        found = values.of
        location = element.location
        inside = self._member
        match container:
            case Op(symbol="Int" | "STRING" | "BOOLEAN"):
                return exp.true()
            case Op(symbol="Nat"):
                return exp.GTE(this=tree.grouped(found(element)), expression=exp.Literal.number(0))
            case Op(symbol="..", arguments=(low, high)):
                shown = tree.grouped(found(element))
                return tree.all_of(
                    [
                        exp.GTE(this=shown, expression=tree.grouped(found(low))),
                        exp.LTE(this=shown.copy(), expression=tree.grouped(found(high))),
                    ]
                )
            case Op(symbol="{}", arguments=members):
                return tree.any_of(self.equality(element, each) for each in members)
            case Op(symbol="\\cup", arguments=(left, right)):
                return tree.any_of([inside(element, left), inside(element, right)])
            case Op(symbol="\\cap", arguments=(left, right)):
                return tree.all_of([inside(element, left), inside(element, right)])
            case Op(symbol="\\", arguments=(left, right)):
                return tree.all_of(
                    [inside(element, left), tree.negation(tree.grouped(inside(element, right)))]
                )
            case Op(symbol="SUBSET", arguments=(base,)):
                return self._subset(element, base)
            case Op(symbol="Seq", arguments=(base,)) if isinstance(element.type, SeqOf):
                return self._every_element(found(element), element.type.element, base)
            case Op(symbol="UNION", arguments=(sets,)):
                family = self._values.variable(location, "family", _element(sets))
                held = Op(location, "\\in", (element, family), type=BOOL)
                return self._over(sets, family, lambda: inside(element, family), held, every=False)
            case Op(symbol="DOMAIN", arguments=(function,)) if domain_of(function) is not None:
                inner = domain_of(function)
                assert inner is not None
                return inside(element, inner)
            case Op(symbol="DOMAIN", arguments=(function,)) if isinstance(function.type, SeqOf):
                shown = tree.grouped(found(element))
                length = self._dialect.size(found(function))
                low_bound = exp.GTE(this=shown, expression=exp.Literal.number(1))
                return tree.all_of([low_bound, exp.LTE(this=shown.copy(), expression=length)])
            case Op(symbol="->", arguments=(arguments, results)):
                return self._in_function_set(element, arguments, results)
            case Op(symbol="\\X", arguments=parts):
                return tree.all_of(
                    inside(_component(element, n), part) for n, part in enumerate(parts, start=1)
                )
            case RecordSet(names=names, arguments=parts):
                return tree.all_of(
                    inside(_field_of(element, name), part) for name, part in zip(names, parts, strict=True)
                )
            case Quantified(kind="filter", variable=variable, domain=domain, body=body):
                held_value = found(element)
                test = values.inside(variable, held_value, lambda: values.of(body))
                return tree.all_of([inside(element, domain), test])
            case Quantified(kind="map", variable=variable, domain=domain, body=body):
                same = Op(location, "=", (element, body), type=BOOL)
                return self._over(domain, variable, lambda: self.equality(element, body), same, every=False)
        return contains(found(container), found(element), _type(element), self._dialect, values.fresh)

    def _in_function_set(self, element: Expr, arguments: Expr, results: Expr) -> exp.Expr:
        kind = element.type
        if isinstance(kind, SeqOf):  # [1..n -> S]
            positions = Op(element.location, "DOMAIN", (element,), type=SetOf(INT))
            inner = self._every_element(self._values.of(element), kind.element, results)
            return tree.all_of([self.equality(positions, arguments), inner])
        assert isinstance(kind, Function)
        domain = Op(element.location, "DOMAIN", (element,), type=SetOf(kind.argument))
        variable = self._values.variable(element.location, "k", kind.argument)
        image = Index(element.location, element, variable, type=kind.result)
        inside = Op(element.location, "\\in", (image, results), type=BOOL)
        every = self._over(domain, variable, lambda: self._member(image, results), inside, every=True)
        return tree.all_of([self.equality(domain, arguments), every])

    def _subset(self, left: Expr, right: Expr) -> exp.Expr:
        variable = self._values.variable(left.location, "e", _element(left))
        inside = Op(left.location, "\\in", (variable, right), type=BOOL)
        return self._over(left, variable, lambda: self._member(variable, right), inside, every=True)

    def _every_element(self, array: exp.Expr, kind: Type, base: Expr) -> exp.Expr:
        variable = self._values.variable(base.location, "e", kind)
        name = self._values.fresh("e")
        return self._dialect.every(
            array,
            name,
            lambda each: self._values.inside(variable, each, lambda: self._member(variable, base)),
        )

    def counted(self, symbol: str, left: Expr, right: Expr) -> exp.Expr:
        """``Cardinality(S)`` compared with a number: the part of S that is known may decide."""
        if counts(right):
            return self.counted(_FLIPPED[symbol], right, left)
        assert isinstance(left, Op)
        values, dialect, element = self._values, self._dialect, _element(left.arguments[0])
        number = values.of(right)

        def decided(array: exp.Expr, count: exp.Expr) -> exp.Expr:
            sure = dialect.filtered(array.copy(), values.fresh("e"), lambda each: values.known(each, element))
            least, most = dialect.size(sure), dialect.size(array.copy())
            if symbol == "=":
                beyond = [exp.GT(this=least, expression=count), exp.LT(this=most, expression=count.copy())]
                exact = [
                    exp.EQ(this=least.copy(), expression=count.copy()),
                    exp.EQ(this=most.copy(), expression=count.copy()),
                ]
                return tree.case([(tree.any_of(beyond), exp.false()), (tree.all_of(exact), exp.true())])
            enough, possible = (least, most) if symbol in (">", ">=") else (most, least)
            met = COMPARED[symbol](this=enough, expression=count.copy())
            may = COMPARED[symbol](this=possible, expression=count.copy())
            return tree.case([(met, exp.true()), (tree.negation(may), exp.false())])

        return dialect.let(
            values.fresh("all"),
            self._once(left.arguments[0]),
            lambda array: dialect.let(values.fresh("n"), number, lambda n: decided(array, n)),
        )

    def _cardinality(self, counted: Expr) -> exp.Expr:
        return self._when_known(counted, self._dialect.size, self._once(counted))

    def _once(self, expr: Expr) -> exp.Expr:
        """The array of a set in which each element stands once: one that a table holds may repeat itself."""
        found = self._values.of(expr)
        return self._distinct(found, _element(expr)) if _repeats(expr) else found

    def _when_known(
        self, counted: Expr, measure: Callable[[exp.Expr], exp.Expr], array: exp.Expr
    ) -> exp.Expr:
        """A measure of a set, once all of it is known."""
        values = self._values

        def measured(array: exp.Expr) -> exp.Expr:
            return tree.case([(values.known(array.copy(), _type(counted)), measure(array.copy()))])

        return self._dialect.let(values.fresh("all"), array, measured)

    def _sum_of(self, function: Expr) -> exp.Expr:
        """The sum of f[x] for x in DOMAIN f."""
        values, dialect = self._values, self._dialect
        if isinstance(function, Quantified) and function.kind == "function":
            keys = self._once(function.domain)
            kind: Type = _type(function.domain)
            variable, body = function.variable, function.body
            images = dialect.transformed(
                keys.copy(),
                values.fresh(variable.name),
                lambda e: values.inside(variable, e, lambda: values.sized(body)),
            )
        elif isinstance(function.type, SeqOf):
            keys, kind, images = values.of(function), _type(function), values.of(function)
        else:
            assert isinstance(function.type, Function)
            whole = values.of(function)
            keys, kind = dialect.keys(whole), SetOf(function.type.argument)
            images = dialect.transformed(
                keys.copy(), values.fresh("k"), lambda k: dialect.at_key(whole.copy(), k)
            )
        complete = dialect.every(images.copy(), values.fresh("e"), tree.is_known)
        return tree.case([(tree.all_of([values.known(keys, kind), complete]), dialect.summed(images))])

    def _joined(self, expr: Op, left: Expr, right: Expr) -> exp.Expr:
        kind = _type(expr)
        if not isinstance(kind, Function):
            raise fail(expr.location, "@@ of sequences", "write the whole as a function: [x \\in S |-> ...]")
        domains = [Op(expr.location, "DOMAIN", (each,), type=SetOf(kind.argument)) for each in (left, right)]
        union = Op(expr.location, "\\cup", tuple(domains), type=SetOf(kind.argument))
        variable = self._values.variable(expr.location, "k", kind.argument)
        images = tuple(Index(expr.location, each, variable, type=kind.result) for each in (left, right))
        first = Op(expr.location, "\\in", (variable, domains[0]), type=BOOL)
        body = Op(expr.location, "IF", (first, *images), type=kind.result)
        return self.function(Quantified(expr.location, "function", variable, union, body, type=kind))

    def _single(self, key: Expr, image: Expr) -> exp.Expr:
        values, dialect = self._values, self._dialect
        keys = dialect.array([values.sized(key)], SetOf(_type(key)))
        images = dialect.array([values.sized(image)], SetOf(_type(image)))
        made = dialect.map_of(keys, images)
        return made if isinstance(key, Literal) else tree.case([(tree.is_known(values.of(key)), made)])

    def records(self, expr: RecordSet) -> exp.Expr:
        """``[a : S, b : T]``, all of them."""
        kind = _element(expr)
        assert isinstance(kind, Record)
        return self._product([kind.column(name) for name in expr.names], expr.arguments)

    def _product(self, names: Sequence[str], parts: Sequence[Expr]) -> exp.Expr:
        """All tuples or records: nested images of each part, made flat."""
        values, dialect = self._values, self._dialect

        def level(index: int, chosen: list[exp.Expr]) -> exp.Expr:
            if index == len(parts):
                known = tree.all_of(tree.is_known(each.copy()) for each in chosen)
                made = dialect.struct([(n, each.copy()) for n, each in zip(names, chosen, strict=True)])
                return tree.case([(known, made)])
            inner = dialect.transformed(
                values.of(parts[index]), values.fresh("e"), lambda each: level(index + 1, [*chosen, each])
            )
            return inner if index == len(parts) - 1 else dialect.flattened(inner)

        return level(0, [])

    def _distinct(self, array: exp.Expr, kind: Type) -> exp.Expr:
        return self._dialect.distinct(
            array, self._values.fresh("d"), lambda one, other: self._values.same(one, other, kind)
        )


def _repeats(expr: Expr) -> bool:
    """Whether the array of a set may hold an element twice: what is made here never does."""
    match expr:
        case Op(symbol="DOMAIN", arguments=(function,)):
            written = domain_of(function)
            return written is not None and _repeats(written)
        case Op(symbol="{}" | ".." | "BOOLEAN" | "UNION" | "SUBSET") | Quantified(kind="map"):
            return False
        case Quantified(kind="filter", domain=base) | Op(symbol="\\cap" | "\\", arguments=(base, _)):
            return _repeats(base)
        case (
            Op(symbol="\\cup", arguments=parts)
            | RecordSet(arguments=parts)
            | Op(symbol="\\X", arguments=parts)
        ):
            return any(_repeats(each) for each in parts)
    return True


def _finite(base: Expr) -> bool:
    """Whether TLC finds a set finite; all that are listed are."""
    match base:
        case Op(symbol="Nat" | "Int" | "STRING"):
            return False
        case Op(symbol="SUBSET", arguments=(inner,)):
            return _finite(inner)
        case Op(symbol="Seq" | "->" | "\\cup" | "\\") | Quantified(kind="filter") if any(
            isinstance(each, Op) and each.symbol in {"Nat", "Int", "STRING", "Seq", "->"}
            for each in walk(base)
        ):
            raise fail(base.location, f"whether {text(base)} is finite is outside the fragment")
    return True


def _written_out(left: Expr, right: Expr) -> list[tuple[Expr, Expr]] | None:
    """Component pairs when either side is written out as a tuple or record."""
    for one in (left, right):
        if isinstance(one, RecordOf):
            return [(_field_of(left, name), _field_of(right, name)) for name in one.names]
        if isinstance(one, Op) and one.symbol == "<<>>" and isinstance(one.type, Tuple):
            return [(_component(left, n), _component(right, n)) for n in range(1, len(one.arguments) + 1)]
    return None


def _field_of(expr: Expr, name: str) -> Expr:
    if isinstance(expr, RecordOf):
        return dict(zip(expr.names, expr.arguments, strict=True))[name]
    assert isinstance(expr.type, Record)
    return Field(expr.location, expr, name, type=expr.type.field(name))


def _component(expr: Expr, n: int) -> Expr:
    if isinstance(expr, Op) and expr.symbol == "<<>>":
        return expr.arguments[n - 1]
    assert isinstance(expr.type, Tuple)
    return Index(expr.location, expr, Literal(expr.location, n, type=INT), type=expr.type.parts[n - 1])


def domain_of(function: Expr) -> Expr | None:
    """The set a function is written over, None when only its value knows."""
    match function:
        case Quantified(kind="function", domain=domain):
            return domain
        case Except(function=inner) if isinstance(inner.type, Function):
            found = domain_of(inner)
            return found or Op(inner.location, "DOMAIN", (inner,), type=SetOf(inner.type.argument))
    return None


def _virtual(expr: Expr) -> bool:
    """Whether a set is better tested by membership than built."""
    return isinstance(expr, RecordSet | Quantified) or (
        isinstance(expr, Op) and expr.symbol in {"\\cup", "\\cap", "\\", "{}", "UNION", "..", "DOMAIN"}
    )


def counts(expr: Expr) -> bool:
    """Whether it is a Cardinality."""
    return isinstance(expr, Op) and expr.symbol == "Cardinality"


def _total(part: Expr) -> bool:
    """Whether TLC always finds a value for it: what has none is not even equal to itself. Of a quantified
    variable an element may not be there at all.
    """
    plain = isinstance(part, Variable | Prime | Field | Literal)
    return plain or (isinstance(part, Op) and part.symbol == "DOMAIN")


def strict(body: Expr, uid: int) -> bool:
    """Whether the predicate is unknown by itself when the quantified variable ``uid`` is."""
    match body:
        case Op(symbol="/\\" | "\\/" | "~", arguments=parts):
            return all(strict(each, uid) for each in parts)
        case Op(symbol=symbol, arguments=parts) if symbol in _STRICT:
            scalar = all(
                not isinstance(each.type, SetOf | SeqOf | Function | Record | Tuple) for each in parts
            )
            return scalar and any(_carries(each, uid) for each in parts)
    return False


def _carries(expr: Expr, uid: int) -> bool:
    """Whether an unknown element makes the scalar unknown."""
    match expr:
        case Bound(uid=found):
            return found == uid
        case Field(record=record):
            return _carries(record, uid)
        case Index(function=function, key=key):
            plain = not any(isinstance(part, Quantified | Except) for part in walk(function))
            return plain and (_carries(function, uid) or _carries(key, uid))
        case Op(symbol=symbol, arguments=parts) if symbol in {"+", "-", "*", "-."}:
            return any(_carries(each, uid) for each in parts)
    return False


def _type(expr: Expr) -> Type:
    assert expr.type is not None
    return expr.type


def _element(expr: Expr) -> Type:
    kind = _type(expr)
    assert isinstance(kind, SetOf), (text(expr), kind)
    return kind.element
